"""Sums of flows by source, destination or group of hosts over the parameters of a sweep."""

from __future__ import annotations

import math
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fabricsim.catalogue import SUMS
from fabricsim.errors import InputError
from fabricsim.lazy import pandas as pd
from fabricsim.plots.entities import OTHERS, Keys, key_names
from fabricsim.plots.legends import legend
from fabricsim.plots.parameters import MOST_PANELS, Way, finish, ways_of
from fabricsim.plots.theme import head, new_figure, panel_title, scale_of, sized, style
from fabricsim.statistics import CONFIDENCE
from fabricsim.sums import nearest
from fabricsim.sweep import SweepResult
from fabricsim.sweep.repeated import half_widths, of_column

SUM_METRICS = ("accepted_gbps", "latency_mean_ns")
"""Columns of sums that are drawn by default."""
_ACROSS = 3


def sums_over_parameters(result: SweepResult, by: str, metric: str) -> Figure:
    """A column of the sums of flows over a parameter of the sweep, a line for each source, destination or pair of
    groups of hosts; a panel for each combination of the other parameters. Of many keys the largest and the smallest in
    throughput, and the mean of the others.

    Raises:
        InputError: there is no such metric, or the sweep has no such sums.
    """
    if metric not in SUMS:
        raise InputError(
            f"sums of flows have no metric {metric!r}; there are: {', '.join(SUMS)}{nearest(metric, list(SUMS))}"
        )
    table = result.by(by)
    rows = table.assign(key=key_names(table, by)).dropna(subset=[metric]).reset_index(drop=True)
    if rows.empty:
        raise InputError(f"this sweep has no point with {metric} by {by}, so there is nothing to draw")
    keys = Keys.of(rows.groupby("key", sort=False)["accepted_gbps"].mean())
    of = SUMS[metric]
    scale, unit = scale_of(rows[metric].astype(float), of.unit)
    rows = rows.assign(value=rows[metric] / scale)
    label = f"{of.label} ({unit})" if unit else of.label
    ways = [way for way in ways_of(result, rows) if way.size > 1]
    note = f" (mean of {len(result.seeds)} seeds, {CONFIDENCE:.0%} confidence)" if result.repeated else ""
    with style():
        figure = _over(rows, keys, ways, label, by) if ways else _bars(rows, keys, label, by)
        head(figure, f"{result.title}: {of.label} by {by}{note}")
    return figure


def _bars(rows: pd.DataFrame, keys: Keys, label: str, by: str) -> Figure:
    """One point: a bar for each key, with the interval over its repetitions."""
    means = {name: of_column(rows[rows["key"] == name]["value"]) for name in keys.shown}
    figure = new_figure(7.0, max(2.5, 1.2 + 0.35 * len(means)))
    axes = figure.add_subplot()
    widths = [0.0 if math.isnan(found.half_width) else found.half_width for found in means.values()]
    heights = [found.mean for found in means.values()]
    axes.barh(list(means), heights, color=list(keys.colours.values()), height=0.6, xerr=widths, capsize=3)
    if keys.others:
        rest = rows[~rows["key"].isin(keys.shown)]["value"].mean()
        axes.barh([keys.others_label], [rest], color=OTHERS, height=0.6)
    axes.invert_yaxis()
    axes.grid(visible=False, axis="y")
    axes.set(xlabel=label, ylabel=by)
    return figure


def _over(rows: pd.DataFrame, keys: Keys, ways: list[Way], label: str, by: str) -> Figure:
    x, *others = sorted(ways, key=lambda way: (way.numeric, way.size), reverse=True)
    names = pd.Series("", index=rows.index)
    for way in others:
        text = way.label.partition(",")[0] + " " + way.values.map(_value)
        names = names.where(names == "", names + ", ") + text
    panels = list(rows.groupby(names, sort=False))[:MOST_PANELS]
    across = min(_ACROSS, len(panels))
    down = math.ceil(len(panels) / across)
    size = (7.5, 4.2) if len(panels) == 1 else (3.0 * across + 1.8, 2.8 * down + 0.4)
    figure = new_figure(*size)
    grid = figure.subplots(down, across, sharey=True, squeeze=False).flat
    for number, axes in enumerate(grid):
        if number >= len(panels):
            axes.set_visible(False)
            continue
        name, part = panels[number]
        _lines(axes, part, keys, x)
        finish(axes, x, rows["value"], label if number % across == 0 else "")
        if name:
            panel_title(axes, str(name), across)
    legend(figure, title=by)
    return figure


def _value(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _lines(axes: Axes, part: pd.DataFrame, keys: Keys, x: Way) -> None:
    """Means over equal places, with the interval over the repetitions where there are several."""
    looks = [(name, colour, part["key"] == name) for name, colour in keys.colours.items()]
    if keys.others:
        looks.append((keys.others_label, OTHERS, ~part["key"].isin(keys.shown)))
    for name, colour, chosen in looks:
        rows = part[chosen]
        if rows.empty:
            continue
        at = rows.assign(x=x.values[rows.index])
        if name == keys.others_label:
            at = at.groupby("x", sort=False)["value"].mean().reset_index()
        means = at.groupby("x", sort=x.numeric)["value"].mean()
        line = "-" if x.numeric else ""
        look: dict[str, Any] = {"color": colour, "linestyle": line, "marker": "o", "markersize": sized(3)}
        axes.plot(means.index, means, label=name, **look)
        if len(at) > len(means):
            widths = half_widths(at, at["x"], "value").reindex(means.index).fillna(0.0)
            low, high = means - widths, means + widths
            if x.numeric:
                axes.fill_between(means.index, low, high, color=colour, alpha=0.15, linewidth=0)
            else:
                axes.errorbar(means.index, means, yerr=widths, color=colour, linestyle="", capsize=3)
