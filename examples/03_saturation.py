"""Up to which load does a torus work, and does its shape matter?

Uniform traffic on tori of 32 switches. The bisection carries 8 / k of a host's link, k being the longest dimension.
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd

import fabricsim as fs
from fabricsim import plots, spec

SHAPES = ([8, 4], [16, 2], [32])
PARTS = (0.1, 0.5, 0.7, 0.85, 1.0)


def measure(shapes: tuple[list[int], ...] = SHAPES, lanes: int = 4) -> pd.DataFrame:
    """Returns offered and accepted load, latency, and the closed form, a row for each point."""
    found = []
    for shape in shapes:
        experiment = fs.Experiment.build(
            topology=spec.Torus(shape),
            switch=spec.Switch(virtual_lanes=lanes, queueing="voq"),
            traffic=spec.Traffic("uniform", "1 KiB", load=0.1),
            run=spec.Run(warmup="5 us", duration="12 us"),
        )
        limit = min(1.0, 8 / max(shape))
        sweep = fs.sweep(experiment, vary={"traffic.0.load": [limit * part for part in PARTS]}, jobs=1)
        found.append(sweep.points.assign(shape="x".join(map(str, shape)), limit=limit))
    return pd.concat(found)[["shape", "limit", "offered_load", "accepted_load", "latency_ns.mean"]]


def conclude(table: pd.DataFrame) -> str:
    """Compares the highest accepted load of each shape with the closed form."""
    best = table.groupby("shape", sort=False).agg({"accepted_load": "max", "limit": "first"})
    part = 100 * best["accepted_load"] / best["limit"]
    listed = ", ".join(f"{shape} {100 * load:.0f} %" for shape, load in best["accepted_load"].items())
    ratio = best["accepted_load"].max() / best["accepted_load"].min()
    matters = f"the shape makes a factor of {ratio:.1f}" if ratio > 1.1 else "the shape makes no difference"
    return (
        f"Highest accepted load: {listed}; {matters}. It is {part.min():.0f} to {part.max():.0f} % of 8 / k."
    )


if __name__ == "__main__":
    table = measure()
    print(table.round(3).to_string(index=False), conclude(table), sep="\n")
    figure, axes = plt.subplots(figsize=(6, 3.2), layout="constrained")
    looks = (("#0072B2", "o"), ("#D55E00", "s"), ("#009E73", "^"))
    for (shape, rows), (colour, mark) in zip(table.groupby("shape", sort=False), looks, strict=True):
        x, y = 100 * rows["offered_load"], 100 * rows["accepted_load"]
        axes.plot(x, y, color=colour, marker=mark, label=shape)
        axes.axhline(100 * rows["limit"].iloc[0], color=colour, linestyle=":", label=f"{shape}: 8 / k")
    axes.set(xlabel="offered load (% of a host's link)", ylabel="accepted load (%)")
    figure.legend(loc="outside right center", frameon=False)
    folder = Path(sys.argv[1]) if sys.argv[1:] else Path(__file__).with_name("out")
    plots.save(figure, folder / "03_saturation.svg")
