"""Names, units and texts of results: keys of the summary, and columns of tables.

`catalogue.json` is generated from the collectors of the engine, so that every command says the same of a quantity.
Reading it needs no compiled module.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

FRACTION = "fraction"
"""Unit of fractions, which are printed as percentages."""
_SCALED = ("ns", "s", FRACTION)
"""Units that stand in the cells, since they are chosen for each value."""
_SHOWN = {"Mb/s": ("Gb/s", 1000.0)}
"""Units of results that are shown in another, so that all rates have one: that unit, and the number of the first in
it."""


@dataclass(frozen=True)
class Entry:
    """A quantity of the results."""

    name: str
    """Dotted key of the summary, or name of the column."""
    label: str
    """Its name in tables."""
    unit: str = ""
    """Empty for names and pure numbers."""
    text: str = ""
    """Description, one line."""

    @property
    def heading(self) -> str:
        """The label with the unit, unless each value has its own."""
        return f"{self.label} ({self.shown_unit})" if self.shown_unit else self.label

    @property
    def shown_unit(self) -> str:
        """The unit of a heading; empty if each value has its own."""
        return "" if self.unit in _SCALED else self._shown[0]

    @property
    def scale(self) -> float:
        """The value that is shown as 1."""
        return self._shown[1]

    @property
    def _shown(self) -> tuple[str, float]:
        # The name of a column has its unit.
        return (self.unit, 1.0) if self.label == self.name else shown_unit(self.unit)

    def named(self, label: str) -> Entry:
        """The same under another name."""
        return dataclasses.replace(self, label=label)


def shown_unit(unit: str) -> tuple[str, float]:
    """The unit in which a quantity of a unit is shown, and the value that is 1 in it."""
    return _SHOWN.get(unit, (unit, 1.0))


SUMS: dict[str, Entry] = {
    entry.name: entry
    for entry in (
        Entry("flows", "flows", "", "Flows that are summed up"),
        Entry(
            "offered_gbps",
            "offered throughput",
            "Gb/s",
            "Sum of their offered throughput; nothing where it is not known",
        ),
        Entry("accepted_gbps", "accepted throughput", "Gb/s", "Sum of their accepted throughput"),
        Entry("latency_mean_ns", "mean latency", "ns", "Mean latency of their packets"),
        Entry(
            "latency_p99_ns",
            "largest p99 latency of a flow",
            "ns",
            "99 % of the latencies are not larger, of the flow for which this is largest",
        ),
        Entry("jain", "fairness (Jain)", "", "Jain's fairness index over their accepted throughput"),
    )
}
"""Columns of sums of flows by source, destination or group of hosts."""
_DESCRIPTION = (
    *("entry", "key", "kind", "text", "sources", "destinations"),
    *("job", "ranks", "iterations"),
)
"""Keys of entries and jobs that are no results."""
_SUM = re.compile(rf"(source|destination|group)\.(.+)\.({'|'.join(SUMS)})", re.DOTALL)


def sum_parts(name: str) -> tuple[str, str, str] | None:
    """Kind, key and column of the name of a sum of flows, `destination.H9.accepted_gbps`; None of other names."""
    match = _SUM.fullmatch(name)
    return None if match is None else (match[1], match[2], match[3])


def entry_parts(name: str) -> tuple[str, str, str] | None:
    """List, entry and figure of the name of a figure of an entry: `traffic`, `incast` and `latency_ns.mean`; None of
    other names.
    """
    match = _figures().fullmatch(name)
    return None if match is None else (match[1], match[2], match[3])


def key(name: str, names: Mapping[str, str] = {}) -> Entry:
    """A key of the summary, or a sum of flows, by its dotted name. Of a key that the catalogue lacks the name is the
    label.

    Args:
        name: of the key.
        names: of entries of the traffic list, by key, as of `entry_name`.
    """
    found = _keys()
    if name in found:
        return found[name]
    if (parts := sum_parts(name)) is not None:
        by, whose, column_of = parts
        of = SUMS[column_of]
        return dataclasses.replace(of, name=name, label=f"{of.label}, {by} {whose}")
    for pattern, entry in _patterns():
        if match := pattern.fullmatch(name):
            whose = ", ".join(group.strip(chr(34)) for group in match.groups())
            return dataclasses.replace(entry, name=name, label=f"{entry.label}, {whose}")
    if (found_in := _of_entry(name, names)) is not None:
        return found_in
    return Entry(name, name.replace("_", " ").replace(".", " "))


def is_known(name: str) -> bool:
    """True if some run may have this number in its summary, or a figure of an entry or job."""
    parts = entry_parts(name)
    if parts is not None:
        return parts[2] in figures(parts[0])
    of_map = (entry for pattern, entry in _patterns() if pattern.fullmatch(name))
    return name in _keys() or any("[]" not in entry.name for entry in of_map)


def is_number(name: str) -> bool:
    """False for texts, and for what is true or false, in summaries."""
    return not any(
        values["name"] == name and values["kind"] not in ("real", "whole") for values in _content()["summary"]
    )


def figures(section: str) -> list[str]:
    """Figures of entries of a list, `traffic` or `jobs`: keys of its entries that are results."""
    parts = ("entries[].",) if section == "traffic" else ("entries[].", "jobs[].")
    found = (name.partition("[].")[2] for name in _keys() if name.startswith(parts))
    return [name for name in found if name not in _DESCRIPTION]


def names() -> list[str]:
    """All keys of summaries, without those of lists and maps."""
    return [name for name in _keys() if "[]" not in name and ".*" not in name]


def _of_entry(name: str, names: Mapping[str, str]) -> Entry | None:
    """A figure of an entry of the traffic list, or of a job: `traffic.incast.latency_ns.mean`."""
    for key_of, entry in _keys().items():
        figure = key_of.removeprefix("entries[]")
        if figure == key_of or not name.endswith(figure) or not name.startswith(("traffic.", "jobs.")):
            continue
        whose = entry_name(name.removesuffix(figure), names)
        return dataclasses.replace(entry, name=name, label=f"{entry.label}, {whose}")
    return None


def entry_name(key_of: str, names: Mapping[str, str] = {}) -> str:
    """Name of an entry or job in texts by its key: the one in `names`, else of `traffic.read.response` it is
    `read response`. Entries without a name have their key, `traffic.0`.
    """
    if key_of in names:
        return names[key_of]
    kind, _, whose = key_of.partition(".")
    # a name with dots is in quotes; `.response` may follow
    head, _, tail = whose[1:].rpartition('"') if whose.startswith('"') else ("", "", whose)
    number = f"{kind}." if not head and tail.partition(".")[0].isdecimal() else ""
    return f"{head}{number}{tail.replace('.', ' ')}"


def keys(part: str, *names: str) -> list[Entry]:
    """Keys of a part of the summary, by their names in it: `keys("jobs[]", "done")`."""
    return [dataclasses.replace(key(f"{part}.{name}"), name=name) for name in names]


def column(table: str, name: str) -> Entry:
    """A column of a table. Of one that the catalogue lacks the name is the label."""
    return columns(table).get(name) or Entry(name, name.replace("_", " "))


def some(table: str, *names: str) -> list[Entry]:
    """Columns of a table by name."""
    return [column(table, name) for name in names]


def columns(table: str) -> Mapping[str, Entry]:
    """All columns that a table may have, by name; none if there is no such table."""
    return _tables().get(table, {})


def tables() -> Mapping[str, str]:
    """All tables that a run may have, by name, with the thing that has a row."""
    return {table["name"]: table["row"] for table in _content()["tables"]}


@cache
def _content() -> dict[str, Any]:
    content: dict[str, Any] = json.loads(files("fabricsim").joinpath("catalogue.json").read_text("utf-8"))
    return content


def _entry(values: Mapping[str, str]) -> Entry:
    return Entry(values["name"], values["label"], values["unit"], values["text"])


@cache
def _keys() -> dict[str, Entry]:
    return {values["name"]: _entry(values) for values in _content()["summary"]}


@cache
def _figures() -> re.Pattern[str]:
    """Names of figures of entries of the traffic list, and of jobs."""
    figures = (name.partition("[].")[2] for name in _keys() if name.startswith(("entries[].", "jobs[].")))
    return re.compile(rf"(traffic|jobs)\.(.+)\.({'|'.join(map(re.escape, figures))})", re.DOTALL)


@cache
def _patterns() -> list[tuple[re.Pattern[str], Entry]]:
    """Keys of lists and maps, whose names have the name of an entry in them: `jobs.fft.done`."""
    found = []
    for name, entry in _keys().items():
        parts = re.split(r"\[\]|\.\*", name)
        if len(parts) > 1:
            found.append((re.compile(r"\.(.+)".join(map(re.escape, parts))), entry))
    return found


@cache
def _tables() -> dict[str, dict[str, Entry]]:
    return {
        table["name"]: {values["name"]: _entry(values) for values in table["columns"]}
        for table in _content()["tables"]
    }
