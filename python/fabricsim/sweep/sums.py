"""Sums of flows by source, destination or group of hosts, of each point of a sweep.

The row of a point has them by name as columns. In a sweep and its folder, each name is a table with a row for each
point and key.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from fabricsim.catalogue import SUMS, sum_parts
from fabricsim.errors import InputError
from fabricsim.lazy import pandas as pd
from fabricsim.results import Result, column_notes, finite, set_column_notes
from fabricsim.sums import COLUMNS, SUMMED_BY, key_text, keys_of, nearest
from fabricsim.sweep.repeated import SEED
from fabricsim.sweep.table import SUMMED, Parameters, same_kinds

if TYPE_CHECKING:
    from fabricsim.sweep.points import SweepResult

NO_SUMS = "no sums: "
"""Prefix of the message of a point whose sums cannot be computed."""
SILENT = ("flows", "accepted_gbps")
"""Sums that are zero in a run without a flow of a key."""
Rows = Mapping[int, Mapping[str, Any]]


def table_name(by: str) -> str:
    """The name of a table of sums in the folder of a sweep."""
    return f"by_{by}"


def sums_of_run(result: Result, names: Sequence[str]) -> dict[str, Any]:
    """The part of a point's row that has its sums, or a message with the reason why there are none."""
    try:
        found = {name: finite(result.by(name).reset_index().to_dict("list")) for name in names}
    except InputError as error:
        return {"message": f"{NO_SUMS}{error}"}
    return {SUMMED: found} if found else {}


def sum_in_row(row: Mapping[str, Any], by: str, key: str, column: str) -> float:
    """A sum in a point's row; NaN if it is not known."""
    found = (row.get(SUMMED) or {}).get(by)
    if found is None:
        return float("nan")
    keys = map(key_text, zip(*(found[name] for name in keys_of(by)), strict=True))
    values = [value for of, value in zip(keys, found[column], strict=True) if of == key]
    if not values and column in SILENT:
        return 0.0
    return float("nan") if not values or values[0] is None else float(values[0])


def has_sums(row: Mapping[str, Any], names: Sequence[str]) -> bool:
    """True if a row has these sums, or cannot have them."""
    known = row.get(SUMMED) or {}
    return all(name in known for name in names) or str(row.get("message")).startswith(NO_SUMS)


def sums_tables(parameters: Parameters, rows: Rows) -> dict[str, pd.DataFrame]:
    """The sums of all points by name: number of the point, its parameters, the keys, and the columns of sums."""
    known = {name for row in rows.values() for name in row.get(SUMMED) or ()}
    return {name: _table(name, parameters, rows) for name in SUMMED_BY if name in known}


def _table(name: str, parameters: Parameters, rows: Rows) -> pd.DataFrame:
    own = [*keys_of(name), *COLUMNS]
    first = ["point", *parameters.columns]
    cells: dict[str, list[Any]] = {column: [] for column in [*first, *own]}
    for at in sorted(rows):
        if (found := (rows[at].get(SUMMED) or {}).get(name)) is None:
            continue
        of_point = {"point": at, **parameters.row(at)}
        count = len(found["flows"])
        for column in first:
            cells[column] += [of_point.get(column)] * count
        for column in own:
            cells[column] += found[column]
    table = same_kinds(pd.DataFrame(cells))
    table = table.astype({column: "int64" if column == "flows" else "float64" for column in COLUMNS})
    ends = {key: ("", f"{key.replace('_', ' ')} of the flows") for key in keys_of(name)}
    set_column_notes(table, {"point": ("", "number of the point")} | parameters.notes() | ends | COLUMNS)
    return table


def attach_sums(rows: dict[int, dict[str, Any]], name: str, table: pd.DataFrame) -> bool:
    """Puts a table of sums back into the rows; False if it is not one of this sweep."""
    own = [*keys_of(name), *COLUMNS]
    if not {"point", *own} <= set(table.columns) or not pd.api.types.is_integer_dtype(table["point"]):
        return False
    for at, part in table.groupby("point", sort=False):
        if (row := rows.get(int(str(at)))) is None:
            return False
        row.setdefault(SUMMED, {})[name] = finite({column: part[column].tolist() for column in own})
    return True


def with_silent(rows: pd.DataFrame, others: Sequence[str], by: str) -> pd.DataFrame:
    """Sums of repetitions with a row for each key and seed of a combination of the `others`: in a repetition without a
    flow of a key, its throughput was zero. Other numbers of it are not known.
    """
    keys = keys_of(by)
    parts = []
    for _, part in rows.groupby(list(others), sort=False, dropna=False) if others else [((), rows)]:
        whole = part[keys].drop_duplicates().merge(part[[SEED]].drop_duplicates(), how="cross")
        whole = whole.merge(part.assign(_known=True), how="left", on=[*keys, SEED])
        silent = whole.pop("_known").isna()
        whole.loc[silent, list(SILENT)] = 0
        for name in others:
            whole[name] = part[name].iloc[0]
        parts.append(whole)
    return pd.concat(parts, ignore_index=True) if parts else rows


def with_sum(result: SweepResult, name: str) -> SweepResult:
    """The sweep with a column of its points for a sum: `destination.H9.accepted_gbps`.

    Raises:
        InputError: it has no such sums, or no such key.
    """
    parts = sum_parts(name)
    assert parts is not None, name
    by, key, column = parts
    result.by(by)
    table = result.sums[by]
    ends = table[keys_of(by)].astype(str)
    keys = ends.agg("->".join, axis=1)
    if key not in set(keys):
        raise InputError(f"this sweep has no sums of {by} {key!r}{nearest(key, sorted(set(keys)))}")
    rows = table[keys == key].set_index("point")[column]
    if rows.index.has_duplicates:
        raise InputError(
            f"{by} {key!r} is ambiguous: names of these groups contain '->'; give them other names"
        )
    if column in SILENT:
        rows = rows.reindex(table["point"].unique(), fill_value=0)
    points = result.points.assign(**{name: rows.reindex(list(result.numbers)).to_numpy(float)})
    notes = column_notes(result.points) | {name: (SUMS[column].unit, SUMS[column].text)}
    set_column_notes(points, notes)
    return replace(result, points=points)
