"""A metric of a sweep over its parameters: lines, bars, a heat map, or a panel for each parameter."""

from __future__ import annotations

import difflib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes
from matplotlib.colors import LogNorm, Normalize
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator

from fabricsim import catalogue
from fabricsim.catalogue import Entry
from fabricsim.errors import InputError
from fabricsim.lazy import numpy as np
from fabricsim.lazy import pandas as pd
from fabricsim.plots.legends import labelled, legend
from fabricsim.plots.theme import (
    COLOURS,
    MAP,
    axis_label,
    head,
    line_look,
    new_figure,
    plain_log,
    scale_of,
    sized,
    style,
    words,
)
from fabricsim.results import column_notes
from fabricsim.statistics import CONFIDENCE
from fabricsim.sweep import SweepResult
from fabricsim.sweep.repeated import half_widths, of_column
from fabricsim.sweep.sums import with_sum
from fabricsim.sweep.table import LEAST_TIME, entry

MOST_LINES = 12
MOST_PANELS = 12
FEWEST_FOR_MAP = (4, 4)
"""Values of each of two parameters from which on a heat map reads better than lines."""
MOST_WRITTEN = 100
"""Cells of a heat map up to which their values are written into them."""
MANY_DECADES = 500.0
"""Greatest over least value from which on labels at 1, 2 and 5 have no room."""
MOST_TICKS = 8
LOG_FROM = 10.0
"""Greatest over least value from which on an axis is logarithmic."""


LIMIT = "limit"
"""Column of the bound of the metric; no numbers without one."""
_ITERATION = "iteration_ns.mean"


@dataclass(frozen=True)
class Way:
    """A parameter, or several that vary together, as an axis of a picture."""

    label: str
    values: pd.Series[Any]
    numeric: bool
    texts: pd.Series[str]
    """Values as they are written, for legends."""

    @property
    def size(self) -> int:
        return int(self.values.nunique(dropna=False))


def over_parameters(result: SweepResult, metric: str) -> Figure:
    """The metric, a column of the sweep's table, over the parameters.

    Raises:
        InputError: there is no such metric, or no point to draw.
    """
    if catalogue.sum_parts(metric) is not None:
        result = with_sum(result, metric)
    _require(result, metric)
    rows = result.points.dropna(subset=[metric]).reset_index(drop=True)
    if rows.empty:
        raise InputError(f"this sweep has no point with {metric}, so there is nothing to draw")
    ways = [way for way in ways_of(result, rows) if way.size > 1]
    scale, unit = scale_of(rows[metric].astype(float), column_notes(result.points)[metric][0])
    rows[metric] = rows[metric] / scale
    rows[LIMIT] = rows[least] / scale if (least := _least_of(metric)) in rows else math.nan
    with style():
        label = entry(metric, result.entry_names).label
        figure = _figure(result, rows, axis_label(Entry(metric, label, unit)), metric, ways)
        note = f" (mean of {len(result.seeds)} seeds, {CONFIDENCE:.0%} confidence)" if result.repeated else ""
        head(figure, f"{result.title}: {label}{note}")
    return figure


def _least_of(metric: str) -> str:
    """The column of the bound of a metric: the least time of a job beside its mean iteration."""
    return f"{metric.removesuffix(_ITERATION)}{LEAST_TIME}" if metric.endswith(f".{_ITERATION}") else ""


def _require(result: SweepResult, metric: str) -> None:
    if not (result.points["status"] != "failed").any():
        raise InputError("this sweep has no point that ran, so there is nothing to draw")
    known = [
        str(name)
        for name in result.points
        if pd.api.types.is_numeric_dtype(result.points[name])
        and not pd.api.types.is_bool_dtype(result.points[name])
    ]
    if metric not in known and catalogue.is_known(metric):
        raise InputError(f"this sweep has no point with {metric}, so there is nothing to draw")
    if metric not in known:
        near = difflib.get_close_matches(metric, known, n=1)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise InputError(f"this sweep has no metric {metric!r}; there are: {', '.join(known)}{hint}")


def ways_of(result: SweepResult, rows: pd.DataFrame) -> list[Way]:
    """The parameters of a sweep but the seeds of repetitions, with their values in `rows`."""
    kinds = [axis["kind"] for axis in result.manifest.get("axes", ())] or ["grid"] * len(result.axes)
    ways: list[Way] = []
    for kind, keys in zip(kinds, result.axes, strict=True):
        if kind == "seeds":
            continue
        if kind == "random" or len(keys) == 1:
            ways.extend(_way(result, rows, key) for key in keys)
        elif kind == "zip":
            each = [_way(result, rows, key) for key in keys]
            first = max(each, key=lambda way: (way.numeric, way.size))
            rest = ", ".join(way.label for way in each if way is not first)
            ways.append(Way(f"{first.label}\nwith {rest}", first.values, first.numeric, first.texts))
        else:
            texts = rows[keys].map(str).agg("\n".join, axis=1)
            ways.append(Way("\n".join(map(words, keys)), texts, numeric=False, texts=texts))
    return ways


def _way(result: SweepResult, rows: pd.DataFrame, key: str) -> Way:
    name = result.numeric(key)
    values = rows[name]
    numeric = pd.api.types.is_numeric_dtype(values) and not pd.api.types.is_bool_dtype(values)
    unit = column_notes(result.points)[name][0]
    texts = rows[key].map(lambda value: f"{value:g}" if _is_number(value) else str(value))
    label = axis_label(Entry(key, words(key), unit))
    return Way(label, values if numeric else values.map(str), numeric, texts)


def _figure(result: SweepResult, rows: pd.DataFrame, label: str, metric: str, ways: list[Way]) -> Figure:
    is_drawn = any(axis["kind"] == "random" for axis in result.manifest.get("axes", ()))
    if not ways:
        names = pd.Series("mean of all seeds" if result.repeated else "the only point", index=rows.index)
        return _bars(rows, metric, names, "", label, repeated=bool(result.repeated))
    if len(ways) == 1 and not ways[0].numeric:
        return _bars(rows, metric, ways[0].values, ways[0].label, label, repeated=bool(result.repeated))
    if len(ways) == 1 or not is_drawn:
        if len(ways) == 2 and _fits_map(rows, ways):
            return _map(rows[metric], ways, label)
        ways = sorted(ways, key=lambda way: (way.numeric, way.size), reverse=True)
        if math.prod(way.size for way in ways[1:]) <= MOST_LINES:
            return _lines(rows, metric, ways[0], ways[1:], label, repeated=bool(result.repeated))
    return _panels(rows, metric, ways, label)


def _fits_map(rows: pd.DataFrame, ways: Sequence[Way]) -> bool:
    big_enough = all(way.size >= least for way, least in zip(ways, FEWEST_FOR_MAP, strict=True))
    return all(way.numeric for way in ways) and big_enough and len(rows) == ways[0].size * ways[1].size


def _lines(
    rows: pd.DataFrame, metric: str, x: Way, others: Sequence[Way], label: str, *, repeated: bool = False
) -> Figure:
    figure = new_figure(7.0, 4.2)
    axes = figure.add_subplot()
    names = pd.Series("", index=rows.index)
    for way in others:
        text = way.label.partition(",")[0] + " " + way.texts
        names = names.where(names == "", names + ", ") + text
    for number, (name, group) in enumerate(rows.groupby(names, sort=False)):
        order = group.assign(x=x.values[group.index])
        if x.numeric:
            order = order.sort_values("x")
            # several points at one place: their mean, and from the least to the greatest, or its confidence interval
            at = order.groupby("x")[metric].agg(["mean", "min", "max"])
            if repeated:
                width = half_widths(order, order["x"], metric).fillna(0.0)
                at = at.assign(min=at["mean"] - width, max=at["mean"] + width)
            look = line_look(number)
            axes.plot(at.index, at["mean"], marker="o", markersize=sized(3), label=str(name) or None, **look)
            if (at["max"] > at["min"]).any():
                axes.fill_between(
                    at.index, at["min"], at["max"], color=look["color"], alpha=0.15, linewidth=0
                )
        else:
            colour = COLOURS[number % len(COLOURS)]
            axes.plot(
                order["x"], order[metric], "o", markersize=sized(5), color=colour, label=str(name) or None
            )
    _draw_limits(axes, rows, names, x)
    _mark_deadlocks(axes, rows, metric, x)
    finish(axes, x, rows[metric], label)
    if labelled(axes)[1]:
        legend(figure)
    return figure


def _draw_limits(axes: Axes, rows: pd.DataFrame, names: pd.Series[Any], x: Way) -> None:
    """The bound of each line, in its colour."""
    look: dict[str, Any] = {"linestyle": ":", "linewidth": sized(1.5)}
    if not x.numeric:
        look = {"linestyle": "", "marker": "_", "markersize": sized(14)}
    for number, (_, group) in enumerate(rows.groupby(names, sort=False)):
        limits = group[LIMIT].groupby(x.values[group.index], sort=x.numeric).mean().dropna()
        if len(limits):
            axes.plot(limits.index, limits, color=COLOURS[number % len(COLOURS)], **look)
    if rows[LIMIT].notna().any():
        axes.plot([], [], color="0.3", label="least possible", **look)


def _bars(
    rows: pd.DataFrame, metric: str, names: pd.Series[Any], xlabel: str, label: str, *, repeated: bool
) -> Figure:
    grouped = rows[metric].groupby(names, sort=False)
    means = grouped.mean()
    errors = grouped.agg(lambda of: of_column(of).half_width).fillna(0.0) if repeated else None
    figure = new_figure(7.0, max(2.5, 1.2 + 0.35 * len(means)))
    axes = figure.add_subplot()
    axes.barh(
        [str(name) for name in means.index], means, color=COLOURS[0], height=0.6, xerr=errors, capsize=3
    )
    limits = rows[LIMIT].groupby(names, sort=False).mean()
    if limits.notna().any():
        look: dict[str, Any] = {"color": COLOURS[1], "markersize": sized(18), "markeredgewidth": sized(2.5)}
        axes.plot(limits, range(len(limits)), "|", label="least possible", **look)
    axes.invert_yaxis()
    axes.grid(visible=False, axis="y")
    axes.set(xlabel=label, ylabel=xlabel)
    if labelled(axes)[1]:
        legend(figure)
    return figure


def _map(values: pd.Series[Any], ways: Sequence[Way], label: str) -> Figure:
    table = pd.DataFrame({"y": ways[0].values, "x": ways[1].values, "value": values})
    wide = table.pivot_table(index="y", columns="x", values="value")
    figure = new_figure(7.0, 5.0)
    axes = figure.add_subplot()
    norm = LogNorm() if _is_wide(values) else Normalize()
    image = axes.imshow(wide.to_numpy(), origin="lower", aspect="auto", cmap=MAP, norm=norm)
    axes.set_xticks(range(wide.shape[1]), [f"{x:,g}" for x in wide.columns])
    axes.set_yticks(range(wide.shape[0]), [f"{y:,g}" for y in wide.index])
    axes.grid(visible=False)
    axes.set(xlabel=ways[1].label, ylabel=ways[0].label)
    if wide.size <= MOST_WRITTEN:
        for (y, x), value in np.ndenumerate(wide.to_numpy(float)):
            colour = "white" if norm(value) < 0.5 else "black"
            axes.text(x, y, _short(value), ha="center", va="center", color=colour, fontsize=7)
    bar = figure.colorbar(image, label=label)
    if isinstance(norm, LogNorm):
        plain_log(bar.ax.yaxis)
    return figure


def _short(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def _panels(rows: pd.DataFrame, metric: str, ways: Sequence[Way], label: str) -> Figure:
    ways = ways[:MOST_PANELS]
    across = min(3, len(ways))
    down = math.ceil(len(ways) / across)
    figure = new_figure(3.2 * across + 0.6, 2.6 * down + 0.6)
    panels = figure.subplots(down, across, sharey=True, squeeze=False).flat
    for number, axes in enumerate(panels):
        if number >= len(ways):
            axes.set_visible(False)
            continue
        way = ways[number]
        axes.plot(way.values, rows[metric], "o", markersize=sized(3), color=COLOURS[0], alpha=0.6)
        _mark_deadlocks(axes, rows, metric, way)
        finish(axes, way, rows[metric], label if number % across == 0 else "")
    return figure


def _mark_deadlocks(axes: Axes, rows: pd.DataFrame, metric: str, x: Way) -> None:
    stuck = rows["status"] == "deadlock"
    if stuck.any():
        axes.plot(
            x.values[stuck],
            rows[metric][stuck],
            "x",
            color="black",
            markersize=sized(7),
            label="deadlock",
            linestyle="",
        )


def finish(axes: Axes, x: Way, values: pd.Series[Any], label: str) -> None:
    """Labels, scales and ticks of axes with a parameter and a metric."""
    axes.set(xlabel=x.label, ylabel=label)
    if x.numeric and _is_wide(x.values):
        axes.set_xscale("log")
        plain_log(axes.xaxis)
        if x.values.max() / x.values.min() >= MANY_DECADES:
            axes.xaxis.set_major_locator(LogLocator())
    elif x.numeric and x.size <= MOST_TICKS and (x.values == x.values.round()).all():
        axes.set_xticks(sorted(x.values.unique()))
    if _is_wide(values):
        axes.set_yscale("log")
        plain_log(axes.yaxis)


def _is_wide(values: pd.Series[Any]) -> bool:
    return bool(values.min() > 0 and values.max() / values.min() >= LOG_FROM)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool)
