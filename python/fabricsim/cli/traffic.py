"""Entries of the traffic list, and flows, in tables of 80 columns."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from rich.console import Console

from fabricsim.cli.layout import narrow
from fabricsim.cli.numbers import fixed, missing, nanoseconds, percent, rate
from fabricsim.lazy import pandas as pd
from fabricsim.results import Result, destination_share, final_destination_share

MOST_ENTRIES = 24
MOST_FLOWS = 12
_DIGITS = 2
"""Significant digits in which accepted throughputs of equal flows agree."""


def print_entries(result: Result, console: Console) -> None:
    """Throughput, share of the links, latency and fairness of each entry; its flows come after it."""
    entries = result.manifest["summary"].get("entries") or []
    if not entries:
        return
    shown = entries[:MOST_ENTRIES]
    left = len(entries) - len(shown)
    table = narrow(f"{result.title}: by entry", f"{left} more entries: see --json" if left else None)
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


def _entry_cells(entry: Mapping[str, Any]) -> list[str]:
    shares = [share for share in (entry["accepted_load"], entry["destination_share"]) if not missing(share)]
    latency = entry["latency_ns"]
    return [
        entry["entry"],
        f"{entry['sources']:,}→{entry['destinations']:,}",
        rate(entry["offered_gbps"]),
        rate(entry["accepted_gbps"]),
        percent(max(shares, default=None)),
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
    """Single flows; beyond a few, equal ones are summed up."""
    flows = result.flows.assign(
        destination_share=destination_share(result), final=final_destination_share(result)
    )
    rows, note = _summed(flows), None
    if len(rows) < len(flows):
        note = (
            f"{len(flows):,} flows; of an entry, those with equal throughput ({_DIGITS} digits) are one row"
        )
    rows = sorted(rows, key=lambda row: -row["accepted_gbps"])
    half = None
    if len(rows) > MOST_FLOWS:
        half = MOST_FLOWS // 2
        note = f"the {half} fastest and the {half} slowest of {len(rows):,} rows, of {len(flows):,} flows"
        rows = [*rows[:half], *rows[-half:]]
    table = narrow("single flows", note)
    columns = _flow_columns(rows)
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


def _summed(flows: pd.DataFrame) -> list[dict[str, Any]]:
    """The flows; if there are many, one row for those of an entry with the same throughput: means of its flows."""
    if len(flows) <= MOST_FLOWS:
        return [
            {str(name): value for name, value in row.items()} | {"count": 1}
            for row in flows.to_dict("records")
        ]
    entry = flows["entry"] if "entry" in flows else pd.Series("", index=flows.index)
    digits = flows["accepted_gbps"].map(lambda value: float(f"{value:.{_DIGITS}g}"))
    return [_sum_of(group) for _, group in flows.groupby([entry, digits], sort=False, dropna=False)]


def _sum_of(group: pd.DataFrame) -> dict[str, Any]:
    names = {end: _named(group[end]) for end in ("source", "destination")}
    means = group[["offered_gbps", "accepted_gbps", "destination_share", "final"]].mean()
    packets = group["latency_packets"].sum()
    mean = (
        (group["latency_mean_ns"].fillna(0.0) * group["latency_packets"]).sum() / packets
        if packets
        else math.nan
    )
    return {
        **names,
        **{str(name): value for name, value in means.items()},
        "latency_mean_ns": float(mean),
        "latency_p99_ns": float(group["latency_p99_ns"].max()),
        "count": len(group),
    }


def _named(hosts: pd.Series[str]) -> str:
    """The name of a host, or the number of several."""
    names = hosts.unique()
    return str(names[0]) if len(names) == 1 else f"{len(names):,} hosts"
