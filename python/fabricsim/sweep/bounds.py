"""What part of the largest possible throughput the points of a sweep reached."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from fabricsim.bound import bound, subject
from fabricsim.errors import FabricsimError
from fabricsim.spec import Experiment
from fabricsim.sweep.executors import Executor
from fabricsim.sweep.pool import Stop
from fabricsim.sweep.state import SweepState
from fabricsim.sweep.table import BOUND

NO_BOUND = "no bound: "
"""How the message of a point begins that has none."""


def add_bounds(experiment: Experiment, state: SweepState, executor: Executor, stop: Stop) -> None:
    """Adds the fraction of the bound to all points that ran and have none. Each bound is computed once.

    Points whose bound can not be computed get a message instead.
    """
    # workers on other machines have another current directory
    experiment = replace(experiment, base=os.path.abspath(experiment.base))
    wanted: dict[Experiment, list[int]] = {}
    for at, point in enumerate(state.points):
        if _wants(state.row(at)):
            wanted.setdefault(subject(experiment.with_overrides([*point.items()])), []).append(at)

    def done(one: Experiment, found: float | str | None) -> None:
        if found is not None:
            for at in wanted[one]:
                state.add(at, _with_bound(state.row(at) or {}, found))

    executor.work_through(list(wanted), total_of, done, stop=stop, on_lost=done)


def total_of(experiment: Experiment, stop: Stop) -> float | str | None:
    """The largest total of an experiment's traffic, Gb/s, or why there is none; in a worker. None after a stop."""
    if stop():
        return None
    try:
        return bound(experiment).total_gbps
    except (FabricsimError, MemoryError) as error:
        return str(error) or "there is not enough memory for it"


def _wants(row: Mapping[str, Any] | None) -> bool:
    return row is not None and row.get("accepted_gbps") is not None and row.get(BOUND) is None


def _with_bound(row: Mapping[str, Any], found: float | str) -> dict[str, Any]:
    if isinstance(found, str):
        return {**row, "message": row.get("message") or f"{NO_BOUND}{found}"}
    return {**row, BOUND: row["accepted_gbps"] / found, "message": _kept(row.get("message"))}


def _kept(message: str | None) -> str:
    """A message without what an earlier attempt said."""
    return "" if message is None or message.startswith(NO_BOUND) else message
