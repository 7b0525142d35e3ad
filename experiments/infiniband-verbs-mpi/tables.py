"""Tables of the reproduction page. Each function takes the runs of its figure by name."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pandas as pd

from fabricsim.reproduce.quantities import Runs

FOLDER = Path(__file__).parent
PARAMETERS = {
    "call": ("150 to 500 ns", "fitted; a call of MPI, with its request"),
    "wait": ("80 to 300 ns", "fitted; a call of MPI that polls"),
    "copy_rate": ("80 to 400 Gb/s", "fitted; a copy within caches of a core of that time"),
    "noise.spread": ("0 to 1", "fitted; misses of caches and TLB"),
    "noise.arrival": ("0 to 1500 ns", "fitted; polling of several queues, memory and bus"),
    "noise.interruption_probability": ("0.005 to 0.2", "fitted"),
    "noise.interruption": ("100 to 3000 ns", "fitted; tracing by Extrae, interrupts"),
    "noise.tick": ("5 to 30 us", "chosen; a tick with its deferred work"),
    "noise.pause": ("10 to 200 us", "chosen; daemons, machine checks"),
    "noise.pause_period": ("1 to 100 s", "chosen"),
}
"""Range in which each parameter is plausible, and what it stands for."""


def parameters(runs: Runs) -> pd.DataFrame:
    """Parameters of tables IV and V, with their values in ranks.toml."""
    settings = tomllib.loads((FOLDER / "ranks.toml").read_text(encoding="utf-8"))["mpi"]
    rows = []
    for name, (limits, stands_for) in PARAMETERS.items():
        value = settings
        for part in name.split("."):
            value = value[part]
        rows.append(
            {
                "mpi.": name,
                "value": str(value),
                "plausible": limits,
                "how, and what it stands for": stands_for,
            }
        )
    frame = pd.DataFrame(rows)
    frame.attrs["caption"] = "Ten parameters of ranks.toml; all ranges are assumed"
    return frame
