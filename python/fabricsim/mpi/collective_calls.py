"""Calls of communicators in which all ranks take part, with buffers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from fabricsim.mpi import buffered
from fabricsim.mpi.begin import run
from fabricsim.mpi.communicator import Communicator
from fabricsim.mpi.ops import SUM, Op
from fabricsim.mpi.process import measured
from fabricsim.mpi.request import Request


def _blocking(name: str, starts: Callable[..., Any], signature: Callable[..., tuple[Any, ...]]) -> Any:
    def call(self: Any, *args: Any, **kwargs: Any) -> None:
        run(starts(self._data(), name, *signature(self, *args, **kwargs)))

    return _named(call, name, f"{name}: waits until it is complete for this rank.")


def _starting(name: str, starts: Callable[..., Any], signature: Callable[..., tuple[Any, ...]]) -> Any:
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        return Request._of(starts(self._data(), name, *signature(self, *args, **kwargs)))

    return _named(call, name, f"{name}: starts the collective.")


def _named(call: Any, name: str, text: str) -> Any:
    call.__name__ = call.__qualname__ = name
    call.__doc__ = text
    return measured(call)


def _no_arguments(self: Any) -> tuple[Any, ...]:
    return ()


def _bcast(self: Any, buf: Any, root: int = 0) -> tuple[Any, ...]:
    return buf, root


def _rooted(is_vector: bool) -> Callable[..., tuple[Any, ...]]:
    def arguments(self: Any, sendbuf: Any, recvbuf: Any, root: int = 0) -> tuple[Any, ...]:
        return sendbuf, recvbuf, root, is_vector

    return arguments


def _pair(last: Any) -> Callable[..., tuple[Any, ...]]:
    def arguments(self: Any, sendbuf: Any, recvbuf: Any) -> tuple[Any, ...]:
        return sendbuf, recvbuf, last

    return arguments


def _reduce(self: Any, sendbuf: Any, recvbuf: Any, op: Op = SUM, root: int = 0) -> tuple[Any, ...]:
    return sendbuf, recvbuf, op, root


def _allreduce(self: Any, sendbuf: Any, recvbuf: Any, op: Op = SUM) -> tuple[Any, ...]:
    return sendbuf, recvbuf, op


def _reduce_scatter(
    self: Any, sendbuf: Any, recvbuf: Any, recvcounts: Sequence[int] | None = None, op: Op = SUM
) -> tuple[Any, ...]:
    return sendbuf, recvbuf, self._receive_counts(sendbuf, recvbuf, recvcounts), op


def _scan(exclusive: bool) -> Callable[..., tuple[Any, ...]]:
    def arguments(self: Any, sendbuf: Any, recvbuf: Any, op: Op = SUM) -> tuple[Any, ...]:
        return sendbuf, recvbuf, op, exclusive

    return arguments


def _both(
    name: str, starts: Callable[..., Any], signature: Callable[..., tuple[Any, ...]]
) -> tuple[Any, Any]:
    other = f"I{name[0].lower()}{name[1:]}"
    return _blocking(name, starts, signature), _starting(other, starts, signature)


class Collectives:
    """Mixed into `Comm`."""

    _data: Callable[[], Communicator]

    Barrier, Ibarrier = _both("Barrier", buffered.barrier, _no_arguments)
    Bcast, Ibcast = _both("Bcast", buffered.bcast, _bcast)
    Gather, Igather = _both("Gather", buffered.gather, _rooted(False))
    Gatherv, Igatherv = _both("Gatherv", buffered.gather, _rooted(True))
    Scatter, Iscatter = _both("Scatter", buffered.scatter, _rooted(False))
    Scatterv, Iscatterv = _both("Scatterv", buffered.scatter, _rooted(True))
    Allgather, Iallgather = _both("Allgather", buffered.allgather, _pair(False))
    Allgatherv, Iallgatherv = _both("Allgatherv", buffered.allgather, _pair(True))
    Alltoall, Ialltoall = _both("Alltoall", buffered.alltoall, _pair("alltoall"))
    Alltoallv, Ialltoallv = _both("Alltoallv", buffered.alltoall, _pair("alltoallv"))
    Alltoallw, Ialltoallw = _both("Alltoallw", buffered.alltoall, _pair("alltoallw"))
    Reduce, Ireduce = _both("Reduce", buffered.reduce, _reduce)
    Allreduce, Iallreduce = _both("Allreduce", buffered.allreduce, _allreduce)
    Reduce_scatter_block, Ireduce_scatter_block = _both(
        "Reduce_scatter_block", buffered.reduce_scatter_block, _allreduce
    )
    Reduce_scatter, Ireduce_scatter = _both("Reduce_scatter", buffered.reduce_scatter, _reduce_scatter)

    def _receive_counts(self, sendbuf: Any, recvbuf: Any, counts: Sequence[int] | None) -> list[int]:
        """Counts of all ranks; gathered if they are not given, as mpi4py does."""
        from fabricsim.mpi.buffers import _checked, is_in_place, simple  # noqa: PLC0415 - a short function

        comm = self._data()
        if counts is not None or is_in_place(sendbuf):
            return _checked(counts or (), comm.size)
        return exchange_numbers(comm, "Reduce_scatter", simple(recvbuf, True, 0).count)


class Scans:
    """Mixed into `Intracomm`."""

    Scan, Iscan = _both("Scan", buffered.scan, _scan(False))
    Exscan, Iexscan = _both("Exscan", buffered.scan, _scan(True))


def exchange_numbers(comm: Communicator, name: str, number: int) -> list[int]:
    """A whole number of each rank."""
    views = [memoryview(bytearray(8)) for _ in range(comm.size)]
    views[comm.rank][:] = number.to_bytes(8, "little", signed=True)
    run(buffered.allgather_views(comm, name, views, "allgather"))
    return [int.from_bytes(view, "little", signed=True) for view in views]
