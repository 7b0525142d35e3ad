"""Fits the parameters of ranks.toml to four columns of tables IV and V, and prints them.

Each evaluation is a simulation of three ping-pongs.

Fitted: IV Isend, IV Completion, IV Ssend, V Isend. Not used: IV Send, V Completion, V Send, V Ssend.
The two parameters of ticks and pauses are chosen afterwards, from the uppermost quantiles of the same columns: they are
too rare for these short runs.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import minimize

from fabricsim.reproduce.ranks import run_ranks
from fabricsim.spec import Experiment

FOLDER = Path(__file__).parent
PERCENTS = (25, 50, 75, 90, 99)
WEIGHTS = np.array([1, 2, 1, 1, 0.7])
"""The median counts twice, since it must be nearer."""
TARGETS = {
    ("12 KiB", "Isend", "call_ns"): (628, 657, 718, 740, 1979),
    ("12 KiB", "Isend", "completion_ns"): (215, 221, 231, 253, 1551),
    ("12 KiB", "Ssend", "call_ns"): (4548, 4618, 5196, 5346, 6469),
    ("4 KiB", "Isend", "call_ns"): (389, 400, 415, 434, 1704),
}
RANGES = {
    "mpi.call": (150, 500, "{:.0f} ns"),
    "mpi.wait": (80, 300, "{:.0f} ns"),
    "mpi.copy_rate": (80, 400, "{:.0f} Gb/s"),
    "mpi.noise.spread": (0.0, 1.0, None),
    "mpi.noise.arrival": (0, 1500, "{:.0f} ns"),
    "mpi.noise.interruption_probability": (0.005, 0.2, None),
    "mpi.noise.interruption": (100, 3000, "{:.0f} ns"),
}
START = (280, 180, 255, 0.25, 550, 0.045, 850)
MESSAGES = 6_000


def settings(values: Any) -> dict[str, Any]:
    """Keys of the experiment for some values of the parameters."""
    return {
        key: round(float(value), 4) if form is None else form.format(value)
        for (key, (_, _, form)), value in zip(RANGES.items(), values, strict=True)
    }


def cost(place: Any) -> float:
    """Weighted mean square of the logarithms of ours over published."""
    low, high = (np.array([bounds[end] for bounds in RANGES.values()]) for end in (0, 1))
    given = settings(low + (high - low) / (1 + np.exp(-place)))
    runs: dict[tuple[str, str], Any] = {}
    errors = []
    for (limit, kind, column), published in TARGETS.items():
        if (limit, kind) not in runs:
            experiment = Experiment.from_file(FOLDER / "ranks.toml", {**given, "mpi.eager_limit": limit})
            options = {"program": "programs.py:pingpong", "kind": kind, "messages": MESSAGES}
            runs[limit, kind] = run_ranks(FOLDER, experiment, options).table("returned")
        ours = np.percentile(runs[limit, kind][column], PERCENTS)
        errors.append(WEIGHTS * np.log(ours / published))
    return float(np.mean(np.square(errors)))


def main() -> None:
    """Fits and prints."""
    low, high = (np.array([bounds[end] for bounds in RANGES.values()]) for end in (0, 1))
    part = (np.array(START) - low) / (high - low)
    found = minimize(
        cost, np.log(part / (1 - part)), method="Nelder-Mead", options={"maxfev": 90, "fatol": 1e-6}
    )
    print(f"cost {cost(np.log(part / (1 - part))):.5f} -> {found.fun:.5f}")
    for key, value in settings(low + (high - low) / (1 + np.exp(-found.x))).items():
        print(f"{key} = {value}")


if __name__ == "__main__":
    main()
