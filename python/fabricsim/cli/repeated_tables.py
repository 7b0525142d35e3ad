"""Means of repetitions with their confidence intervals, as tables."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.table import Table

from fabricsim.catalogue import Entry, entry_name
from fabricsim.cli.layout import key_heading, narrow, two_lines
from fabricsim.cli.numbers import plain
from fabricsim.cli.repeated_cells import cells, joined, quantity
from fabricsim.cli.sums_tables import print_repeated_sums, print_sweep_sums
from fabricsim.compare import RepeatedComparison
from fabricsim.lazy import pandas as pd
from fabricsim.results import without_computing
from fabricsim.shown import number_of
from fabricsim.statistics import CONFIDENCE
from fabricsim.sweep import SweepResult
from fabricsim.sweep.table import LEAST_TIME
from fabricsim.sweep.table import entry as entry_of

MOST_ROWS = 100
TOTALS = ("offered_load", "accepted_load", "latency_ns.mean", "latency_ns.p99", "jain", "job_time_ns")
"""Quantities of a run that are printed; --json has all."""
MOST_PARAMETERS = 2
"""Parameters beside which all totals have room in 80 columns; beside more, the first total is left out."""
MARKS = "ABCDEFGHIJKL"
_OF_JOBS = ("iteration_ns.mean", LEAST_TIME, "exposed_ns")
_FIGURES = ("accepted_gbps", "accepted_load", "latency_ns.mean", "latency_ns.p99", "jain", *_OF_JOBS)
"""Quantities of an entry, or of a job, that are printed."""
_OF_POINTS = ("accepted_load", "latency_ns.mean", "latency_ns.p99", *_OF_JOBS)
"""Those of them that are printed for each point of a sweep."""


def print_repeated(result: SweepResult, console: Console) -> None:
    """Means of totals and entries with their confidence intervals."""
    found = result.estimates()
    title = f"{result.title}: means of {_counts(found)} seeds, ± {CONFIDENCE:.0%} confidence"
    if len(found):
        console.print(_points(result, found, title) if result.varied else _quantities(result, found, title))
    if len(found) and result.varied and (table := _points_by_entry(result, found)) is not None:
        console.print(table)
    print_sweep_sums(result, console)
    if failed := result.count("failed"):
        console.print(
            f"failed, and not in the means: {number_of(failed, 'run')}", style="yellow", markup=False
        )


def _counts(found: pd.DataFrame) -> str:
    """The number of seeds; if points have different ones, the smallest and the largest."""
    least, most = (int(found["seeds"].min()), int(found["seeds"].max())) if len(found) else (0, 0)
    return str(most) if least == most else f"{least} to {most}"


def _quantities(result: SweepResult, found: pd.DataFrame, title: str) -> Table:
    """Of one point: a row for each total, then for each figure of the entries."""
    table = narrow(title)
    for heading in ("quantity", "mean", "±"):
        table.add_column(heading, justify="left" if heading == "quantity" else "right")
    rows = {row["metric"]: row for row in found.to_dict("records")}
    for name in TOTALS:
        if name in rows:
            table.add_row(entry_of(name).label, *cells(rows[name], entry_of(name)))
    twice = without_computing({name: row["mean"] for name, row in rows.items()})
    entries = [name for name in of_entries(rows) if name not in twice]
    if entries:
        table.add_section()
    for name in entries:
        of = entry_of(name, result.entry_names)
        table.add_row(of.label, *cells(rows[name], of))
    return table


def print_sets(found: RepeatedComparison, console: Console) -> None:
    """Means of sets of repetitions, and of each difference from the first whether it is larger than chance."""
    seeds, level = len(found.seeds), f"{found.confidence:.0%}"
    for mark, label, keys in zip(MARKS, found.labels, found.settings, strict=False):
        more = f": {keys}" if keys and keys != label else ""
        console.print(f"{mark}: {label}{more}", markup=False)
    table = narrow(f"means of {seeds} seeds; differences seed by seed, {level} confidence")
    table.add_column("quantity")
    marks = MARKS[: len(found.labels)]
    table.add_column(f"{marks[0]}", justify="right")
    for mark in marks[1:]:
        for heading in (mark, f"{mark} - {marks[0]}", "verdict"):
            table.add_column(heading, justify="left" if heading == "verdict" else "right")
    by_quantity = {
        str(name): rows.to_dict("records") for name, rows in found.quantities.groupby("quantity", sort=False)
    }
    twice = without_computing({name: max(row["mean"] for row in rows) for name, rows in by_quantity.items()})
    names = [
        name for name in (*TOTALS, *of_entries(by_quantity)) if name in by_quantity and name not in twice
    ]
    for name in names:
        first, *others = by_quantity[name]
        of = entry_of(name, found.entry_names)
        row = [quantity(first["mean"], of)]
        for other in others:
            half = (other["difference_high"] - other["difference_low"]) / 2
            apart = f"{quantity(other['difference'], of)} ± {quantity(half, of)}"
            row += [quantity(other["mean"], of), apart, other["verdict"]]
        table.add_row(of.label, *row)
    console.print(table)
    for by in found.summed:
        print_repeated_sums(found, by, marks, console)
    console.print(
        f"no difference: the {level} interval of the paired differences contains zero; more seeds may show one",
        markup=False,
    )


def of_entries(names: Any) -> list[str]:
    """The printed figures of entries, those of an entry together."""
    return [
        str(name)
        for name in names
        if str(name).startswith(("traffic.", "jobs.")) and str(name).endswith(_FIGURES)
    ]


def _points(result: SweepResult, found: pd.DataFrame, title: str) -> Table:
    """Of several points: a row for each, a column for each total."""
    names = [name for name in TOTALS if name in set(found["metric"])]
    if len(result.varied) > MOST_PARAMETERS:
        names = [name for name in names if name != TOTALS[0]]
    groups = _groups(result, found, names)
    left = len(groups) - MOST_ROWS
    table = narrow(title, f"the first {MOST_ROWS} of {len(groups)} points" if left > 0 else None)
    for key in result.varied:
        table.add_column(key_heading(key, result.varied))
    for name in names:
        table.add_column(two_lines(entry_of(name)), justify="right")
    for given, rows in groups[:MOST_ROWS]:
        table.add_row(*map(plain, given), *(joined(rows.get(name), entry_of(name)) for name in names))
    return table


def _points_by_entry(result: SweepResult, found: pd.DataFrame) -> Table | None:
    """Of several points: a row for each entry of each point; None if no entry has figures of its own."""
    names = of_entries(dict.fromkeys(found["metric"]))
    keys = {figure: [name for name in names if name.endswith(f".{figure}")] for figure in _OF_POINTS}
    entries = list(dict.fromkeys(name.removesuffix(f".{_OF_POINTS[0]}") for name in keys[_OF_POINTS[0]]))
    if not entries:
        return None
    groups = _groups(result, found, names)
    shown = max(1, MOST_ROWS // len(entries))
    note = f"the first {shown} of {len(groups)} points" if len(groups) > shown else None
    said = {*names} - without_computing(found.groupby("metric")["mean"].max().to_dict())
    figures = [figure for figure in _OF_POINTS if not said.isdisjoint(keys[figure])]
    table = narrow("by entry", note)
    for key in result.varied:
        table.add_column(key_heading(key, result.varied))
    table.add_column("entry")
    for figure in figures:
        table.add_column(two_lines(_of_any(figure)), justify="right")
    entry_names = result.entry_names
    for given, rows in groups[:shown]:
        for number, entry in enumerate(entries):
            point = map(plain, given) if number == 0 else ("" for _ in given)
            cells_of = (joined(rows.get(f"{entry}.{figure}"), _of_any(figure)) for figure in figures)
            table.add_row(*point, entry_name(entry, entry_names), *cells_of)
    return table


def _of_any(figure: str) -> Entry:
    """Name and unit of a figure of any entry or job."""
    return entry_of(f"jobs[].{figure}" if figure in _OF_JOBS else figure)


def _groups(
    result: SweepResult, found: pd.DataFrame, names: list[str]
) -> list[tuple[tuple[Any, ...], dict[str, dict[Any, Any]]]]:
    """The values of each point, and its means by quantity."""
    groups = found[found["metric"].isin(names)].groupby(result.varied, sort=False, dropna=False)
    return [
        (
            values if isinstance(values, tuple) else (values,),
            {str(row["metric"]): row for row in group.to_dict("records")},
        )
        for values, group in groups
    ]
