"""Our numbers beside the peer's."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import fabricsim as fs

from .cases import LATENCY_TOLERANCE, THROUGHPUT_TOLERANCE, Case, Effort
from .peer import Measured


@dataclass(frozen=True)
class Point:
    """A run of ours."""

    latency: float
    half_width: float
    """Of the 95 % confidence interval of the mean latency, ns."""
    accepted: float
    measured_ns: float


@dataclass(frozen=True)
class Comparison:
    """A load."""

    peer: Measured
    ours: Point
    peer_half_width: float
    binding: bool

    @property
    def ratio(self) -> float:
        return self.ours.latency / self.peer.latency

    @property
    def allowed(self) -> float:
        """By how much the latencies may differ, in cycles: the tolerance, and what both have by chance."""
        chance = math.hypot(self.ours.half_width, self.peer_half_width)
        return LATENCY_TOLERANCE * self.peer.latency + chance

    @property
    def holds(self) -> bool:
        return abs(self.ours.latency - self.peer.latency) <= self.allowed


@dataclass(frozen=True)
class Saturation:
    """Every source offers all that its link takes."""

    peer: float
    ours: float

    @property
    def ratio(self) -> float:
        return self.ours / self.peer

    @property
    def holds(self) -> bool:
        return abs(self.ratio - 1.0) <= THROUGHPUT_TOLERANCE


def run(case: Case, settings: Mapping[str, Any]) -> Point:
    """Runs a case of ours."""
    summary = fs.run(case.experiment, set=dict(settings)).manifest["summary"]
    confidence = summary["latency_confidence"] or {"half_width_ns": math.nan}
    return Point(
        latency=summary["latency_ns"]["mean"],
        half_width=confidence["half_width_ns"],
        accepted=summary["accepted_load"],
        measured_ns=summary["measured_ns"],
    )


def latencies(case: Case, effort: Effort, *, beyond: bool = False) -> list[Comparison]:
    """The loads up to the limit, or all below saturation. We offer what the peer's sources happened to offer."""
    limit = case.limit()
    rows = [row for row in case.measured() if not row.saturated and (beyond or row.load <= limit)]
    return [_latency(case, row, effort, binding=case.binding and row.load <= limit) for row in rows]


def _latency(case: Case, peer: Measured, effort: Effort, *, binding: bool) -> Comparison:
    ours = run(case, {**case.settings, **effort.for_latency(peer.injected, case.flits)})
    # The peer gives no interval. The same packets are measured, so by chance its mean is off as ours would be after
    # as long a measurement. Runs with several seeds may show more.
    longer = ours.measured_ns / peer.cycles(case.flits, case.nodes)
    half_width = max(ours.half_width * math.sqrt(longer), peer.spread)
    return Comparison(peer, ours, half_width, binding)


def saturation(case: Case, effort: Effort) -> Saturation:
    """Accepted load when every source offers all that its link takes."""
    (peer,) = (row for row in case.measured() if row.saturated)
    ours = run(case, {**case.settings, **effort.for_saturation(case)})
    return Saturation(peer.accepted, ours.accepted)


def default_latency(case: Case, row: Comparison, effort: Effort) -> float:
    """Our mean latency with the allocation that is the default, or without the option."""
    return latency_with(case, case.without, row.peer.injected, effort)


def latency_with(case: Case, settings: Mapping[str, Any], load: float, effort: Effort) -> float:
    """Our mean latency at a load with settings in place of those of the case."""
    return run(case, {**settings, **effort.for_latency(load, case.flits)}).latency


@dataclass(frozen=True)
class Part:
    """A case without one key of its option: ratios to the peer of latencies and of the accepted load."""

    latencies: list[float]
    saturation: float
    is_out_of_tolerance: bool


def part(case: Case, key: str, rows: list[Comparison], effort: Effort) -> Part:
    """A case without a key, for the loads of `rows`, its comparisons."""
    settings = case.without_key(key)
    ours = [latency_with(case, settings, row.peer.injected, effort) for row in rows]
    (peer,) = (row for row in case.measured() if row.saturated)
    saturation = Saturation(peer.accepted, saturation_with(case, settings, effort))
    pairs = list(zip(ours, rows, strict=True))
    misses = any(abs(mean - row.peer.latency) > row.allowed for mean, row in pairs)
    return Part(
        [mean / row.peer.latency for mean, row in pairs], saturation.ratio, misses or not saturation.holds
    )


def default_saturation(case: Case, effort: Effort) -> float:
    """Our accepted load at saturation with the allocation that is the default, or without the option."""
    return saturation_with(case, case.without, effort)


def saturation_with(case: Case, settings: Mapping[str, Any], effort: Effort) -> float:
    """Our accepted load at saturation with settings in place of those of the case."""
    return run(case, {**settings, **effort.for_saturation(case)}).accepted
