"""Sweeps as short tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Console

from fabricsim.cli.layout import key_heading, narrow, two_lines
from fabricsim.cli.numbers import fixed, plain
from fabricsim.cli.numbers import shown as shown_as
from fabricsim.cli.repeated_tables import print_repeated
from fabricsim.cli.schedule_tables import print_precision, print_search
from fabricsim.cli.sums_tables import print_sweep_sums
from fabricsim.sweep import SweepResult
from fabricsim.sweep.table import BOUND
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
_OF_ENTRY = ".accepted_load"
_OF_JOB = ("iteration_ns.mean", "exposed_ns")
MOST_ENTRIES = 4
"""Entries of which a sweep's table has the accepted load."""


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
    of_entries = [
        name for name in result.points if str(name).startswith("traffic.") and str(name).endswith(_OF_ENTRY)
    ]
    names = [*(name for name in _SWEPT if name in result.points), *map(str, of_entries[:MOST_ENTRIES])]
    if result.count("ok") == len(result.points):
        names.remove("status")
    known = [entry_of(name) for name in names]
    rows = result.points.to_dict("records")
    left_out = len(rows) - MOST_POINTS
    caption = f"the first {MOST_POINTS} of {len(rows)} points" if left_out > 0 else None
    headings = [key_heading(key, result.parameters) for key in result.parameters]
    table = narrow(
        str(result.manifest["name"]), caption, texts=headings, numbers=(two_lines(entry) for entry in known)
    )
    for row in rows[:MOST_POINTS]:
        cells = [plain(row[key]) for key in result.parameters]
        table.add_row(*cells, *(shown_as(row[entry.name], entry) for entry in known))
    console.print(table)
    _print_jobs(result, console)
    print_sweep_sums(result, console)
    _print_saturation(result, console)


def _print_jobs(result: SweepResult, console: Console) -> None:
    """Mean iteration and exposed communication of each job, where the time of all jobs does not say it."""
    columns = [str(name) for name in result.points]
    jobs = [name.removesuffix(f".{_OF_JOB[0]}") for name in columns if _is_of_job(name)]
    figures = [figure for figure in _OF_JOB if any(f"{job}.{figure}" in columns for job in jobs)]
    if len(jobs) < 2 and len(figures) < 2:
        return
    shown = max(1, MOST_POINTS // len(jobs))
    note = f"the first {shown} of {len(result.points)} points" if len(result.points) > shown else None
    headings = [key_heading(key, result.parameters) for key in result.parameters]
    entries = [entry_of(f"jobs[].{figure}") for figure in figures]
    table = narrow("by job", note, texts=[*headings, "job"], numbers=map(two_lines, entries))
    for row in result.points.head(shown).to_dict("records"):
        for number, job in enumerate(jobs):
            point = [plain(row[key]) if number == 0 else "" for key in result.parameters]
            cells = (shown_as(row.get(f"{job}.{entry.name.partition('.')[2]}"), entry) for entry in entries)
            table.add_row(*point, job.partition(".")[2].strip('"'), *cells)
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
