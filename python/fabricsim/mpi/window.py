"""`MPI.Win`: one-sided communication is not simulated."""

from __future__ import annotations

from typing import Any, NoReturn

from fabricsim.mpi.handles import Handle, Null


class Win(Handle):
    """A window. None can be created."""

    NULL = Null("MPI_WIN_NULL")

    @classmethod
    def _absent(cls, *args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError("one-sided communication is not simulated: see the list in docs/guide/mpi.md")

    Create = Allocate = Allocate_shared = Create_dynamic = _absent
    Fence = Start = Complete = Post = Wait = Test = Lock = Unlock = Lock_all = Unlock_all = Flush = _absent
    Accumulate = Get_accumulate = Fetch_and_op = Compare_and_swap = Rput = Rget = Raccumulate = _absent


WIN_NULL = Win._constant(Win.NULL, "WIN_NULL")
