"""Congestion over time: rate limiting of sources, marks and notifications, roots of congestion trees and victims."""

from __future__ import annotations

from collections.abc import Callable

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from fabricsim import catalogue
from fabricsim.errors import InputError
from fabricsim.lazy import numpy as np
from fabricsim.lazy import pandas as pd
from fabricsim.plots.entities import MOST_LINES, flow_looks, flow_names
from fabricsim.plots.legends import beside
from fabricsim.plots.theme import COLOURS, head, line_look, new_figure, sized, style, time_scale
from fabricsim.results import Result, tree_spans
from fabricsim.shown import number_of

Panel = Callable[[Axes, Result, float], None]

_LEVELS = ("ccti", "rate_mbps")
"""Columns for the level by which a flow is rate-limited."""
_COUNTS = {
    "contributors": "contributors (flows)",
    "victims": "victims (flows)",
    "branches": "branches (outputs)",
}
MOST_BINS = 100
"""Bins of marks and notifications; shorter ones are summed up."""
_MARKS = (("marked", "packets marked (FECN)"), ("notified", "notifications received (BECN)"))


def congestion(result: Result) -> Figure:
    """Activity of congestion control over time, and congestion trees; a panel for each that exists.

    Raises:
        InputError: the run had neither congestion control nor congestion.
    """
    panels = _panels(result)
    if not panels:
        raise InputError("this run had neither congestion control at work nor congestion: nothing to draw")
    scale, unit = time_scale(_longest_ns(result))
    with style():
        heights = [_height(result) if panel is _roots else 2.4 for panel in panels]
        figure = new_figure(8.0, 0.8 + sum(heights))
        grid = {"height_ratios": heights}
        rows = figure.subplots(len(panels), 1, sharex=True, squeeze=False, gridspec_kw=grid)[:, 0]
        for axes, panel in zip(rows, panels, strict=True):
            panel(axes, result, scale)
            beside(axes)
        head(figure, f"{result.title}: congestion")
        rows[0].set_xlim(0.0, _longest_ns(result) / scale)
        rows[-1].set_xlabel(f"simulated time ({unit})")
    return figure


def has_congestion(result: Result) -> bool:
    """True if `congestion` has data to draw."""
    return bool(_panels(result))


def _panels(result: Result) -> list[Panel]:
    panels: list[Panel] = []
    series = _table(result, "congestion_series")
    if not series.empty and _level(series) is not None:
        panels.append(_levels)
    run = _table(result, "run_series")
    if {"marked", "notified"} <= set(run) and run[["marked", "notified"]].to_numpy().any():
        panels.append(_marks)
    if not _table(result, "congestion_trees").empty:
        panels += [_roots, _victims]
    return panels


def _level(series: pd.DataFrame) -> str | None:
    """The column for the level by which flows are rate-limited."""
    return next((column for column in _LEVELS if column in series), None)


def _table(result: Result, name: str) -> pd.DataFrame:
    return result.frames.get(name, pd.DataFrame())


def _longest_ns(result: Result) -> float:
    simulated = result.manifest["summary"].get("simulated_s")
    times = [
        frame["time_ns"].max()
        for name in ("congestion_series", "run_series", "congestion_trees")
        if "time_ns" in (frame := _table(result, name)) and len(frame)
    ]
    return float(simulated) * 1e9 if simulated else float(max(times, default=1.0))


def _height(result: Result) -> float:
    """Inches of the panel with a row for each root."""
    trees = _table(result, "congestion_trees")
    return 0.5 + 0.25 * min(MOST_LINES, int(_root_names(trees).nunique()))


def _levels(axes: Axes, result: Result, scale: float) -> None:
    table = _table(result, "congestion_series")
    column = _level(table)
    assert column is not None
    wide = table.assign(flow=flow_names(table)).pivot_table(
        index="time_ns", columns="flow", values=column, aggfunc="mean", sort=False
    )
    of = catalogue.column("congestion_series", column)
    wide = wide.sort_index() / of.scale
    strongest = wide.mean().sort_values(ascending=column == "rate_mbps", kind="stable").index[:MOST_LINES]
    shown = [str(name) for name in wide.columns[wide.columns.isin(strongest)]]
    looks = flow_looks(result, shown)
    for name in shown:
        axes.step(wide.index / scale, wide[name], where="post", label=name, **looks[name])
    rest = wide.drop(columns=strongest)
    if rest.shape[1]:
        label = f"mean of {number_of(rest.shape[1], 'other')}"
        axes.step(
            wide.index / scale,
            rest.mean(axis=1),
            where="post",
            label=label,
            color="0.6",
            linewidth=sized(2.5),
        )
    axes.set_ylabel(of.heading)
    axes.set_ylim(bottom=0.0)


def _marks(axes: Axes, result: Result, scale: float) -> None:
    run = _table(result, "run_series")
    width = float(run["time_ns"].diff().median()) if len(run) > 1 else _longest_ns(result)
    if (together := len(run) // MOST_BINS) > 1:  # in short bins there is a packet or none
        bins = np.arange(len(run)) // together
        names = [column for column, _ in _MARKS]
        run = run.groupby(bins).agg({"time_ns": "first", **dict.fromkeys(names, "sum")})
        width *= together
    bin_scale, unit = time_scale(2 * width)
    for number, (column, label) in enumerate(_MARKS):
        axes.step(run["time_ns"] / scale, run[column], where="post", label=label, **line_look(number))
    axes.set_ylabel(f"packets in {width / bin_scale:.3g} {unit}")
    axes.set_ylim(bottom=0.0)


def _roots(axes: Axes, result: Result, scale: float) -> None:
    trees = _table(result, "congestion_trees")
    names = _root_names(trees)
    begins, ends = tree_spans(trees)
    counts = names.value_counts(sort=False)
    kept = counts.sort_values(ascending=False, kind="stable").index[:MOST_LINES]
    shown = [name for name in counts.index if name in kept]
    for row, name in enumerate(shown):
        bars = [
            (begin / scale, (end - begin) / scale)
            for begin, end in _joined(begins[names == name], ends[names == name])
        ]
        axes.broken_barh(bars, (row - 0.25, 0.5), color=COLOURS[row % len(COLOURS)], linewidth=0)
    axes.set_yticks(range(len(shown)), shown)
    axes.set_ylim(len(shown) - 0.4, -0.6)
    others = len(counts) - len(shown)
    axes.set_ylabel("roots" + (f"\n(not shown: {others})" if others else ""))
    axes.plot([], [], color="0.5", linewidth=sized(6.0), label="root: above the threshold,\nwith credits")


def _joined(begins: pd.Series[float], ends: pd.Series[float]) -> list[tuple[float, float]]:
    """Times without a gap as one: bars that touch have a bright seam in SVG and PDF."""
    found: list[tuple[float, float]] = []
    for begin, end in sorted(zip(begins, ends, strict=True)):
        if found and begin <= found[-1][1]:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((begin, end))
    return found


def _root_names(trees: pd.DataFrame) -> pd.Series[str]:
    """Names of the roots; with the lane where they are not all on one."""
    if trees["lane"].nunique() == 1:
        return trees["root"]
    return trees["root"] + " lane " + trees["lane"].astype(str)


def _victims(axes: Axes, result: Result, scale: float) -> None:
    trees = _table(result, "congestion_trees")
    begins, ends = tree_spans(trees)
    sums = trees.groupby([begins.rename("begin"), ends.rename("end")])[list(_COUNTS)].sum()
    nothing = [0] * len(_COUNTS)
    edges, values = [0.0], [nothing]
    for (begin, end), row in zip(sums.index, sums.to_numpy(), strict=True):
        if begin > edges[-1]:  # the samples between have no trees
            edges.append(begin)
            values.append(nothing)
        edges.append(end)
        values.append(list(row))
    if (longest := _longest_ns(result)) > edges[-1]:
        edges.append(longest)
        values.append(nothing)
    for number, label in enumerate(_COUNTS.values()):
        counts = [row[number] for row in values]
        axes.step(np.array(edges) / scale, counts, where="pre", label=label, **line_look(number))
    axes.yaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_ylabel("number in all trees")
    axes.set_ylim(bottom=0.0)
