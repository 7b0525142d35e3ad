"""The use of links, drawn where the topology has them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.text import Text

from fabricsim.lazy import numpy as np
from fabricsim.lazy import pandas as pd
from fabricsim.plots.legends import legend
from fabricsim.plots.theme import HEAT, MARKERS, drop_overlaps, head, is_narrow, new_figure, sized, style
from fabricsim.results import Result

if TYPE_CHECKING:
    import numpy.typing as npt

Array: TypeAlias = "npt.NDArray[np.float64]"
MOST_NAMES = 80
"""Nodes up to which their names are written."""
MOST_NODES = 400
"""Nodes up to which a drawing is among the pictures of a run."""


def links(result: Result, column: str = "utilisation") -> Figure:
    """A heat map of the links: both directions side by side, each on the right of its way, all lanes together. Parallel
    cables are one line, with the mean of them.

    Raises:
        InputError: the run has no nodes or links.
    """
    nodes = result.nodes.set_index("name")
    use = _between_nodes(result.links.groupby("link", sort=False)[column].sum())
    places = nodes[["x", "y"]].to_numpy(float) * [1.0, -1.0]  # y counts downwards
    index = {str(name): at for at, name in enumerate(nodes.index)}
    ends = [tuple(index.get(end, -1) for end in str(name).split("->")) for name in use.index]
    known = np.array([len(pair) == 2 and min(pair) >= 0 for pair in ends], dtype=bool)
    is_switch = (nodes["kind"] == "switch").to_numpy()
    crowded = len(nodes) > MOST_NAMES
    drawn = [pair for pair, good in zip(ends, known, strict=True) if good]
    paths = _paths(drawn, places, places[is_switch], shift=0.03 if crowded else 0.055)
    values = use.to_numpy(float)[known]
    with style():
        figure = new_figure(*_size(places), whole=True)
        scale = min(1.0, figure.get_figwidth() / _size(places)[0])
        axes = figure.add_subplot()
        order = np.argsort(values, kind="stable")  # the busiest are drawn last
        lines = LineCollection(
            [paths[at] for at in order],
            cmap=HEAT,
            norm=Normalize(0.0, max(1.0, *values, 0.0)),
            linewidths=(1.3 if crowded else 2.6) * scale,
        )
        lines.set_array(values[order])
        lines.set_capstyle("butt")
        axes.add_collection(lines)
        names = _draw_nodes(axes, nodes, places, is_switch, scale)
        busiest = _busiest(axes, use.index[known], values, paths)
        axes.set_aspect("equal" if max(_extent(places)) < 3 * min(_extent(places)) else "auto")
        axes.margins(0.08)
        axes.autoscale_view()
        axes.set_axis_off()
        head(figure, f"{result.title}\n{column} of links; traffic keeps to the right")
        place: dict[str, Any] = (
            {"location": "bottom", "aspect": 40}
            if is_narrow(figure)
            else {"location": "right", "shrink": 0.7}
        )
        figure.colorbar(lines, ax=axes, label=f"{column} (fraction of link rate)", **place)
        if busiest:
            legend(figure, handles=busiest, title="busiest", below=True)
        drop_overlaps(figure, names)
    return figure


def has_room(result: Result) -> bool:
    """True if the nodes have room in a drawing."""
    return "nodes" in result.frames and len(result.nodes) <= MOST_NODES


def _busiest(axes: Axes, names: pd.Index[str], values: Array, paths: Sequence[Array]) -> list[Line2D]:
    """Marks the middles of the busiest links."""
    found = []
    for at, marker in zip(np.argsort(-values, kind="stable").tolist(), MARKERS, strict=False):
        if not values[at] > 0.0:
            break
        middle = paths[at][len(paths[at]) // 2] if len(paths[at]) > 2 else paths[at].mean(axis=0)
        found += axes.plot(
            *middle[:, None],
            marker,
            markersize=sized(6),
            markerfacecolor="white",
            markeredgecolor="black",
            linestyle="",
            label=f"{names[at]}: {values[at]:.1%}",
            zorder=5,
        )
    return found


def _between_nodes(use: pd.Series[float]) -> pd.Series[float]:
    """The mean of parallel cables, which are called `from->to #1`, `from->to #2` and so on."""
    return use.groupby(use.index.str.replace(r" #\d+$", "", regex=True), sort=False).mean()


def _draw_nodes(
    axes: Axes, nodes: pd.DataFrame, places: Array, is_switch: npt.NDArray[np.bool_], scale: float
) -> list[Text]:
    """Draws the nodes and, if there are few, their names, which are returned."""
    small = len(nodes) > MOST_NAMES
    names: list[Text] = []
    sizes = (14.0, 6.0) if small else (110.0, 36.0)
    for chosen, marker, size in ((is_switch, "s", sizes[0]), (~is_switch, "o", sizes[1])):
        axes.scatter(
            places[chosen, 0],
            places[chosen, 1],
            s=size * scale**2,
            marker=marker,
            c="white",
            edgecolors="0.25",
            linewidths=scale,
            zorder=3,
        )
    if not small:
        for name, place, switch in zip(nodes.index, places, is_switch, strict=True):
            side = (-1.0, -1.0) if switch else _away(place, places[is_switch])
            text = axes.annotate(
                str(name),
                place,
                xytext=(6.0 * side[0], 6.0 * side[1]),
                textcoords="offset points",
                fontsize="xx-small",
                ha="left" if side[0] > 0 else "right",
                va="bottom" if side[1] > 0 else "top",
                zorder=4,
                bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 0.5},
            )
            names.append(text)
    return names


def _away(place: Array, switches: Array) -> tuple[float, float]:
    """The corner of a node that points away from the nearest switch."""
    if not len(switches):
        return 1.0, 1.0
    nearest = switches[np.argmin(np.sum((switches - place) ** 2, axis=1))]
    return (1.0 if place[0] >= nearest[0] else -1.0), (1.0 if place[1] >= nearest[1] else -1.0)


def _size(places: Array) -> tuple[float, float]:
    width, height = np.clip(_extent(places) * 0.9 + 2.0, 4.0, 12.0)
    return float(width) + 1.0, float(height)


def _extent(places: Array) -> Array:
    """Width and height of the drawing, at least 1."""
    return np.maximum(np.ptp(places, axis=0), 1.0) if len(places) else np.ones(2)


def _paths(ends: Sequence[tuple[int, ...]], places: Array, switches: Array, shift: float) -> list[Array]:
    """A line from end to end, `shift` to its right; bent where it would run over another switch.

    Lengths are in steps of the layout, in which neighbours of a grid are 1 apart.
    """
    return [_path(places[a], places[b], shift, _bend(places[a], places[b], switches)) for a, b in ends]


def _bend(a: Array, b: Array, switches: Array) -> float:
    """Offset at which a line along a row or column passes the switches between its ends."""
    way = b - a
    length = float(np.hypot(*way))
    if length == 0.0 or np.abs(way).min() > 1e-9:
        return 0.0
    along = (switches - a) @ way / length**2
    away = np.abs((switches - a) @ np.array([-way[1], way[0]])) / length
    between = (along > 0.02) & (along < 0.98) & (away < 0.02)
    return 0.42 if between.any() else 0.0


def _path(a: Array, b: Array, shift: float, height: float) -> Array:
    way = b - a
    length = float(np.hypot(*way)) or 1.0
    right = np.array([way[1], -way[0]]) / length
    shift = min(shift, 0.1 * length)
    t = np.linspace(0.0, 1.0, 33 if height else 2)[:, None]
    # The bow is to the same side for both directions, so that they stay side by side.
    side = right if (way[0], way[1]) > (0.0, 0.0) else -right
    bow = height * np.sqrt(np.clip(1.0 - (2.0 * t - 1.0) ** 4, 0.0, None))
    return np.asarray(a + t * way + shift * right + bow * side)
