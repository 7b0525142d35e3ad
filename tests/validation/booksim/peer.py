"""The peer's numbers."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, stdev

FOLDER = Path(__file__).resolve().parent
NODES = 64
"""Hosts of every network but the line and the dragonfly."""
STUDENT = {2: 12.706, 3: 4.303, 4: 3.182, 5: 2.776, 6: 2.571, 7: 2.447, 8: 2.365}
"""Student's t for 95 % by number of runs."""


@dataclass(frozen=True)
class Measured:
    """A run of the peer, or the mean of its runs with several seeds."""

    load: float
    """Configured offered load, in flits per node and cycle."""
    injected: float
    """Flits per node and cycle that it did offer, by chance a little more or less."""
    accepted: float
    latency: float
    """Mean, from creation to delivery, in cycles."""
    packets: int
    spread: float
    """Half-width of the 95 % confidence interval of the mean latency, from runs with several seeds; 0 with one."""
    saturated: bool
    """Was it a run to find the throughput when every source offers all that its link takes?"""

    def cycles(self, flits: int, nodes: int) -> float:
        """Length of its measurement, in cycles."""
        return self.packets * flits / (nodes * self.injected)


def measured(name: str) -> list[Measured]:
    """The runs of a case that ended with a result, by load; with several seeds, their means."""
    runs: dict[float, list[Measured]] = {}
    for row in _runs(name):
        runs.setdefault(row.load, []).append(row)
    return [_mean(of_load) for of_load in runs.values()]


def _mean(runs: list[Measured]) -> Measured:
    """All have measured equally long, so that they count equally."""
    return Measured(
        load=runs[0].load,
        injected=fmean(run.injected for run in runs),
        accepted=fmean(run.accepted for run in runs),
        latency=fmean(run.latency for run in runs),
        packets=sum(run.packets for run in runs),
        spread=_spread([run.latency for run in runs]),
        saturated=runs[0].saturated,
    )


def _spread(latencies: list[float]) -> float:
    if len(latencies) < 2:
        return 0.0
    return STUDENT[len(latencies)] * stdev(latencies) / math.sqrt(len(latencies))


def _runs(name: str) -> list[Measured]:
    return [
        Measured(
            load=float(row["load"]),
            injected=float(row["inj_flit"]),
            accepted=float(row["acc_flit"]),
            latency=float(row["plat"]),
            packets=int(row["npkt"]),
            spread=0.0,
            saturated=row["mode"] == "throughput",
        )
        for row in table(name)
        if row["plat"]
    ]


def table(name: str) -> Iterator[dict[str, str]]:
    """The rows of a file of measured numbers, as text."""
    text = (FOLDER / "measured" / f"{name}.csv").read_text(encoding="utf-8")
    yield from csv.DictReader(line for line in text.splitlines() if not line.startswith("#"))
