"""Which flows does an incast slow down, and which congestion control prevents that?

Nine hosts of a fat tree write to H0. Three hosts beside them send to hosts whose links are idle.
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd

import fabricsim as fs
from fabricsim import plots, spec

ALGORITHMS = ("none", "infiniband", "dcqcn", "swift", "hpcc", "nscc")
NINE = ["H1", "H2", "H5", "H6", "H9", "H10", "H13", "H14", "H15"]
EXPERIMENT = fs.Experiment.build(
    topology=spec.FatTree(arity=4, levels=2),
    links=spec.Links(all=spec.LinkParameters(rate="100 Gb/s", latency="20 ns", buffer="32 KiB")),
    host=spec.Host(mtu="4 KiB"),
    traffic=[
        spec.Traffic(spec.To("H0"), "64 KiB", name="incast", sources=NINE, injection="saturating"),
        spec.Traffic(spec.To("H8"), "16 KiB", name="H3 to H8", sources=["H3"], load=0.6),
        spec.Traffic(spec.To("H12"), "16 KiB", name="H7 to H12", sources=["H7"], load=0.6),
        spec.Traffic(spec.To("H4"), "16 KiB", name="H11 to H4", sources=["H11"], load=0.6),
    ],
    run=spec.Run(warmup="2 ms", duration="400 us"),
)


def measure(*algorithms: str) -> pd.DataFrame:
    """Returns accepted Gb/s: a row for each entry of the traffic, a column for each algorithm."""
    runs = {name: fs.run(EXPERIMENT, set={"congestion_control.algorithm": name}) for name in algorithms}
    return pd.DataFrame({name: run.entries.set_index("entry")["accepted_gbps"] for name, run in runs.items()})


def conclude(table: pd.DataFrame) -> str:
    """A victim gets less than 90 % of the 60 Gb/s that it sends."""
    slow = table.drop("incast") < 0.9 * 60.0
    victims = [str(name) for name in slow.index[slow["none"]]]
    if not victims:
        return "No flow is a victim: all bystanders get what they send."
    helps = ", ".join(
        name for name in map(str, table) if not slow[name].any() and table[name]["incast"] > 90.0
    )
    worst = f"{table.loc[victims, 'none'].min():.1f} of 60 Gb/s"
    cure = f"With {helps} they get theirs, and H0's link is full" if helps else "No algorithm helps"
    return f"Victims are {' and '.join(victims)}: down to {worst}. {cure}."


if __name__ == "__main__":
    found = measure(*ALGORITHMS)
    print(found.round(1).to_string(), conclude(found), sep="\n")
    figure, axes = plt.subplots(figsize=(6, 3.2), layout="constrained")
    found.T.plot.bar(ax=axes, color=["#999999", "#0072B2", "#D55E00", "#009E73"], rot=0, legend=False)
    axes.set(xlabel="congestion control", ylabel="accepted throughput (Gb/s)")
    figure.legend(loc="outside upper center", ncols=4, frameon=False)
    folder = Path(sys.argv[1]) if sys.argv[1:] else Path(__file__).with_name("out")
    plots.save(figure, folder / "01_victims.svg")
