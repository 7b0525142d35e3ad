"""Entries of the traffic list, and flows, in tables of 80 columns."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from rich.console import Console

from fabricsim.cli.layout import narrow
from fabricsim.cli.numbers import fixed, nanoseconds, percent, rate
from fabricsim.frames import Lists, lists_of, missing, records, rows_in
from fabricsim.results import Result
from fabricsim.shares import above_rate, destination_shares, final_destination_shares
from fabricsim.shown import number_of

MOST_ENTRIES = 24
MOST_FLOWS = 12
_OF_FLOWS = (
    "source",
    "destination",
    "entry",
    "offered_gbps",
    "accepted_gbps",
    "latency_packets",
    "latency_mean_ns",
    "latency_p99_ns",
)
"""Columns of the table of flows that are printed or summed up."""
UNKNOWN_OFFERED = (
    "offered -: these sources draw their destinations, or send responses; the table by entry has their total"
)
_DIGITS = 2
"""Significant digits in which accepted throughputs of equal flows agree."""


def print_entries(result: Result, console: Console) -> None:
    """Throughput, share of the links, latency and fairness of each entry; its flows come after it."""
    entries = result.manifest["summary"].get("entries") or []
    if not entries:
        return
    shown = entries[:MOST_ENTRIES]
    left = len(entries) - len(shown)
    more = f"{number_of(left, 'more entry', 'more entries')}: see --json" if left else ""
    note = "\n".join(filter(None, (more, above_rate(share for entry in shown for share in _shares(entry)))))
    table = narrow(f"{result.title}: by entry", note or None)
    table.add_column("entry")
    table.add_column("hosts")
    headings = (
        "offered\nGb/s",
        "accepted\nGb/s",
        "of their\nlinks",
        "mean\nlatency",
        "p99\nlatency",
        "Jain",
        "messages",
    )
    for heading in headings:
        table.add_column(heading, justify="right")
    for entry in shown:
        table.add_row(*_entry_cells(entry))
    console.print(table)
    _print_round_trips(shown, console)


def _shares(entry: Mapping[str, Any]) -> list[float]:
    """Throughput of an entry as fractions of the links of its sources, and of its destinations."""
    return _known([entry["accepted_load"], entry["destination_share"]])


def _entry_cells(entry: Mapping[str, Any]) -> list[str]:
    latency = entry["latency_ns"]
    return [
        entry["entry"],
        f"{entry['sources']:,}→{entry['destinations']:,}",
        rate(entry["offered_gbps"]),
        rate(entry["accepted_gbps"]),
        percent(max(_shares(entry), default=None)),
        nanoseconds(latency["mean"]),
        nanoseconds(latency["p99"]),
        fixed(entry["jain"], 2),
        f"{entry['messages']:,}",
    ]


def _print_round_trips(entries: list[dict[str, Any]], console: Console) -> None:
    requests = [entry for entry in entries if entry.get("answered_per_s") is not None]
    if not requests:
        return
    table = narrow("requests and their answers")
    table.add_column("entry")
    for heading in ("answers\n1/s", "mean\nround trip", "p99\nround trip"):
        table.add_column(heading, justify="right")
    for entry in requests:
        trip = entry["round_trip_ns"]
        times = [nanoseconds(trip[name]) for name in ("mean", "p99")]
        table.add_row(entry["entry"], f"{entry['answered_per_s']:,.0f}", *times)
    console.print(table)


def print_flows(result: Result, console: Console) -> None:
    """Single flows, if there are any; beyond a few, equal ones are summed up."""
    flows = lists_of(result.frames, "flows", *_OF_FLOWS)
    if flows is None or not rows_in(flows):
        return
    flows["destination_share"] = destination_shares(result.frames)
    flows["final"] = final_destination_shares(result.frames, result.end_ns)
    rows, note, count = _summed(flows), None, rows_in(flows)
    if len(rows) < count:
        note = f"{count:,} flows; of an entry, those with equal throughput ({_DIGITS} digits) are one row"
    rows = sorted(rows, key=lambda row: -row["accepted_gbps"])
    half = None
    if len(rows) > MOST_FLOWS:
        half = MOST_FLOWS // 2
        note = f"the {half} fastest and the {half} slowest of {len(rows):,} rows, of {count:,} flows"
        rows = [*rows[:half], *rows[-half:]]
    columns = _flow_columns(rows)
    if any(column.name == "offered_gbps" for column in columns) and any(
        missing(row["offered_gbps"]) for row in rows
    ):
        note = "\n".join(filter(None, (note, UNKNOWN_OFFERED)))
    shares = [row[column.name] for row in rows for column in columns if column.shown is percent]
    table = narrow("single flows", "\n".join(filter(None, (note, above_rate(shares)))) or None)
    for column in columns:
        table.add_column(column.heading, justify=column.justify)
    for number, row in enumerate(rows):
        if number == half:
            table.add_section()
        table.add_row(*(column.shown(row.get(column.name)) for column in columns))
    console.print(table)


@dataclass(frozen=True)
class _Column:
    """A column of the table of flows."""

    heading: str
    name: str
    shown: Callable[[Any], str]
    justify: Literal["left", "right"] = "right"


def _flow_columns(rows: list[dict[str, Any]]) -> list[_Column]:
    """What the flows have; of those that are summed up no share at the end, for which there is no room."""
    is_summed = any(row["count"] > 1 for row in rows)
    each = "Gb/s\neach" if is_summed else "Gb/s"
    found = [
        _Column("source", "source", str, "left"),
        _Column("destination", "destination", lambda value: str(value or "*"), "left"),
    ]
    if is_summed:
        found.append(_Column("flows", "count", lambda count: f"{count:,}"))
    if not all(missing(row["offered_gbps"]) for row in rows):
        found.append(_Column(f"offered\n{each}", "offered_gbps", fixed))
    found.append(_Column(f"accepted\n{each}", "accepted_gbps", fixed))
    found.append(_Column("of dest.\nlink", "destination_share", percent))
    if not is_summed:
        found.append(_Column("at end\nof run", "final", percent))
    found.append(_Column("mean\nlatency", "latency_mean_ns", nanoseconds))
    found.append(_Column("p99\nlatency", "latency_p99_ns", nanoseconds))
    return found


def _summed(flows: Lists) -> list[dict[str, Any]]:
    """The flows; if there are many, one row for those of an entry with the same throughput: means of its flows."""
    count = rows_in(flows)
    if count <= MOST_FLOWS:
        return [row | {"count": 1} for row in records(flows)]
    groups: dict[tuple[str, str], list[int]] = {}
    for number, entry, gbps in zip(
        range(count), flows.get("entry", [""] * count), flows["accepted_gbps"], strict=True
    ):
        groups.setdefault((str(entry), f"{gbps:.{_DIGITS}g}"), []).append(number)
    return [_sum_of(flows, group) for group in groups.values()]


def _sum_of(flows: Lists, group: list[int]) -> dict[str, Any]:
    rows = {name: [values[number] for number in group] for name, values in flows.items()}
    packets = sum(rows["latency_packets"])
    times = [
        mean * each
        for mean, each in zip(rows["latency_mean_ns"], rows["latency_packets"], strict=True)
        if not missing(mean)
    ]
    return {
        **{end: _named(rows[end]) for end in ("source", "destination")},
        **{
            name: _mean(rows[name])
            for name in ("offered_gbps", "accepted_gbps", "destination_share", "final")
        },
        "latency_mean_ns": math.fsum(times) / packets if packets else math.nan,
        "latency_p99_ns": max(_known(rows["latency_p99_ns"]), default=math.nan),
        "count": len(group),
    }


def _known(values: list[float]) -> list[float]:
    return [value for value in values if not missing(value)]


def _mean(values: list[float]) -> float:
    """The mean of those that are known."""
    known = _known(values)
    return math.fsum(known) / len(known) if known else math.nan


def _named(hosts: list[str]) -> str:
    """The name of a host, or the number of several."""
    names = set(hosts)
    return str(hosts[0]) if len(names) == 1 else f"{len(names):,} hosts"
