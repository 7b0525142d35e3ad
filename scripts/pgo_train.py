"""Runs from which the compiler learns which branches of the released module to make fast (`make wheel`).

They are the experiments of `make bench` in short form, below and near saturation, a stream of a reliable connection,
and collectives of rank programs: about a minute with the instrumented module. Results are the same with any training.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

import fabricsim as fs
from fabricsim.mpi import MPI

BENCHES = Path(__file__).parents[1] / "benches"
LOADS = {
    "mesh-8x8": 0.43,
    "torus-8x8": 0.73,
    "torus-12x12x12": 0.5,
    "fat-tree-4-3": 0.93,
    "dragonfly-1056": 0.5,
}
"""A load near saturation for each network."""
BELOW = 0.5
"""The other load, as a fraction of it."""
BYTES = 1 << 16


def _collectives() -> None:
    """An all-to-all and two allreduces, by rendezvous and eager."""
    comm = MPI.COMM_WORLD
    out = np.zeros(comm.size * BYTES, np.uint8)
    comm.Alltoall(out, np.zeros_like(out))
    for size in (1, 1 << 14):
        comm.Allreduce(np.ones(size), np.empty(size))


def train(scale: float = 1.0, ranks: int = 16) -> list[str]:
    """Runs all, one after the other, on one core; returns how each experiment ended. `scale`: of the durations."""
    ended = []
    for name, load in LOADS.items():
        times = {"run.warmup": f"{1000 * scale:.0f} ns", "run.duration": f"{4000 * scale:.0f} ns"}
        for offered in (BELOW * load, load):
            changes = {**times, "run.threads": 1, "traffic.0.load": offered}
            ended.append(fs.run(BENCHES / f"{name}.toml", set=changes).status)
    for name, duration_us in {"thesis-a": 50_000, "rc-stream": 3_000}.items():
        changes = {"run.duration": f"{duration_us * scale:.0f} us"}
        ended.append(fs.run(BENCHES / f"{name}.toml", set=changes).status)
    fs.mpi.run(_collectives, ranks, BENCHES / "peers" / "torus-4x4x4.toml")
    return ended


if __name__ == "__main__":
    train()
