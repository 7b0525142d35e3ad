"""A trace, and its replay on a LogGP network."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fabricsim.errors import InputError
from fabricsim.native import bad_input, native, waited
from fabricsim.native_types import NativeTrace
from fabricsim.traces.otf2 import read_otf2

FORMATS = {
    "goal": "GOAL schedule, text or LogGOPSim's binary form",
    "ti": "SimGrid's time-independent trace: the list of its files, or one file",
    "chakra": "Chakra execution trace: one of NAME.0.et, NAME.1.et ..., or NAME",
    "dumpi": "DUMPI trace: NAME.meta, or one of NAME-0000.bin, NAME-0001.bin ...",
    "otf2": "OTF2 archive: its anchor file NAME.otf2",
}
"""Names of the formats, with what the path of a trace is."""

_LOGGP = "loggp:"


@dataclass(frozen=True)
class Replay:
    """What a replay found. Times are in ns."""

    ranks: int
    events: int
    """Operations of the trace."""
    end_ns: float
    """Time at which the last rank ends; whole on a LogGP network."""
    ends_ns: list[float]
    """Time at which each rank ends."""
    unmatched: list[dict[str, Any]]
    """Sends and receives without a match by rank: `rank`, `kind`, `peer`, `tag`, `bytes`, `operation` (number in the
    rank, from 0), `time_ns`; `peer` and `tag` are None for any. None of a run that was `stopped`."""
    unfinished: list[dict[str, Any]]
    """Ranks that did not end: `rank`, `done`, `operations`, `end_ns`."""
    network: dict[str, Any]
    """The network's parameters."""
    stopped: str | None = None
    """Reason why the run ended before the trace, such as `run.duration` of a fabric."""

    @property
    def is_complete(self) -> bool:
        """True if all operations ended and all messages were received."""
        return not self.unmatched and not self.unfinished


@dataclass(frozen=True)
class Trace:
    """Sends, receives and computations of ranks, and which of them wait for which."""

    path: Path
    _native: NativeTrace

    @classmethod
    def read(
        cls,
        path: Path | str,
        format: str,
        *,
        compute_scale: float = 1.0,
        flops_per_s: float = 1e9,
    ) -> Trace:
        """Reads a trace.

        Args:
            path: a file of the trace; see `FORMATS`.
            format: a name of `FORMATS`.
            compute_scale: factor of the durations of computations; 0 removes them.
            flops_per_s: floating-point operations of a processor in a second, for traces that count them ("ti").

        Raises:
            InputError: the file is no such trace, or damaged: its name, the place, what is allowed; or the package
                `otf2` is not installed, which reads those archives.
        """
        if format == "otf2":
            calls = read_otf2(path)
            with bad_input():
                return cls(
                    Path(path), native().trace_of_calls(str(path), calls.ranks, calls.groups, compute_scale)
                )
        with bad_input():
            return cls(
                Path(path), waited(lambda: native().Trace(str(path), format, compute_scale, flops_per_s))
            )

    @property
    def ranks(self) -> int:
        """Number of ranks."""
        return self._native.ranks

    @property
    def events(self) -> int:
        """Number of operations."""
        return self._native.events

    def operations(
        self, rank: int
    ) -> tuple[list[tuple[int, int, int, int]], list[list[int]], list[list[int]]]:
        """Operations of a rank, and which of them wait for which.

        Returns:
            Kind (1 send, 2 receive, 3 computation), peer, tag, bytes or ns of each, -1 for any; for each the numbers of
            the operations that wait for its end; and of those that wait for its start.
        """
        with bad_input():
            return self._native.operations(rank)

    def with_computation(self, time_ns: int) -> Trace:
        """The same trace, in which each computation that takes time takes `time_ns`.

        Raises:
            InputError: the time is no whole number from 0.
        """
        if not isinstance(time_ns, int) or time_ns < 0:
            raise InputError(f"time_ns = {time_ns!r}: must be a whole number from 0")
        return Trace(self.path, self._native.with_computation(time_ns))

    def replay(self, network: str = _LOGGP) -> Replay:
        """Replays the trace on a network without contention.

        Args:
            network: `loggp:` with L, o, g, G, O in ns and S in bytes, such as `loggp:L=1000,o=100,g=10,G=0`;
                what is absent has LogGOPSim's default.

        Raises:
            InputError: a parameter is wrong, or times exceed 2^63 ns.
        """
        if not network.startswith(_LOGGP):
            raise InputError(f"--network {network}: expected loggp:L=..,o=..,g=..,G=..")
        with bad_input():
            text = waited(lambda: self._native.replay_loggp(network.removeprefix(_LOGGP)))
        return Replay(**json.loads(text))

    def write_goal(self, path: Path | str) -> None:
        """Writes the trace as a GOAL schedule: in LogGOPSim's binary form if the name ends in `.bin`, else as text.

        Raises:
            InputError: the file cannot be written.
        """
        with bad_input():
            waited(lambda: self._native.write_goal(str(path), str(path).endswith(".bin")))
