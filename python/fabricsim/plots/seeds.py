"""Repetitions of one experiment: each run, the mean, and the confidence interval of the mean."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import PercentFormatter

from fabricsim.catalogue import FRACTION, entry_name
from fabricsim.errors import InputError
from fabricsim.lazy import pandas as pd
from fabricsim.plots.legends import legend
from fabricsim.plots.theme import COLOURS, head, new_figure, scale_of, sized, style
from fabricsim.statistics import CONFIDENCE
from fabricsim.sweep import SweepResult
from fabricsim.sweep.repeated import of_column
from fabricsim.sweep.table import entry

SHOWN = ("accepted_load", "latency_ns.mean", "latency_ns.p99", "job_time_ns")
"""Quantities, of the run and of its entries, that have a panel each."""
MOST_ROWS = 16
WHOLE = "all"
"""Row of the whole run."""


@dataclass(frozen=True)
class _Rows:
    """Values of a quantity by seed, for the run and for each entry."""

    quantity: str
    columns: dict[str, str]
    """Column of the table of points by the name of the row."""


def seeds(result: SweepResult) -> Figure:
    """A panel for each quantity: a row for the run and each entry, a dot for each seed, and the mean with its interval.

    Raises:
        InputError: no seed has one of the quantities.
    """
    points = result.points[result.points["status"] != "failed"]
    entries = result.entry_names
    panels = [found for quantity in SHOWN if (found := _rows(points, quantity, entries)).columns]
    if not panels:
        raise InputError(
            "no seed of this run has a quantity that is drawn: accepted load, latency or job time"
        )
    names = list(dict.fromkeys(name for panel in panels for name in panel.columns))[:MOST_ROWS]
    with style():
        figure = new_figure(2.6 * len(panels) + 1.8, 1.6 + 0.36 * len(names))
        grid = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0].tolist()
        for axes, panel in zip(grid, panels, strict=True):
            _draw(axes, points, panel, names)
        grid[0].set_yticks(range(len(names)), names)
        grid[0].set_ylim(len(names) - 0.5, -0.5)
        head(figure, f"{result.title}: {len(result.seeds)} seeds")
        marks = [
            Line2D([], [], color="0.6", marker="|", linestyle="", markersize=sized(9), label="a seed"),
            Line2D([], [], color=COLOURS[0], marker="o", label=f"mean, {CONFIDENCE:.0%} confidence"),
        ]
        legend(figure, handles=marks, below=True)
    return figure


def _rows(points: pd.DataFrame, quantity: str, entries: Mapping[str, str]) -> _Rows:
    columns = {WHOLE: quantity} if quantity in points and points[quantity].notna().any() else {}
    for name in map(str, points.columns):
        match = re.fullmatch(rf"((?:traffic|jobs)\..+)\.{re.escape(quantity)}", name)
        if match and points[name].notna().any():
            columns[entry_name(match[1], entries)] = name
    return _Rows(quantity, columns)


def _draw(axes: Axes, points: pd.DataFrame, panel: _Rows, names: list[str]) -> None:
    of = entry(panel.quantity)
    scale, unit = scale_of(points[list(panel.columns.values())].to_numpy(float).flat, of.unit)
    for at, name in enumerate(names):
        if name not in panel.columns:
            continue
        values = points[panel.columns[name]].astype(float).dropna() / scale
        found = of_column(values)
        axes.plot(values, [at] * len(values), "|", color="0.6", markersize=sized(9))
        width = found.half_width if found.half_width == found.half_width else 0.0  # of one seed there is none
        axes.errorbar(
            [found.mean], [at], xerr=[width], fmt="o", color=COLOURS[0], markersize=sized(4), capsize=3
        )
    axes.grid(visible=False, axis="y")
    axes.margins(x=0.1)
    if unit == FRACTION:
        axes.xaxis.set_major_formatter(PercentFormatter(1.0))
        unit = "% of link rate"
    axes.locator_params(axis="x", nbins=4)
    axes.set_xlabel(f"{of.label}\n({unit})")
