"""Throughput and latency of the entries of the traffic list, side by side."""

from __future__ import annotations

from matplotlib.figure import Figure

from fabricsim import catalogue
from fabricsim.plots.theme import COLOURS, new_figure, plain_log, style
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
    with style():
        figure = new_figure(7.5, max(2.6, 1.5 + 0.34 * len(table)))
        left, right = figure.subplots(1, 2, sharey=True)
        left.barh(places, table["offered_gbps"], height=0.75, color="0.85", label="offered")
        left.barh(places, table["accepted_gbps"], height=0.45, color=COLOURS[0], label="accepted")
        left.set_yticks(places, [_short(str(name)) for name in table["entry"]])
        left.invert_yaxis()
        left.set_xlim(left=0.0)
        left.set(xlabel="throughput (Gb/s)", ylabel="entry of the traffic list")
        median, tail = table["latency_p50_ns"], table["latency_p99_ns"]
        right.hlines(places, median, tail, color=COLOURS[1], linewidth=2.0)
        right.plot(median, places, "o", color=COLOURS[1], markersize=5, label="p50")
        right.plot(tail, places, "|", color=COLOURS[1], markersize=10, label="p99")
        right.set_xlabel(f"packet latency ({catalogue.column('entries', 'latency_p99_ns').unit or 'ns'})")
        if len(tail.dropna()):
            right.set_xscale("log")
            plain_log(right.xaxis)
        for axes in (left, right):
            axes.grid(visible=False, axis="y")
        figure.suptitle(f"{result.title}: by entry", fontsize=11)
        figure.legend(loc="outside lower center", ncols=4)
    return figure


def _short(name: str, most: int = 28) -> str:
    return name if len(name) <= most else f"{name[: most - 3]}..."
