"""Does overlap hide a halo exchange?

16 ranks of an MPI program compute inner cells while messages are in flight; MPI makes progress only in its calls.
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd

import fabricsim as fs
from fabricsim import plots, spec
from fabricsim.mpi import MPI

MODES = ("none", "overlap", "overlap and tests")
FABRIC = fs.Experiment.build(topology=spec.FatTree(arity=4, levels=2), run=spec.Run(duration="1 s"))


def halo(cells: int, mode: str) -> float:
    """Returns the time of the second step on squares of `cells` x `cells` beyond its computation, in µs."""
    grid = MPI.COMM_WORLD.Create_cart([4, 4], periods=[True, True])
    near = [*grid.Shift(0, 1), *grid.Shift(1, 1)]
    out, into = ([bytearray(8 * cells) for _ in near] for _ in range(2))
    inner = 0 if mode == "none" else 5 * (cells - 2) ** 2
    for _ in range(2):
        grid.Barrier()
        begun = MPI.Wtime()
        requests = [grid.Irecv(into[side], near[side], side) for side in range(4)]
        requests += [grid.Isend(out[side], near[side], side ^ 1) for side in range(4)]
        for _ in range(8):
            fs.compute(flops=inner / 8)
            if mode == "overlap and tests":
                MPI.Request.Testall(requests)
        MPI.Request.Waitall(requests)
        fs.compute(flops=5 * cells**2 - inner)
    return float(1e6 * (MPI.Wtime() - begun) - 5e-5 * cells**2)


def measure(size: int, mode: str) -> float:
    """Returns the slowest rank's time."""
    return float(max(fs.mpi.run(halo, 16, FABRIC, args=(size, mode), flops_per_second=100e9).values))


def conclude(table: pd.DataFrame) -> str:
    hidden = (100 - 100 * table.div(table["none"], axis=0)).clip(0).round()
    parts = [f"{mode} {hidden[mode].min():.0f} to {hidden[mode].max():.0f} %" for mode in MODES[1:]]
    return f"Hidden part of the exchange: {', '.join(parts)}. Least at {hidden['overlap'].idxmin()} cells."


if __name__ == "__main__":
    found = pd.DataFrame({mode: {n: measure(n, mode) for n in (256, 512, 1024, 2048)} for mode in MODES})
    print(found.round(2).to_string(), conclude(found), sep="\n")
    figure, axes = plt.subplots(figsize=(6, 3), layout="constrained")
    found.plot.bar(ax=axes, color=["#999999", "#0072B2", "#D55E00"], rot=0, legend=False)
    axes.set(xlabel="side of a rank's square (cells)", ylabel="step beyond computation (µs)")
    figure.legend(list(MODES), loc="outside upper center", ncols=3, frameon=False)
    folder = Path(sys.argv[1]) if sys.argv[1:] else Path(__file__).with_name("out")
    plots.save(figure, folder / "09_overlap.svg")
