"""Throughput over time, a line for each flow."""

from __future__ import annotations

from matplotlib.figure import Figure

from fabricsim import catalogue
from fabricsim.plots.entities import MOST_LINES, coarse, flow_looks, flow_names, largest
from fabricsim.plots.theme import head, legend, new_figure, style, time_scale
from fabricsim.results import Result


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
    shown = largest(wide, most_lines)
    wide = coarse(wide, result.frames.get("flows"), shown)
    looks = flow_looks(result, shown)
    scale, unit = time_scale(float(wide.index.max()) if len(wide) else 1.0)
    with style():
        figure = new_figure(7.5, 4.0)
        axes = figure.add_subplot()
        for name in shown:
            axes.step(wide.index / scale, wide[name], where="post", label=name, **looks[name])
        rest = wide.drop(columns=shown)
        if rest.shape[1]:
            label = f"mean of {rest.shape[1]} others"
            axes.step(
                wide.index / scale, rest.mean(axis=1), where="post", label=label, color="0.6", linewidth=2.5
            )
        axes.set(xlabel=f"simulated time ({unit})", ylabel=catalogue.key("accepted_gbps").heading)
        axes.set_ylim(bottom=0.0)
        axes.set_xlim(left=0.0)
        head(figure, result.title)
        if len(shown):
            legend(figure, title="flow")
    return figure
