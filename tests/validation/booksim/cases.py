"""What is compared, and how long it is run for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .peer import FOLDER, NODES, Measured, measured

UP_TO = 0.8
"""Part of the saturation throughput up to which latencies are held against each other."""
LATENCY_TOLERANCE = 0.02
THROUGHPUT_TOLERANCE = 0.03


DEFAULT_SWITCH = {"switch.allocation": "maximal"}
"""What an experiment gets that does not ask for the peer's allocators."""


@dataclass(frozen=True)
class Case:
    """A network and a size of packets."""

    name: str
    title: str
    flits: int
    peer: str = ""
    """The peer's numbers, if they are not called as the case."""
    binding: bool = True
    """Are the models the same, so that the tolerances hold?"""
    saturates_alike: bool = True
    """Do they hold at saturation as well?"""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """On top of the experiment."""
    without: Mapping[str, Any] = field(default_factory=lambda: DEFAULT_SWITCH)
    """In place of `settings`: what is to be seen beside the comparison."""
    nodes: int = NODES
    full_at: float | None = None
    """Load at which the busiest link is full, where others accept more."""
    up_to: float = UP_TO
    """Part of the saturation throughput up to which latencies are held against each other."""
    settles_for: int | None = None
    """Cycles of warm-up, and of measurement, at saturation, where the throughput drifts for long: those of the peer."""

    def without_key(self, key: str) -> dict[str, Any]:
        """The settings but one, which is as in `without`."""
        others = {name: value for name, value in self.settings.items() if name != key}
        return others | {name: value for name, value in self.without.items() if name == key}

    @property
    def experiment(self) -> Path:
        return FOLDER / f"{self.name}.toml"

    def measured(self) -> list[Measured]:
        return measured(self.peer or self.name)

    def limit(self) -> float:
        """The load up to which latencies are compared: a part of the most that the peer accepts, or of `full_at`."""
        return self.up_to * (self.full_at or max(row.accepted for row in self.measured()))


CASES = [
    Case("mesh-1f", "8x8 mesh, packets of 1 flit", 1),
    Case("mesh-16f", "8x8 mesh, packets of 16 flits", 16),
    Case("torus-1f", "8x8 torus, packets of 1 flit", 1),
    Case("torus-16f", "8x8 torus, packets of 16 flits", 16),
    Case("tree-1f", "4-ary 3-tree, packets of 1 flit", 1),
]
WORMHOLE = Case("mesh-16f", "8x8 mesh, 16 flits, wormhole", 16, peer="mesh-16f-wormhole", binding=False)


@dataclass(frozen=True)
class Effort:
    """How long is simulated, in cycles of a nanosecond, for packets of one flit; those of 16 flits run longer."""

    warmup: int
    longest: int
    precision: float
    """Half-width of the 95 % confidence interval, relative, at which a measurement may end before the longest."""
    saturated: int
    """Length of a run at saturation, warm-up and measurement each."""

    def for_latency(self, load: float, flits: int) -> dict[str, Any]:
        longer = 1 if flits == 1 else 4
        return {
            "traffic.0.load": load,
            "run.warmup": f"{self.warmup * longer} ns",
            "run.duration": f"{self.longest * longer} ns",
            "run.steady_state.precision": self.precision,
        }

    def for_saturation(self, case: Case) -> dict[str, Any]:
        longer = 1 if case.flits == 1 else 2
        time = f"{case.settles_for or self.saturated * longer} ns"
        return {"traffic.0.load": 1.0, "run.warmup": time, "run.duration": time, "run.drain": "none"}


SHORT = Effort(warmup=2_000, longest=16_000, precision=0.01, saturated=6_000)
FULL = Effort(warmup=5_000, longest=60_000, precision=0.004, saturated=20_000)
