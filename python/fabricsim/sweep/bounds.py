"""Fraction of the bound that the points of a sweep reached."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from fabricsim.bound import Bound, bound, subject
from fabricsim.errors import FabricsimError
from fabricsim.spec import Experiment
from fabricsim.sweep.executors import Executor
from fabricsim.sweep.pool import Stop
from fabricsim.sweep.state import SweepState
from fabricsim.sweep.table import BOUND


@dataclass(frozen=True)
class Total:
    """Figures of a bound for the comparison with a point."""

    gbps: float
    """The largest total."""
    offered_gbps: float | None
    """Mean offered load of the sources; None if one offers all that its link carries."""

    @classmethod
    def of(cls, found: Bound) -> Total:
        """Of a bound."""
        return cls(found.total_gbps, None if found.facts["saturating"] else found.offered_gbps)

    def fraction(self, row: Mapping[str, Any]) -> float:
        """Accepted throughput of a point as a fraction of the bound, as `Bound.fraction` computes it."""
        offered = row.get("offered_gbps")
        more = 0.0
        if offered is not None and self.offered_gbps is not None:
            more = max(0.0, float(offered) - self.offered_gbps)
        return float(row["accepted_gbps"]) / (self.gbps + more)


NO_BOUND = "no bound: "
"""Prefix of the message of a point without a bound."""


def add_bounds(experiment: Experiment, state: SweepState, executor: Executor, stop: Stop) -> None:
    """Adds the fraction of the bound to all points that ran and have none. Each bound is computed once.

    Points whose bound cannot be computed get a message instead.
    """
    # workers on other machines have another current directory
    experiment = replace(experiment, base=os.path.abspath(experiment.base))
    wanted: dict[Experiment, list[int]] = {}
    for at, point in enumerate(state.points):
        if _wants(state.row(at)):
            wanted.setdefault(subject(experiment.with_overrides([*point.items()])), []).append(at)

    def done(one: Experiment, found: Total | str | None) -> None:
        if found is not None:
            for at in wanted[one]:
                state.add(at, _with_bound(state.row(at) or {}, found))

    executor.work_through(list(wanted), total_of, done, stop=stop, on_lost=done)


def total_of(experiment: Experiment, stop: Stop) -> Total | str | None:
    """The largest total of an experiment's traffic, or the reason why it is missing; in a worker. None after a stop."""
    if stop():
        return None
    written = experiment.written()
    traffic, jobs = written.get("traffic"), written.get("jobs")
    entries = traffic if isinstance(traffic, list) else []
    if any("response" in entry for entry in entries) or jobs:
        more = "; `fabricsim bound` gives the least times of jobs" if jobs else ""
        return f"responses and jobs have none, and their throughput is part of what is accepted{more}"
    try:
        return Total.of(bound(experiment))
    except (FabricsimError, MemoryError) as error:
        return str(error) or "there is not enough memory for it"


def _wants(row: Mapping[str, Any] | None) -> bool:
    return row is not None and row.get("accepted_gbps") is not None and row.get(BOUND) is None


def _with_bound(row: Mapping[str, Any], found: Total | str) -> dict[str, Any]:
    if isinstance(found, str):
        return {**row, "message": row.get("message") or f"{NO_BOUND}{found}"}
    return {**row, BOUND: found.fraction(row), "message": _kept(row.get("message"))}


def _kept(message: str | None) -> str:
    """A message without the text of an earlier attempt."""
    return "" if message is None or message.startswith(NO_BOUND) else message
