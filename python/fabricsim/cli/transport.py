"""Summary of transport activity."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import Console

from fabricsim import catalogue
from fabricsim.cli.layout import narrow
from fabricsim.cli.numbers import nanoseconds, percent, stacked
from fabricsim.cli.numbers import shown as shown_as
from fabricsim.frames import lists_of, records, rows_in
from fabricsim.results import Result
from fabricsim.shown import number_of

MOST_ENTRIES = 20
"""Entries of the traffic list with a row of their own."""
_TIMES = {"mean": "mean", "p50": "p50", "p99": "p99", "p999": "p99.9", "max": "max"}


def transport_rows(summary: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Rows for the totals of a run; none without a transport."""
    found = summary.get("transport")
    if not found:
        return
    times = ", ".join(
        f"{name} {nanoseconds(found['completion_ns'].get(key))}" for key, name in _TIMES.items()
    )
    yield "messages", f"{found['messages']:,} complete: {times}"
    shares = [f"reordered {percent(found['reordered_share'])}, dropped {percent(found['dropped_share'])}"]
    connections = number_of(found["most_connections"], "connection")
    shares += [f"at most {found['most_reordering']:,} in a reorder buffer, {connections}"]
    yield "transport", "; ".join(shares)
    trouble = ("resent", "timeouts", "lost", "late", "duplicates", "repeated", "no_connection", "no_replay")
    told = [
        f"{entry.label} {found[entry.name]:,}"
        for entry in catalogue.keys("transport", *trouble)
        if found.get(entry.name)
    ]
    if told:
        yield "", f"of {number_of(found['requests'], 'request')}: " + ", ".join(told)


def print_messages(result: Result, console: Console) -> None:
    """Completion times of each entry of the traffic list, where there are several."""
    table = lists_of(result.frames, "messages")
    if table is None or not 1 < rows_in(table) <= MOST_ENTRIES:
        return
    entries = catalogue.some("messages", "messages", *(f"completion_{name}_ns" for name in _TIMES))
    shown = narrow(texts=["messages of"], numbers=map(stacked, entries))
    for row in records(table):
        shown.add_row(str(row["entry"]), *(shown_as(row[entry.name], entry) for entry in entries))
    console.print(shown)
