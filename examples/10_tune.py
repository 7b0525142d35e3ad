"""Which settings of InfiniBand's congestion control serve both the victim and the hot spot?

Optuna tries some settings. The best runs again with fresh seeds beside the setting of the file.
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd

import fabricsim as fs
from fabricsim import plots, spec

CC = "congestion_control.infiniband"
RANGES = {"threshold": (1, 15), "marking_rate": (0, 16), "ccti_timer": (20, 200)}
SIX = ["H1", "H2", "H5", "H6", "H9", "H10"]
VICTIM, INCAST = "traffic.victim.accepted_gbps", "traffic.incast.accepted_gbps"
EXPERIMENT = fs.Experiment.build(
    topology=spec.FatTree(arity=4, levels=2),
    links=spec.Links(all=spec.LinkParameters(rate="100 Gb/s", latency="20 ns", buffer="32 KiB")),
    congestion_control=spec.CongestionControl("infiniband"),
    traffic=[
        spec.Traffic(spec.To("H0"), "64 KiB", name="incast", sources=SIX, injection="saturating"),
        spec.Traffic(spec.To("H8"), "16 KiB", name="victim", sources=["H7"], load=0.6, start="1 ms"),
    ],
    run=spec.Run(warmup="1500 us", duration="500 us"),
    tune=spec.Tune(
        parameters={f"{CC}.{key}": spec.TuneParameter(low, high) for key, (low, high) in RANGES.items()},
        objectives=[spec.TuneObjective(INCAST, "maximize")],
        constraints=[spec.TuneConstraint(VICTIM, at_least=54.0)],
        trials=20,
        fresh_seeds=6,
    ),
)


def conclude(gains: pd.DataFrame, settings: dict[str, object]) -> str:
    """The gain of the incast, if its interval over fresh seeds is above zero."""
    incast, victim = gains.iloc[0], gains.iloc[1]
    if not settings or incast["low"] <= 0.0:
        return "No setting gives the incast more than that of the file."
    listed = ", ".join(f"{key.rpartition('.')[2]} = {value}" for key, value in settings.items())
    more = f"{incast['low']:.0f} to {incast['high']:.0f} Gb/s more, and the victim {victim['best']:.0f} Gb/s"
    return f"With {listed} the incast gets {more}."


if __name__ == "__main__":
    study = fs.tune(EXPERIMENT, jobs=1)
    table = study.gains[["metric", "baseline", "best", "difference", "low", "high"]]
    print(table.round(1).to_string(index=False), conclude(table, study.settings), sep="\n")
    figure, axes = plt.subplots(figsize=(6, 3.2), layout="constrained")
    axes.plot(study.trials[VICTIM][1:], study.trials[INCAST][1:], "k+", label="settings tried")
    axes.plot(study.trials[VICTIM][:1], study.trials[INCAST][:1], "ks", label="setting of the file")
    axes.axvline(54.0, color="#D55E00", linestyle="--", label="least for the victim")
    axes.set(xlabel="accepted throughput of the victim (Gb/s)", ylabel="that of the incast (Gb/s)")
    figure.legend(loc="outside upper center", ncols=3, frameon=False)
    folder = Path(sys.argv[1]) if sys.argv[1:] else Path(__file__).with_name("out")
    plots.save(figure, folder / "10_tune.svg")
