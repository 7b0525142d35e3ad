"""Runs of rank programs."""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from fabricsim.errors import InputError
from fabricsim.lazy import numpy as np
from fabricsim.lazy import pandas as pd
from fabricsim.mpi.collectives.registry import Selection
from fabricsim.mpi.comm import _WORLD
from fabricsim.mpi.communicator import Communicator
from fabricsim.mpi.endpoint import Steps
from fabricsim.mpi.errors import Abort, DeadlockError, RankError, UnfinishedError
from fabricsim.mpi.group import Members
from fabricsim.mpi.measured_time import GIVEN, MEASURED, MeasuredEndpoint, check_computations
from fabricsim.mpi.networks.loggp import LogGP, LogGPNetwork
from fabricsim.mpi.process import Process, current
from fabricsim.mpi.session import Shared
from fabricsim.programs import ProgramError, ProgramsBlockedError, Scheduler
from fabricsim.programs.context import picoseconds
from fabricsim.programs.functions import check_program
from fabricsim.ranks import RankReport, Recorder, RunLog, report_of
from fabricsim.results import Result
from fabricsim.spec import Experiment

MOST_RANKS = 1 << 20
"""Largest number of ranks."""
DEFAULT_RATE = 1e9
"""Floating-point operations per second of `compute(flops=...)` if no rate is given."""
COLUMNS = ["name", "count", "min_ns", "p50_ns", "max_ns", "total_ns"]


class _RecordingEndpoint(Steps, Recorder):
    """Calls that consist of others are recorded as these."""


@dataclass(frozen=True)
class MpiRun:
    """What a run of ranks left."""

    ranks: int
    """Number of ranks."""
    end_ns: float
    """Simulated time at which the last rank ended, in nanoseconds."""
    values: list[Any]
    """What the ranks' programs returned, by rank."""
    messages: int
    """Messages that ranks sent, those of collectives included."""
    bytes: int
    """Their bytes, without headers."""
    call_times: Sequence[tuple[str, int, float, float, float, float]] = field(repr=False)
    """Rows of `calls`."""
    wall_s: float
    """Time that the simulation took, in seconds."""
    result: Any = field(default=None, repr=False)
    """Tables of the fabric, as of `fabricsim.run`; None on a LogGP network."""
    report: RankReport | None = field(default=None, repr=False)
    """Calls, waits, messages and critical path, if the run kept a record."""
    repeatable: bool = True
    """False if computations have taken measured processor time: another run has other times."""

    @cached_property
    def calls(self) -> pd.DataFrame:
        """A row for each call of MPI: name, number, and its times in nanoseconds over all ranks."""
        return pd.DataFrame(self.call_times, columns=COLUMNS)

    def as_dict(self) -> dict[str, Any]:
        """The run as `fabricsim mpi run --json` prints it."""
        return {
            "ranks": self.ranks,
            "end_ns": self.end_ns,
            "repeatable": self.repeatable,
            "messages": self.messages,
            "bytes": self.bytes,
            "calls": [dict(zip(COLUMNS, row, strict=True)) for row in self.call_times],
            **({} if self.report is None else {"report": self.report.summary()}),
        }


def run(
    program: Callable[..., Any],
    ranks: int,
    network: Any = None,
    *,
    args: tuple[Any, ...] = (),
    collectives: Mapping[str, str] | None = None,
    decisions: str = "openmpi",
    flops_per_second: float = DEFAULT_RATE,
    report: bool = False,
    compute: str = GIVEN,
    compute_scale: float = 1.0,
    **fabric: Any,
) -> MpiRun:
    """Runs a program in each of several ranks, until all have ended.

    Args:
        program: a function; each rank calls it. It uses `fabricsim.mpi.MPI`, as a program of mpi4py does.
        ranks: their number, 1 to 2^20.
        network: None or "loggp:L=1us,o=100ns,g=10ns,G=0.2": the LogGP model, times without unit in nanoseconds; an
            experiment or its path: the simulated fabric; or a network.
        args: arguments of the program.
        collectives: algorithm by operation, such as {"allreduce": "ring"}.
        decisions: algorithms of the others: "openmpi" (2.0.0) or "mpich" (3.2).
        flops_per_second: rate of `compute(flops=...)`.
        report: True if the run keeps a record of its ranks, for its `report`. The simulated times are the same.
        compute: "given": between calls of MPI no time passes but in `fabricsim.compute`; "measured": the processor time
            that the program takes there as well. Then a run is not repeatable.
        compute_scale: factor of measured times: 0.5 for a processor that is twice as fast as this one.
        fabric: arguments of the fabric's network, such as `placement`, `packets` and `capture`.

    Raises:
        InputError: an argument is wrong.
        RankError: a rank raised an exception.
        DeadlockError: no rank can go on.
        UnfinishedError: on a fabric, the time of the run is over before its ranks have ended.
        Abort: a rank called `Abort`.
    """
    check_program("program", program)
    _check_numbers(ranks, flops_per_second)
    selection = Selection(decisions, collectives)
    check_computations(compute, compute_scale)
    place = network_of(network, **fabric)
    log = RunLog(ranks) if report else None
    if report and hasattr(place, "keep_log"):
        place.keep_log()
    begun = time.monotonic()
    with place.writing() if hasattr(place, "writing") else nullcontext():
        scheduler, endpoints = place.open([f"rank {number}" for number in range(ranks)])
        everyone = _processes(endpoints, selection, log)
        for process in everyone:
            process.flops_per_second = flops_per_second
            if compute == MEASURED:
                process.endpoint = MeasuredEndpoint(process, compute_scale)
        _run_all(scheduler, everyone, program, args)
        end_ns = scheduler.native.now() / 1000
        result = place.finish()
    return MpiRun(
        ranks,
        end_ns,
        list(scheduler.values),
        sum(process.messages for process in everyone),
        sum(process.bytes for process in everyone),
        _call_times(everyone),
        time.monotonic() - begun,
        result,
        None if log is None else _report(log, place, result),
        compute == GIVEN,
    )


def _check_numbers(ranks: int, flops_per_second: float) -> None:
    if isinstance(ranks, bool) or not isinstance(ranks, int) or not 1 <= ranks <= MOST_RANKS:
        raise InputError(f"ranks = {ranks!r}: must be 1 to {MOST_RANKS}")
    if not 0 < flops_per_second < float("inf"):
        raise InputError(f"flops_per_second = {flops_per_second!r}: must be above 0")


def _processes(endpoints: Sequence[Any], selection: Selection, log: RunLog | None) -> list[Process]:
    """The ranks, with recorders between them and their endpoints if the run keeps a record."""
    hosts = [str(getattr(one, "host", f"rank{number}")) for number, one in enumerate(endpoints)]
    shared = Shared(hosts, selection)
    world, everyone = Members(range(len(endpoints))), []
    for number, endpoint in enumerate(endpoints):
        recorder = None if log is None else _RecordingEndpoint(endpoint, log.ranks[number])
        alone = Communicator(1, Members([number]), 0)
        process = Process(recorder or endpoint, shared, Communicator(0, world, number), alone)
        if recorder is not None and log is not None:
            recorder.in_call, process.log = process.is_in_call, log.ranks[number]
        process.world.name, process.alone.name = _WORLD.name, "MPI_COMM_SELF"
        everyone.append(process)
    return everyone


def _report(log: RunLog, place: Any, result: Result | None) -> RankReport:
    hops = None if result is None else result.frames.get("packet_hops")
    return report_of(log, place.log() if hasattr(place, "log") else None, hops)


def network_of(given: Any, **fabric: Any) -> Any:
    """The network of an argument of `run`.

    Raises:
        InputError: it is none.
    """
    if given is None or (isinstance(given, str) and given.partition(":")[0] == "loggp"):
        if fabric:
            raise InputError(f"{', '.join(fabric)}: only for an experiment, not for a LogGP network")
        return LogGPNetwork(LogGP.parse((given or "loggp:").partition(":")[2]))
    if isinstance(given, str | Path | Experiment):
        if isinstance(given, str) and ":" in given and not Path(given).exists():
            raise InputError(f'network = {given!r}: must be "loggp:L=..,o=..,g=..,G=..", or an experiment')
        try:
            fabric_module = importlib.import_module("fabricsim.mpi.networks.fabric")
        except ModuleNotFoundError:
            raise InputError("the simulated fabric cannot run ranks yet: use a LogGP network") from None
        return fabric_module.FabricNetwork(given, **fabric)
    if not hasattr(given, "open"):
        raise InputError(f"network = {given!r}: is no network")
    return given


def _run_all(
    scheduler: Scheduler, processes: list[Process], program: Callable[..., Any], args: tuple[Any, ...]
) -> None:
    def bound(process: Process) -> Callable[[], Any]:
        def body() -> Any:
            process.enter()
            process.leave_call()
            value = program(*args)
            process.enter_call()
            if not process.is_finalized:
                process.is_finalized = True
                process.endpoint.close("the end of the program")
            return value

        return body

    try:
        scheduler.run([bound(process) for process in processes])
    except ProgramError as error:
        raise RankError(str(error), int(error.program.split()[1])) from error.__cause__
    except ProgramsBlockedError as error:
        if error.ended is not None:
            raise UnfinishedError(str(error), error.waits) from None
        raise _deadlock(error, processes) from None


def _deadlock(error: ProgramsBlockedError, processes: list[Process]) -> DeadlockError:
    """The report with the cycle of ranks that wait for each other, and the collectives that not all have called."""
    lines = [str(error)]
    waiting = {int(name.split()[1]) for name in error.waits}
    cycle = _cycle({rank: processes[rank].peers() for rank in waiting})
    if cycle:
        text = " -> ".join(f"rank {rank}" for rank in [*cycle, cycle[0]])
        lines.append(f"these ranks wait for each other: {text}")
    for rank in sorted(waiting):
        peers = list(processes[rank].peers())
        ended = [peer for peer in peers if peer not in waiting]
        if len(ended) == 1 and len(peers) == 1:
            lines.append(f"rank {rank} waits for rank {ended[0]}, which has ended")
    unfinished = processes[0].shared.unfinished()
    if unfinished:
        lines += ["ranks differ in their collectives:", *(f"  {text}" for text in unfinished)]
    return DeadlockError("\n".join(lines), error.waits, cycle)


def _cycle(waits: dict[int, Any]) -> list[int]:
    """Ranks of which each waits for the next one only."""
    only = {rank: peers[0] for rank, found in waits.items() if len(peers := list(found)) == 1}
    seen: set[int] = set()
    for start in sorted(only):
        path: list[int] = []
        rank = start
        while rank in only and rank not in seen:
            seen.add(rank)
            path.append(rank)
            rank = only[rank]
        if rank in path:
            return path[path.index(rank) :]
    return []


def _call_times(processes: list[Process]) -> list[tuple[str, int, float, float, float, float]]:
    by_name: dict[str, list[Any]] = {}
    for process in processes:
        for name, durations in process.durations.items():
            by_name.setdefault(name, []).append(np.frombuffer(durations, np.int64))
    rows = []
    for name, parts in sorted(by_name.items()):
        # The sum of all ranks may have more than 64 bits.
        total = sum(int(part.sum()) for part in parts)
        all_of_them = np.concatenate(parts)
        middle = (len(all_of_them) - 1) // 2
        all_of_them.partition(middle)
        least, most = int(all_of_them.min()), int(all_of_them.max())
        times = (least / 1000, int(all_of_them[middle]) / 1000, most / 1000, total / 1000)
        rows.append((name, len(all_of_them), *times))
    return rows


def compute(
    duration: str | float | None = None, *, flops: float | None = None, rate: float | None = None
) -> None:
    """Lets simulated time pass in a rank, as a computation does. MPI makes no progress meanwhile.

    Args:
        duration: "3 us", or nanoseconds.
        flops: floating-point operations, instead of a duration.
        rate: their number per second; by default the run's `flops_per_second`.

    Raises:
        InputError: neither or both are given, or the value is none.
        RuntimeError: no rank runs.
    """
    process = current()
    if (duration is None) == (flops is None):
        raise InputError("compute(): give a duration or flops")
    if flops is not None:
        speed = process.flops_per_second if rate is None else rate
        if not speed > 0 or not 0 <= flops < float("inf"):
            raise InputError(
                f"compute(flops={flops!r}, rate={speed!r}): flops must be 0 or more, the rate above 0"
            )
        duration = flops / speed * 1e9
    assert duration is not None
    process.enter_call()
    process.endpoint.compute(picoseconds("duration", duration), f"compute({duration!r})")
    process.leave_call()


__all__ = ["Abort", "DeadlockError", "MpiRun", "RankError", "UnfinishedError", "compute", "run"]
