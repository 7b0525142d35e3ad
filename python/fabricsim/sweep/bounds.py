"""Fraction of the bound that the points of a sweep reached, and the least times of jobs."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from fabricsim.bound import Bound, bound, subject
from fabricsim.bound.jobs import rows as job_rows
from fabricsim.errors import FabricsimError
from fabricsim.results import key_of_job
from fabricsim.spec import Experiment
from fabricsim.sweep.executors import Executor
from fabricsim.sweep.pool import Stop
from fabricsim.sweep.state import SweepState
from fabricsim.sweep.table import BOUND, LEAST_TIME


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


@dataclass(frozen=True)
class Bounds:
    """Bounds of a point."""

    total: Total | None = None
    least_ns: Mapping[str, float] = field(default_factory=dict)
    """Least mean iteration of each job, by the name of its column."""
    message: str = ""
    """The reason why a bound is missing; empty if none is."""


NO_BOUND = "no bound: "
"""Prefix of the message of a point without a bound."""
_NO_TOTAL = "responses and jobs have none, and their throughput is part of what is accepted"


def add_bounds(experiment: Experiment, state: SweepState, executor: Executor, stop: Stop) -> None:
    """Adds the fraction of the bound, and the least times of jobs, to all points that ran and have none. Each bound is
    computed once.

    Points whose bound cannot be computed get a message instead.
    """
    # workers on other machines have another current directory
    experiment = replace(experiment, base=os.path.abspath(experiment.base))
    wanted: dict[Experiment, list[int]] = {}
    for at, point in enumerate(state.points):
        if _wants(state.row(at)):
            wanted.setdefault(subject(experiment.with_overrides([*point.items()])), []).append(at)

    def done(one: Experiment, found: Bounds | str | None) -> None:
        if isinstance(found, str):
            found = Bounds(message=found)
        if found is not None:
            for at in wanted[one]:
                state.add(at, _with_bound(state.row(at) or {}, found))

    executor.work_through(list(wanted), bounds_of, done, stop=stop, on_lost=done)


def bounds_of(experiment: Experiment, stop: Stop) -> Bounds | None:
    """The largest total of an experiment's traffic and the least times of its jobs; in a worker. None after a stop."""
    if stop():
        return None
    written = experiment.written()
    traffic, jobs = written.get("traffic"), written.get("jobs")
    entries = traffic if isinstance(traffic, list) else []
    has_no_total = any("response" in entry for entry in entries) or (entries and jobs)
    message = _NO_TOTAL if has_no_total else ""
    try:
        if jobs:
            return Bounds(least_ns=_least_times(experiment), message=message)
        return Bounds(message=message) if has_no_total else Bounds(Total.of(bound(experiment)))
    except (FabricsimError, MemoryError) as error:
        return Bounds(message=str(error) or "there is not enough memory for it")


def _least_times(experiment: Experiment) -> dict[str, float]:
    return {f"{key_of_job(job['job'])}.{LEAST_TIME}": job["iteration_ns"] for job in job_rows(experiment)}


def _wants(row: Mapping[str, Any] | None) -> bool:
    if row is None or row.get("accepted_gbps") is None or row.get(BOUND) is not None:
        return False
    return not any(name.endswith(f".{LEAST_TIME}") and value is not None for name, value in row.items())


def _with_bound(row: Mapping[str, Any], found: Bounds) -> dict[str, Any]:
    kept = _kept(row.get("message"))
    message = f"{NO_BOUND}{found.message}" if found.message else ""
    fraction = {} if found.total is None else {BOUND: found.total.fraction(row)}
    return {**row, **fraction, **found.least_ns, "message": kept or message}


def _kept(message: str | None) -> str:
    """A message without the text of an earlier attempt."""
    return "" if message is None or message.startswith(NO_BOUND) else message
