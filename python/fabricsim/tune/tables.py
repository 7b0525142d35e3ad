"""A study as tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from fabricsim.lazy import pandas as pd
from fabricsim.results import set_column_notes
from fabricsim.spec import toml_value
from fabricsim.sweep.base import value_at
from fabricsim.tune.confirm import Confirmation
from fabricsim.tune.metrics.registry import unit
from fabricsim.tune.parameters import Quantities
from fabricsim.tune.pareto import front
from fabricsim.tune.problem import Problem
from fabricsim.tune.record import Record
from fabricsim.tune.runs import Run
from fabricsim.tune.units import unit_of_number


def trials_table(problem: Problem, records: Mapping[int, Record]) -> pd.DataFrame:
    """A row for the experiment as it is, trial -1, and for each trial."""
    on_front = {record.number for record in front(list(records.values()), problem.axes)}
    rows = []
    for number in sorted(records):
        record = records[number]
        rows.append(
            {
                "trial": number,
                **{p.key: _setting(problem, record, p.key) for p in problem.parameters},
                **{m.name: record.metrics.get(m.name, float("nan")) for m in problem.metrics},
                **{f"objective: {a.name}": v for a, v in _values(problem, record)},
                "feasible": record.feasible,
                "best": number in on_front,
                "error": record.error,
            }
        )
    frame = pd.DataFrame(rows, columns=None if rows else ["trial", "best", "feasible", "error"])
    for item in problem.parameters if rows else ():
        kinds = {type(row[item.key]) for row in rows}
        if len(kinds) > 1 and not kinds <= {int, float}:
            frame[item.key] = pd.Series([_text(row[item.key]) for row in rows], dtype="str")
    return _noted(problem, frame, {"trial": "number; -1: the experiment as it is"})


def runs_table(problem: Problem, runs: Iterable[tuple[Any, Run]], column: str) -> pd.DataFrame:
    """A row for each run; `column` has its setting."""
    rows = []
    for whose, run in runs:
        values = run.values or (float("nan"),) * len(problem.metrics)
        rows.append(
            {
                column: whose,
                "scenario": run.scenario,
                "seed": run.seed,
                **{m.name: value for m, value in zip(problem.metrics, values, strict=True)},
                "error": run.error,
                "fingerprint": run.fingerprint,
                "wall_s": run.wall_s,
            }
        )
    frame = pd.DataFrame(rows, columns=None if rows else [column])
    return _noted(problem, frame, {"wall_s": "wall time of the run"}, {"wall_s": "s"})


def gains_table(found: Confirmation) -> pd.DataFrame:
    """A row for each metric: best setting and baseline on fresh seeds."""
    return pd.DataFrame([gain.as_dict() for gain in found.gains])


def tables(
    problem: Problem, records: Mapping[int, Record], found: Confirmation | None
) -> dict[str, pd.DataFrame]:
    """All tables of a study but the importances."""
    frames = {
        "trials": trials_table(problem, records),
        "runs": runs_table(problem, _runs(records), "trial"),
    }
    if found is not None:
        frames["gains"] = gains_table(found)
        frames["confirmation"] = runs_table(problem, found.runs, "setting")
    return frames


def _runs(records: Mapping[int, Record]) -> Iterable[tuple[int, Run]]:
    return ((number, run) for number in sorted(records) for run in records[number].runs)


def _values(problem: Problem, record: Record) -> list[tuple[Any, float]]:
    """Objectives that are more than a metric."""
    values = record.values or (float("nan"),) * len(problem.axes)
    return [(a, v) for a, v in zip(problem.axes, values, strict=True) if a.name not in _names(problem)]


def _names(problem: Problem) -> set[str]:
    return {metric.name for metric in problem.metrics}


def _setting(problem: Problem, record: Record, key: str) -> Any:
    """A parameter's value, of the baseline as far as the experiment has one."""
    value = _of_experiment(problem, key) if record.is_baseline else record.settings[key]
    return value if value is None or isinstance(value, bool | int | float | str) else toml_value(value)


def _of_experiment(problem: Problem, key: str) -> Any:
    """The experiment's value, with a unit if those of the range have one."""
    value = value_at(problem.facts, key)
    of = next(item for item in problem.parameters if item.key == key)
    if not isinstance(of, Quantities) or not isinstance(value, int | float) or isinstance(value, bool):
        return value
    one = unit_of_number(key)
    return value if one is None else of.written(value, one)


def _text(value: Any) -> str:
    return "" if value is None else str(value)


def _noted(
    problem: Problem,
    frame: pd.DataFrame,
    texts: Mapping[str, str],
    units: Mapping[str, str] | None = None,
) -> pd.DataFrame:
    keys = {p.key: "parameter: key of the experiment" for p in problem.parameters}
    about = {m.name: m.which.label for m in problem.metrics}
    known = {**keys, **about, **texts}
    of = {**{m.name: unit(m.which.metric) for m in problem.metrics}, **(units or {})}
    set_column_notes(frame, {str(c): (of.get(str(c), ""), known.get(str(c), "")) for c in frame.columns})
    return frame
