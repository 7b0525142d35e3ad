"""Sweeps as short tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from rich.console import Console

from fabricsim.catalogue import Entry, entry_name
from fabricsim.cli.layout import key_heading, narrow, two_lines
from fabricsim.cli.numbers import fixed, plain
from fabricsim.cli.numbers import shown as shown_as
from fabricsim.cli.repeated_tables import print_repeated
from fabricsim.cli.schedule_tables import print_precision, print_search
from fabricsim.cli.sums_tables import print_sweep_sums
from fabricsim.results import without_computing
from fabricsim.sweep import SweepResult
from fabricsim.sweep.table import BOUND, LEAST_TIME
from fabricsim.sweep.table import entry as entry_of

MOST_POINTS = 100
_SWEPT = (
    "offered_load",
    "accepted_load",
    BOUND,
    "latency_ns.mean",
    "latency_ns.p99",
    "job_time_ns",
    "transport.completion_ns.mean",
    "transport.completion_ns.p99",
    "status",
)
"""Columns of a sweep that are printed."""
_OF_ENTRY = ("accepted_load", "latency_ns.mean", "latency_ns.p99")
_OF_JOB = ("iteration_ns.mean", LEAST_TIME, "exposed_ns")


def print_sweep(result: SweepResult, console: Console) -> None:
    """Points and saturation of a sweep; of a search for saturation, what it found."""
    if result.is_search:
        print_search(result, console)
        print_sweep_sums(result, console)
        return
    if result.repeated:
        print_repeated(result, console)
        print_precision(result, console)
        _print_saturation(result, console)
        return
    names = [name for name in _SWEPT if name in result.points]
    if result.count("ok") == len(result.points):
        names.remove("status")
    known = [entry_of(name) for name in names]
    rows = result.points.to_dict("records")
    left_out = len(rows) - MOST_POINTS
    caption = f"the first {MOST_POINTS} of {len(rows)} points" if left_out > 0 else None
    headings = [key_heading(key, result.parameters) for key in result.parameters]
    table = narrow(result.title, caption, texts=headings, numbers=(two_lines(entry) for entry in known))
    for row in rows[:MOST_POINTS]:
        cells = [plain(row[key]) for key in result.parameters]
        table.add_row(*cells, *(shown_as(row[entry.name], entry) for entry in known))
    console.print(table)
    _print_entries(result, console)
    _print_jobs(result, console)
    print_sweep_sums(result, console)
    _print_saturation(result, console)


def _print_entries(result: SweepResult, console: Console) -> None:
    """Figures of each entry of the traffic list, where the totals do not say them."""
    columns = [str(name) for name in result.points]
    end = f".{_OF_ENTRY[0]}"
    entries = [
        name.removesuffix(end) for name in columns if name.startswith("traffic.") and name.endswith(end)
    ]
    if not entries or len(entries) + sum(map(_is_of_job, columns)) < 2:
        return
    known = [entry_of(figure) for figure in _OF_ENTRY]
    _print_parts(result, console, "entry", entries, known)


def _print_jobs(result: SweepResult, console: Console) -> None:
    """Mean iteration, the least one, and exposed communication of each job, where the time of all jobs does not say
    it.
    """
    columns = [str(name) for name in result.points]
    jobs = [name.removesuffix(f".{_OF_JOB[0]}") for name in columns if _is_of_job(name)]
    said = {*columns} - without_computing(result.points.max(numeric_only=True).to_dict())
    figures = [figure for figure in _OF_JOB if any(f"{job}.{figure}" in said for job in jobs)]
    if len(jobs) < 2 and len(figures) < 2:
        return
    known = [entry_of(f"jobs[].{figure}") for figure in figures]
    named = [replace(entry, name=figure) for entry, figure in zip(known, figures, strict=True)]
    _print_parts(result, console, "job", jobs, named)


def _print_parts(
    result: SweepResult, console: Console, what: str, parts: Sequence[str], figures: Sequence[Entry]
) -> None:
    """A table with a row for each entry, or each job, of each point."""
    shown = max(1, MOST_POINTS // len(parts))
    note = f"the first {shown} of {len(result.points)} points" if len(result.points) > shown else None
    headings = [key_heading(key, result.parameters) for key in result.parameters]
    table = narrow(f"by {what}", note, texts=[*headings, what], numbers=map(two_lines, figures))
    names = result.entry_names
    for row in result.points.head(shown).to_dict("records"):
        for number, part in enumerate(parts):
            point = [plain(row[key]) if number == 0 else "" for key in result.parameters]
            cells = (shown_as(row.get(f"{part}.{figure.name}"), figure) for figure in figures)
            table.add_row(*point, entry_name(part, names), *cells)
    console.print(table)


def _is_of_job(name: str) -> bool:
    return name.startswith("jobs.") and name.endswith(f".{_OF_JOB[0]}")


def _print_saturation(result: SweepResult, console: Console) -> None:
    for row in result.saturation().to_dict("records"):
        others = ", ".join(f"{key} {value}" for key, value in row.items() if key in result.parameters)
        console.print(f"{others + ': ' if others else ''}{_saturation(row)}", markup=False)


def _saturation(row: Mapping[Any, Any]) -> str:
    if not row["reached"]:
        return f"not saturated up to load {fixed(row['load'])}"
    if not row["load"]:
        return (
            f"saturated at the lowest load: the saturation point is below; highest accepted load "
            f"{fixed(row['throughput'])}"
        )
    return (
        f"saturation point: load {fixed(row['load'])} (accepted {fixed(row['accepted'])}); "
        f"highest accepted load {fixed(row['throughput'])}"
    )
