"""Fourier transform of a square matrix, whose rows are divided among the ranks: transposed by all-to-all, with mpi4py.

`fabricsim mpi run -n 8 experiments/programs/fft.py [SIZE]` prints the time of a transform and its largest difference
from numpy's.
"""

import sys
from math import log2
from typing import Any

import numpy as np

import fabricsim
from mpi4py import MPI

SIZE = int(sys.argv[1]) if len(sys.argv) > 1 else 64
"""Rows and columns of the matrix; a multiple of the number of ranks."""


def transformed(rows: Any) -> Any:
    """Fourier transforms of some rows; the time of 5 n log2 n operations for each passes."""
    fabricsim.compute(flops=5 * len(rows) * SIZE * log2(SIZE))
    return np.fft.fft(rows, axis=1)


def transposed(world: Any, rows: Any) -> Any:
    """The own rows of the transposed matrix: each rank sends a block to each other one."""
    own = len(rows)
    blocks = np.ascontiguousarray(rows.reshape(own, world.size, own).transpose(1, 2, 0))
    received = np.empty_like(blocks)
    world.Alltoall(blocks, received)
    return received.transpose(1, 0, 2).reshape(own, SIZE)


def main() -> None:
    """Transforms a random matrix."""
    world = MPI.COMM_WORLD
    if SIZE % world.size:
        raise SystemExit(f"SIZE = {SIZE}: must be a multiple of the {world.size} ranks")
    matrix = np.random.default_rng(1).random((SIZE, SIZE)) + 0j
    own = slice(world.rank * SIZE // world.size, (world.rank + 1) * SIZE // world.size)
    begun = MPI.Wtime()
    columns = transformed(transposed(world, transformed(matrix[own])))
    result = transposed(world, columns)
    longest = world.allreduce(MPI.Wtime() - begun, op=MPI.MAX)
    wrong = world.allreduce(float(abs(result - np.fft.fft2(matrix)[own]).max()), op=MPI.MAX)
    if world.rank == 0:
        print(f"{world.size} ranks, {SIZE} x {SIZE}: {longest * 1e6:.3f} us, differs by {wrong:.1e} at most")


main()
