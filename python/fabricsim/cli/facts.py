"""Facts about networks, in words."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from rich.console import Console
from rich.table import Table

from fabricsim.cli.numbers import plain, significant
from fabricsim.results import flatten


def print_facts(facts: Mapping[str, Any], console: Console) -> None:
    """Facts of `describe`, with the deadlock verdict in words."""
    facts = dict(facts)
    verdict = facts.pop("deadlock", None)
    sequences = facts.pop("sequences", None)
    table = Table.grid(padding=(0, 2))
    lists = {key: value for key, value in facts.items() if isinstance(value, list)}
    for name, value in {**flatten(facts), **lists}.items():
        table.add_row(*_fact(name, value))
    console.print(table)
    if isinstance(verdict, dict):
        console.print(f"deadlock check: {verdict['verdict']}", markup=False)
    if sequences:
        console.print(
            f"\njobs, with the sequences of training steps:\n\n{sequences}", markup=False, highlight=False
        )


_UNITS: dict[str, Callable[[Any], str]] = {
    "ns": lambda value: f"{significant(value, 6)} ns",
    "gbps": lambda value: f"{significant(value, 6)} Gb/s",
    "bytes": lambda value: f"{value:,} B",
}
"""Words in names of facts that are units, and texts of such values."""


def _fact(name: str, value: Any) -> tuple[str, str]:
    """A fact in words, its unit at the value."""
    words = name.replace("_", " ").replace(".", " ").replace("zero load", "zero-load").split(" ")
    for unit, shown in _UNITS.items():
        if unit in words and isinstance(value, int | float):
            return " ".join(word for word in words if word != unit), shown(value)
    return " ".join(words), plain(value)
