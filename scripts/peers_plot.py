"""The plot of `scripts/bench_peers`: work of each simulator for a packet-hop."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.figure import Figure

from fabricsim.plots.theme import COLOURS, legend, new_figure, plain_log, style

FIGURE = "docs/figures/performance-peers.svg"
PANELS = {
    "cpu_us_per_unit": "processor time per packet-hop (µs)",
    "instructions_per_unit": "instructions per packet-hop",
}
MARKERS = "osD^v"


def points(
    result: Mapping[str, Any], others: Sequence[Mapping[str, Any]], column: str
) -> dict[str, list[tuple[str, float]]]:
    """Case and value of each simulator that has one."""
    found: dict[str, list[tuple[str, float]]] = {}
    for case in result["cases"]:
        if case["unit"] != "packet-hop":
            continue
        label = f"{case['title']}, load {case['load']:g}"
        near = [row for row in others if row["case"] == case["case"] and row["load"] in (case["load"], None)]
        for row in [*case["rows"], *near]:
            if row.get(column) is not None:
                found.setdefault(row["program"], []).append((label, row[column]))
    return found


def draw(result: Mapping[str, Any], others: Sequence[Mapping[str, Any]]) -> Figure:
    """A panel for each quantity, a row for each case, a marker for each simulator."""
    with style():
        figure = new_figure(8.5, 3.4)
        panels = figure.subplots(1, len(PANELS), sharey=True)
        names = list(dict.fromkeys(name for column in PANELS for name in points(result, others, column)))
        rows = [
            f"{case['title']}, load {case['load']:g}"
            for case in result["cases"]
            if case["unit"] == "packet-hop"
        ]
        for axes, (column, label) in zip(panels, PANELS.items(), strict=True):
            found = points(result, others, column)
            for number, name in enumerate(names):
                places = [(value, rows.index(row)) for row, value in found.get(name, [])]
                look = {"color": COLOURS[number % len(COLOURS)], "marker": MARKERS[number % len(MARKERS)]}
                axes.plot([x for x, _ in places], [y for _, y in places], linestyle="", label=name, **look)
            axes.set_xscale("log")
            axes.set_xlabel(label)
            axes.set_yticks(range(len(rows)), rows)
            axes.margins(y=0.12)
            plain_log(axes.xaxis)
        panels[0].invert_yaxis()
        legend(figure)
        return figure
