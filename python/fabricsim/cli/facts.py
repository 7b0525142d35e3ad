"""Facts about networks, in words."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from typing import Any

from rich.console import Console
from rich.table import Table

from fabricsim.cli.numbers import plain, significant
from fabricsim.results import flatten
from fabricsim.spec import Experiment

MOST_NAMES = 4
"""Names of what has failed that are printed."""


def print_facts(facts: Mapping[str, Any], console: Console) -> None:
    """Facts of `describe`, with the deadlock verdict in words."""
    facts = dict(facts)
    verdict = facts.pop("deadlock", None)
    sequences = facts.pop("sequences", None)
    failed = facts.pop("failed", None)
    table = Table.grid(padding=(0, 2))
    lists = {key: value for key, value in facts.items() if isinstance(value, list)}
    for name, value in {**flatten(facts), **lists}.items():
        table.add_row(*_fact(name, value))
    console.print(table)
    if failed:
        _print_failed(failed, console)
    if isinstance(verdict, dict):
        console.print(f"deadlock check: {verdict['verdict']}", markup=False)
    if sequences:
        console.print(
            f"\njobs, with the sequences of training steps:\n\n{sequences}", markup=False, highlight=False
        )


def failed_parts(experiment: Experiment) -> dict[str, list[str]]:
    """Links and switches that have failed from the start, and the hosts of such switches; empty if there are none."""
    settings = experiment.check()
    links = list((settings.get("links") or {}).get("failed") or ())
    switches = list((settings.get("switches") or {}).get("failed") or ())
    if not links and not switches:
        return {}
    network = tomllib.loads(experiment.export("toml")) if switches else {"host": [], "link": []}
    ends = [end for link in network["link"] for end in ((link["a"], link["b"]), (link["b"], link["a"]))]
    cut_off = {end for end, other in ends if other in switches}
    hosts = [host["name"] for host in network["host"] if host["name"] in cut_off]
    return {"links": links, "switches": switches, "hosts": hosts}


def _print_failed(failed: Mapping[str, list[str]], console: Console) -> None:
    """What has failed from the start, and that the facts do not count it."""
    for what, names in failed.items():
        if names:
            more = f" and {len(names) - MOST_NAMES:,} more" if len(names) > MOST_NAMES else ""
            name = f"{what} without their switch" if what == "hosts" else f"failed {what}"
            console.print(f"{name}: {len(names):,} ({', '.join(names[:MOST_NAMES])}{more})", markup=False)
    console.print(
        "the figures above are those of the network before these failures; routes go around them",
        markup=False,
    )


_UNITS: dict[str, Callable[[Any], str]] = {
    "ns": lambda value: f"{significant(value, 6)} ns",
    "gbps": lambda value: f"{significant(value, 6)} Gb/s",
    "bytes": lambda value: f"{value:,} B" if value < 1 << 20 else f"{value / (1 << 20):,.1f} MiB",
}
"""Words in names of facts that are units, and texts of such values."""


def _fact(name: str, value: Any) -> tuple[str, str]:
    """A fact in words, its unit at the value."""
    words = name.replace("_", " ").replace(".", " ").replace("zero load", "zero-load").split(" ")
    for unit, shown in _UNITS.items():
        if unit in words and isinstance(value, int | float):
            return " ".join(word for word in words if word != unit), shown(value)
    return " ".join(words), plain(value)
