"""Collectives of buffers: a function for each one checks its arguments and returns the function that starts it.

Blocking calls wait for it, non-blocking ones do not, persistent ones start it again and again. Persistent collectives
report wrong arguments before any start: hence the checks are apart. Each start reads the buffers.
"""

from __future__ import annotations

from typing import Any

from fabricsim.mpi import constants
from fabricsim.mpi.begin import (
    Start,
    algorithm,
    begin,
    check_messages,
    check_receives,
    check_room,
    check_root,
    copy,
    targets,
    writable,
)
from fabricsim.mpi.buffers import (
    Block,
    check_data,
    is_in_place,
    repeated,
    simple,
    vector,
    vector_w,
)
from fabricsim.mpi.communicator import Communicator
from fabricsim.mpi.operations import CollectiveOperation
from fabricsim.mpi.process import current


def barrier(comm: Communicator, name: str) -> Start:
    """A barrier."""

    def start() -> CollectiveOperation:
        function, _ = algorithm(current(), "barrier", comm.size, 0, 0)
        return begin(comm, name, "", lambda c: function(c) if comm.size > 1 else iter(()))

    return start


def bcast(comm: Communicator, name: str, buf: Any, root: int) -> Start:
    """A broadcast."""
    check_root(comm, root)
    is_root = comm.rank == root
    block = simple(buf, writable=not is_root)
    check_data(block, writable=not is_root)

    def start() -> CollectiveOperation:
        data, finish = (memoryview(block.pack()), None) if is_root else writable(block)
        return bcast_bytes(comm, name, data, root, block.count, finish)

    return start


def bcast_bytes(
    comm: Communicator, name: str, data: memoryview, root: int, count: int, finish: Any = None
) -> CollectiveOperation:
    """Starts a broadcast of bytes."""
    function, segment = algorithm(current(), "bcast", comm.size, len(data), count)
    operation = begin(comm, name, f"root={root}", lambda c: function(c, data, root, segment), finish)
    operation.keep = data
    return operation


def gather(comm: Communicator, name: str, sendbuf: Any, recvbuf: Any, root: int, is_vector: bool) -> Start:
    """A gathering at one rank."""
    check_root(comm, root)
    blocks: list[Block] = []
    if comm.rank == root:
        blocks = _blocks(recvbuf, True, comm.size, is_vector)
    is_in_blocks = comm.rank == root and is_in_place(sendbuf)
    own = blocks[root] if is_in_blocks else simple(sendbuf)
    check_receives(blocks)
    own.check("a message")
    if blocks:
        check_room(own, blocks[root])
    kind = "gatherv" if is_vector else "gather"

    def start() -> CollectiveOperation:
        views, finish = targets(blocks)
        data = own.pack()
        if views and not is_in_blocks:
            copy(data, views[root])
        size = len(views[root]) if views else len(data)
        function, segment = algorithm(current(), kind, comm.size, size, own.count)
        operation = begin(
            comm, name, f"root={root}", lambda c: function(c, data, views, root, segment), finish
        )
        operation.keep = (own, blocks)
        return operation

    return start


def scatter(comm: Communicator, name: str, sendbuf: Any, recvbuf: Any, root: int, is_vector: bool) -> Start:
    """A scattering from one rank."""
    check_root(comm, root)
    blocks: list[Block] = []
    if comm.rank == root:
        blocks = _blocks(sendbuf, False, comm.size, is_vector)
        check_messages(blocks)
    own = None if comm.rank == root and is_in_place(recvbuf) else simple(recvbuf, True)
    if own is not None:
        own.check("a receive")
        if blocks:
            check_room(blocks[root], own)
    kind = "scatterv" if is_vector else "scatter"

    def start() -> CollectiveOperation:
        views = [block.pack() for block in blocks]
        place, finish = writable(own) if own is not None else (None, None)
        data = memoryview(views[root]) if views else place
        assert data is not None  # a rank that is not the root has a place
        if views and place is not None:
            copy(data, place)
        function, segment = algorithm(current(), kind, comm.size, len(data), 1)
        operation = begin(
            comm, name, f"root={root}", lambda c: function(c, data, views, root, segment), finish
        )
        operation.keep = (blocks, own)
        return operation

    return start


def allgather(comm: Communicator, name: str, sendbuf: Any, recvbuf: Any, is_vector: bool) -> Start:
    """A gathering at all ranks."""
    blocks = _blocks(recvbuf, True, comm.size, is_vector)
    check_receives(blocks)
    own = None if is_in_place(sendbuf) else simple(sendbuf)
    if own is not None:
        own.check("a message")
        check_room(own, blocks[comm.rank])

    def start() -> CollectiveOperation:
        views, finish = targets(blocks)
        if own is not None:
            copy(own.pack(), views[comm.rank])
        operation = allgather_views(comm, name, views, "allgatherv" if is_vector else "allgather", finish)
        operation.keep = blocks
        return operation

    return start


def _blocks(message: Any, writable: bool, ranks: int, is_vector: bool) -> list[Block]:
    """The blocks of all ranks."""
    if is_vector:
        return vector(message, writable, ranks)
    return repeated(simple(message, writable, ranks), ranks)


def allgather_views(
    comm: Communicator, name: str, views: list[memoryview], kind: str, finish: Any = None
) -> CollectiveOperation:
    """Starts a gathering of bytes at all ranks."""
    total = sum(len(view) for view in views)
    function, _ = algorithm(current(), kind, comm.size, total, total)
    return begin(comm, name, "", lambda c: function(c, views), finish)


def alltoall(comm: Communicator, name: str, sendbuf: Any, recvbuf: Any, kind: str) -> Start:
    """An exchange of all with all; kind: `alltoall`, `alltoallv` or `alltoallw`."""

    def blocks_of(message: Any, writes: bool) -> list[Block]:
        if kind == "alltoallw":
            return vector_w(message, writes, comm.size)
        return _blocks(message, writes, comm.size, kind == "alltoallv")

    received = blocks_of(recvbuf, True)
    sent = None if is_in_place(sendbuf) else blocks_of(sendbuf, False)
    if sent is not None:
        check_messages(sent)
        check_room(sent[comm.rank], received[comm.rank])
    check_receives(received)

    def start() -> CollectiveOperation:
        if sent is None:
            out = [memoryview(bytes(block.pack())) for block in received]
        else:
            out = [block.pack() for block in sent]
        views, finish = targets(received)
        copy(out[comm.rank], views[comm.rank])
        operation = alltoall_views(comm, name, out, views, kind, finish)
        operation.keep = (sent, received)
        return operation

    return start


def alltoall_views(
    comm: Communicator,
    name: str,
    sent: list[memoryview],
    received: list[memoryview],
    kind: str,
    finish: Any = None,
) -> CollectiveOperation:
    """Starts an exchange of bytes of all with all."""
    function, _ = algorithm(current(), kind, comm.size, len(received[comm.rank]), 1)
    return begin(comm, name, "", lambda c: function(c, sent, received), finish)


def neighbours(
    comm: Communicator,
    name: str,
    sent: list[Block],
    received: list[Block],
    edges: tuple[list[int], list[int]],
) -> Start:
    """An exchange with neighbours: ranks of `edges`, those from which messages come first."""
    check_receives(received)
    check_messages(sent)

    def start() -> CollectiveOperation:
        views, finish = targets(received)
        out = [block.pack() for block in sent]
        operation = neighbour_views(comm, name, out, views, edges, finish)
        operation.keep = (sent, received)
        return operation

    return start


def neighbour_views(
    comm: Communicator,
    name: str,
    sent: list[memoryview],
    received: list[memoryview],
    edges: tuple[list[int], list[int]],
    finish: Any = None,
) -> CollectiveOperation:
    """Starts an exchange of bytes with neighbours."""
    function, _ = algorithm(current(), "neighbourhood", comm.size, sum(map(len, sent)), 1)
    pairs = comm.topology is not None and comm.topology.kind == constants.CART
    return begin(comm, name, "", lambda c: function(c, edges[0], received, edges[1], sent, pairs), finish)
