"""Throughput and latency of the entries of the traffic list, or of sums of flows, side by side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from fabricsim.errors import InputError
from fabricsim.lazy import pandas as pd
from fabricsim.plots.entities import OTHERS, Keys, entry_colours, key_names
from fabricsim.plots.legends import legend
from fabricsim.plots.theme import head, new_figure, plain_log, sized, style, time_scale
from fabricsim.results import Result

MOST_ENTRIES = 24


def has_entries(result: Result) -> bool:
    """True if the run has several entries with packets: of a single one the totals say the same."""
    table = result.frames.get("entries")
    return table is not None and int((table["packets"] > 0).sum()) > 1


def entries(result: Result) -> Figure:
    """Offered and accepted throughput of each entry, and its latency from the median to the 99th percentile.

    Raises:
        InputError: the run has no such table.
    """
    table = result.entries.head(MOST_ENTRIES)
    names = [str(name) for name in table["entry"]]
    what = _What("entry of the traffic list", "latency_p50_ns", ("p50", "p99"))
    return _bars(table, names, entry_colours(result, names), what, f"{result.title}: by entry")


def entries_by(result: Result, by: str) -> Figure:
    """The same of each source, destination or pair of groups of hosts, with the mean latency and the largest 99th
    percentile of a flow; of many, the largest and the smallest, and the mean of the others.

    Raises:
        InputError: the run has no such sums, or no flow has packets.
    """
    table = result.by(by).reset_index()
    if table.empty:
        raise InputError("no flow has packets, so there is nothing to draw")
    table.index = pd.Index(key_names(table, by))
    keys = Keys.of(table["accepted_gbps"])
    shown = table.loc[keys.shown, list(_DRAWN)]
    colours = list(keys.colours.values())
    if keys.others:
        # In its place: less than the largest, more than the smallest.
        at = len(keys.shown) - len(keys.shown) // 2
        rest = table.drop(index=keys.shown)[list(_DRAWN)].mean().to_frame(keys.others_label).T
        shown = pd.concat([shown.iloc[:at], rest, shown.iloc[at:]])
        colours.insert(at, OTHERS)
    what = _What(by, "latency_mean_ns", ("mean", "largest p99 of a flow"))
    names = [str(name) for name in shown.index]
    return _bars(shown, names, colours, what, f"{result.title}: by {by}")


_DRAWN = ("offered_gbps", "accepted_gbps", "latency_mean_ns", "latency_p99_ns")


@dataclass(frozen=True)
class _What:
    """What a row is, and its latencies."""

    row: str
    middle: str
    """Column of the smaller latency."""
    latencies: tuple[str, str]
    """Names of the two."""


def _bars(table: pd.DataFrame, names: list[str], colours: list[str], what: _What, title: str) -> Figure:
    places = range(len(table))
    with style():
        figure = new_figure(7.5, max(2.6, 1.5 + 0.34 * len(table)))
        left, right = figure.subplots(1, 2, sharey=True)
        left.barh(places, table["offered_gbps"], height=0.75, color="0.85", label="offered")
        left.barh(places, table["accepted_gbps"], height=0.45, color=colours, label="accepted")
        left.set_yticks(places, [_short(name) for name in names])
        left.invert_yaxis()
        left.set_xlim(left=0.0)
        left.set(xlabel="throughput (Gb/s)", ylabel=what.row)
        scale, unit = time_scale(float(table["latency_p99_ns"].max()))
        middle, tail = table[what.middle] / scale, table["latency_p99_ns"] / scale
        right.hlines(places, middle, tail, color=colours, linewidth=sized(2.0))
        right.scatter(middle, places, 25, color=colours, zorder=3)
        right.scatter(tail, places, 100, color=colours, marker="|", zorder=3)
        right.set_xlabel(f"packet latency ({unit})")
        if len(tail.dropna()):
            right.set_xscale("log")
            plain_log(right.xaxis)
        for axes in (left, right):
            axes.grid(visible=False, axis="y")
        head(figure, title)
        look: dict[str, Any] = {"color": "0.3", "linestyle": ""}
        marks = [
            *([Patch(color="0.85", label="offered")] if table["offered_gbps"].notna().any() else []),
            Patch(color="0.3", label="accepted"),
            Line2D([], [], marker="o", markersize=sized(5), label=what.latencies[0], **look),
            Line2D([], [], marker="|", markersize=sized(10), label=what.latencies[1], **look),
        ]
        legend(figure, handles=marks, below=True)
    return figure


def _short(name: str, most: int = 28) -> str:
    return name if len(name) <= most else f"{name[: most - 3]}..."
