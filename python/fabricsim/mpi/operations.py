"""Operations in progress: sends, receives, and schedules of collectives."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any

from fabricsim.mpi import constants
from fabricsim.mpi.buffers import Block
from fabricsim.mpi.endpoint import ANY, Arrival
from fabricsim.mpi.handles import Referent
from fabricsim.mpi.process import Process

Schedule = Generator[Sequence[int], None, Any]
"""An algorithm: it starts requests, yields those that it waits for, and goes on when all of them are complete."""


class Operation(Referent):
    """An operation. It is complete if no request is pending."""

    __slots__ = (
        *("pending", "is_done", "source", "tag", "nbytes", "cancelled", "error", "result", "keep", "call"),
        *("is_inactive", "persistent", "partners"),
    )

    def __init__(self, call: str) -> None:
        self.pending: list[int] = []
        self.is_done = False
        self.source, self.tag, self.nbytes = constants.ANY_SOURCE, constants.ANY_TAG, 0
        self.cancelled, self.error = False, constants.SUCCESS
        self.result: Any = None
        """Of operations on objects: a function without arguments that returns the object."""
        self.keep: Any = None
        """Objects whose memory the operation uses."""
        self.call = call
        self.is_inactive = False
        self.persistent: Any = None
        """Of persistent operations: the function that starts one."""
        self.partners: Sequence[int] = ()

    def peers(self) -> Sequence[int]:
        """World ranks for which the operation waits."""
        return self.partners

    def arrive(self, process: Process, number: int, arrival: Arrival) -> None:
        """A request is complete."""
        self.pending.remove(number)
        self.is_done = not self.pending


class SendOperation(Operation):
    """A send. Its status is empty, as MPI has it undefined."""

    __slots__ = ()

    def arrive(self, process: Process, number: int, arrival: Arrival) -> None:
        """The buffer may be reused."""
        self.cancelled = arrival.cancelled
        self.pending.remove(number)
        self.is_done = not self.pending
        self.keep = None


class ReceiveOperation(Operation):
    """A receive into memory, of a communicator.

    Args:
        call: its description.
        comm: the communicator.
        target: bytes that are received into.
        block: elements to which the bytes are written afterwards, unless they are in their places.
    """

    __slots__ = ("block", "comm", "target")

    def __init__(self, call: str, comm: Any, target: memoryview, block: Block | None) -> None:
        super().__init__(call)
        self.comm, self.target, self.block = comm, target, block

    def arrive(self, process: Process, number: int, arrival: Arrival) -> None:
        """The message is here: fills the status, and writes the elements to their places."""
        self.pending.remove(number)
        self.is_done = not self.pending
        self.cancelled = arrival.cancelled
        if arrival.cancelled:
            return
        self.source, self.tag = self.comm.rank_of(arrival.source), arrival.tag
        room = len(self.target)
        self.nbytes = min(arrival.length, room)
        if arrival.truncated:
            self.error = constants.ERR_TRUNCATE
            self.call = too_long(self.call, arrival.length, room)
        if self.block is not None:
            self.block.unpack(self.target[: self.nbytes])


class CombinedOperation(Operation):
    """Several operations as one, with the status of the last: a non-blocking Sendrecv."""

    __slots__ = ("parts",)

    def __init__(self, call: str, parts: Sequence[Operation]) -> None:
        super().__init__(call)
        self.parts = list(parts)
        self.pending = [number for part in parts for number in part.pending]
        self._settle()

    def arrive(self, process: Process, number: int, arrival: Arrival) -> None:
        """A request of a part is complete."""
        for part in self.parts:
            if number in part.pending:
                part.arrive(process, number, arrival)
        self.pending.remove(number)
        self._settle()

    def peers(self) -> Sequence[int]:
        """World ranks for which the parts wait."""
        return [peer for part in self.parts if not part.is_done for peer in part.peers()]

    def _settle(self) -> None:
        self.is_done = not self.pending
        if self.is_done:
            last = self.parts[-1]
            self.source, self.tag, self.nbytes = last.source, last.tag, last.nbytes
            self.error, self.cancelled, self.call = last.error, last.cancelled, last.call


class CollectiveOperation(Operation):
    """A collective: a schedule that goes on inside calls of MPI."""

    __slots__ = ("_channel", "_schedule", "finish")

    def __init__(self, call: str, channel: Any, schedule: Schedule, finish: Any = None) -> None:
        super().__init__(call)
        self._channel, self._schedule = channel, schedule
        self.finish = finish
        """Called when the schedule has ended."""

    def start(self, process: Process) -> None:
        """Runs the schedule until it waits."""
        process.schedules.append(self)
        self._resume(process)

    def arrive(self, process: Process, number: int, arrival: Arrival) -> None:
        """A request of the schedule is complete."""
        self.pending.remove(number)
        if arrival.truncated:
            self._fail(arrival.source, arrival.length)
        if not self.pending:
            self._resume(process)

    def _fail(self, source: int, length: int) -> None:
        self.error = constants.ERR_TRUNCATE
        self.call = f"{self.call}: rank {source} sent {length} bytes, more than are expected"

    def peers(self) -> Sequence[int]:
        """World ranks from which messages are missing."""
        return self._channel.awaited(self.pending) if self._channel is not None else ()

    def _resume(self, process: Process) -> None:
        try:
            channel = self._channel
            while not self.pending:
                self.pending = list(next(self._schedule))
                if channel.too_long is not None:
                    self._fail(*channel.too_long[0:3:2])
                    channel.too_long = None
        except StopIteration:
            process.schedules.remove(self)
            self.is_done = True
            self.source, self.tag = constants.ANY_SOURCE, constants.ANY_TAG
            self._channel = None
            if self.finish is not None:
                self.finish()
        except BaseException:
            process.schedules.remove(self)
            self.is_done = True
            raise


class DoneOperation(Operation):
    """An operation without a message: with `PROC_NULL`, or complete at its start."""

    __slots__ = ()

    def __init__(self, call: str, source: int = constants.ANY_SOURCE) -> None:
        super().__init__(call)
        self.is_done = True
        self.source = source


def too_long(call: str, length: int, room: int) -> str:
    """Text of the error of a receive with too small a buffer."""
    return f"{call}: a message of {length} bytes, a buffer of {room}"


def expected(source: int, comm: Any) -> Sequence[int]:
    """World ranks from which a receive may get its message."""
    if source != ANY:
        return (comm.ranks[source],)
    ranks: Sequence[int] = comm.ranks
    return ranks
