"""Which routing engine of OpenSM suits a cluster, and what does a failed cable do?

A tree of 64 hosts is written as `ibnetdiscover` would write it. Your own cluster: `02_engines.py FOLDER FILE CABLE`.
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd

import fabricsim as fs
from fabricsim import plots, spec
from fabricsim.subnets import CannotRouteError, route

ENGINES = ("minhop", "updn", "ftree", "lash", "sssp", "dfsssp", "nue")
TREE = fs.Experiment.build(topology=spec.FatTree(arity=4, levels=3), run=spec.Run(duration="1 us"))


def measure(fabric: Path, cable: str) -> pd.DataFrame:
    """Returns effective bisection bandwidth in %, with all cables and one failed; NaN if the engine refuses."""
    table = pd.DataFrame(index=pd.Index(ENGINES, name="engine"), columns=["all", "failed"], dtype=float)
    for engine in ENGINES:
        for name, fail in (("all", []), ("failed", [cable])):
            try:
                report = route(fabric, engine, fail=fail).report
            except CannotRouteError:
                continue
            if report["deadlock"]["free"]:
                table.loc[engine, name] = 100 * report["traffic"]["bisection"]["mean"]
    return table


def conclude(table: pd.DataFrame) -> str:
    """Names the engine with the best bisection, and the best of those that route around the cable."""
    if table.isna().all(axis=None):
        return "No engine routes this fabric without deadlock."
    best, spare = str(table["all"].idxmax()), str(table["failed"].fillna(0.0).idxmax())
    first = f"{best} gives {table['all'][best]:.1f} % of full bisection; without the cable "
    if best == spare:
        return first + f"{table['failed'][best]:.1f} %, still the best."
    after = table["failed"][best]
    refuses = "refuses the fabric" if pd.isna(after) else f"gives {after:.1f} %"
    return first + f"it {refuses}, and the best is {spare} with {table['failed'][spare]:.1f} %."


if __name__ == "__main__":
    folder = Path(sys.argv[1]) if sys.argv[1:] else Path(__file__).with_name("out")
    folder.mkdir(parents=True, exist_ok=True)
    example = folder / "fabric.txt"
    example.write_text(TREE.export("ibnetdiscover"), encoding="utf-8")
    found = measure(Path(sys.argv[2]), sys.argv[3]) if sys.argv[3:] else measure(example, "L1S0->L2S0")
    print(found.round(1).to_string(na_rep="-"), conclude(found), sep="\n")
    figure, axes = plt.subplots(figsize=(6, 3), layout="constrained")
    found.plot.bar(ax=axes, color=["#0072B2", "#E69F00"], rot=0, legend=False)
    axes.set(xlabel="routing engine (no bar: it refuses, or may deadlock)", ylabel="effective bisection (%)")
    figure.legend(["all cables", "one cable failed"], loc="outside upper center", ncols=2, frameon=False)
    plots.save(figure, folder / "02_engines.svg")
