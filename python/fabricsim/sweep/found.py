"""Tables of what a sweep with a schedule found: saturation points, and precision."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from fabricsim.lazy import pandas as pd
from fabricsim.sweep.bisection import BisectionSchedule, Search
from fabricsim.sweep.precision import PrecisionSchedule

Rows = Mapping[int, Mapping[str, Any]]
FOUND = (
    "load",
    "accepted",
    "throughput",
    "reached",
    "offered",
    "saturated_load",
    "reason",
    "latency_ns",
    "zero_load_ns",
    "runs",
    "grid_runs",
    "message",
)
"""Columns of the table of saturation points behind the parameters."""


def saturations(schedule: BisectionSchedule, rows: Rows, others: Sequence[str]) -> pd.DataFrame:
    """A row for each search that is done or failed."""
    found = []
    for combination in range(schedule.combinations):
        numbers = _numbers(combination, schedule.runs_of_grid, rows)
        search = schedule.search(combination, rows)
        if numbers and not search.bracket.due:
            runs = {"runs": len(numbers), "grid_runs": schedule.runs_of_grid}
            parameters = {key: rows[numbers[0]][key] for key in others}
            found.append(
                parameters | _of_search(search, schedule.values) | runs | {"message": search.message}
            )
    return pd.DataFrame(found, columns=[*others, *FOUND])


def _of_search(search: Search, values: Sequence[float]) -> dict[str, Any]:
    levels = search.levels()
    low, high = search.bracket.low, search.bracket.high
    known = [level.accepted for level in levels.values() if not math.isnan(level.accepted)]
    found = {"throughput": max(known, default=math.nan), "reached": high is not None, "reason": ""}
    if search.message:
        return found | {"load": math.nan, "reached": False}
    found["zero_load_ns"] = levels[0].latency
    if high is not None:
        found |= {"saturated_load": values[high], "reason": search.reason(high)}
    if low < 0:
        return found | {"load": 0.0, "accepted": 0.0, "offered": 0.0}
    at = levels[low]
    return found | {
        "load": values[low],
        "accepted": at.accepted,
        "offered": at.offered,
        "latency_ns": at.latency,
    }


def precisions(schedule: PrecisionSchedule, rows: Rows, varied: Sequence[str]) -> pd.DataFrame:
    """A row for each point and each metric whose precision was requested."""
    found = []
    for combination in range(schedule.combinations):
        if numbers := _numbers(combination, schedule.most, rows):
            parameters = {key: rows[numbers[0]][key] for key in varied}
            found += [parameters | row for row in schedule.results(combination, rows)]
    names = ("metric", "mean", "precision", "requested", "reached", "seeds")
    return pd.DataFrame(found, columns=[*varied, *names])


def _numbers(combination: int, size: int, rows: Rows) -> list[int]:
    """Numbers of the points of a combination that are done."""
    return [at for at in range(combination * size, (combination + 1) * size) if at in rows]
