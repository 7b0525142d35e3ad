"""Throughput and latency of the entries of the traffic list, side by side."""

from __future__ import annotations

from typing import Any

from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from fabricsim.plots.entities import entry_colours
from fabricsim.plots.theme import head, legend, new_figure, plain_log, sized, style, time_scale
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
    places = range(len(table))
    names = [str(name) for name in table["entry"]]
    colours = entry_colours(result, names)
    with style():
        figure = new_figure(7.5, max(2.6, 1.5 + 0.34 * len(table)))
        left, right = figure.subplots(1, 2, sharey=True)
        left.barh(places, table["offered_gbps"], height=0.75, color="0.85", label="offered")
        left.barh(places, table["accepted_gbps"], height=0.45, color=colours, label="accepted")
        left.set_yticks(places, [_short(name) for name in names])
        left.invert_yaxis()
        left.set_xlim(left=0.0)
        left.set(xlabel="throughput (Gb/s)", ylabel="entry of the traffic list")
        scale, unit = time_scale(float(table["latency_p99_ns"].max()))
        median, tail = table["latency_p50_ns"] / scale, table["latency_p99_ns"] / scale
        right.hlines(places, median, tail, color=colours, linewidth=2.0)
        right.scatter(median, places, 25, color=colours, zorder=3)
        right.scatter(tail, places, 100, color=colours, marker="|", zorder=3)
        right.set_xlabel(f"packet latency ({unit})")
        if len(tail.dropna()):
            right.set_xscale("log")
            plain_log(right.xaxis)
        for axes in (left, right):
            axes.grid(visible=False, axis="y")
        head(figure, f"{result.title}: by entry")
        look: dict[str, Any] = {"color": "0.3", "linestyle": ""}
        marks = [
            Patch(color="0.85", label="offered"),
            Patch(color="0.3", label="accepted"),
            Line2D([], [], marker="o", markersize=sized(5), label="p50", **look),
            Line2D([], [], marker="|", markersize=sized(10), label="p99", **look),
        ]
        legend(figure, handles=marks, below=True)
    return figure


def _short(name: str, most: int = 28) -> str:
    return name if len(name) <= most else f"{name[: most - 3]}..."
