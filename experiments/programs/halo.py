"""Halo exchange of a two-dimensional grid: Jacobi's iteration for the heat equation, with mpi4py.

`fabricsim mpi run -n 16 experiments/programs/halo.py [CELLS] [STEPS] [overlap]` prints the time of a step and the
sum of the grid. With `overlap` the inner cells are computed while the borders are in flight.
"""

import sys
from typing import Any

import numpy as np

import fabricsim
from mpi4py import MPI

CELLS = int(sys.argv[1]) if len(sys.argv) > 1 else 64
"""Cells of a side of each rank's square."""
STEPS = int(sys.argv[2]) if len(sys.argv) > 2 else 10
OVERLAPS = "overlap" in sys.argv[3:]
FLOPS_PER_CELL = 5


def relaxed(u: Any, rows: slice, columns: slice) -> Any:
    """Mean of the four neighbours of some cells; the time of its operations passes."""
    (r0, r1), (c0, c1) = (rows.start, rows.stop), (columns.start, columns.stop)
    fabricsim.compute(flops=FLOPS_PER_CELL * (r1 - r0) * (c1 - c0))
    sides = (
        u[r0 - 1 : r1 - 1, columns],
        u[r0 + 1 : r1 + 1, columns],
        u[rows, c0 - 1 : c1 - 1],
        u[rows, c0 + 1 : c1 + 1],
    )
    return np.sum(sides, axis=0) / 4


def main() -> None:
    """Runs the iteration."""
    world = MPI.COMM_WORLD
    grid = world.Create_cart(MPI.Compute_dims(world.size, 2), periods=[True, True])
    (up, down), (left, right) = grid.Shift(0, 1), grid.Shift(1, 1)
    n = CELLS
    u = np.random.default_rng(grid.rank).random((n + 2, n + 2))
    column = MPI.DOUBLE.Create_vector(n, 1, n + 2).Commit()
    begun = MPI.Wtime()
    for _ in range(STEPS):
        requests = [
            grid.Irecv([u[0, 1:-1], MPI.DOUBLE], up, 0),
            grid.Irecv([u[-1, 1:-1], MPI.DOUBLE], down, 1),
            grid.Irecv([u.ravel()[n + 2 :], 1, column], left, 2),
            grid.Irecv([u.ravel()[n + 2 + n + 1 :], 1, column], right, 3),
            grid.Isend([u[-2, 1:-1], MPI.DOUBLE], down, 0),
            grid.Isend([u[1, 1:-1], MPI.DOUBLE], up, 1),
            grid.Isend([u.ravel()[n + 2 + n :], 1, column], right, 2),
            grid.Isend([u.ravel()[n + 2 + 1 :], 1, column], left, 3),
        ]
        new = u.copy()
        if OVERLAPS:
            new[2:n, 2:n] = relaxed(u, slice(2, n), slice(2, n))
        MPI.Request.Waitall(requests)
        if OVERLAPS:
            for rows, columns in (
                (slice(1, 2), slice(1, n + 1)),
                (slice(n, n + 1), slice(1, n + 1)),
                (slice(2, n), slice(1, 2)),
                (slice(2, n), slice(n, n + 1)),
            ):
                new[rows, columns] = relaxed(u, rows, columns)
        else:
            new[1 : n + 1, 1 : n + 1] = relaxed(u, slice(1, n + 1), slice(1, n + 1))
        u = new
    duration = (MPI.Wtime() - begun) / STEPS
    total = grid.allreduce(float(u[1:-1, 1:-1].sum()))
    longest = grid.allreduce(duration, op=MPI.MAX)
    if grid.rank == 0:
        print(f"{world.size} ranks of {n} x {n} cells: {longest * 1e6:.3f} us for a step, sum {total:.6f}")


main()
