"""Sums of flows by source, destination or group of hosts as tables: of sweeps and of comparisons."""

from __future__ import annotations

from typing import Any, cast

from rich.console import Console
from rich.table import Table

from fabricsim.catalogue import SUMS, Entry
from fabricsim.cli.layout import key_heading, narrow
from fabricsim.cli.numbers import plain
from fabricsim.cli.repeated_cells import cells, joined, quantity
from fabricsim.cli.sums import COLUMNS, MOST_SUMS, headings
from fabricsim.compare import Comparison, RepeatedComparison
from fabricsim.lazy import pandas as pd
from fabricsim.sums import extremes, key_text, keys_of
from fabricsim.sweep import SweepResult

MOST_KEYS = 6
"""Rows of each point of a sweep: half of them those with the largest throughput, half those with the smallest."""
MOST_ROWS = 100
MOST_TEXTS = 3
"""Columns of parameters and keys beside which all columns of sums have room in 80 columns."""
_SHOWN = ("accepted_gbps", "latency_mean_ns", "latency_p99_ns", "jain")
_REPEATED = ("accepted_gbps", "latency_mean_ns", "jain")
"""Columns that are printed with their confidence intervals."""
_COMPARED = {"accepted_gbps": "Gb/s", "latency_mean_ns": "latency"}
"""Columns of sets of repetitions that are printed, with names for which there is room."""


def print_sweep_sums(result: SweepResult, console: Console) -> None:
    """A table for each sum of a sweep, with rows for each point; of repetitions, their means."""
    for by in result.sums:
        console.print(_of_sweep(result, by))


def _of_sweep(result: SweepResult, by: str) -> Table:
    keys, table = keys_of(by), result.by(by)
    means = table.groupby(keys, sort=False)[["accepted_gbps"]].mean()
    chosen = extremes(means, MOST_KEYS).index
    columns: tuple[str, ...] = _REPEATED if result.repeated else _SHOWN
    if len(result.varied) + len(keys) > MOST_TEXTS:
        left_out = "jain" if result.repeated else "latency_p99_ns"
        columns = tuple(column for column in columns if column != left_out)
    rows = _repeated_rows(result, by) if result.repeated else _rows(result, by)
    groups = rows.groupby(result.varied, sort=False, dropna=False) if result.varied else [((), rows)]
    points = [(values if isinstance(values, tuple) else (values,), part) for values, part in groups]
    most = max(1, MOST_ROWS // max(1, len(chosen)))
    notes = []
    if len(means) > len(chosen):
        half = MOST_KEYS // 2
        notes.append(f"the {half} largest and the {half} smallest of {len(means):,}; the table has all")
    if len(points) > most:
        notes.append(f"the first {most} of {len(points):,} points")
    found = narrow(
        f"by {by}",
        "; ".join(notes) or None,
        texts=[*(key_heading(key, result.varied) for key in result.varied), *headings(by)],
        numbers=(COLUMNS[column][0] for column in columns),
    )
    for values, part in points[:most]:
        of_key = {_key(row, keys): row for row in part.to_dict("records")}
        shown = [key for key in map(_as_tuple, chosen) if key in of_key]
        for number, key in enumerate(shown):
            point = [plain(value) if number == 0 else "" for value in values]
            found.add_row(*point, *key, *(of_key[key][column] for column in columns))
    return found


def _as_tuple(key: Any) -> tuple[str, ...]:
    return tuple(map(str, key)) if isinstance(key, tuple) else (str(key),)


def _key(row: dict[Any, Any], keys: list[str]) -> tuple[str, ...]:
    return tuple(str(row[key]) for key in keys)


def _rows(result: SweepResult, by: str) -> pd.DataFrame:
    """The rows with cells as texts."""
    table = result.by(by)
    return table.assign(**{column: table[column].map(COLUMNS[column][1]) for column in _SHOWN})


def _repeated_rows(result: SweepResult, by: str) -> pd.DataFrame:
    """A row for each point and key, with means and half-widths as texts."""
    found = result.estimates(by=by)
    keys = [*result.varied, *keys_of(by)]
    rows: dict[tuple[Any, ...], dict[str, Any]] = {}
    for row in found[found["metric"].isin(_REPEATED)].to_dict("records"):
        key = tuple(row[name] for name in keys)
        of = rows.setdefault(key, dict(zip(keys, key, strict=True)) | dict.fromkeys(_REPEATED, "-"))
        of[str(row["metric"])] = joined(row, _unitless(SUMS[str(row["metric"])]))
    return pd.DataFrame(list(rows.values()), columns=[*keys, *_REPEATED])


def _unitless(of: Entry) -> Entry:
    """Of rates the unit is in the heading."""
    return Entry(of.name, of.label) if of.unit == "Gb/s" else of


def print_compared_sums(found: Comparison, by: str, marks: list[str], console: Console) -> None:
    """Sums of runs side by side: those that differ most first; throughput over that of the first run."""
    table = found.by(by)
    ratios = cast("pd.DataFrame", table["ratio"])
    change = (ratios - 1.0).abs().max(axis=1).fillna(0.0)
    rows = table.loc[change.sort_values(ascending=False, kind="stable").index[:MOST_SUMS]]
    rows = rows if len(table) > MOST_SUMS else table
    note = f"the {MOST_SUMS} of {len(table):,} with the largest change; --json has all"
    printed = narrow(f"by {by}", note if len(table) > MOST_SUMS else None, texts=headings(by))
    columns = []
    for quantity_of, heading, shown in (
        ("accepted_gbps", "\nGb/s", COLUMNS["accepted_gbps"][1]),
        ("ratio", f"/{marks[0]}", lambda value: "-" if pd.isna(value) else f"{value:.2f}"),
        ("latency_mean_ns", "\nmean\nlatency", COLUMNS["latency_mean_ns"][1]),
    ):
        for mark, label in zip(marks, found.labels, strict=True):
            if (quantity_of, label) in table:
                printed.add_column(f"{mark}{heading}", justify="right")
                columns.append((quantity_of, label, shown))
    for key, row in zip(rows.index, rows.to_dict("records"), strict=True):
        cells_of = (shown(row[quantity_of, label]) for quantity_of, label, shown in columns)
        printed.add_row(*_as_tuple(key), *cells_of)
    console.print(printed)


def print_repeated_sums(found: RepeatedComparison, by: str, marks: str, console: Console) -> None:
    """Means of sums of sets of repetitions, with each difference from the first set, the largest change first."""
    table = found.by(by)
    keys = keys_of(by)
    shown = table[table["metric"].isin(_COMPARED)]
    first = shown[shown["set"] == found.labels[0]].set_index([*keys, "metric"])["mean"].abs()
    base = first.reindex(pd.MultiIndex.from_frame(shown[[*keys, "metric"]])).to_numpy()
    change = (shown["difference"].abs() / base).where(base > 0.0).fillna(0.0)
    order = change.groupby([shown[key] for key in keys], sort=False).max()
    chosen = order.sort_values(ascending=False, kind="stable").index[:MOST_SUMS]
    note = f"the {MOST_SUMS} of {len(order):,} with the largest change; --json has all"
    title = f"by {by}: accepted throughput and mean latency"
    printed = narrow(title, note if len(order) > MOST_SUMS else None, texts=[by, "quantity"])
    printed.add_column(marks[0], justify="right")
    for mark in marks[1:]:
        for heading in (mark, f"{mark} - {marks[0]}", "verdict"):
            printed.add_column(heading, justify="left" if heading == "verdict" else "right")
    by_key = {_key(part.iloc[0].to_dict(), keys): part for _, part in shown.groupby(keys, sort=False)}
    for key in map(_as_tuple, chosen):
        for number, (column, label) in enumerate(_COMPARED.items()):
            of = _unitless(SUMS[column])
            rows = by_key[key][by_key[key]["metric"] == column].to_dict("records")
            if not rows:
                continue
            name = key_text(key) if number == 0 else ""
            row = [quantity(rows[0]["mean"], of)]
            for other in rows[1:]:
                interval = {
                    "mean": other["difference"],
                    "low": other["difference_low"],
                    "high": other["difference_high"],
                }
                row += [quantity(other["mean"], of), " ± ".join(cells(interval, of)), other["verdict"]]
            printed.add_row(name, label, *row)
    console.print(printed)
