"""`MPI.Win`: one-sided communication is not simulated."""

from __future__ import annotations

from typing import Any, NoReturn

from fabricsim.mpi import constants
from fabricsim.mpi.buffers import simple
from fabricsim.mpi.handles import Handle, Null


class Win(Handle):
    """A window. None can be created."""

    NULL = Null("MPI_WIN_NULL")

    @classmethod
    def _absent(cls, *args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError(
            "one-sided communication is not simulated: see the list in docs/guide/mpi.md"
        )

    @staticmethod
    def _check(origin: Any, target_rank: int, target: Any, writable: bool) -> None:
        if target_rank != constants.PROC_NULL:
            simple(origin, writable, 0)
        if isinstance(target, list | tuple):
            if len(target) > 3:
                raise ValueError("target: expecting 3 items at most")
        elif target is not None and not hasattr(type(target), "__index__"):
            raise ValueError("target: expecting integral or list/tuple")

    def Put(self, origin: Any, target_rank: int, target: Any = None) -> NoReturn:
        """Not there. Wrong arguments are reported first."""
        self._check(origin, target_rank, target, writable=False)
        self._absent()

    def Get(self, origin: Any, target_rank: int, target: Any = None) -> NoReturn:
        """Not there. Wrong arguments are reported first."""
        self._check(origin, target_rank, target, writable=True)
        self._absent()

    Create = Allocate = Allocate_shared = Create_dynamic = _absent
    Fence = Start = Complete = Post = Wait = Test = Lock = Unlock = Lock_all = Unlock_all = Flush = _absent
    Accumulate = Get_accumulate = Fetch_and_op = Compare_and_swap = Rput = Rget = Raccumulate = _absent


WIN_NULL = Win._constant(Win.NULL, "WIN_NULL")
