"""Which all-reduce is fastest for 64 hosts of a fat tree, and does the closed form hold?

A step takes its latency, and the time of its bytes on a link, if no messages share links.
"""

import itertools
import sys
from collections.abc import Callable
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd

import fabricsim as fs
from fabricsim import plots, spec

NEAR, MIDDLE, FAR = (120.0 * switches + 20.0 for switches in (1, 3, 5))  # ns of latency, and 0.08 for a byte
CLOSED_FORM: dict[str, Callable[[float], float]] = {
    "recursive-doubling": lambda size: 2 * (NEAR + MIDDLE + FAR) + 0.08 * 6 * size,
    "rabenseifner": lambda size: 4 * (NEAR + MIDDLE + FAR) + 0.08 * 2 * (1 - 1 / 64) * size,
    "ring": lambda size: 126 * ((48 * NEAR + 12 * MIDDLE + 4 * FAR) / 64 + 0.08 * size / 64),
}
EXPERIMENT = fs.Experiment.build(
    topology=spec.FatTree(arity=4, levels=3),
    links=spec.Links(all=spec.LinkParameters(rate="100 Gb/s", latency="20 ns", buffer="32 KiB")),
    run=spec.Run(duration="100 ms"),
)


def measure(placement: str, *sizes: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Returns times simulated and of the closed form in µs: a row for each size, a column for each algorithm."""
    simulated = pd.DataFrame(index=sizes, columns=list(CLOSED_FORM), dtype=float)
    for name, size in itertools.product(CLOSED_FORM, sizes):
        program = {"all-reduce": {"message": f"{size} B", "algorithm": name}}
        run = fs.run(EXPERIMENT, set={"jobs": [{"program": program, "placement": placement}]})
        simulated.loc[size, name] = run.jobs["time_ns"][0] / 1e3
    forms = {name: [form(size) / 1e3 for size in sizes] for name, form in CLOSED_FORM.items()}
    return simulated, pd.DataFrame(forms, sizes)


def conclude(simulated: pd.DataFrame, formula: pd.DataFrame) -> str:
    """Names the fastest algorithm of each size, and the largest difference from the closed form."""
    fastest = ", ".join(f"{name} for {size} B" for size, name in simulated.idxmin(axis=1).items())
    off = 100 * float((simulated / formula - 1).abs().to_numpy().max())
    return f"Fastest: {fastest}. The closed form {'holds' if off < 5 else 'fails'}: {off:.1f} % off at most."


if __name__ == "__main__":
    simulated, formula = measure("linear", 256, 4096, 32768, 262144)
    print(simulated.round(2).to_string(), conclude(simulated, formula), sep="\n")
    figure, axes = plt.subplots(figsize=(6, 3.4), layout="constrained")
    for name, colour, mark in zip(formula, ("#0072B2", "#D55E00", "#009E73"), "os^", strict=True):
        axes.loglog(formula[name], color=colour, label=str(name))
        axes.loglog(simulated[name], mark, color=colour)
    axes.set(xlabel="size of the vector (B)", ylabel="time of an all-reduce (µs)")
    axes.set(xticks=formula.index, xticklabels=formula.index, yticks=(3, 10, 100), yticklabels=(3, 10, 100))
    figure.legend(loc="outside upper center", ncols=3, title="lines: closed form, marks: simulated")
    folder = Path(sys.argv[1]) if sys.argv[1:] else Path(__file__).with_name("out")
    plots.save(figure, folder / "04_allreduce.svg")
