"""Boundary exchange of a three-dimensional grid in the style of CESM: computation and exchange take turns, with mpi4py.

`fabricsim mpi run -n 27 experiments/programs/halo3d.py [CELLS] [STEPS] [overlap]` prints the time of a step and the sum
of the squares of the grid. With `overlap` the inner cells are computed between the sends and the wait.
"""

import sys
from typing import Any

import numpy as np

import fabricsim
from mpi4py import MPI

CELLS = int(sys.argv[1]) if len(sys.argv) > 1 else 16
"""Cells of a side of each rank's cube."""
STEPS = int(sys.argv[2]) if len(sys.argv) > 2 else 5
OVERLAPS = "overlap" in sys.argv[3:]
FLOPS_PER_CELL, INSIDE = 7, slice(1, -1)


def side(axis: int, place: int) -> Any:
    """Index of the cells of a face without its edges."""
    return tuple(place if other == axis else INSIDE for other in range(3))


def relaxed(u: Any, cells: int) -> Any:
    """Mean of the six neighbours of the inner cells; the time of `cells` of them passes."""
    fabricsim.compute(flops=FLOPS_PER_CELL * cells)
    moved = (np.roll(u, step, axis)[INSIDE, INSIDE, INSIDE] for axis in range(3) for step in (1, -1))
    return np.sum(list(moved), axis=0) / 6


def main() -> None:
    """Runs the iteration."""
    world, n = MPI.COMM_WORLD, CELLS
    grid = world.Create_cart(MPI.Compute_dims(world.size, 3), periods=[True] * 3)
    u = np.random.default_rng(grid.rank).random((n + 2,) * 3)
    faces = [(axis, *grid.Shift(axis, 1)) for axis in range(3)]
    inner = max(n - 2, 0) ** 3 if OVERLAPS else 0
    begun = MPI.Wtime()
    for _ in range(STEPS):
        ghosts = np.zeros((6, n, n))
        requests = [grid.Irecv(ghosts[2 * axis], low, 2 * axis) for axis, low, _ in faces]
        requests += [grid.Irecv(ghosts[2 * axis + 1], high, 2 * axis + 1) for axis, _, high in faces]
        for axis, low, high in faces:
            requests.append(grid.Isend(u[side(axis, -2)].copy(), high, 2 * axis))
            requests.append(grid.Isend(u[side(axis, 1)].copy(), low, 2 * axis + 1))
        fabricsim.compute(flops=FLOPS_PER_CELL * inner)
        MPI.Request.Waitall(requests)
        for axis, _, _ in faces:
            u[side(axis, 0)], u[side(axis, -1)] = ghosts[2 * axis], ghosts[2 * axis + 1]
        u[INSIDE, INSIDE, INSIDE] = relaxed(u, n**3 - inner)
    longest = grid.allreduce((MPI.Wtime() - begun) / STEPS, op=MPI.MAX)
    total = grid.allreduce(float((u[INSIDE, INSIDE, INSIDE] ** 2).sum()))
    if grid.rank == 0:
        print(
            f"{world.size} ranks, {n}^3 cells: {longest * 1e6:.3f} us for a step, sum of squares {total:.9g}"
        )


main()
