"""Latency over load of every algorithm under uniform traffic and traffic to the group n further."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import fabricsim as fs

NETWORK = Path(__file__).resolve().parent / "network.toml"
ALGORITHMS = ["minimal", "valiant", "ugal-l", "ugal-g", "piggyback", "par", "par-6/2"]

SPREAD = [0.1, 0.2, 0.3, 0.4, 0.48]
"""Offered loads where the limit is about a half."""
FEW = [0.02, 0.028, 0.04]
"""Around 1/32."""


@dataclass(frozen=True)
class Traffic:
    """A pattern, and what its picture shows."""

    name: str
    title: str
    pattern: Any
    loads: Mapping[str, Sequence[float]]
    """Offered loads by algorithm; `SPREAD` of those that are not named."""
    limits: Mapping[str, float]
    """What the busiest link allows, by algorithm."""

    def loads_of(self, algorithm: str) -> Sequence[float]:
        return self.loads.get(algorithm, SPREAD)


UNIFORM = Traffic(
    "uniform",
    "uniform",
    "uniform",
    {algorithm: [0.1, 0.4, 0.7, 0.9] for algorithm in ALGORITHMS} | {"valiant": [0.1, 0.3, 0.4, 0.48]},
    {},
)
NEXT = Traffic(
    "adv-1",
    "to the next group (ADV+1)",
    {"group-offset": 1},
    {"minimal": FEW},
    {"minimal": 1 / 32, "valiant": 0.484},
)
WORST = Traffic(
    "adv-h",
    "to the group h = 4 further (ADV+h)",
    {"group-offset": 4},
    {"minimal": FEW, "valiant": [0.05, 0.1, 0.15, 0.18, 0.22]},
    {"minimal": 1 / 32, "valiant": 0.194},
)
TRAFFIC = [UNIFORM, NEXT, WORST]


@dataclass(frozen=True)
class Point:
    """A run."""

    offered: float
    accepted: float
    latency: float
    """Mean, ns."""

    @property
    def kept(self) -> float:
        """The part of what is offered that is accepted."""
        return self.accepted / self.offered


def run(algorithm: str, pattern: Any, load: float, **more: Any) -> Point:
    """A run of the network with an algorithm at an offered load."""
    settings = {"routing.algorithm": algorithm, "traffic.0.pattern": pattern, "traffic.0.load": load}
    found = fs.run(NETWORK, set=settings | {key.replace("__", "."): value for key, value in more.items()})
    if found.status != "ok":
        raise RuntimeError(f"{algorithm} at {load}: {found.status}")
    summary = found.summary
    return Point(summary["offered_load"], summary["accepted_load"], summary["latency_ns.mean"])


def curve(traffic: Traffic, algorithm: str) -> list[Point]:
    """Latency over load of an algorithm."""
    return [run(algorithm, traffic.pattern, load) for load in traffic.loads_of(algorithm)]
