"""Throughput over time, a line for each flow or entry."""

from __future__ import annotations

from typing import Any

from matplotlib.figure import Figure

from fabricsim import catalogue
from fabricsim.lazy import pandas as pd
from fabricsim.plots.ceilings import within_links
from fabricsim.plots.entities import (
    MOST_LINES,
    OTHERS,
    Keys,
    coarse,
    end_of,
    entry_colours,
    flow_looks,
    flow_names,
    is_tangle,
    largest,
    rates_by,
    shortest_of_totals,
    steps,
    totals_of_entries,
    whole_bins,
    wide_by,
)
from fabricsim.plots.legends import legend
from fabricsim.plots.theme import head, new_figure, sized, style, time_scale
from fabricsim.results import Result
from fabricsim.shown import number_of


def has_throughput(result: Result) -> bool:
    """True if a packet arrived while the series were recorded."""
    return bool((result.series["gbps"] > 0.0).any())


def throughput(result: Result, most_lines: int = MOST_LINES) -> Figure:
    """Accepted throughput over simulated time.

    A line is a flow; beyond `most_lines` the largest flows are drawn, and the mean of the rest. If these lines would
    cross all the time, as of flows with few packets in a bin, a line is the total of an entry of the traffic list.

    Raises:
        InputError: the run recorded no series.
    """
    table = result.series
    wide = table.assign(flow=flow_names(table)).pivot_table(
        index="time_ns", columns="flow", values="gbps", aggfunc="sum", fill_value=0.0, sort=False
    )
    wide = wide.sort_index()
    end = end_of(wide, result)
    wide = whole_bins(wide, end)
    flows = result.frames.get("flows")
    shown = largest(wide, most_lines)
    bins = coarse(wide, flows, shown)
    tangled = wide.shape[1] > most_lines and is_tangle(bins, flows, shown)
    totals = totals_of_entries(wide, flows) if tangled else None
    if totals is None:
        looks, title = flow_looks(result, shown), "flow"
    else:
        shown, title = largest(totals, most_lines), "entry"
        bins = coarse(totals, flows, shown, shortest_of_totals(result))
        colours = zip(shown, entry_colours(result, shown), strict=True)
        looks = {name: {"color": colour, "linewidth": sized(2.5)} for name, colour in colours}
    bins = within_links(bins, end, result, title)
    return _figure(bins, end, {name: looks[name] for name in shown}, title, result.title)


def throughput_by(result: Result, by: str) -> Figure:
    """Accepted throughput over simulated time, a line for each source, destination or pair of groups of hosts; of many,
    the largest and the smallest, and the mean of the others.

    Raises:
        InputError: the run recorded no series, or has no such sums.
    """
    wide = wide_by(result, by)
    end = end_of(wide, result)
    wide = whole_bins(wide, end)
    keys = Keys.of(rates_by(result, by))
    bins = within_links(coarse(wide, result.frames.get("flows"), keys.shown), end, result, by)
    looks = {name: {"color": colour, "linewidth": sized(2.5)} for name, colour in keys.colours.items()}
    return _figure(bins, end, looks, by, f"{result.title}: by {by}")


def _figure(
    bins: pd.DataFrame, end: float, looks: dict[str, dict[str, Any]], title: str, heading: str
) -> Figure:
    """Lines of the columns that have a look, and the mean of the others."""
    scale, unit = time_scale(end or 1.0)
    with style():
        figure = new_figure(7.5, 4.0)
        axes = figure.add_subplot()
        for name, look in looks.items():
            steps(axes, bins[name], end, scale, label=name, **look)
        rest = bins.drop(columns=list(looks))
        if rest.shape[1]:
            label = f"mean of {number_of(rest.shape[1], 'other')}"
            steps(axes, rest.mean(axis=1), end, scale, label=label, color=OTHERS, linewidth=sized(2.5))
        axes.set(xlabel=f"simulated time ({unit})", ylabel=catalogue.key("accepted_gbps").heading)
        axes.set_ylim(bottom=0.0)
        axes.set_xlim(left=0.0)
        head(figure, heading)
        if looks:
            legend(figure, title=title)
    return figure
