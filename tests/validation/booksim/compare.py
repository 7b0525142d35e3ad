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
    # as long a measurement.
    longer = ours.measured_ns / peer.cycles(case.flits, case.nodes)
    return Comparison(peer, ours, ours.half_width * math.sqrt(longer), binding)


def saturation(case: Case, effort: Effort) -> Saturation:
    """Accepted load when every source offers all that its link takes."""
    (peer,) = (row for row in case.measured() if row.saturated)
    ours = run(case, {**case.settings, **effort.for_saturation(case.flits)})
    return Saturation(peer.accepted, ours.accepted)


def default_latency(case: Case, row: Comparison, effort: Effort) -> float:
    """Our mean latency with the allocation that is the default, or without the option."""
    return run(case, {**case.without, **effort.for_latency(row.peer.injected, case.flits)}).latency


def default_saturation(case: Case, effort: Effort) -> float:
    """Our accepted load at saturation with the allocation that is the default, or without the option."""
    return run(case, {**case.without, **effort.for_saturation(case.flits)}).accepted
