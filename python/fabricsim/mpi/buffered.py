"""Collectives of buffers: a function for each one starts it. Blocking calls wait for it, non-blocking ones do not."""

from __future__ import annotations

from typing import Any

from fabricsim.mpi import constants
from fabricsim.mpi.begin import (
    algorithm,
    begin,
    check_root,
    copy,
    reduction,
    targets,
    writable,
)
from fabricsim.mpi.buffers import (
    Block,
    check_pair,
    is_in_place,
    repeated,
    simple,
    vector,
    vector_w,
)
from fabricsim.mpi.communicator import Communicator
from fabricsim.mpi.operations import CollectiveOperation
from fabricsim.mpi.process import current


def barrier(comm: Communicator, name: str) -> CollectiveOperation:
    """Starts a barrier."""
    function, _ = algorithm(current(), "barrier", comm.size, 0, 0)
    return begin(comm, name, "", lambda c: function(c) if comm.size > 1 else iter(()))


def bcast(comm: Communicator, name: str, buf: Any, root: int) -> CollectiveOperation:
    """Starts a broadcast."""
    check_root(comm, root)
    block = simple(buf, writable=comm.rank != root)
    if comm.rank == root:
        data, finish = memoryview(block.pack()), None
    else:
        data, finish = writable(block)
    return bcast_bytes(comm, name, data, root, block.count, finish)


def bcast_bytes(
    comm: Communicator, name: str, data: memoryview, root: int, count: int, finish: Any = None
) -> CollectiveOperation:
    """Starts a broadcast of bytes."""
    function, segment = algorithm(current(), "bcast", comm.size, len(data), count)
    operation = begin(comm, name, f"root={root}", lambda c: function(c, data, root, segment), finish)
    operation.keep = data
    return operation


def gather(
    comm: Communicator, name: str, sendbuf: Any, recvbuf: Any, root: int, is_vector: bool
) -> CollectiveOperation:
    """Starts a gathering at one rank."""
    check_root(comm, root)
    blocks: list[Block] = []
    if comm.rank == root:
        blocks = (
            vector(recvbuf, True, comm.size)
            if is_vector
            else repeated(simple(recvbuf, True, comm.size), comm.size)
        )
        own = blocks[root] if is_in_place(sendbuf) else simple(sendbuf)
        views, finish = targets(blocks)
        data = own.pack()
        if not is_in_place(sendbuf):
            copy(data, views[root])
    else:
        own = simple(sendbuf)
        data, views, finish = own.pack(), [], None
    kind = "gatherv" if is_vector else "gather"
    size = len(views[root]) if views else len(data)
    function, segment = algorithm(current(), kind, comm.size, size, own.count)
    operation = begin(comm, name, f"root={root}", lambda c: function(c, data, views, root, segment), finish)
    operation.keep = (own, blocks)
    return operation


def scatter(
    comm: Communicator, name: str, sendbuf: Any, recvbuf: Any, root: int, is_vector: bool
) -> CollectiveOperation:
    """Starts a scattering from one rank."""
    check_root(comm, root)
    blocks: list[Block] = []
    finish: Any = None
    if comm.rank == root:
        blocks = (
            vector(sendbuf, False, comm.size)
            if is_vector
            else repeated(simple(sendbuf, False, comm.size), comm.size)
        )
        views = [block.pack() for block in blocks]
        data = memoryview(views[root])
        if not is_in_place(recvbuf):
            own, finish = writable(simple(recvbuf, True))
            copy(data, own)
    else:
        views = []
        data, finish = writable(simple(recvbuf, True))
    kind = "scatterv" if is_vector else "scatter"
    function, segment = algorithm(current(), kind, comm.size, len(data), 1)
    operation = begin(comm, name, f"root={root}", lambda c: function(c, data, views, root, segment), finish)
    operation.keep = (blocks, sendbuf, recvbuf)
    return operation


def allgather(
    comm: Communicator, name: str, sendbuf: Any, recvbuf: Any, is_vector: bool
) -> CollectiveOperation:
    """Starts a gathering at all ranks."""
    blocks = (
        vector(recvbuf, True, comm.size)
        if is_vector
        else repeated(simple(recvbuf, True, comm.size), comm.size)
    )
    views, finish = targets(blocks)
    if not is_in_place(sendbuf):
        copy(simple(sendbuf).pack(), views[comm.rank])
    operation = allgather_views(comm, name, views, "allgatherv" if is_vector else "allgather", finish)
    operation.keep = (blocks, recvbuf)
    return operation


def allgather_views(
    comm: Communicator, name: str, views: list[memoryview], kind: str, finish: Any = None
) -> CollectiveOperation:
    """Starts a gathering of bytes at all ranks."""
    total = sum(len(view) for view in views)
    function, _ = algorithm(current(), kind, comm.size, total, total)
    return begin(comm, name, "", lambda c: function(c, views), finish)


def alltoall(comm: Communicator, name: str, sendbuf: Any, recvbuf: Any, kind: str) -> CollectiveOperation:
    """Starts an exchange of all with all; kind: `alltoall`, `alltoallv` or `alltoallw`."""

    def blocks_of(message: Any, writes: bool) -> list[Block]:
        if kind == "alltoallw":
            return vector_w(message, writes, comm.size)
        if kind == "alltoallv":
            return vector(message, writes, comm.size)
        return repeated(simple(message, writes, comm.size), comm.size)

    received = blocks_of(recvbuf, True)
    if is_in_place(sendbuf):
        sent = [memoryview(bytes(block.pack())) for block in received]
        kept: Any = received
    else:
        kept = blocks_of(sendbuf, False)
        sent = [block.pack() for block in kept]
    views, finish = targets(received)
    copy(sent[comm.rank], views[comm.rank])
    operation = alltoall_views(comm, name, sent, views, kind, finish)
    operation.keep = (kept, received, sendbuf, recvbuf)
    return operation


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


def _operands(sendbuf: Any, recvbuf: Any) -> tuple[Block, memoryview, Any]:
    """The block of the result, which has the operand, and its bytes."""
    block = simple(recvbuf, True, 0)
    data, finish = writable(block)
    if not is_in_place(sendbuf):
        source = simple(sendbuf, False, 0)
        check_pair(source, block)
        data[:] = source.pack()
    return block, data, finish


def reduce(
    comm: Communicator, name: str, sendbuf: Any, recvbuf: Any, op: Any, root: int
) -> CollectiveOperation:
    """Starts a reduction to one rank."""
    check_root(comm, root)
    finish: Any = None
    if comm.rank == root:
        block, data, finish = _operands(sendbuf, recvbuf)
    else:
        block = simple(sendbuf, False, 0)
        data = memoryview(bytearray(block.pack()))
    r = reduction(op, block.layout)
    function, segment = algorithm(current(), "reduce", comm.size, len(data), block.count, r.commutes)
    key = f"root={root}, op={op._ref.name}"
    operation = begin(
        comm, name, key, lambda c: function(c, data, root, r, segment) if len(data) else iter(()), finish
    )
    operation.keep = (block, recvbuf)
    return operation


def allreduce(comm: Communicator, name: str, sendbuf: Any, recvbuf: Any, op: Any) -> CollectiveOperation:
    """Starts a reduction to all ranks."""
    block, data, finish = _operands(sendbuf, recvbuf)
    r = reduction(op, block.layout)
    function, segment = algorithm(current(), "allreduce", comm.size, len(data), block.count, r.commutes)
    operation = begin(
        comm,
        name,
        f"op={op._ref.name}",
        lambda c: function(c, data, r, segment) if len(data) and c.size > 1 else iter(()),
        finish,
    )
    operation.keep = (block, recvbuf)
    return operation


def scan(
    comm: Communicator, name: str, sendbuf: Any, recvbuf: Any, op: Any, exclusive: bool
) -> CollectiveOperation:
    """Starts a prefix reduction."""
    block = simple(recvbuf, True, 0)
    data, back = writable(block)
    source = block if is_in_place(sendbuf) else simple(sendbuf, False, 0)
    if source is not block:
        check_pair(source, block)
    r = reduction(op, block.layout)
    result = memoryview(bytearray(source.pack()))
    kind = "exscan" if exclusive else "scan"
    function, _ = algorithm(current(), kind, comm.size, len(data), block.count, r.commutes)

    def finish() -> None:
        if not exclusive or comm.rank:
            data[:] = result
            back()

    operation = begin(
        comm,
        name,
        f"op={op._ref.name}",
        lambda c: function(c, result, r, exclusive) if len(data) else iter(()),
        finish,
    )
    operation.keep = (block, recvbuf)
    return operation


def _reduce_scatter(
    comm: Communicator, name: str, source: Block, counts: list[int], target: Block, op: Any, kind: str
) -> CollectiveOperation:
    r = reduction(op, source.layout)
    data = memoryview(bytearray(source.pack()))
    views, at = [], 0
    for count in counts:
        views.append(data[at : at + count * source.layout.size])
        at += len(views[-1])

    def finish() -> None:
        target.unpack(views[comm.rank])

    function, segment = algorithm(current(), kind, comm.size, len(data), sum(counts), r.commutes)
    operation = begin(
        comm,
        name,
        f"op={op._ref.name}",
        lambda c: function(c, views, r, segment) if len(data) and c.size > 1 else iter(()),
        finish,
    )
    operation.keep = (source, target)
    return operation


def reduce_scatter_block(
    comm: Communicator, name: str, sendbuf: Any, recvbuf: Any, op: Any
) -> CollectiveOperation:
    """Starts a reduction whose result is spread in equal blocks."""
    if is_in_place(sendbuf):
        target = simple(recvbuf, True, comm.size)
        source = Block(target.memory, target.address, target.count * comm.size, target.layout, target.null)
    else:
        target, one = simple(recvbuf, True, 0), simple(sendbuf, False, comm.size)
        check_pair(one, target)
        source = Block(one.memory, one.address, one.count * comm.size, one.layout, one.null)
    counts = [target.count] * comm.size
    return _reduce_scatter(comm, name, source, counts, target, op, "reduce_scatter_block")


def reduce_scatter(
    comm: Communicator, name: str, sendbuf: Any, recvbuf: Any, counts: list[int], op: Any
) -> CollectiveOperation:
    """Starts a reduction whose result is spread in blocks of given counts."""
    target = simple(recvbuf, True, 0)
    in_place = is_in_place(sendbuf)
    source = target if in_place else simple(sendbuf, False, 0)
    if in_place:
        if target.count != sum(counts):
            raise ValueError(f"mismatch in receive count {target.count} and sum(counts) {sum(counts)}")
    else:
        if source.layout is not target.layout:
            raise ValueError("mismatch in send and receive MPI datatypes")
        if source.count != sum(counts):
            raise ValueError(f"mismatch in send count {source.count} and sum(counts) {sum(counts)}")
        if target.count != counts[comm.rank]:
            raise ValueError(
                f"mismatch in receive count {target.count} and counts[{comm.rank}] {counts[comm.rank]}"
            )
    place = Block(target.memory, target.address, counts[comm.rank], target.layout, target.null)
    return _reduce_scatter(comm, name, source, counts, place, op, "reduce_scatter")


def neighbours(
    comm: Communicator,
    name: str,
    sent: list[Block],
    received: list[Block],
    edges: tuple[list[int], list[int]],
) -> CollectiveOperation:
    """Starts an exchange with neighbours: ranks of `edges`, those from which messages come first."""
    views, finish = targets(received)
    out = [block.pack() for block in sent]
    operation = neighbour_views(comm, name, out, views, edges, finish)
    operation.keep = (sent, received)
    return operation


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
