"""State of a rank, and the progress of its operations."""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from contextvars import ContextVar
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar, cast

from fabricsim.mpi.endpoint import Arrival, Endpoint

if TYPE_CHECKING:
    from fabricsim.mpi.measured_time import Stopwatch
    from fabricsim.mpi.operations import Operation
    from fabricsim.mpi.session import Shared
    from fabricsim.ranks.log import RankLog

F = TypeVar("F", bound=Callable[..., Any])

_current: ContextVar[Process] = ContextVar("fabricsim_mpi_rank")


class Process:
    """A rank: its place in the network, its communicators, what it has done."""

    def __init__(self, endpoint: Endpoint, shared: Shared, world: Any, alone: Any) -> None:
        self.endpoint = endpoint
        self.rank, self.size = endpoint.rank, endpoint.size
        self.shared = shared
        """What the ranks of a run share, in the simulator."""
        self.world, self.alone = world, alone
        """Data of COMM_WORLD and of COMM_SELF."""
        self.next_context = 2
        """Smallest number of a communicator that this rank does not use."""
        self.schedules: list[Operation] = []
        """Collective operations that are not complete. Every call of MPI progresses them."""
        self.is_blocked = False
        """True while a collective starts for which the rank waits at once, and for nothing else."""
        self.user_ops = 0
        self.bsend_space: Any = None
        self.is_finalized = False
        self.flops_per_second = 1e9
        self.messages = self.bytes = 0
        self.depth = 0
        self.call = ""
        """Name of the call of the program that runs."""
        self.durations: dict[str, array[int]] = defaultdict(_no_durations)
        """Durations of calls in picoseconds, by name."""
        self.waits_in: Sequence[Operation] = ()
        """Operations for which the rank waits, while it does."""
        self.waits_for: Sequence[int] = ()
        """World ranks from which it expects a message, while it waits in a probe."""
        self.log: RankLog | None = None
        """Record of the rank, if the run keeps one."""
        self.stopwatch: Stopwatch | None = None
        """Processor time of the program, if that is measured."""

    def host(self) -> str:
        """Name of the host."""
        return str(getattr(self.endpoint, "host", f"rank{self.rank}"))

    def is_in_call(self) -> bool:
        """True inside a call whose time is counted."""
        return self.depth > 0

    def enter_call(self) -> None:
        """The program calls MPI: what it has computed since the last call takes its time."""
        if self.stopwatch is not None:
            self.stopwatch.stop()

    def leave_call(self) -> None:
        """A call of MPI returns to the program."""
        if self.stopwatch is not None:
            self.stopwatch.start()

    def peers(self) -> Sequence[int]:
        """World ranks for which the rank waits, while it waits."""
        if self.waits_in:
            return [peer for one in self.waits_in for peer in one.peers()]
        if self.waits_for or self.endpoint.has_received():
            return self.waits_for
        return self.endpoint.waits_for

    def enter(self) -> None:
        """The running program is this rank."""
        _current.set(self)

    def advance(self, operations: Iterable[Operation], call: str) -> None:
        """Makes progress once, with the network and with the schedules."""
        pending: dict[int, Operation] = {}
        for one in (*operations, *self.schedules):
            for number in one.pending:
                pending[number] = one
        if not pending:
            self.endpoint.progress(call)
            return
        self._distribute(pending, self.endpoint.test(list(pending), call))

    def _distribute(self, pending: dict[int, Operation], arrivals: list[Arrival | None]) -> None:
        for (number, one), arrival in zip(pending.items(), arrivals, strict=True):
            if arrival is not None and number in one.pending:
                self.endpoint.free(number)
                one.arrive(self, number, arrival)

    def wait_all(self, operations: list[Operation], call: str) -> None:
        """Waits until all operations are complete."""
        for one in operations:
            while not one.is_done:
                others = self.schedules
                if not one.pending or len(others) > 1 or (others and others[0] is not one):
                    self._step([one], call, first_only=True)
                    continue
                self.waits_in = (one,)
                if others:
                    # The schedule goes on when all of its requests are complete, in whichever order.
                    arrived = self.endpoint.wait_some(one.pending, call)
                else:
                    number = one.pending[0]
                    arrived = [(number, self.endpoint.complete(number, call))]
                self.waits_in = ()
                for number, arrival in arrived:
                    one.arrive(self, number, arrival)

    def wait_any(self, operations: list[Operation], call: str) -> None:
        """Waits until at least one operation is complete."""
        while not any(one.is_done for one in operations):
            self._step(operations, call, first_only=False)

    def _step(self, operations: list[Operation], call: str, first_only: bool) -> None:
        """Waits for one event of the operations, or of a schedule."""
        pending: dict[int, Operation] = {}
        for one in operations:
            numbers = one.pending
            for number in numbers:
                pending[number] = one
                if first_only:
                    break
        for one in self.schedules:
            for number in one.pending:
                pending[number] = one
        self.waits_in = operations
        numbers_of = list(pending)
        self.endpoint.wait(numbers_of, call)
        self.waits_in = ()
        self._distribute(pending, self.endpoint.test(numbers_of, call))


def _no_durations() -> array[int]:
    return array("q")


running = _current.get
"""The rank whose program runs, inside a call of MPI: `current` without its message."""


def current() -> Process:
    """The rank whose program runs.

    Raises:
        RuntimeError: none does.
    """
    try:
        return _current.get()
    except LookupError:
        raise RuntimeError(
            "MPI is used outside a run: start the program with `fabricsim mpi run` or fabricsim.mpi.run"
        ) from None


def current_or_none() -> Process | None:
    """The rank whose program runs, if one does."""
    return _current.get(None)


def measured(function: F) -> F:
    """A call of MPI: its time is counted, unless another call makes it."""
    name = function.__name__

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        process = running(None) or current()
        if process.depth:
            return function(*args, **kwargs)
        if process.stopwatch is not None:
            process.stopwatch.stop()
        process.depth, process.call = 1, name
        now = process.endpoint.now
        begun = now()
        try:
            return function(*args, **kwargs)
        finally:
            process.depth = 0
            end = now()
            process.durations[name].append(end - begun)
            if process.log is not None:
                process.log.call(name, begun, end)
            if process.stopwatch is not None:
                process.stopwatch.start()

    return cast("F", call)
