"""The table of a sweep: a row for each point, its parameters first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from fabricsim import catalogue
from fabricsim.catalogue import FRACTION, Entry
from fabricsim.lazy import pandas as pd
from fabricsim.results import set_column_notes
from fabricsim.sweep.plan import Point, plain_value
from fabricsim.sweep.quantity import Dimension, common_dimension, quantity

TABLE = "sweep"
FAILED = "failed"
"""Status of a point that gave no results; the others are those of runs."""
BOUND = "bound_fraction"
"""The column of bounds, if requested."""
LEAST_TIME = "least_iteration_ns"
"""End of the columns of the least times of jobs, if bounds are requested: `jobs.solver.least_iteration_ns`."""
SUMMED = "by"
"""The key of a row under which its sums of flows are, if requested: no column, but tables of their own."""
_OWN = (
    Entry("point", "point", text="number of the point"),
    Entry("status", "status", text="ok, deadlock, or failed"),
    Entry(
        "message",
        "message",
        text="why the point failed or has no bound, or what waits for what in a deadlock",
    ),
    Entry(
        BOUND,
        "of the bound",
        FRACTION,
        "accepted throughput over the largest total that topology and routing allow",
    ),
    Entry("wall_s", "wall time", "s", "wall time of the run"),
)
"""Columns that no summary has."""
_LEAST_TIME = Entry(
    LEAST_TIME,
    "least iteration",
    "ns",
    "least mean iteration of the job: on a network on which messages meet at no link but those of hosts",
)


class Parameters:
    """The parameters of all points as columns.

    A parameter whose values all have units has a second column with numbers, named by its key and the unit's suffix
    (`links.all.latency_ns`).
    """

    def __init__(self, points: Sequence[Point], base: Mapping[str, Any]) -> None:
        """`base` has the experiment's own values, for points that leave a key as it is."""
        self.names = list(dict.fromkeys(key for point in points for key in point))
        self._points = points
        self._base = {key: base.get(key) for key in self.names}
        columns = {key: [self._value(point, key) for point in points] for key in self.names}
        found = {key: common_dimension(values) for key, values in columns.items()}
        self._dimensions: dict[str, Dimension] = {key: d for key, d in found.items() if d is not None}

    def _value(self, point: Point, key: str) -> Any:
        return plain_value(point[key]) if key in point else self._base[key]

    def row(self, number: int) -> dict[str, Any]:
        """The cells of one point."""
        row = {}
        for key in self.names:
            value = row[key] = self._value(self._points[number], key)
            if (dimension := self._dimensions.get(key)) and (found := quantity(value)):
                row[f"{key}_{dimension.suffix}"] = found.base
        return row

    @property
    def columns(self) -> list[str]:
        """All columns in order."""
        return [name for key in self.names for name in (key, self.numeric(key)) if name]

    def numeric(self, key: str) -> str | None:
        """The second column of a parameter with units."""
        return f"{key}_{self._dimensions[key].suffix}" if key in self._dimensions else None

    def notes(self) -> dict[str, tuple[str, str]]:
        """Unit and description of the columns."""
        notes = dict.fromkeys(self.names, ("", "parameter: key of the experiment"))
        for key, dimension in self._dimensions.items():
            notes[f"{key}_{dimension.suffix}"] = (dimension.unit, f"the parameter {key} as a number")
        return notes


def frame(parameters: Parameters, rows: Mapping[int, Mapping[str, Any]]) -> pd.DataFrame:
    """The table of the points that are done, in order of their numbers."""
    table = [{**_scalars(rows[at]), "point": at, **parameters.row(at)} for at in sorted(rows)]
    first = ["point", *parameters.columns, "status", "message"]
    others = dict.fromkeys(name for row in table for name in row)
    found = same_kinds(pd.DataFrame(table, columns=list(dict.fromkeys([*first, *others]))))
    notes = {name: _note(str(name)) for name in found.columns}
    set_column_notes(found, notes | parameters.notes())
    return found


def _scalars(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name != SUMMED}


def same_kinds(found: pd.DataFrame) -> pd.DataFrame:
    """The table with texts in columns of which values differ in kind, which Parquet does not have."""
    for name in [name for name in found if pd.api.types.is_object_dtype(found[name])]:
        kinds = {type(value) for value in found[name] if not _is_missing(value)}
        if len(kinds) > 1 and not kinds <= {int, float}:
            found[name] = (
                found[name].map(lambda value: None if _is_missing(value) else str(value)).astype("str")
            )
    return found


def rows_of(table: pd.DataFrame, size: int) -> dict[int, dict[str, Any]] | None:
    """The rows of a table of `size` points by number of point, with None for what a row does not have.

    None if it is not the table of such a sweep.
    """
    if not {"point", "status"} <= set(table.columns):
        return None
    if table.empty:
        return {}
    if not pd.api.types.is_integer_dtype(table["point"]):
        return None
    if not table["point"].between(0, size - 1).all() or not table["point"].is_unique:
        return None
    rows = {
        int(row["point"]): {str(key): None if _is_missing(value) else value for key, value in row.items()}
        for row in table.to_dict("records")
    }
    return rows if all(isinstance(row["status"], str) for row in rows.values()) else None


def _is_missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and value != value)  # noqa: PLR0124 - NaN


def entry(name: str, names: Mapping[str, str] = {}) -> Entry:
    """Name, unit and text of a column that is not a parameter. `names`: of entries of the traffic list, by key."""
    job, _, figure = name.rpartition(".")
    if figure == LEAST_TIME:
        whose = "" if job == "jobs[]" else f", {catalogue.entry_name(job)}"
        return replace(_LEAST_TIME, name=name, label=f"{_LEAST_TIME.label}{whose}")
    return next((item for item in _OWN if item.name == name), None) or catalogue.key(name, names)


def is_own(name: str) -> bool:
    """True if a column with numbers is in no summary."""
    return name in (BOUND, "wall_s", "seed") or (name.startswith("jobs.") and name.endswith(f".{LEAST_TIME}"))


def _note(name: str) -> tuple[str, str]:
    found = entry(name)
    return found.unit, found.text or "from the summary of the run"
