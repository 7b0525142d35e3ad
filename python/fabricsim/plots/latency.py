"""Latency: its distribution in one run, and its growth with the load."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fabricsim.errors import InputError
from fabricsim.lazy import numpy as np
from fabricsim.lazy import pandas as pd
from fabricsim.plots.legends import legend
from fabricsim.plots.theme import (
    COLOURS,
    head,
    line_look,
    new_figure,
    plain_log,
    sized,
    style,
    time_scale,
    words,
)
from fabricsim.results import Result
from fabricsim.sweep import Saturation, SweepResult

_MARKS = ((0.5, "p50", "o"), (0.99, "p99", "s"), (0.999, "p99.9", "^"))
MOST_LABELS = 12
"""Lines that a legend names."""
_NAMES = {"total": "total (from message creation)", "network": "network (from injection)"}


def has_latencies(result: Result) -> bool:
    """True if the latency of a packet was recorded."""
    return bool((result.latency["count"] > 0).any())


def latency_cdf(result: Result) -> Figure:
    """The cumulative distribution of packet latency, total and in the network, with p50, p99 and p99.9 marked.

    Raises:
        InputError: the run has no latency histogram.
    """
    table = result.latency
    seen = table[table["count"] > 0]
    scale, unit = time_scale(float(seen["to_ns"].max()) if len(seen) else 1.0)
    with style():
        figure = new_figure(7.0, 4.0)
        axes = figure.add_subplot()
        for number, (kind, rows) in enumerate(table.groupby("kind", sort=False)):
            edges, below = _cumulative(rows)
            if not len(edges):
                continue
            edges = edges / scale
            look = line_look(number)
            axes.plot(edges, below, label=_NAMES.get(str(kind), str(kind)), drawstyle="steps-post", **look)
            for fraction, name, marker in _MARKS:
                at = float(edges[min(int(np.searchsorted(below, fraction)), len(edges) - 1)])
                label = name if number == 0 else None
                axes.plot(
                    [at],
                    [fraction],
                    marker,
                    color=look["color"],
                    markersize=sized(6),
                    label=label,
                    linestyle="",
                )
        if axes.lines:
            axes.set_xscale("log")
            plain_log(axes.xaxis)
            legend(figure)
        axes.set(xlabel=f"packet latency ({unit})", ylabel="fraction of packets", ylim=(0.0, 1.02))
        head(figure, f"{result.title}: latency")
    return figure


def _cumulative(rows: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    rows = rows[rows["count"] > 0].sort_values("to_ns")
    count = rows["count"].to_numpy(float)
    if not count.sum():
        return np.empty(0), np.empty(0)
    edges = np.concatenate([rows["from_ns"].to_numpy(float)[:1], rows["to_ns"].to_numpy(float)])
    return np.maximum(edges, 1e-3), np.concatenate([[0.0], np.cumsum(count) / count.sum()])


def load_latency(result: SweepResult) -> Figure:
    """Mean latency, and accepted load, versus offered load: a line for each combination of the other parameters.

    Raises:
        InputError: the sweep has no point, or no load varies in it.
    """
    points, curves = result.points, result.curves()
    if points.empty:
        raise InputError("this sweep has no point that is done, so there is nothing to draw")
    if not curves:
        raise InputError("in this sweep no load varies: choose a metric to draw over its parameters")
    scale, unit = time_scale(max(float(rows["latency_ns.mean"].max()) for _, rows in curves))
    with style():
        figure = new_figure(7.0, 6.0)
        upper, lower = figure.subplots(2, 1, sharex=True)
        told = [name for name in curves[0][0] if len({key[name] for key, _ in curves}) > 1]
        for number, (key, group) in enumerate(curves):
            label = ", ".join(f"{_name(name, result.parameters)} {_value(key[name])}" for name in told)
            if number >= MOST_LABELS:
                label = f"and {len(curves) - MOST_LABELS} more" if number == MOST_LABELS else "_"
            rows = group.sort_values("offered_load")
            look = line_look(number) | {"marker": "o", "markersize": sized(3)}
            upper.plot(
                rows["offered_load"], rows["latency_ns.mean"] / scale, label=label or "the experiment", **look
            )
            lower.plot(rows["offered_load"], rows["accepted_load"], label=label or "the experiment", **look)
            if result.repeated:
                _bands((upper, lower), result, rows, scale, look["color"])
            _mark_saturation(upper, lower, result.saturation_of(key, rows), look["color"])
        most = float(points["offered_load"].max())
        lower.plot([0.0, most], [0.0, most], color="0.6", linewidth=1.0, linestyle=":", label="offered")
        upper.set(ylabel=f"mean packet latency ({unit})", yscale="log")
        plain_log(upper.yaxis)
        lower.set(
            xlabel="offered load (fraction of link rate)", ylabel="accepted load\n(fraction of link rate)"
        )
        lower.set_xlim(left=0.0)
        lower.set_ylim(bottom=0.0)
        head(figure, f"{result.title}: latency and accepted load")
        legend(figure)
    return figure


def _name(key: str, keys: Sequence[str]) -> str:
    """The last word of a key; all of it where another parameter ends with the same, such as a second load."""
    last = key.rpartition(".")[2]
    is_alone = sum(other.rpartition(".")[2] == last for other in keys) == 1
    return words(last if is_alone else key.replace(".", " "))


def _value(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _bands(
    axes: tuple[Axes, Axes], result: SweepResult, rows: pd.DataFrame, scale: float, colour: str
) -> None:
    """Confidence intervals of the means over the seeds. `scale`: the latency that is 1, nanoseconds."""
    found = result.estimates()
    for ax, (metric, one) in zip(axes, (("latency_ns.mean", scale), ("accepted_load", 1.0)), strict=True):
        of = found[found["metric"] == metric].set_index(result.varied)[["low", "high"]]
        keys = rows.set_index(result.varied).index
        ends = of.loc[keys].fillna(0.0).to_numpy() / one
        ax.fill_between(rows["offered_load"], ends[:, 0], ends[:, 1], color=colour, alpha=0.2, linewidth=0)


def _mark_saturation(upper: Axes, lower: Axes, found: Saturation | None, colour: str = COLOURS[0]) -> None:
    if found is None or not found.reached or not found.load:  # at the lowest load: not known where
        return
    for axes in (upper, lower):
        look: dict[str, Any] = {"color": colour, "linewidth": 1.0, "linestyle": "--", "alpha": 0.7}
        axes.axvline(found.load, label="saturation point", **look)
