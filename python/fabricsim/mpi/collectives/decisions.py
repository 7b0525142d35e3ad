"""Which algorithm a collective uses, by ranks and bytes.

`openmpi`: the fixed decisions of Open MPI 2.0.0 (ompi/mca/coll/tuned/coll_tuned_decision_fixed.c; scan and exscan:
coll/basic). `mpich`: MPICH 3.2's defaults (Thakur, Rabenseifner and Gropp, IJHPCA 19, 2005; src/mpi/coll of that
version). Sizes are bytes of a rank's whole buffer, of gather, scatter and alltoall those of a block, of allgather those
of all blocks.
"""

from __future__ import annotations

from collections.abc import Callable

from fabricsim.mpi.collectives.channel import floor_power

Choice = tuple[str, int]
"""Algorithm, and bytes of a segment; 0: no segments."""
KIB = 1024


def _barrier(n: int, size: int, count: int, commutes: bool) -> Choice:
    if n == 2:
        return "pairwise", 0
    return ("recursive_doubling" if n == floor_power(n) else "dissemination"), 0


def _bcast(n: int, size: int, count: int, commutes: bool) -> Choice:
    if size < 2048 or count <= 1:
        return "binomial", 0
    if size < 370728:
        return "split_binary", KIB
    if n < 1.6134e-6 * size + 2.1102:
        return "pipeline", 128 * KIB
    if n < 13:
        return "split_binary", 8 * KIB
    if n < 2.3679e-6 * size + 1.1787:
        return "pipeline", 64 * KIB
    if n < 3.2118e-6 * size + 8.7936:
        return "pipeline", 16 * KIB
    return "pipeline", 8 * KIB


def _reduce(n: int, size: int, count: int, commutes: bool) -> Choice:
    if not commutes:
        return ("linear" if n < 12 and size < 2048 else "binomial"), 0
    if n < 8 and size < 512:
        return "linear", 0
    if (n < 8 and size < 20480) or size < 2048 or count <= 1:
        return "binomial", 0
    if n > 0.6016 / 1024 * size + 1.3496:
        return "binomial", KIB
    if n > 0.0410 / 1024 * size + 9.7128:
        return "pipeline", KIB
    if n > 0.0422 / 1024 * size + 1.1614:
        return "binary", 32 * KIB
    if n > 0.0033 / 1024 * size + 1.6761:
        return "pipeline", 32 * KIB
    return "pipeline", 64 * KIB


def _allreduce(n: int, size: int, count: int, commutes: bool) -> Choice:
    if size < 10000:
        return "recursive_doubling", 0
    if commutes and count > n:
        return ("ring", 0) if size <= n << 20 else ("segmented_ring", 1 << 20)
    return "reduce_bcast", 0


def _reduce_scatter(n: int, size: int, count: int, commutes: bool) -> Choice:
    if not commutes:
        return "reduce_scatter", 0
    small = size <= 12 * KIB or (size <= 256 * KIB and n == floor_power(n)) or n >= 0.0012 * size + 8
    return ("recursive_halving" if small else "ring"), 0


def _allgather(n: int, size: int, count: int, commutes: bool) -> Choice:
    if n == 2:
        return "linear", 0
    if size < 50000:
        return ("recursive_doubling" if n == floor_power(n) else "bruck"), 0
    return ("ring" if n % 2 else "neighbour_exchange"), 0


def _allgatherv(n: int, size: int, count: int, commutes: bool) -> Choice:
    name, segment = _allgather(n, size, count, commutes)
    return ("bruck" if name == "recursive_doubling" else name), segment


def _gather(n: int, size: int, count: int, commutes: bool) -> Choice:
    if size > 6000:
        return "linear_sync", 32 * KIB if size > 92160 else KIB
    return ("binomial" if n > 60 or (n > 10 and size < 1024) else "linear"), 0


def _scatter(n: int, size: int, count: int, commutes: bool) -> Choice:
    return ("binomial" if n > 10 and size < 300 else "linear"), 0


def _alltoall(n: int, size: int, count: int, commutes: bool) -> Choice:
    if n == 2:
        return "linear", 0
    if size < 200 and n > 12:
        return "bruck", 0
    return ("linear" if size < 3000 else "pairwise"), 0


def _only(name: str) -> Callable[[int, int, int, bool], Choice]:
    return lambda n, size, count, commutes: (name, 0)


Decision = Callable[[int, int, int, bool], Choice]
OPENMPI: dict[str, Decision] = {
    "barrier": _barrier,
    "bcast": _bcast,
    "reduce": _reduce,
    "allreduce": _allreduce,
    "reduce_scatter": _reduce_scatter,
    "reduce_scatter_block": _only("reduce_scatter"),
    "allgather": _allgather,
    "allgatherv": _allgatherv,
    "gather": _gather,
    "gatherv": _only("linear"),
    "scatter": _scatter,
    "scatterv": _only("linear"),
    "alltoall": _alltoall,
    "alltoallv": _only("pairwise"),
    "alltoallw": _only("linear"),
    "scan": _only("linear"),
    "exscan": _only("linear"),
    "neighbourhood": _only("linear"),
}


def _mpich_bcast(n: int, size: int, count: int, commutes: bool) -> Choice:
    if size < 12288 or n < 8:
        return "binomial", 0
    doubles = size < 512 * KIB and n == floor_power(n)
    return ("scatter_doubling" if doubles else "scatter_allgather"), 0


def _mpich_reduce(n: int, size: int, count: int, commutes: bool) -> Choice:
    long = size > 2048 and commutes and count >= floor_power(n)
    return ("rabenseifner" if long else "binomial"), 0


def _mpich_allreduce(n: int, size: int, count: int, commutes: bool) -> Choice:
    long = size > 2048 and commutes and count >= floor_power(n)
    return ("rabenseifner" if long else "recursive_doubling"), 0


def _mpich_reduce_scatter(n: int, size: int, count: int, commutes: bool) -> Choice:
    if not commutes:
        return "reduce_scatter", 0
    return ("recursive_halving" if size < 512 * KIB else "pairwise"), 0


def _mpich_allgather(n: int, size: int, count: int, commutes: bool) -> Choice:
    if size < 512 * KIB and n == floor_power(n):
        return "recursive_doubling", 0
    return ("bruck" if size < 80 * KIB else "ring"), 0


def _mpich_alltoall(n: int, size: int, count: int, commutes: bool) -> Choice:
    if size <= 256 and n >= 8:
        return "bruck", 0
    return ("linear" if size <= 32 * KIB else "pairwise"), 0


MPICH: dict[str, Decision] = {
    **OPENMPI,
    "barrier": _only("dissemination"),
    "bcast": _mpich_bcast,
    "reduce": _mpich_reduce,
    "allreduce": _mpich_allreduce,
    "reduce_scatter": _mpich_reduce_scatter,
    "reduce_scatter_block": _mpich_reduce_scatter,
    "allgather": _mpich_allgather,
    "allgatherv": _mpich_allgather,
    "gather": _only("binomial"),
    "scatter": _only("binomial"),
    "alltoall": _mpich_alltoall,
    "alltoallv": _only("linear"),
    "scan": _only("recursive_doubling"),
    "exscan": _only("recursive_doubling"),
}
SETS = {"openmpi": OPENMPI, "mpich": MPICH}


def choose(operation: str, n: int, size: int, count: int, commutes: bool) -> Choice:
    """The algorithm of Open MPI 2.0.0."""
    return OPENMPI[operation](n, size, count, commutes)
