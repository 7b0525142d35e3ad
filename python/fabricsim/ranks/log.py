"""Record of a run of ranks. All times are simulated picoseconds."""

from __future__ import annotations

from dataclasses import dataclass, field

CALC, SEND, POST, DONE = range(4)
"""Kinds of steps of a rank: a computation, the start of a send, the start of a receive, the end of one of both."""


@dataclass(slots=True)
class Call:
    """A call of MPI."""

    name: str
    begin: int
    end: int
    computing: int = 0
    """Time of computations inside it, such as those of a user's reduction."""


@dataclass(slots=True)
class Computation:
    """A time in which a rank computes, and makes no progress with messages."""

    begin: int
    end: int
    step: int
    """Index in the steps of the rank."""


@dataclass(slots=True, eq=False)
class Send:
    """A message at its sender."""

    rank: int
    dest: int
    tag: int
    context: int
    bytes: int
    begin: int
    step: int
    call: int
    """Index of the call that started it."""
    end: int = 0
    """Return of the start."""
    done: int | None = None
    """Time at which the rank found it complete."""
    protocol: str = "eager"
    receive: Receive | None = None
    posted: int | None = None
    """Time at which its first operation of verbs was posted, if it has one."""
    credited: int | None = None
    """Time at which the receiver last returned credits in a message of their own, after `end` and before `posted`."""

    @property
    def is_held(self) -> bool:
        """True if it waited for credits, or for a place in a send queue, when the call that started it had returned."""
        return self.posted is not None and self.posted > self.end


@dataclass(slots=True, eq=False)
class Receive:
    """A message at its receiver. A probe that leaves the message is one as well."""

    rank: int
    source: int
    """Sender; -1: any, and none is known yet."""
    tag: int
    context: int
    posted: int
    step: int
    call: int
    is_peek: bool = False
    is_cancelled: bool = False
    bytes: int = 0
    done: int | None = None
    send: Send | None = None


@dataclass(slots=True)
class Wait:
    """A time in which a rank waited, or polled. The work that follows in the same call is not part of it."""

    begin: int
    end: int
    step: int
    """Number of steps of the rank before it."""
    call: int
    ended_by: Send | Receive | None = None
    """The operation whose end ended it; None of a poll in vain."""


@dataclass(slots=True)
class RankLog:
    """Record of one rank."""

    rank: int
    host: str = ""
    calls: list[Call] = field(default_factory=list)
    """In order; none begins before the one before it ends."""
    computations: list[Computation] = field(default_factory=list)
    sends: list[Send] = field(default_factory=list)
    receives: list[Receive] = field(default_factory=list)
    """In the order in which they take part in matching."""
    waits: list[Wait] = field(default_factory=list)
    steps: list[tuple[int, int | Send | Receive]] = field(default_factory=list)
    """Kind, and the duration of a computation or the message."""
    nested: int = 0
    """Computation inside the call that is not complete."""
    end: int = 0

    def call(self, name: str, begin: int, end: int) -> None:
        """A call of MPI ends."""
        self.calls.append(Call(name, begin, end, self.nested))
        self.nested = 0
        self.end = end


class RunLog:
    """Record of a run: that of each rank, and the protocols of its messages.

    Args:
        ranks: their number.
    """

    def __init__(self, ranks: int) -> None:
        self.ranks = [RankLog(rank) for rank in range(ranks)]
        self.network = "loggp"
        """Kind of network, `loggp` or `fabric`."""

    @property
    def end(self) -> int:
        """Time at which the last rank ended."""
        return max((one.end for one in self.ranks), default=0)
