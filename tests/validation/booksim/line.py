"""Eight switches in a line, all to the last: who gets which share, and who waits how long."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import fabricsim as fs

from .peer import FOLDER, table

EXPERIMENT = FOLDER / "line.toml"
SOURCES = [f"P{i}" for i in range(7)]
OURS = {"round-robin": "round-robin", "age": "oldest-first", "network-age": "oldest-first"}
"""Our arbiter for the peer's. `age` counts from creation; there is no such arbiter here."""
SHARE_TOLERANCE = 0.01
LATENCY_TOLERANCE = 0.02


@dataclass(frozen=True)
class Shares:
    """Accepted flits per cycle by source, every source offering a flit a cycle."""

    arbitration: str
    peer: list[float]
    ours: list[float]

    @property
    def worst(self) -> float:
        """The largest relative difference."""
        return max(abs(a / b - 1.0) for a, b in zip(self.ours, self.peer, strict=True))


@dataclass(frozen=True)
class Waits:
    """Mean latency, of all packets and by source, in cycles."""

    arbitration: str
    load: float
    peer: list[float]
    ours: list[float]
    half_width: float
    """Of the 95 % confidence interval of our mean of all."""

    @property
    def holds(self) -> bool:
        """The means of all agree. Both measured equally long, so the chance counts twice."""
        allowed = LATENCY_TOLERANCE * self.peer[0] + math.sqrt(2.0) * self.half_width
        return abs(self.ours[0] - self.peer[0]) <= allowed


def shares() -> list[Shares]:
    """The peer's three arbitrations and ours."""
    ours = {arbiter: _shares(arbiter) for arbiter in set(OURS.values())}
    rows = list(table("line-shares"))
    return [
        Shares(row["arbitration"], [float(row[p]) for p in SOURCES], ours[OURS[row["arbitration"]]])
        for row in rows
    ]


def _shares(arbiter: str) -> list[float]:
    accepted = fs.run(EXPERIMENT, set={"switch.arbiter": arbiter}).flows["accepted_gbps"]
    return [gbps / 64.0 for gbps in accepted]


def waits() -> Iterator[Waits]:
    """Below saturation."""
    for row in table("line-latency"):
        load = float(row["load"])
        settings = {
            "switch.arbiter": OURS[row["arbitration"]],
            "traffic.0.load": load,
            "run.warmup": "40 us",
            "run.duration": "120 us",
            "run.drain": "measured",
        }
        run = fs.run(EXPERIMENT, set=settings)
        summary = run.manifest["summary"]
        yield Waits(
            row["arbitration"],
            load,
            [float(row[column]) for column in ["all", *SOURCES]],
            [summary["latency_ns"]["mean"], *run.flows["latency_mean_ns"]],
            summary["latency_confidence"]["half_width_ns"],
        )
