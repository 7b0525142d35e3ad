"""Communicators as data, and messages between their ranks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fabricsim.mpi import constants
from fabricsim.mpi.arguments import require_whole
from fabricsim.mpi.buffers import Data, target_of
from fabricsim.mpi.endpoint import ANY, BUFFERED, STANDARD
from fabricsim.mpi.errors import Exception
from fabricsim.mpi.group import Members
from fabricsim.mpi.handles import Referent
from fabricsim.mpi.operations import (
    DoneOperation,
    Operation,
    ReceiveOperation,
    SendOperation,
    expected,
)
from fabricsim.mpi.process import Process

TAG_UB = constants.TAG_UB_VALUE
MOST_TEXTS = 256
"""Descriptions of calls that a communicator keeps."""


class Communicator(Referent):
    """Ranks that exchange messages of their own.

    Args:
        number: that of the communicator; its messages have the context 2 n, those of its collectives 2 n + 1.
        members: its ranks.
        rank: that of this process.
    """

    __slots__ = (
        *("number", "members", "rank", "name", "attributes", "info", "topology", "collectives", "space"),
        *("is_freed", "locks", "ranks", "size", "texts"),
    )

    def __init__(self, number: int, members: Members, rank: int, topology: Any = None) -> None:
        self.number, self.members, self.rank, self.topology = number, members, rank, topology
        self.ranks: Sequence[int] = members.ranks
        """World ranks."""
        self.size = len(self.ranks)
        """Number of ranks."""
        self.name = ""
        self.attributes: dict[int, Any] = {}
        self.info: dict[str, str] = {}
        self.collectives = 0
        """Number of collectives that this rank has begun."""
        self.space: Any = None
        """Attached buffer of buffered sends."""
        self.is_freed = False
        self.locks: dict[str, Any] = {}
        self.texts: dict[tuple[str, bool, int, int], str] = {}
        """Descriptions of recent calls, which most programs repeat: call, whether it receives, peer, tag."""

    def rank_of(self, world: int) -> int:
        """Rank of a world rank."""
        return self.members.place(world)

    def check_peer(self, rank: int, what: str) -> None:
        """Raises ERR_RANK for a rank that there is not."""
        if type(rank) is not int:
            require_whole(rank, what, constants.ERR_RANK)
        if not 0 <= rank < self.size:
            raise Exception(
                constants.ERR_RANK, f"{what} = {rank}: must be 0 to {self.size - 1}, or MPI.PROC_NULL"
            )


def _check_tag(tag: int, any_too: bool) -> None:
    if not 0 <= tag <= constants.TAG_UB_VALUE and not (any_too and tag == constants.ANY_TAG):
        raise Exception(constants.ERR_TAG, f"tag = {tag}: must be 0 to {constants.TAG_UB_VALUE}")


def _require_message(what: str, peer: object, tag: object) -> None:
    """Raises ERR_RANK or ERR_TAG if a message's peer or tag is no whole number."""
    require_whole(peer, what, constants.ERR_RANK)
    require_whole(tag, "tag", constants.ERR_TAG)


def describe(comm: Communicator, name: str, receives: bool, peer: int, tag: int) -> str:
    """Describes a call with its peer and tag, and keeps the text if these are plain numbers."""
    if receives:
        text = f"{name or 'Recv'}(source={_any(peer)}, tag={_any(tag)})"
    else:
        text = f"{name or 'Send'}(dest={peer}, tag={tag})"
    _require_message("source" if receives else "dest", peer, tag)
    if type(peer) is int and type(tag) is int:
        if len(comm.texts) >= MOST_TEXTS:
            comm.texts.clear()
        comm.texts[name, receives, peer, tag] = text
    return text


def refuse(comm: Communicator, what: str, peer: int, tag: int) -> None:
    """Raises what is wrong with a message's tag or peer."""
    _check_tag(tag, any_too=what == "source")
    comm.check_peer(peer, what)


def check_send(comm: Communicator, dest: int, tag: int) -> None:
    """Raises ERR_RANK or ERR_TAG for a receiver or a tag that there is not."""
    if type(dest) is not int or type(tag) is not int:
        _require_message("dest", dest, tag)
    if dest == constants.PROC_NULL:
        _check_tag(tag, any_too=False)
    elif not (0 <= tag <= TAG_UB and 0 <= dest < comm.size):
        refuse(comm, "dest", dest, tag)


def start_send(
    process: Process, comm: Communicator, message: Data, dest: int, tag: int, mode: int = STANDARD
) -> Operation:
    """Starts a send."""
    check_send(comm, dest, tag)
    call = f"{process.call or 'Send'}(dest={dest}, tag={tag})"
    if dest == constants.PROC_NULL:
        return DoneOperation(call)
    data = message if type(message) is memoryview else message.pack()
    world = comm.ranks[dest]
    operation = SendOperation(call)
    operation.keep = (message, data)
    operation.partners = (world,)
    process.messages += 1
    process.bytes += len(data)
    if mode == BUFFERED:
        _start_buffered(process, comm, data, world, tag, call)
        operation.is_done = True
        return operation
    operation.pending = [process.endpoint.isend(data, world, tag, 2 * comm.number, mode, call)]
    return operation


def start_receive(process: Process, comm: Communicator, message: Data, source: int, tag: int) -> Operation:
    """Starts a receive."""
    world, peers = expected_of(comm, source, tag)
    call = f"{process.call or 'Recv'}(source={_any(source)}, tag={_any(tag)})"
    if source == constants.PROC_NULL:
        return DoneOperation(call, constants.PROC_NULL)
    target, block = target_of(message)
    operation = ReceiveOperation(call, comm, target, block)
    operation.keep = message
    operation.partners = peers
    operation.pending = [process.endpoint.irecv(target, world, tag, 2 * comm.number, call)]
    return operation


def expected_of(comm: Communicator, source: int, tag: int) -> tuple[int, Sequence[int]]:
    """World rank of a receive's source, or any, and those that may send its message.

    Raises:
        Exception: ERR_RANK or ERR_TAG for a source or a tag that there is not.
    """
    if type(source) is not int or type(tag) is not int:
        _require_message("source", source, tag)
    if not 0 <= tag <= TAG_UB and tag != ANY:
        _check_tag(tag, any_too=True)
    if source == ANY:
        return source, comm.ranks
    if source == constants.PROC_NULL:
        return source, ()
    if not 0 <= source < comm.size:
        comm.check_peer(source, "source")
    world = comm.ranks[source]
    return world, (world,)


def _any(value: int) -> Any:
    return "any" if value == constants.ANY_SOURCE else value


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
    if type(source) is not int or type(tag) is not int:
        _require_message("source", source, tag)
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
