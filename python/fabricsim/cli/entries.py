"""Entries of a reproduction as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.console import Console

from fabricsim.cli.layout import narrow
from fabricsim.cli.numbers import fixed, plain, significant
from fabricsim.frames import missing

if TYPE_CHECKING:
    from fabricsim.reproduce import Entry


def print_entries(entries: list[Entry], console: Console) -> None:
    """Published numbers beside ours, with verdicts, controls if they were run, and counts."""
    from fabricsim.reproduce.tally import headlines  # noqa: PLC0415 - reproduction takes long to import

    has_controls = any(entry.control_holds is not None for entry in entries)
    headings = ["published", "ours", "ratio", "holds", *(["control"] if has_controls else [])]
    table = narrow(texts=["seed", "figure", "quantity"], numbers=headings)
    for entry in entries:
        unit = f" {entry.unit}" if entry.unit else ""
        values = [_value(entry.published, unit), _value(entry.ours, unit), fixed(entry.ratio)]
        control = [_value(entry.control_ours, unit)] if has_controls else []
        verdict = "-" if entry.verdict == "shown" else entry.verdict
        table.add_row(entry.seed, entry.figure, entry.quantity, *values, verdict, *control)
    console.print(table)
    for line in headlines(entries):
        console.print(line)


def _value(value: Any, unit: str) -> str:
    return plain(value) if isinstance(value, bool) or missing(value) else f"{significant(value)}{unit}"
