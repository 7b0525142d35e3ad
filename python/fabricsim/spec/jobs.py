"""Jobs: parallel programs whose ranks wait for each other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

__all__ = [
    "AllGather",
    "AllReduce",
    "AllToAll",
    "Barrier",
    "Broadcast",
    "Fft",
    "Job",
    "NeighbourExchange",
    "Program",
]

AllToAllAlgorithm = Literal["pairwise", "ring", "bruck"]


@dataclass(frozen=True)
class AllToAll:
    """Every rank has a block for every other (`MPI_Alltoall`)."""

    kind: ClassVar[str] = "all-to-all"
    message: str
    """Size of the block for each other rank."""
    algorithm: AllToAllAlgorithm | None = None


@dataclass(frozen=True)
class AllReduce:
    """The vectors of all ranks are added up, and every rank gets the sum (`MPI_Allreduce`)."""

    kind: ClassVar[str] = "all-reduce"
    message: str
    """Size of the vector."""
    algorithm: Literal["recursive-doubling", "ring", "rabenseifner"] | None = None


@dataclass(frozen=True)
class AllGather:
    """Every rank gets the blocks of all (`MPI_Allgather`)."""

    kind: ClassVar[str] = "all-gather"
    message: str
    """Size of each rank's block."""
    algorithm: Literal["ring", "bruck"] | None = None


@dataclass(frozen=True)
class Broadcast:
    """One rank's data goes to all others along a binomial tree (`MPI_Bcast`)."""

    kind: ClassVar[str] = "broadcast"
    message: str
    root: int | None = None


@dataclass(frozen=True)
class Barrier:
    """No rank continues before all have arrived (`MPI_Barrier`)."""

    kind: ClassVar[str] = "barrier"
    message: str | None = None


@dataclass(frozen=True)
class Fft:
    """The three global transposes of a one-dimensional parallel FFT (HPC Challenge MPI-FFTE)."""

    kind: ClassVar[str] = "fft"
    elements: int
    """Elements of the whole vector, a multiple of the square of the number of ranks."""
    element_size: str | None = None
    algorithm: AllToAllAlgorithm | None = None
    compute: str | None = None


@dataclass(frozen=True)
class NeighbourExchange:
    """Every rank exchanges messages with its neighbours in a process grid."""

    kind: ClassVar[str] = "neighbour-exchange"
    grid: list[int]
    """Ranks in each dimension."""
    message: str
    periodic: bool | None = None
    compute: str | None = None


Program = AllToAll | AllReduce | AllGather | Broadcast | Barrier | Fft | NeighbourExchange


@dataclass(frozen=True)
class Job:
    """A parallel program on some hosts, one rank each."""

    program: Program
    name: str | None = None
    hosts: list[str] | None = None
    ranks: int | None = None
    placement: Literal["linear", "random"] | Mapping[str, int] | None = None
    """`{"strided": 4}`: every fourth host, and so on."""
    iterations: int | None = None
    start: str | None = None
    service_class: int | None = None
    outstanding: int | None = None
    step_delay: str | None = None
