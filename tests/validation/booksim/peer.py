"""The peer's numbers."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
NODES = 64
"""Hosts of every network but the line and the dragonfly."""


@dataclass(frozen=True)
class Measured:
    """A run of the peer."""

    load: float
    """Configured offered load, in flits per node and cycle."""
    injected: float
    """Flits per node and cycle that it did offer, by chance a little more or less."""
    accepted: float
    latency: float
    """Mean, from creation to delivery, in cycles."""
    packets: int
    saturated: bool
    """Was it a run to find the throughput when every source offers all that its link takes?"""

    def cycles(self, flits: int, nodes: int) -> float:
        """Length of its measurement, in cycles."""
        return self.packets * flits / (nodes * self.injected)


def measured(name: str) -> list[Measured]:
    """The runs of a case that ended with a result, by load."""
    return [
        Measured(
            load=float(row["load"]),
            injected=float(row["inj_flit"]),
            accepted=float(row["acc_flit"]),
            latency=float(row["plat"]),
            packets=int(row["npkt"]),
            saturated=row["mode"] == "throughput",
        )
        for row in table(name)
        if row["plat"]
    ]


def table(name: str) -> Iterator[dict[str, str]]:
    """The rows of a file of measured numbers, as text."""
    text = (FOLDER / "measured" / f"{name}.csv").read_text(encoding="utf-8")
    yield from csv.DictReader(line for line in text.splitlines() if not line.startswith("#"))
