"""Reductions of buffers: as `buffered`, a function for each one checks its arguments and returns what starts it."""

from __future__ import annotations

from typing import Any

from fabricsim.mpi.begin import Start, algorithm, begin, check_root, reduction, writable
from fabricsim.mpi.buffers import Block, check_pair, is_in_place, simple
from fabricsim.mpi.communicator import Communicator
from fabricsim.mpi.operations import CollectiveOperation
from fabricsim.mpi.process import current


def _operands(sendbuf: Any, recvbuf: Any) -> tuple[Block, Block | None]:
    """The block of the result, and that of the operand, if it is another one."""
    block = simple(recvbuf, True, 0)
    block.check("a receive")
    if is_in_place(sendbuf):
        return block, None
    source = simple(sendbuf, False, 0)
    check_pair(source, block)
    source.check("a message")
    return block, source


def _loaded(block: Block, source: Block | None) -> tuple[memoryview, Any]:
    """Bytes of the result's block, which have the operand, and the function that brings them to their places."""
    data, finish = writable(block)
    if source is not None:
        data[:] = source.pack()
    return data, finish


def reduce(comm: Communicator, name: str, sendbuf: Any, recvbuf: Any, op: Any, root: int) -> Start:
    """A reduction to one rank."""
    check_root(comm, root)
    is_root = comm.rank == root
    source: Block | None = None
    if is_root:
        block, source = _operands(sendbuf, recvbuf)
    else:
        block = simple(sendbuf, False, 0)
        block.check("a message")
    r = reduction(op, block.layout)
    key = f"root={root}, op={op._ref.name}"

    def start() -> CollectiveOperation:
        data, finish = _loaded(block, source) if is_root else (memoryview(bytearray(block.pack())), None)
        function, segment = algorithm(current(), "reduce", comm.size, len(data), block.count, r.commutes)
        operation = begin(
            comm,
            name,
            key,
            lambda c: function(c, data, root, r, segment) if len(data) else iter(()),
            finish,
        )
        operation.keep = block
        return operation

    return start


def allreduce(comm: Communicator, name: str, sendbuf: Any, recvbuf: Any, op: Any) -> Start:
    """A reduction to all ranks."""
    block, source = _operands(sendbuf, recvbuf)
    r = reduction(op, block.layout)
    key = f"op={op._ref.name}"

    def start() -> CollectiveOperation:
        data, finish = _loaded(block, source)
        function, segment = algorithm(current(), "allreduce", comm.size, len(data), block.count, r.commutes)
        operation = begin(
            comm,
            name,
            key,
            lambda c: function(c, data, r, segment) if len(data) and c.size > 1 else iter(()),
            finish,
        )
        operation.keep = block
        return operation

    return start


def scan(comm: Communicator, name: str, sendbuf: Any, recvbuf: Any, op: Any, exclusive: bool) -> Start:
    """A prefix reduction."""
    block, source = _operands(sendbuf, recvbuf)
    r = reduction(op, block.layout)
    key = f"op={op._ref.name}"
    kind = "exscan" if exclusive else "scan"

    def start() -> CollectiveOperation:
        data, back = writable(block)
        result = memoryview(bytearray((source or block).pack()))
        function, _ = algorithm(current(), kind, comm.size, len(data), block.count, r.commutes)

        def finish() -> None:
            if not exclusive or comm.rank:
                data[:] = result
                back()

        operation = begin(
            comm,
            name,
            key,
            lambda c: function(c, result, r, exclusive) if len(data) else iter(()),
            finish,
        )
        operation.keep = block
        return operation

    return start


def _reduce_scatter(
    comm: Communicator, name: str, source: Block, counts: list[int], target: Block, op: Any, kind: str
) -> Start:
    r = reduction(op, source.layout)
    source.check("a message")
    target.check("a receive")
    key = f"op={op._ref.name}"

    def start() -> CollectiveOperation:
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
            key,
            lambda c: function(c, views, r, segment) if len(data) and c.size > 1 else iter(()),
            finish,
        )
        operation.keep = (source, target)
        return operation

    return start


def reduce_scatter_block(comm: Communicator, name: str, sendbuf: Any, recvbuf: Any, op: Any) -> Start:
    """A reduction whose result is spread in equal blocks."""
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
) -> Start:
    """A reduction whose result is spread in blocks of given counts."""
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
