"""Throughput over time, a line for each flow."""

from __future__ import annotations

from matplotlib.figure import Figure

from fabricsim import catalogue
from fabricsim.lazy import pandas as pd
from fabricsim.plots.theme import line_look, new_figure, style
from fabricsim.results import Result

MOST_LINES = 12
_SCALES = [(1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1.0, "ns")]


def throughput(result: Result, most_lines: int = MOST_LINES) -> Figure:
    """Accepted throughput of each flow over simulated time; beyond `most_lines`, of the largest flows and the rest.

    Raises:
        InputError: the run recorded no series.
    """
    table = result.series
    wide = table.assign(flow=flow_names(table)).pivot_table(
        index="time_ns", columns="flow", values="gbps", aggfunc="sum", fill_value=0.0, sort=False
    )
    wide = wide.sort_index()
    order = wide.mean().sort_values(ascending=False, kind="stable").index
    shown = wide.columns if len(order) <= most_lines else wide.columns[wide.columns.isin(order[:most_lines])]
    scale, unit = time_scale(float(wide.index.max()) if len(wide) else 1.0)
    with style():
        figure = new_figure(7.5, 4.0)
        axes = figure.add_subplot()
        for number, name in enumerate(shown):
            axes.step(wide.index / scale, wide[name], where="post", label=name, **line_look(number))
        rest = wide.drop(columns=shown)
        if rest.shape[1]:
            label = f"mean of {rest.shape[1]} others"
            axes.step(
                wide.index / scale, rest.mean(axis=1), where="post", label=label, color="0.6", linewidth=2.5
            )
        axes.set(xlabel=f"simulated time ({unit})", ylabel=catalogue.key("accepted_gbps").heading)
        axes.set_ylim(bottom=0.0)
        axes.set_xlim(left=0.0)
        axes.set_title(result.title)
        if len(shown):
            figure.legend(loc="outside right upper", title="flow")
    return figure


def flow_names(table: pd.DataFrame) -> pd.Series[str]:
    """`source → destination`, or the source alone where flows are not kept by destination."""
    source, destination = table["source"].astype(str), table["destination"].astype(str)
    alone = destination.isin(["", "*"])
    return source.where(alone, source + " → " + destination)


def time_scale(longest_ns: float) -> tuple[float, str]:
    """Nanoseconds in the unit in which an axis up to `longest_ns` reads best, and that unit."""
    return (
        next((s for s in _SCALES if longest_ns >= 2 * s[0]), _SCALES[-1])
        if longest_ns < 1e9 / 2
        else _SCALES[0]
    )
