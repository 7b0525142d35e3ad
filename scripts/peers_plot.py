"""The plot of `scripts/bench_peers`: what other simulators need, in multiples of ours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.figure import Figure
from peers_table import base_of, label, rows_of

from fabricsim.plots.legends import legend
from fabricsim.plots.theme import COLOURS, new_figure, plain_log, style

FIGURE = "docs/figures/performance-peers.svg"
PANELS = {
    "cpu_us_per_unit": "processor time (multiple of Fabricsim's)",
    "instructions_per_unit": "instructions (multiple of Fabricsim's)",
}
MARKERS = "osD^vPX"


def points(
    result: Mapping[str, Any], others: Sequence[Mapping[str, Any]], column: str
) -> dict[str, list[tuple[str, float]]]:
    """Case and multiple of our figure, of each simulator."""
    found: dict[str, list[tuple[str, float]]] = {}
    for case in result["cases"]:
        base = base_of(case, column)
        for row in rows_of(case, others) if base is not None else ():
            if base is not None and row.get(column) is not None:
                found.setdefault(row["program"], []).append((label(case), row[column] / base[column]))
    return found


def draw(result: Mapping[str, Any], others: Sequence[Mapping[str, Any]]) -> Figure:
    """A panel for each quantity, a row for each case, a marker for each simulator."""
    with style():
        figure = new_figure(9.5, 3.6)
        panels = figure.subplots(1, len(PANELS), sharey=True)
        names = list(dict.fromkeys(name for column in PANELS for name in points(result, others, column)))
        rows = [label(case) for case in result["cases"]]
        for axes, (column, text) in zip(panels, PANELS.items(), strict=True):
            found = points(result, others, column)
            axes.axvline(1.0, color="#888888", linewidth=1.0)
            for number, name in enumerate(names):
                places = [(value, rows.index(row)) for row, value in found.get(name, [])]
                look = {"color": COLOURS[number % len(COLOURS)], "marker": MARKERS[number % len(MARKERS)]}
                axes.plot([x for x, _ in places], [y for _, y in places], linestyle="", label=name, **look)
            axes.set_xscale("log")
            axes.set_xlabel(text)
            axes.set_yticks(range(len(rows)), rows)
            axes.margins(y=0.12)
            plain_log(axes.xaxis)
        panels[0].invert_yaxis()
        legend(figure)
        return figure
