"""The simulated fabric: messages by Open MPI's protocols over verbs, packet by packet."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

from fabricsim.captures import written
from fabricsim.errors import InputError
from fabricsim.memory import Allowance, allowance
from fabricsim.mpi.networks.fabric_endpoint import FabricEndpoint
from fabricsim.mpi.networks.identities import Identities
from fabricsim.native import bad_input, native, waited
from fabricsim.native_types import NativeMpiPrograms, NativePrograms
from fabricsim.programs import Scheduler
from fabricsim.programs.context import picoseconds
from fabricsim.results import Result
from fabricsim.run import result_of
from fabricsim.shown import number_of
from fabricsim.spec import Experiment, as_experiment


class FabricNetwork:
    """Ranks on the hosts of an experiment, whose section `[mpi]` has the protocols and their limits.

    Args:
        experiment: a file, or an `Experiment`; hosts of ranks have no traffic of their own.
        set: keys that are replaced, with their values.
        placement: name of the host of each rank; by default a host for each rank in order, or blocks of ranks
            of the same size if there are more ranks than hosts.
        memory: most memory that the run may take, as of `fabricsim.run`.
        polling_limit: time for which ranks may poll in vain while nothing is in progress.
        log: True if the operations of verbs are kept for `log`.
        packets: True if packets are recorded link by link (table `packet_hops`): all, unless the experiment chooses.
        capture: a pcapng file for Wireshark that is written: what crosses the links that the experiment's `[capture]`
            chooses, or all.
        force: True if a capture file that exists is replaced.
    """

    def __init__(
        self,
        experiment: str | Path | Experiment,
        *,
        set: Mapping[str, Any] | None = None,
        placement: Sequence[str] | None = None,
        memory: str | int | Allowance | None = None,
        polling_limit: str | float = "100 ms",
        log: bool = False,
        packets: bool = False,
        capture: str | Path | None = None,
        force: bool = False,
    ) -> None:
        of = as_experiment(experiment, set)
        if packets and not of.written().get("measure", {}).get("packets"):
            of = of.with_values({"measure.packets": ["* -> *"]})
        if capture is not None and "capture" not in of.written():
            of = of.with_values({"capture.links": ["*"]})
        self._experiment = of
        self._target = None if capture is None else (Path(capture), force)
        self._file: str | None = None
        self.capture: Mapping[str, Any] | None = None
        """What the capture file has, as `fabricsim.Capture.report`, after `finish`."""
        self._placement = None if placement is None else list(placement)
        self._allowed = allowance(memory)
        self._patience = picoseconds("polling_limit", polling_limit)
        self._logs = log
        self.result: Result | None = None
        """Summary and tables, after `finish`."""
        self._run: NativeMpiPrograms | None = None
        self._begun = 0.0
        self._log: list[tuple[int, int, int, str, int, str, int]] = []

    def open(self, names: Sequence[str]) -> tuple[Scheduler, list[FabricEndpoint]]:
        """A scheduler, and the endpoint of each rank.

        Raises:
            InputError: the experiment or the placement is not valid.
        """
        if not names:
            raise InputError("a run needs at least one rank")
        placement = self._placement
        if placement is not None and len(placement) != len(names):
            raise InputError(
                f"placement has {number_of(len(placement), 'host')}: must be {len(names)}, one for each rank"
            )
        arguments, control = self._experiment.arguments(), native().Control()
        hosts = (len(names), placement or [])
        kept = (self._logs, self._file)
        with bad_input():
            run = waited(
                lambda: native().MpiPrograms(
                    arguments, hosts, self._patience, control, self._allowed.estimate, kept
                )
            )
        self._run, self._begun = run, time.monotonic()
        scheduler = Scheduler(cast("NativePrograms", run), names)
        buffers = Identities()
        places = run.hosts()
        endpoints = [
            FabricEndpoint(run, scheduler, buffers, rank, len(names), places[rank])
            for rank in range(len(names))
        ]
        return scheduler, endpoints

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Around a run, from before `open` to after `finish`: its capture is a file if all goes well.

        Raises:
            InputError: the file exists, or cannot be written.
        """
        if self._target is None:
            yield
            return
        with written(*self._target) as file:
            self._file = str(file)
            yield

    def keep_log(self) -> None:
        """Keeps the operations of verbs, for `log`. Call it before `open`."""
        self._logs = True

    def finish(self) -> Result:
        """Summary and tables of the run; `mpi_ranks` has a row for each rank."""
        if self._run is None:
            raise InputError("the network is not open")
        run, self._run = self._run, None
        self._log = run.log()
        with bad_input():
            outcome = run.result()
        report = outcome.capture()
        self.capture = None if report is None else json.loads(report)
        self.result = result_of(self._experiment, outcome, time.monotonic() - self._begun, None)
        return self.result

    def log(self) -> list[dict[str, Any]]:
        """Operations of verbs in order of their time, after `finish`.

        Each has `time_ns`, the ranks `from` and `to`, `op` (SEND, RDMA_WRITE or RDMA_READ), `bytes`, `header`: the
        headers as text, empty for data, and `wr_id`.
        """
        names = ("from", "to", "op", "bytes", "header", "wr_id")
        return [{"time_ns": at / 1000, **dict(zip(names, rest, strict=True))} for at, *rest in self._log]
