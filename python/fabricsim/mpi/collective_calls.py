"""Calls of communicators in which all ranks take part, with buffers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from fabricsim.mpi import buffered, reductions
from fabricsim.mpi.begin import Start, run, run_now
from fabricsim.mpi.communicator import Communicator
from fabricsim.mpi.info import INFO_NULL, Info
from fabricsim.mpi.ops import SUM, Op
from fabricsim.mpi.persistent import PersistentOperation
from fabricsim.mpi.process import measured
from fabricsim.mpi.request import Prequest, Request


def _blocking(name: str, prepares: Callable[..., Start], signature: Callable[..., tuple[Any, ...]]) -> Any:
    def call(self: Any, *args: Any, **kwargs: Any) -> None:
        run_now(prepares(self._data(), name, *signature(self, *args, **kwargs)))

    return _named(call, name, f"{name}: waits until it is complete for this rank.")


def _starting(name: str, prepares: Callable[..., Start], signature: Callable[..., tuple[Any, ...]]) -> Any:
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        return Request._of(prepares(self._data(), name, *signature(self, *args, **kwargs))())

    return _named(call, name, f"{name}: starts the collective.")


def _persistent(name: str, prepares: Callable[..., Start], signature: Callable[..., tuple[Any, ...]]) -> Any:
    def call(self: Any, *args: Any, info: Info = INFO_NULL, **kwargs: Any) -> Any:
        start = prepares(self._data(), name, *signature(self, *args, **kwargs))

        def restart() -> Any:
            self._data()  # refuses a communicator that has been freed since
            return start()

        return Prequest._of(PersistentOperation(name, restart))

    return _named(call, f"{name}_init", f"{name}: a request that starts the collective again and again.")


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


def forms(
    name: str, prepares: Callable[..., Start], signature: Callable[..., tuple[Any, ...]]
) -> tuple[Any, Any, Any]:
    """The blocking, non-blocking and persistent forms of a collective.

    Args:
        name: that of the blocking form.
        prepares: checks the arguments and returns the function that starts the collective.
        signature: the arguments of `prepares` from those of the program.
    """
    return (
        _blocking(name, prepares, signature),
        _starting(f"I{name[0].lower()}{name[1:]}", prepares, signature),
        _persistent(name, prepares, signature),
    )


class Collectives:
    """Mixed into `Comm`."""

    _data: Callable[[], Communicator]

    Barrier, Ibarrier, Barrier_init = forms("Barrier", buffered.barrier, _no_arguments)
    Bcast, Ibcast, Bcast_init = forms("Bcast", buffered.bcast, _bcast)
    Gather, Igather, Gather_init = forms("Gather", buffered.gather, _rooted(False))
    Gatherv, Igatherv, Gatherv_init = forms("Gatherv", buffered.gather, _rooted(True))
    Scatter, Iscatter, Scatter_init = forms("Scatter", buffered.scatter, _rooted(False))
    Scatterv, Iscatterv, Scatterv_init = forms("Scatterv", buffered.scatter, _rooted(True))
    Allgather, Iallgather, Allgather_init = forms("Allgather", buffered.allgather, _pair(False))
    Allgatherv, Iallgatherv, Allgatherv_init = forms("Allgatherv", buffered.allgather, _pair(True))
    Alltoall, Ialltoall, Alltoall_init = forms("Alltoall", buffered.alltoall, _pair("alltoall"))
    Alltoallv, Ialltoallv, Alltoallv_init = forms("Alltoallv", buffered.alltoall, _pair("alltoallv"))
    Alltoallw, Ialltoallw, Alltoallw_init = forms("Alltoallw", buffered.alltoall, _pair("alltoallw"))
    Reduce, Ireduce, Reduce_init = forms("Reduce", reductions.reduce, _reduce)
    Allreduce, Iallreduce, Allreduce_init = forms("Allreduce", reductions.allreduce, _allreduce)
    Reduce_scatter_block, Ireduce_scatter_block, Reduce_scatter_block_init = forms(
        "Reduce_scatter_block", reductions.reduce_scatter_block, _allreduce
    )
    Reduce_scatter, Ireduce_scatter, Reduce_scatter_init = forms(
        "Reduce_scatter", reductions.reduce_scatter, _reduce_scatter
    )

    def _receive_counts(self, sendbuf: Any, recvbuf: Any, counts: Sequence[int] | None) -> list[int]:
        """Counts of all ranks; gathered if they are not given, as mpi4py does."""
        from fabricsim.mpi.buffers import _checked, is_in_place, simple  # noqa: PLC0415 - a short function

        comm = self._data()
        if counts is not None or is_in_place(sendbuf):
            return _checked(counts or (), comm.size)
        return exchange_numbers(comm, "Reduce_scatter", simple(recvbuf, True, 0).count)


class Scans:
    """Mixed into `Intracomm`."""

    Scan, Iscan, Scan_init = forms("Scan", reductions.scan, _scan(False))
    Exscan, Iexscan, Exscan_init = forms("Exscan", reductions.scan, _scan(True))


def exchange_numbers(comm: Communicator, name: str, number: int) -> list[int]:
    """A whole number of each rank."""
    views = [memoryview(bytearray(8)) for _ in range(comm.size)]
    views[comm.rank][:] = number.to_bytes(8, "little", signed=True)
    run(buffered.allgather_views(comm, name, views, "allgather"))
    return [int.from_bytes(view, "little", signed=True) for view in views]
