"""Does a neighbour slow down my job on a dragonfly, and which placement prevents that?

My all-reduce of 16 ranks runs alone, and beside an all-to-all of 16 ranks. Jobs have two groups each, or
every second host.
"""

import itertools
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd

import fabricsim as fs
from fabricsim import plots, spec

HOSTS = [f"H({group},{router}).{host}" for group in range(4) for router in range(4) for host in range(2)]
PLACEMENTS = {"own groups": HOSTS, "every second host": HOSTS[::2] + HOSTS[1::2]}


def measure(placements: dict[str, list[str]]) -> pd.DataFrame:
    """Returns the mean time of my iterations in µs, alone and beside the neighbour, and the slowdown in %."""
    rows = []
    for routing, (placement, hosts) in itertools.product(("minimal", "par-6/2"), placements.items()):
        mine = spec.Job(spec.AllReduce("64 KiB", "ring"), name="mine", hosts=hosts[:16], iterations=4)
        other = spec.Job(spec.AllToAll("32 KiB"), name="neighbour", hosts=hosts[16:])
        found = []
        for jobs in ([mine], [mine, other]):
            experiment = fs.Experiment.build(
                topology=spec.Dragonfly(p=2, a=4, h=2, g=4),
                switch=spec.Switch(virtual_lanes=6),
                jobs=jobs,
                run=spec.Run(duration="10 ms"),
            )
            run = fs.run(experiment, set={"routing.algorithm": routing})
            found.append(run.jobs.groupby("job")["time_ns"].mean()["mine"] / 1e3)
        rows.append((routing, placement, *found, 100 * (found[1] / found[0] - 1)))
    return pd.DataFrame(rows, columns=["routing", "placement", "alone", "beside", "slowdown"])


def conclude(table: pd.DataFrame) -> str:
    """Names the settings with the largest slowdown and with the shortest time."""
    worst, best = table.nlargest(1, "slowdown").iloc[0], table.nsmallest(1, "beside").iloc[0]
    if worst["slowdown"] < 2.0:
        return f"The neighbour does not slow down my job (by {worst['slowdown']:.1f} % at most)."
    slow = f"{worst['slowdown']:.0f} % on {worst['placement']} with {worst['routing']} routing"
    return f"The neighbour slows down my job by up to {slow}. Best: {best['placement']}, {best['routing']}."


if __name__ == "__main__":
    found = measure(PLACEMENTS)
    print(found.round(1).to_string(index=False), conclude(found), sep="\n")
    figure, axes = plt.subplots(figsize=(6, 3), layout="constrained")
    found.index = found["placement"] + "\n" + found["routing"]
    found[["alone", "beside"]].plot.bar(ax=axes, color=["#0072B2", "#D55E00"], rot=0, legend=False)
    axes.set(xlabel="placement and routing", ylabel="time of an all-reduce (µs)")
    figure.legend(["alone", "beside the neighbour"], loc="outside upper center", ncols=2, frameon=False)
    folder = Path(sys.argv[1]) if sys.argv[1:] else Path(__file__).with_name("out")
    plots.save(figure, folder / "05_placement.svg")
