"""Collectives of objects: their sizes first, then their bytes, as mpi4py does."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

from fabricsim.mpi import buffered, constants
from fabricsim.mpi.begin import begin, check_root, run, run_now
from fabricsim.mpi.collective_calls import exchange_numbers
from fabricsim.mpi.collectives.channel import Channel
from fabricsim.mpi.communicator import Communicator
from fabricsim.mpi.operations import Schedule
from fabricsim.mpi.ops import SUM
from fabricsim.mpi.pickling import pickle
from fabricsim.mpi.process import measured


def _number(value: int) -> memoryview:
    return memoryview(bytearray(value.to_bytes(8, "little")))


def _value(view: memoryview) -> int:
    return int.from_bytes(view, "little")


def _load(data: memoryview) -> Any:
    return pickle.loads(data) if len(data) else None


def _dumps_each(values: Sequence[Any] | None, size: int) -> list[memoryview]:
    items = [None] * size if values is None else list(values)
    if len(items) != size:
        raise ValueError(f"expecting {size} items, got {len(items)}")
    return [memoryview(pickle.dumps(item)) for item in items]


class ObjectCollectives:
    """Mixed into `Comm`."""

    _data: Callable[[], Communicator]

    def _enter(self, name: str) -> Communicator:
        comm = self._data()
        comm.locks.setdefault(name, threading.Lock())
        return comm

    @measured
    def barrier(self) -> None:
        """Waits for all ranks."""
        run_now(buffered.barrier(self._data(), "Barrier"))

    @measured
    def bcast(self, obj: Any, root: int = 0) -> Any:
        """Returns the root's object at all ranks."""
        comm = self._enter("bcast")
        check_root(comm, root)
        data = memoryview(pickle.dumps(obj)) if comm.rank == root else memoryview(b"")
        length = _number(len(data))
        run(buffered.bcast_bytes(comm, "bcast", length, root, 1))
        if comm.rank != root:
            data = memoryview(bytearray(_value(length)))
        run(buffered.bcast_bytes(comm, "bcast", data, root, len(data)))
        return _load(data)

    def _gather(self, comm: Communicator, name: str, sendobj: Any, root: int) -> list[Any] | None:
        data = pickle.dumps(sendobj)
        lengths = bytearray(8 * comm.size)
        run(buffered.gather(comm, name, bytes(_number(len(data))), lengths, root, False)())
        if comm.rank != root:
            run(buffered.gather(comm, name, data, None, root, True)())
            return None
        sizes = [_value(memoryview(lengths)[8 * k : 8 * k + 8]) for k in range(comm.size)]
        whole = bytearray(sum(sizes))
        run(buffered.gather(comm, name, data, [whole, sizes], root, True)())
        return _split(whole, sizes)

    @measured
    def gather(self, sendobj: Any, root: int = 0) -> list[Any] | None:
        """Returns the objects of all ranks at the root."""
        comm = self._enter("gather")
        check_root(comm, root)
        return self._gather(comm, "gather", sendobj, root)

    def _scatter(self, comm: Communicator, name: str, sendobj: Any, root: int) -> Any:
        is_root = comm.rank == root
        items = _dumps_each(sendobj, comm.size) if is_root else []
        length = bytearray(8)
        lengths = b"".join(bytes(_number(len(item))) for item in items)
        run(buffered.scatter(comm, name, lengths if is_root else None, length, root, False)())
        data = bytearray(_value(memoryview(length)))
        message = [b"".join(items), [len(item) for item in items]] if is_root else None
        run(buffered.scatter(comm, name, message, data, root, True)())
        return _load(memoryview(data))

    @measured
    def scatter(self, sendobj: Sequence[Any] | None, root: int = 0) -> Any:
        """Returns an object of the root's list at each rank."""
        comm = self._enter("scatter")
        check_root(comm, root)
        return self._scatter(comm, "scatter", sendobj, root)

    def _allgather(self, comm: Communicator, name: str, sendobj: Any) -> list[Any]:
        data = pickle.dumps(sendobj)
        sizes = exchange_numbers(comm, name, len(data))
        views = [memoryview(bytearray(size)) for size in sizes]
        views[comm.rank][:] = data
        run(buffered.allgather_views(comm, name, views, "allgatherv"))
        return [_load(view) for view in views]

    @measured
    def allgather(self, sendobj: Any) -> list[Any]:
        """Returns the objects of all ranks at all ranks."""
        return self._allgather(self._enter("allgather"), "allgather", sendobj)

    @measured
    def alltoall(self, sendobj: Sequence[Any]) -> list[Any]:
        """Returns an object of each rank's list."""
        comm = self._enter("alltoall")
        sent = _dumps_each(sendobj, comm.size)
        lengths = [memoryview(bytearray(8)) for _ in range(comm.size)]
        numbers = [_number(len(one)) for one in sent]
        lengths[comm.rank][:] = numbers[comm.rank]
        run(buffered.alltoall_views(comm, "alltoall", numbers, lengths, "alltoall"))
        received = [memoryview(bytearray(_value(one))) for one in lengths]
        received[comm.rank][:] = sent[comm.rank]
        run(buffered.alltoall_views(comm, "alltoall", sent, received, "alltoallv"))
        return [_load(one) for one in received]

    @measured
    def reduce(self, sendobj: Any, op: Any = SUM, root: int = 0) -> Any:
        """Returns the objects of all ranks, combined, at the root."""
        comm = self._enter("reduce")
        check_root(comm, root)
        return _tree(comm, "reduce", sendobj, op, root)

    @measured
    def allreduce(self, sendobj: Any, op: Any = SUM) -> Any:
        """Returns the objects of all ranks, combined, at all ranks."""
        comm = self._enter("allreduce")
        found = _tree(comm, "allreduce", sendobj, op, 0)
        return ObjectCollectives.bcast(self, found, 0)


class ObjectScans:
    """Mixed into `Intracomm`."""

    _data: Callable[[], Communicator]

    @measured
    def scan(self, sendobj: Any, op: Any = SUM) -> Any:
        """Returns the objects of the ranks up to this one, combined."""
        return _prefix(self._data(), "scan", sendobj, op, exclusive=False)

    @measured
    def exscan(self, sendobj: Any, op: Any = SUM) -> Any:
        """Returns the objects of the ranks before this one, combined; None at rank 0."""
        return _prefix(self._data(), "exscan", sendobj, op, exclusive=True)


def _split(whole: bytearray, sizes: Sequence[int]) -> list[Any]:
    found, at = [], 0
    for size in sizes:
        found.append(_load(memoryview(whole)[at : at + size]))
        at += size
    return found


def _send(c: Channel, obj: Any, dest: int) -> Schedule:
    data = pickle.dumps(obj)
    yield [c.isend(_number(len(data)), dest), c.isend(memoryview(data), dest)]


def _receive(c: Channel, source: int) -> Schedule:
    length = memoryview(bytearray(8))
    yield [c.irecv(length, source)]
    data = memoryview(bytearray(_value(length)))
    yield [c.irecv(data, source)]
    return _load(data)


def _tree(comm: Communicator, name: str, sendobj: Any, op: Any, root: int) -> Any:
    """A reduction along a binomial tree to rank 0, in rank order; the result goes to the root."""
    result: list[Any] = []

    def schedule(c: Channel) -> Schedule:
        found, mask = pickle.loads(pickle.dumps(sendobj)), 1
        while mask < c.size:
            if c.rank & mask:
                yield from _send(c, found, c.rank & ~mask)
                break
            if c.rank | mask < c.size:
                other = yield from _receive(c, c.rank | mask)
                found = op(found, other)
            mask *= 2
        if root and c.rank == 0:
            yield from _send(c, found, root)
        elif root and c.rank == root:
            found = yield from _receive(c, 0)
        result.append(found)

    run(begin(comm, name, f"root={root}", schedule))
    return result[0] if comm.rank == root else None


def _prefix(comm: Communicator, name: str, sendobj: Any, op: Any, exclusive: bool) -> Any:
    result: list[Any] = []

    def schedule(c: Channel) -> Schedule:
        partial = pickle.loads(pickle.dumps(sendobj))
        found, has_result, distance = partial, not exclusive, 1
        while distance < c.size:
            partner = c.rank ^ distance
            if partner < c.size:
                data = memoryview(pickle.dumps(partial))
                length = memoryview(bytearray(8))
                yield [c.irecv(length, partner), c.isend(_number(len(data)), partner)]
                buffer = memoryview(bytearray(_value(length)))
                yield [c.irecv(buffer, partner), c.isend(data, partner)]
                other = _load(buffer)
                if partner < c.rank:
                    partial = op(other, partial)
                    found = op(other, found) if has_result else other
                    has_result = True
                else:
                    partial = op(partial, other)
            distance *= 2
        result.append(found if has_result else None)

    run(begin(comm, name, "", schedule))
    return result[0]


class NeighbourObjects:
    """Mixed into `Topocomm`."""

    _data: Callable[[], Communicator]
    inoutedges: tuple[list[int], list[int]]

    def _exchange(self, name: str, sent: list[memoryview]) -> list[Any]:
        comm, edges = self._data(), self.inoutedges
        lengths = [memoryview(bytearray(8)) for _ in edges[0]]
        run(buffered.neighbour_views(comm, name, [_number(len(one)) for one in sent], lengths, edges))
        received = [
            memoryview(bytearray(_value(one) if rank != constants.PROC_NULL else 0))
            for one, rank in zip(lengths, edges[0], strict=True)
        ]
        run(buffered.neighbour_views(comm, name, sent, received, edges))
        return [_load(one) for one in received]

    @measured
    def neighbor_allgather(self, sendobj: Any) -> list[Any]:
        """Returns the objects of the neighbours."""
        data = memoryview(pickle.dumps(sendobj))
        return self._exchange("neighbor_allgather", [data] * len(self.inoutedges[1]))

    @measured
    def neighbor_alltoall(self, sendobj: list[Any]) -> list[Any]:
        """Returns an object of each neighbour's list."""
        return self._exchange("neighbor_alltoall", _dumps_each(sendobj, len(self.inoutedges[1])))
