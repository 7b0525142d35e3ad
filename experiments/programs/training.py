"""Steps of data-parallel training: gradients are summed over the ranks bucket by bucket, with mpi4py.

`fabricsim mpi run -n 8 experiments/programs/training.py [LAYERS] [BUCKET_KIB] [overlap]` prints the time of a step.
With `overlap` the sum of a bucket begins when its layers are done, and goes on at the tests between the next layers:
MPI makes progress only inside its calls.
"""

import sys

import numpy as np

import fabricsim
from mpi4py import MPI

LAYERS = int(sys.argv[1]) if len(sys.argv) > 1 else 12
BUCKET = 1024 * (int(sys.argv[2]) if len(sys.argv) > 2 else 64)
"""Bytes of gradients that are summed together."""
OVERLAPS = "overlap" in sys.argv[3:]
WEIGHTS, STEPS, SLICES = 4096, 2, 8
"""Weights of a layer; steps; tests while a layer computes."""
TIME_NS = 20_000
"""Time of a layer's gradients."""


def step(world: MPI.Comm, gradients: np.ndarray) -> None:
    """Computes the gradients from the last layer to the first, and sums them over the ranks."""
    per_bucket = max(BUCKET // gradients[0].nbytes, 1)
    requests: list[MPI.Request] = []
    for layer in range(LAYERS - 1, -1, -1):
        for _ in range(SLICES):
            fabricsim.compute(TIME_NS / SLICES)
            if OVERLAPS:
                MPI.Request.Testall(requests)
        gradients[layer] = (layer + 1) * (world.rank + 1)
        if (LAYERS - layer) % per_bucket == 0 or layer == 0:
            count = (LAYERS - layer - 1) % per_bucket + 1
            bucket = gradients[layer : layer + count]
            if OVERLAPS:
                requests.append(world.Iallreduce(MPI.IN_PLACE, bucket))
            else:
                world.Allreduce(MPI.IN_PLACE, bucket)
    MPI.Request.Waitall(requests)


def main() -> None:
    """Runs the steps, and checks the sums."""
    world = MPI.COMM_WORLD
    gradients = np.zeros((LAYERS, WEIGHTS), "f")
    begun = MPI.Wtime()
    for _ in range(STEPS):
        step(world, gradients)
    longest = world.allreduce((MPI.Wtime() - begun) / STEPS, op=MPI.MAX)
    expected = np.arange(1, LAYERS + 1) * world.size * (world.size + 1) // 2
    assert (gradients == expected[:, None]).all(), "the sums of gradients are wrong"
    if world.rank == 0:
        print(f"{world.size} ranks, {LAYERS} layers: {longest * 1e6:.3f} us for a step")


main()
