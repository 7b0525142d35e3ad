"""All-to-all and allreduce as the HPC Challenge and Intel's MPI benchmarks measure them, with mpi4py.

`fabricsim mpi run -n 64 --experiment experiments/programs/seastar.toml experiments/programs/collectives.py [BYTES]
[REPEAT]` prints the bandwidth of a rank in an all-to-all of BYTES for each pair, and the time of an allreduce of 8 B.
"""

import sys

import numpy as np

from mpi4py import MPI

BYTES = int(sys.argv[1]) if len(sys.argv) > 1 else 4096
REPEAT = int(sys.argv[2]) if len(sys.argv) > 2 else 2


def main() -> None:
    """Measures both, after a first all-to-all that connects all ranks, and checks what arrived."""
    world = MPI.COMM_WORLD
    sent = np.repeat(np.arange(world.size, dtype="B") + np.uint8(world.rank), BYTES)
    received = np.zeros_like(sent)
    world.Alltoall(sent, received)
    world.Barrier()
    begun = MPI.Wtime()
    for _ in range(REPEAT):
        world.Alltoall(sent, received)
    alltoall = world.allreduce((MPI.Wtime() - begun) / REPEAT, op=MPI.MAX)
    assert (received == np.repeat(np.arange(world.size, dtype="B") + np.uint8(world.rank), BYTES)).all()
    one, total = np.ones(1), np.zeros(1)
    world.Allreduce(one, total)
    world.Barrier()
    begun = MPI.Wtime()
    for _ in range(REPEAT):
        world.Allreduce(one, total)
    allreduce = world.allreduce((MPI.Wtime() - begun) / REPEAT, op=MPI.MAX)
    assert total[0] == world.size
    if world.rank == 0:
        rate = (world.size - 1) * BYTES / alltoall / 1e6
        print(
            f"{world.size} ranks: all-to-all {rate:.1f} MB/s for each rank, allreduce {allreduce * 1e6:.3f} us"
        )


main()
