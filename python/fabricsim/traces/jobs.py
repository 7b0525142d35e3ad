"""Several traces as jobs that run beside each other on one network."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate

from fabricsim.errors import InputError
from fabricsim.traces.trace import Replay, Trace

Operations = tuple[list[tuple[int, int, int, int]], list[list[int]], list[list[int]]]


class Jobs:
    """The ranks of several traces, numbered one after the other: those of the second trace follow those of the first.

    Args:
        traces: one or more.

    Raises:
        InputError: there is none.
    """

    def __init__(self, traces: Sequence[Trace]) -> None:
        if not traces:
            raise InputError("no trace is given: give one or more")
        self.traces = list(traces)
        self.first = [0, *accumulate(trace.ranks for trace in traces)][:-1]
        """Number of the first rank of each job."""

    @property
    def ranks(self) -> int:
        """Number of ranks of all jobs."""
        return sum(trace.ranks for trace in self.traces)

    @property
    def events(self) -> int:
        """Number of operations of all jobs."""
        return sum(trace.events for trace in self.traces)

    def operations(self, rank: int) -> Operations:
        """Operations of a rank as of `Trace.operations`, with the numbers of ranks of all jobs."""
        job = bisect_right(self.first, rank) - 1
        first = self.first[job]
        everything, after_end, after_start = self.traces[job].operations(rank - first)
        moved = [
            (kind, peer if peer < 0 else peer + first, tag, size) for kind, peer, tag, size in everything
        ]
        return moved, after_end, after_start

    def ends_ns(self, replay: Replay) -> list[float]:
        """Time at which each job's last rank ends, in nanoseconds."""
        return [
            max(replay.ends_ns[first : first + trace.ranks])
            for first, trace in zip(self.first, self.traces, strict=True)
        ]
