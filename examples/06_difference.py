"""Is the difference real? Arbitration in a mesh, with paired seeds and confidence intervals.

Each setting runs with the same six seeds. A difference whose 95 % interval contains zero is none.
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd

import fabricsim as fs
from fabricsim import plots, spec
from fabricsim.compare import compare_repeated

NAMES = {"latency_ns.mean": "mean latency", "latency_ns.p99": "99th percentile"}
EXPERIMENT = fs.Experiment.build(
    topology=spec.Mesh([4, 4]),
    traffic=spec.Traffic("uniform", "1 KiB", load=0.6),
    run=spec.Run(warmup="10 us", duration="25 us"),
)


def measure(*arbiters: str, seeds: int = 6) -> pd.DataFrame:
    """Returns differences from the first arbiter in ns, with intervals and verdicts."""
    sets = [fs.sweep(EXPERIMENT, set={"switch.arbiter": one}, seeds=seeds, jobs=1) for one in arbiters]
    table = compare_repeated(sets, list(arbiters)).quantities
    table = table[table["quantity"].isin(list(NAMES))].groupby("quantity").tail(len(arbiters) - 1)
    return table[["set", "quantity", "mean", "difference", "difference_low", "difference_high", "verdict"]]


def conclude(table: pd.DataFrame) -> str:
    """A part of a sentence for each setting and quantity."""
    said = []
    for _, row in table.iterrows():
        low, high = sorted((abs(row["difference_low"]), abs(row["difference_high"])))
        real = f"{row['verdict']} by {low:.0f} to {high:.0f} ns"
        verdict = real if row["verdict"] in ("larger", "smaller") else "no difference"
        said.append(f"{row['set']}, {NAMES[row['quantity']]}: {verdict}")
    return "; ".join(said) + "."


if __name__ == "__main__":
    found = measure("round-robin", "random", "oldest-first")
    print(found.round(1).to_string(index=False), conclude(found), sep="\n")
    figure, axes = plt.subplots(figsize=(6, 2.6), layout="constrained")
    labels = found["set"] + ", " + found["quantity"].map(NAMES)
    half = (found["difference_high"] - found["difference_low"]) / 2
    axes.errorbar(found["difference"], labels, xerr=half, fmt="o", color="#0072B2", capsize=4)
    axes.axvline(0.0, color="#000000", linewidth=0.8)
    axes.set(xlabel="latency minus that of round-robin (ns), 95 % interval", ylabel="arbiter, quantity")
    folder = Path(sys.argv[1]) if sys.argv[1:] else Path(__file__).with_name("out")
    plots.save(figure, folder / "06_difference.svg")
