"""Runs side by side: throughput over time, and each flow's share at the end."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import PercentFormatter

from fabricsim import catalogue
from fabricsim.compare import Comparison
from fabricsim.errors import InputError
from fabricsim.lazy import numpy as np
from fabricsim.lazy import pandas as pd
from fabricsim.plots.entities import coarse, flow_names
from fabricsim.plots.theme import head, legend, line_look, new_figure, panel_title, style, time_scale

if TYPE_CHECKING:
    import numpy.typing as npt

MOST_FLOWS = 12
"""Flows that are drawn one by one."""
MOST_COLUMNS = 4
"""Panels beside each other."""
MOST_WRITTEN = 6
"""Bars beside each other that have their number written on them."""
_REST = "0.6"


def comparison(found: Comparison, most_flows: int = MOST_FLOWS) -> Figure:
    """A column for each run: accepted throughput of the common flows over time, below it their shares of their
    destinations' links in the last tenth. All columns have the same axes and one legend.

    Beyond `most_flows`, those with the largest throughput and the mean of the others are drawn.

    Raises:
        InputError: no flow is in all runs, or no run kept a series.
    """
    if found.note:
        raise InputError(f"{found.note}, so there is no throughput of flows to draw")
    series = found.series
    if series.empty:
        raise InputError(
            "these runs kept no series of their flows, so there is nothing to draw: there are too many"
        )
    wide = series.assign(flow=flow_names(series)).pivot_table(
        index="time_ns", columns=["run", "flow"], values="gbps", aggfunc="sum", sort=False
    )
    wide = wide.sort_index()
    shown = _largest(found, most_flows)
    scale, unit = time_scale(float(wide.index.max()))
    count = len(found.labels)
    columns = min(count, MOST_COLUMNS)
    bands = math.ceil(count / columns)
    with style():
        figure = new_figure(max(3.4 * columns, 4.0) + 1.6, 4.4 * bands)
        grid = figure.subplots(2 * bands, columns, squeeze=False, height_ratios=[2.0, 1.2] * bands)
        for number, label in enumerate(found.labels):
            band, column = divmod(number, columns)
            _lines(grid[2 * band, column], wide, found.runs[number].frames.get("flows"), label, shown, scale)
            panel_title(grid[2 * band, column], label.replace(", ", "\n"), columns)
            _bars(grid[2 * band + 1, column], found, label, shown)
        for empty in range(count, bands * columns):
            band, column = divmod(empty, columns)
            grid[2 * band, column].set_axis_off()
            grid[2 * band + 1, column].set_axis_off()
        _share_axes(grid, unit)
        legend(figure, handles=_legend(found, shown), title="flow")
        titles = {run.title for run in found.runs}
        if len(titles) == 1:
            head(figure, titles.pop())
    return figure


def _largest(found: Comparison, most: int) -> list[str]:
    """The flows that are drawn one by one, in the order of the first run's table."""
    names = _names(found)
    if len(names) <= most:
        return names
    mean = found.quantity("accepted_gbps").mean(axis=1).to_numpy()
    largest = set(np.argsort(-mean, kind="stable")[:most])
    return [name for number, name in enumerate(names) if number in largest]


def _names(found: Comparison) -> list[str]:
    return flow_names(found.flows.index.to_frame(index=False)).tolist()


def _lines(
    axes: Axes,
    wide: pd.DataFrame,
    flows: pd.DataFrame | None,
    label: str,
    shown: Sequence[str],
    scale: float,
) -> None:
    if label not in wide.columns.get_level_values(0):
        axes.text(0.5, 0.5, "no series was kept", ha="center", transform=axes.transAxes)
        return
    table = coarse(cast("pd.DataFrame", wide[label]).dropna(how="all"), flows, shown)
    for number, name in enumerate(shown):
        if name in table:
            axes.step(table.index / scale, table[name], where="post", **line_look(number))
    rest = table.drop(columns=list(shown), errors="ignore")
    if rest.shape[1]:
        axes.step(table.index / scale, rest.mean(axis=1), where="post", color=_REST, linewidth=2.5)


def _bars(axes: Axes, found: Comparison, label: str, shown: Sequence[str]) -> None:
    shares = pd.Series(found.flows["final_destination_share", label].to_numpy(float), index=_names(found))
    heights = [*shares[list(shown)]]
    looks = [line_look(number)["color"] for number in range(len(shown))]
    rest = shares.drop(list(shown))
    if len(rest):
        heights.append(rest.mean())
        looks.append(_REST)
    bars = axes.bar(range(len(heights)), heights, color=looks, width=0.75)
    if len(heights) <= MOST_WRITTEN:
        texts = ["" if math.isnan(height) else f"{height:.0%}" for height in heights]
        axes.bar_label(bars, texts, fontsize="small")
    axes.set_xticks([])
    axes.margins(y=0.15)
    axes.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))


def _share_axes(grid: npt.NDArray[np.object_], unit: str) -> None:
    """The same limits for all panels of a kind; labels at the edges."""
    lines, bars = ([axes for row in grid[kind::2] for axes in row if axes.axison] for kind in (0, 1))
    for panels in (lines, bars):
        top = max(axes.get_ylim()[1] for axes in panels)
        for axes in panels:
            axes.set_ylim(0.0, top)
    end = max(axes.get_xlim()[1] for axes in lines)
    for axes in lines:
        axes.set_xlim(0.0, end)
        axes.set_xlabel(f"simulated time ({unit})")
    accepted = catalogue.key("accepted_gbps").heading.replace(" ", "\n", 1)
    for row, label in zip(grid, itertools.cycle((accepted, "share of link,\nlast tenth")), strict=False):
        row[0].set_ylabel(label)
        for axes in row[1:]:
            axes.tick_params(labelleft=False)


def _legend(found: Comparison, shown: Sequence[str]) -> list[Line2D]:
    handles = [Line2D([], [], label=name, **line_look(number)) for number, name in enumerate(shown)]
    if others := len(found.flows) - len(shown):
        handles.append(Line2D([], [], label=f"mean of {others} others", color=_REST, linewidth=2.5))
    return handles
