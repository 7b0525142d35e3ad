"""Communicators as data, and messages between their ranks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fabricsim.mpi import constants
from fabricsim.mpi.buffers import EMPTY, Block
from fabricsim.mpi.endpoint import BUFFERED, STANDARD
from fabricsim.mpi.errors import Exception
from fabricsim.mpi.group import Members
from fabricsim.mpi.handles import Referent
from fabricsim.mpi.operations import DoneOperation, Operation, ReceiveOperation, SendOperation, expected
from fabricsim.mpi.process import Process


class Communicator(Referent):
    """Ranks that exchange messages of their own.

    Args:
        number: that of the communicator; its messages have the context 2 n, those of its collectives 2 n + 1.
        members: its ranks.
        rank: that of this process.
    """

    __slots__ = (
        *("number", "members", "rank", "name", "attributes", "info", "topology", "collectives", "space"),
        *("is_freed", "locks"),
    )

    def __init__(self, number: int, members: Members, rank: int, topology: Any = None) -> None:
        self.number, self.members, self.rank, self.topology = number, members, rank, topology
        self.name = ""
        self.attributes: dict[int, Any] = {}
        self.info: dict[str, str] = {}
        self.collectives = 0
        """Number of collectives that this rank has begun."""
        self.space: Any = None
        """Attached buffer of buffered sends."""
        self.is_freed = False
        self.locks: dict[str, Any] = {}

    @property
    def ranks(self) -> Sequence[int]:
        """World ranks."""
        return self.members.ranks

    @property
    def size(self) -> int:
        """Number of ranks."""
        return len(self.members.ranks)

    def rank_of(self, world: int) -> int:
        """Rank of a world rank."""
        return self.members.place(world)

    def check_peer(self, rank: int, what: str) -> None:
        """Raises ERR_RANK for a rank that there is not."""
        if not 0 <= rank < self.size:
            raise Exception(
                constants.ERR_RANK, f"{what} = {rank}: must be 0 to {self.size - 1}, or MPI.PROC_NULL"
            )


def _check_tag(tag: int, any_too: bool) -> None:
    if not 0 <= tag <= constants.TAG_UB_VALUE and not (any_too and tag == constants.ANY_TAG):
        raise Exception(constants.ERR_TAG, f"tag = {tag}: must be 0 to {constants.TAG_UB_VALUE}")


def start_send(
    process: Process,
    comm: Communicator,
    block: Block,
    dest: int,
    tag: int,
    mode: int = STANDARD,
    keep: Any = None,
) -> Operation:
    """Starts a send of a block."""
    name = process.call or "Send"
    call = f"{name}(dest={dest}, tag={tag})"
    _check_tag(tag, any_too=False)
    if dest == constants.PROC_NULL:
        return DoneOperation(call)
    comm.check_peer(dest, "dest")
    operation = SendOperation(call)
    data = block.pack()
    operation.keep = (block.memory, data, keep)
    world = comm.ranks[dest]
    operation.partners = (world,)
    process.messages += 1
    process.bytes += len(data)
    if mode == BUFFERED:
        _start_buffered(process, comm, data, world, tag, call)
        operation.is_done = True
        return operation
    operation.pending = [process.endpoint.isend(data, world, tag, 2 * comm.number, mode, call)]
    return operation


def start_receive(
    process: Process, comm: Communicator, block: Block, source: int, tag: int, keep: Any = None
) -> Operation:
    """Starts a receive into a block."""
    name = process.call or "Recv"
    call = f"{name}(source={_any(source)}, tag={_any(tag)})"
    _check_tag(tag, any_too=True)
    if source == constants.PROC_NULL:
        return DoneOperation(call, constants.PROC_NULL)
    if source != constants.ANY_SOURCE:
        comm.check_peer(source, "source")
    target, is_packed = block.target()
    operation = ReceiveOperation(call, comm, block, target if is_packed else None)
    operation.keep = (block.memory, keep)
    operation.partners = expected(source, comm)
    world = source if source == constants.ANY_SOURCE else comm.ranks[source]
    operation.pending = [process.endpoint.irecv(target, world, tag, 2 * comm.number, call)]
    return operation


def _any(value: int) -> str:
    return "any" if value == constants.ANY_SOURCE else str(value)


class Space:
    """Memory of buffered sends: an attached buffer, and the sends that use it."""

    def __init__(self, given: Any, capacity: int | None) -> None:
        self.given, self.capacity = given, capacity
        self.sends: list[tuple[Operation, int]] = []

    def settle(self) -> None:
        """Forgets the sends that are complete."""
        self.sends = [(one, size) for one, size in self.sends if not one.is_done]

    def flush(self, process: Process, call: str) -> None:
        """Waits for all sends."""
        process.wait_all([one for one, _ in self.sends], call)
        self.settle()


def _start_buffered(
    process: Process, comm: Communicator, data: memoryview, world: int, tag: int, call: str
) -> None:
    space: Space | None = comm.space or process.bsend_space
    if space is None:
        raise Exception(constants.ERR_BUFFER, f"{call}: no buffer is attached: call MPI.Attach_buffer before")
    need = len(data) + constants.BSEND_OVERHEAD
    if space.capacity is not None:
        space.settle()
        if sum(size for _, size in space.sends) + need > space.capacity:
            process.advance([one for one, _ in space.sends], call)
            space.settle()
        if (used := sum(size for _, size in space.sends)) + need > space.capacity:
            raise Exception(
                constants.ERR_BUFFER,
                f"{call}: {need} bytes do not fit in the attached buffer of {space.capacity}, {used} are in use",
            )
    sent = SendOperation(call)
    copy = memoryview(bytes(data))
    sent.keep = copy
    sent.pending = [process.endpoint.isend(copy, world, tag, 2 * comm.number, BUFFERED, call)]
    space.sends.append((sent, need))


def probe(
    process: Process, comm: Communicator, source: int, tag: int, take: bool, waits: bool
) -> tuple[int, int, int, int] | None:
    """Source, tag, bytes and number of the first message that matches."""
    call = f"{process.call or 'Probe'}(source={_any(source)}, tag={_any(tag)})"
    if source != constants.ANY_SOURCE:
        comm.check_peer(source, "source")
    _check_tag(tag, any_too=True)
    world = source if source == constants.ANY_SOURCE else comm.ranks[source]
    context = 2 * comm.number
    if waits and not process.schedules:
        process.waits_for = expected(source, comm)
        found: Any = process.endpoint.wait_probe(world, tag, context, take, call)
        process.waits_for = ()
    else:
        found = process.endpoint.probe(world, tag, context, take, call)
        while found is None and waits:
            process.advance([], call)
            found = process.endpoint.probe(world, tag, context, take, call)
        if found is None and process.schedules:
            process.advance([], call)
    if found is None:
        return None
    arrival, number = found
    return comm.rank_of(arrival.source), arrival.tag, arrival.length, number


def bytes_block(data: Any) -> Block:
    """A block of the bytes of an object with a buffer."""
    from fabricsim.mpi.memory import Memory  # noqa: PLC0415 - a short function

    memory = Memory.of(data)
    return Block(memory, memory.address, memory.nbytes, EMPTY.layout)
