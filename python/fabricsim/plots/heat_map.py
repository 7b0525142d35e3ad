"""The use of the links of a large network as heat maps: by dimension, level or group, at the topology's coordinates."""

from __future__ import annotations

import math
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.ticker import MaxNLocator

from fabricsim.errors import InputError
from fabricsim.lazy import numpy as np
from fabricsim.plots.cells import Panel, panels_of
from fabricsim.plots.legends import legend
from fabricsim.plots.theme import HEAT, MARKERS, head, is_narrow, new_figure, panel_title, sized, style
from fabricsim.results import Result

MOST_COLUMNS, MOST_ROWS = 512, 256
"""Cells of a panel; beyond them a cell is the busiest of several links."""
LABELLED = 3
"""Links that are marked and named."""
FEWEST_NODES = 80
"""Nodes from which on a heat map is among the pictures of a run."""
_ACROSS = 2


def heat_map(result: Result, column: str = "utilisation") -> Figure:
    """A panel for each direction of each dimension, level, or kind of link; a cell is an output of a switch or host, or
    the busiest of several. Idle is light; the busiest links are marked and named.

    Raises:
        InputError: the run has no nodes or links, or no packet crossed a link.
    """
    panels = panels_of(result, column)
    if not panels:
        raise InputError("this run has no links between nodes that it lists, so there is nothing to draw")
    with style():
        across = min(_ACROSS, len(panels))
        rows = math.ceil(len(panels) / across)
        figure = new_figure(9.0, 1.4)
        texts = figure.get_figheight() / 1.4
        wide = 0.85 * figure.get_figwidth() / across
        each = [_height(panel, wide, texts) for panel in panels]
        heights = [max(each[at * across : (at + 1) * across]) for at in range(rows)]
        figure.set_figheight(1.4 * texts + sum(heights))
        grid = figure.subplots(rows, across, squeeze=False, height_ratios=heights)
        top = max(1.0, *(float(panel.links["value"].max()) for panel in panels))
        images = [
            _draw(axes, panel, top, wide, high - 0.75 * texts)
            for axes, panel, high in zip(grid.ravel().tolist(), panels, each, strict=False)
        ]
        for empty in grid.ravel()[len(panels) :].tolist():
            empty.set_axis_off()
        handles = _mark(grid.ravel().tolist(), panels)
        place = "bottom" if is_narrow(figure) else "right"
        label = f"{column} (fraction of link rate)"
        figure.colorbar(images[0], ax=grid.ravel().tolist(), label=label, aspect=40, location=place)
        head(figure, f"{result.title}: {column} of links")
        if handles:
            legend(figure, handles=handles, title="busiest", below=True)
    return figure


def has_many_links(result: Result) -> bool:
    """True if the network is too large for a drawing of all its nodes."""
    nodes = result.frames.get("nodes")
    return nodes is not None and len(nodes) > FEWEST_NODES


def _height(panel: Panel, wide: float, texts: float) -> float:
    """Inches of a panel and its texts in a column that is `wide`."""
    ratio = panel.rows / max(panel.columns, 1)
    return float(np.clip(wide * ratio, (0.18 if panel.equal else 0.3) * wide, 0.9 * wide)) + 0.75 * texts


def _draw(axes: Axes, panel: Panel, top: float, wide: float, high: float) -> AxesImage:
    """Draws a panel of about `wide` times `high` inches."""
    columns, rows = min(panel.columns, MOST_COLUMNS), min(panel.rows, MOST_ROWS)
    image = np.full((rows, columns), -np.inf)
    x, y = _cells(panel)
    np.maximum.at(image, (y, x), panel.links["value"].to_numpy(float))
    image[np.isneginf(image)] = np.nan
    drawn = axes.imshow(
        image,
        cmap=HEAT,
        norm=Normalize(0.0, top),
        origin="lower",
        interpolation="nearest",
        aspect="equal" if panel.equal else "auto",
        extent=(-0.5, panel.columns - 0.5, -0.5, panel.rows - 0.5),
    )
    axes.grid(visible=False)
    panel_title(axes, panel.title, _ACROSS)
    axes.set(xlabel=panel.xlabel, ylabel=panel.ylabel)
    size = 2.2 * float(mpl.rcParams["font.size"]) / 72
    for axis, count, ticks, inches in (
        (axes.xaxis, panel.columns, panel.xticks, wide),
        (axes.yaxis, panel.rows, panel.yticks, high),
    ):
        room = max(1, int(inches / size))
        if ticks is not None:
            shown = ticks[:: -(-len(ticks) // room)]
            axis.set_ticks([at for at, _ in shown], [text for _, text in shown])
        elif count == 1:
            axis.set_ticks([])
        elif room < 3:
            axis.set_ticks([0, count - 1][:room])
        else:
            axis.set_major_locator(MaxNLocator(min(6, count, room - 1), integer=True, min_n_ticks=1))
    return drawn


def _cells(panel: Panel) -> tuple[Any, Any]:
    """Column and row of the cell of each link."""
    x, y = panel.links["x"].to_numpy(int), panel.links["y"].to_numpy(int)
    if panel.columns > MOST_COLUMNS:
        x = x * MOST_COLUMNS // panel.columns
    if panel.rows > MOST_ROWS:
        y = y * MOST_ROWS // panel.rows
    return x, y


def _mark(grid: list[Axes], panels: list[Panel]) -> list[Any]:
    """Marks the busiest links on top of all; returns the entries of the legend."""
    every = [
        (-row["value"], number, at, str(row["link"]), row["x"], row["y"])
        for number, panel in enumerate(panels)
        for at, row in enumerate(panel.links.nlargest(LABELLED, "value", keep="first").to_dict("records"))
        if row["value"] > 0.0
    ]
    found: list[Any] = []
    for (value, number, _, link, x, y), marker in zip(sorted(every), MARKERS, strict=False):
        found += grid[number].plot(
            [x],
            [y],
            marker,
            markersize=sized(6),
            markerfacecolor="white",
            markeredgecolor="black",
            linestyle="",
            label=f"{link}: {-value:.1%}",
            clip_on=False,
            zorder=5,
        )
    return found
