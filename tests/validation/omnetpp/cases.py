"""Runs of the peer and totals of the thesis, and our numbers with and without what the peer's switches do."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import fabricsim as fs
from fabricsim.selection import to_ns

THESIS = Path(__file__).resolve().parents[3] / "experiments/thesis"
SETTLED = "0.5 ms"
"""The beginning, in which buffers fill, is left out."""
TOLERANCE = 0.01

# The links' own rate and overhead, and a credit every 50 ns from each queue.
INTERVAL: dict[str, Any] = {
    "links.all.rate": "32 Gb/s",
    "links.all.packet_overhead": "8 B",
    "switch.unit_interval": "50 ns",
}
STRICT: dict[str, Any] = {"switch.arbiter": "strict-round-robin"}
NO_CONTROL: dict[str, Any] = {"congestion_control.algorithm": "none"}


@dataclass(frozen=True)
class Quantity:
    """Throughput of a host's generator or sink in the peer's run, or of a network in the thesis."""

    name: str
    experiment: str
    host: str
    column: str
    peer: float
    """MB/s of a host, GB/s of a network."""
    option: Mapping[str, Any]
    base: Mapping[str, Any]
    after: str = "0 s"
    before: str = "1 s"

    @property
    def with_option(self) -> float:
        return self._ours({**self.base, **self.option})

    @property
    def without(self) -> float:
        return self._ours(self.base)

    def _ours(self, settings: Mapping[str, Any]) -> float:
        series = _series(self.experiment, tuple(sorted(settings.items())))
        start, end = (to_ns(time) for time in (self.after, self.before))
        rows = series[(series["time_ns"] >= start - 1) & (series["time_ns"] < end - 1)]
        if not self.host:
            return float(rows.groupby("time_ns")[self.column].sum().mean()) * 0.125
        return float(rows.loc[rows["host"] == self.host, self.column].mean()) * 125.0


@cache
def _series(experiment: str, settings: tuple[tuple[str, Any], ...]) -> Any:
    return fs.run(THESIS / f"{experiment}.toml", set=dict(settings)).table("hosts_series")


def _link(host: str, column: str, peer: float) -> Quantity:
    verb = {"injected_gbps": "sends", "delivered_gbps": "receives"}[column]
    return Quantity(f"{host} {verb}", "omnetpp-linkcap-2004", host, column, peer, INTERVAL, {}, SETTLED)


SLOT = [
    _link("H111", "injected_gbps", 655.32),
    _link("H112", "injected_gbps", 655.70),
    _link("H131", "delivered_gbps", 639.74),
    _link("H132", "delivered_gbps", 640.13),
]
"""Two flows over a link between switches, reading of 2004: means of the peer's run from 0.5 ms on."""


def _shares(host: str, peer: float) -> Quantity:
    name = f"{host} sends"
    return Quantity(name, "omnetpp-a-fast", host, "injected_gbps", peer, STRICT, {}, "23 ms", "35 ms")


SHARES = [
    _shares("H111", 249.15),
    _shares("H112", 249.15),
    _shares("H121", 249.15),
    _shares("H211", 498.12),
]
"""Experiment A without congestion control, its time axis divided by 20, when all send."""

HELD: dict[str, Any] = {**STRICT, "switch.unit_interval": "64 ns"}
"""A credit of 64 bytes every 64 ns from each queue, the rate of a host's link: a packet holds its output for as long
as it takes to arrive over such a link."""

HOLD: dict[str, Any] = {"switch.rate_mismatch": "hold-output"}
"""A packet that comes over a slower link holds its output until its tail has come."""

_PRINTED = (("C1", "c1", 20.0), ("C2", "c2", 13.0), ("C3", "c3", 13.0), ("C4, D", "d", 15.9))
PRECISION = {"C1": 0.5, "C2": 0.5, "C3": 0.5, "C4, D": 0.05}
"""Half of the last printed digit, in GB/s."""


def _totals(option: Mapping[str, Any]) -> list[Quantity]:
    return [
        Quantity(name, file, "", "delivered_gbps", peer, option, NO_CONTROL) for name, file, peer in _PRINTED
    ]


TOTALS = _totals(STRICT)
"""Average throughput of the network without congestion control, as the thesis prints it (figures 4.9 to 4.14)."""

SEEDS = (1, 2, 3, 4, 5)
STUDENT = 2.776
"""Student's t for 95 % and five seeds."""


@dataclass(frozen=True)
class OverSeeds:
    """A total with some settings, for each seed."""

    values: tuple[float, ...]

    @property
    def mean(self) -> float:
        return fmean(self.values)

    @property
    def of_mean(self) -> float:
        """Half-width of the 95 % confidence interval of the mean."""
        return STUDENT * stdev(self.values) / math.sqrt(len(self.values))

    @property
    def of_one_run(self) -> float:
        """Half-width of the 95 % prediction interval of one more run, which is what the thesis has."""
        return STUDENT * stdev(self.values) * math.sqrt(1.0 + 1.0 / len(self.values))

    def minus(self, other: OverSeeds) -> OverSeeds:
        """The differences, seed by seed."""
        return OverSeeds(tuple(a - b for a, b in zip(self.values, other.values, strict=True)))


def over_seeds(total: Quantity, option: Mapping[str, Any]) -> OverSeeds:
    """A total with an option."""
    runs = [replace(total, option={**option, "seed": seed}) for seed in SEEDS]
    return OverSeeds(tuple(run.with_option for run in runs))


HELD_TOTALS = _totals(HELD)
"""The same where every packet holds its output for as long as it takes to arrive over a host's link."""

HOLD_TOTALS = _totals({**STRICT, **HOLD})
"""The same where packets that come over a host's link hold their outputs, as in the peer."""

HOLD_IN_TURN_TOTALS = _totals(HOLD)
"""The same with outputs that do not wait for the input in turn; `without`: and are not held either."""
