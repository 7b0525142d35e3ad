"""Places of nodes: the topology's own coordinates if it has some, else force-directed."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from fabricsim.lazy import numpy as np
from fabricsim.viewer.force import force_places, slowest_vectors
from fabricsim.viewer.graph import Graph

if TYPE_CHECKING:
    import numpy.typing as npt

    Places = npt.NDArray[np.float64]

MOST_DIMENSION = 20
"""Dimensions of a hypercube, as the experiment file allows."""
ARC = 0.4
"""Height of the arc of a link that passes other nodes, in steps of a grid."""
GAP = 0.5
"""Gap between blocks in the drawing of the table `nodes`, in steps of a grid."""
_LINES = {"ring": True, "parking-lot": False}
"""Grids of one dimension: true if it is closed."""


@dataclass(frozen=True)
class Layout:
    """Places of all nodes in space, and arcs of links."""

    text: str
    """The kind of places, for people."""
    places: Places
    """x, y, z of each node."""
    arcs: Places
    """x, y, z by which the middle of each direction is moved off the straight line."""
    flat: bool
    """True if all nodes are in the plane z = 0."""
    captions: tuple[tuple[str, tuple[float, float, float]], ...] = ()
    """Names of groups and levels, and their places."""


@dataclass(frozen=True)
class Grid:
    """Radix of each dimension, and whether it is closed to a ring."""

    sizes: list[int]
    wraps: list[bool]


def layout_of(graph: Graph, topology: Mapping[str, Any]) -> Layout:
    """Places of a run's nodes. `topology`: that section of its experiment; what it does not say is left open."""
    kind, settings = next(iter(topology.items()), ("", {}))
    settings = settings if isinstance(settings, Mapping) else {}
    grid = _grid(kind, settings)
    found = None if grid is None else _of_grid(graph, kind, grid)
    if found is None and kind in ("fat-tree", "xgft"):
        found = _of_tree(graph)
    if found is None and kind in ("dragonfly", "megafly"):
        found = _of_groups(graph, kind)
    if found is None and (own := _given(graph, kind, settings)) is not None:
        found = _around(graph, "graph, at the coordinates of its file", own)
    if found is None and (level := levels_of(graph)) is not None:
        found = _of_levels(graph, level)
    if found is None:
        found = _by_force(graph, kind)
    return replace(found, arcs=found.arcs + _beside(graph, found))


def _grid(kind: str, settings: Mapping[str, Any]) -> Grid | None:
    """Dimensions of a mesh, torus, grid, ring, parking lot, hypercube or HyperX."""
    if kind in _LINES:
        sizes: Any = [settings.get("switches")]
        return Grid(sizes, [_LINES[kind]]) if _are_sizes(sizes) else None
    if kind == "hypercube":
        count = settings.get("dimensions")
        known = isinstance(count, int) and 0 < count <= MOST_DIMENSION
        return Grid([2] * count, [False] * count) if known and isinstance(count, int) else None
    sizes = settings.get("dimensions")
    if kind not in ("mesh", "torus", "grid", "hyperx") or not _are_sizes(sizes):
        return None
    wraps = settings.get("wrap") if kind == "grid" else None
    closed = wraps if isinstance(wraps, list) and len(wraps) == len(sizes) else [kind == "torus"] * len(sizes)
    return Grid(list(sizes), [bool(one) for one in closed])


def _are_sizes(sizes: Any) -> bool:
    return isinstance(sizes, list) and len(sizes) > 0 and all(isinstance(k, int) and k > 0 for k in sizes)


def coordinates(drawn: Places, sizes: Sequence[int]) -> npt.NDArray[np.int64] | None:
    """Coordinates of switches from their places in the drawing of the table `nodes`; None if they are no grid.

    The drawing has even dimensions to the right and odd ones downwards, and blocks of later ones with a gap between.
    Names are not used, since a grid may have others than its coordinates.
    """
    found = np.zeros((len(drawn), len(sizes)), dtype=np.int64)
    for axis in (0, 1):
        rest = drawn[:, axis] * (1.0, -1.0)[axis]
        dimensions = list(range(axis, len(sizes), 2))
        strides = [1.0]
        for dimension in dimensions[:-1]:
            strides.append(strides[-1] * (sizes[dimension] + GAP))
        for dimension, stride in reversed(list(zip(dimensions, strides, strict=False))):
            found[:, dimension] = np.floor(rest / stride + 1e-6)
            rest = rest - found[:, dimension] * stride
        if np.abs(rest).max(initial=0.0) > 1e-3:
            return None
    inside = (found >= 0).all() and (found < np.array(sizes)).all()
    return found if inside else None


def _of_grid(graph: Graph, kind: str, grid: Grid) -> Layout | None:
    """x, y and z are the first three dimensions; later ones are blocks of those."""
    switches = ~graph.is_host
    at = coordinates(graph.drawn[switches], grid.sizes)
    if at is None or len(at) != int(np.prod(grid.sizes)):
        return None
    text = f"{kind} {' x '.join(map(str, grid.sizes))}"
    used = [dimension for dimension, size in enumerate(grid.sizes) if size > 1] or [0]
    if len(used) == 1 and grid.wraps[used[0]] and grid.sizes[used[0]] > 3:
        size = grid.sizes[used[0]]
        angle = 2.0 * np.pi * at[:, used[0]] / size
        radius = max(size / (2.0 * np.pi), 1.0)
        return _around(graph, text, radius * np.column_stack([np.sin(angle), np.cos(angle)]))
    own = np.zeros((len(at), 3))
    strides = np.ones(3)
    for number, dimension in enumerate(used):
        axis = number % 3
        own[:, axis] += at[:, dimension] * strides[axis]
        strides[axis] *= grid.sizes[dimension] + GAP
    own *= [1.0, -1.0, 1.0]
    places = _with_hosts(graph, own, flat=len(used) < 3)
    row = np.full(len(graph.names), -1)
    row[switches] = np.arange(len(at))
    return Layout(text, places, _arcs(graph, at[row], used), len(used) < 3)


def _arcs(graph: Graph, at: npt.NDArray[np.int64], used: Sequence[int]) -> Places:
    """Arcs of links along a dimension that would pass through other switches."""
    steps = np.abs(at[graph.receiver] - at[graph.sender])
    far = graph.between_switches() & (steps.max(axis=1) > 1) & ((steps > 0).sum(axis=1) == 1)
    found = np.zeros((len(far), 3))
    axes = np.array([used.index(d) % 3 if d in used else 0 for d in range(at.shape[1])])
    along = axes[steps.argmax(axis=1)]
    for axis in range(3):
        off = np.ones(3)
        off[axis] = 0.0
        if len(used) < 3:
            off[2] = 0.0
        chosen = far & (along == axis)
        found[chosen] = ARC * off / max(float(np.linalg.norm(off)), 1.0)
    return found


def _of_groups(graph: Graph, kind: str) -> Layout:
    """The places of the drawing: a ring of groups, each a ring of switches."""
    places = np.column_stack([graph.drawn, np.zeros(len(graph.drawn))])
    found = [re.match(r"\w+\((\d+),", name) for name in graph.names]
    group = np.array(
        [int(one[1]) if one and not host else -1 for one, host in zip(found, graph.is_host, strict=True)]
    )
    captions = []
    for number in np.unique(group[group >= 0]).tolist():
        own = graph.drawn[group == number]
        centre = own.mean(axis=0)
        radius = float(np.linalg.norm(own - centre, axis=1).max())
        far = float(np.linalg.norm(centre))
        x, y = centre * (1.0 + (1.5 * radius + 0.4) / far if far > 0.0 else 1.0)
        captions.append((f"group {number}", (float(x), float(y), 0.0)))
    return Layout(f"{kind}, by groups", places, _straight(graph), True, tuple(captions))


def _of_tree(graph: Graph) -> Layout | None:
    """Levels of a topology that is built as a tree: its drawing has them 1.5 apart."""
    level = np.round(graph.drawn[~graph.is_host, 1] / 1.5).astype(int)
    return None if (level < 1).any() else _of_levels(graph, level, graph.drawn[~graph.is_host, 0])


def levels_of(graph: Graph) -> npt.NDArray[np.int64] | None:
    """Level of each switch, its distance from the hosts; None if a link does not lead from one level to the next.

    Graphs of fat trees from files have such levels. Others have links within a level.
    """
    switches = np.flatnonzero(~graph.is_host)
    row = np.full(len(graph.names), -1)
    row[switches] = np.arange(len(switches))
    between = graph.between_switches()
    a, b = row[graph.sender[between]], row[graph.receiver[between]]
    level = np.zeros(len(switches), dtype=np.int64)
    level[row[graph.home[graph.is_host]]] = 1
    for reached in range(1, len(switches) + 1):
        above = b[(level[a] == reached) & (level[b] == 0)]
        if not len(above):
            break
        level[above] = reached + 1
    is_tree = len(a) > 0 and (level > 0).all() and (np.abs(level[a] - level[b]) == 1).all()
    return level if is_tree else None


def _of_levels(
    graph: Graph, level: npt.NDArray[np.int64], x: npt.NDArray[np.float64] | None = None
) -> Layout:
    """Levels from the hosts, at the bottom, to the roots.

    `x`: places within the levels; by default neighbours are near each other.
    """
    switches = np.flatnonzero(~graph.is_host)
    if x is None:
        near = slowest_vectors(len(switches), _edges(graph))[0]
        x = np.zeros(len(switches))
        widest = int(np.bincount(level).max())
        for one in np.unique(level):
            row = np.flatnonzero(level == one)
            x[row[np.argsort(near[row], kind="stable")]] = (np.arange(len(row)) + 0.5) * widest / len(row)
    places = np.zeros((len(graph.names), 3))
    width = float(np.ptp(x)) + 1.0
    height = max(1.5, 0.5 * width / (int(level.max()) + 1))
    places[switches, 0] = x
    places[switches, 1] = height * level
    hosts = np.flatnonzero(graph.is_host)
    home = graph.home[hosts]
    order, count = _rank(home)
    leaves = max(1, int((level == 1).sum()))
    step = min(0.9, 0.9 * width / leaves) / np.maximum(count, 1)
    places[hosts, 0] = places[home, 0] + (order - (count - 1) / 2.0) * step
    places[hosts, 1] = places[home, 1] - height
    left = float(places[:, 0].min()) - 0.03 * width - 0.5
    captions = [("hosts", (left, 0.0, 0.0))]
    captions += [(f"level {one}", (left, height * one, 0.0)) for one in np.unique(level).tolist()]
    text = f"tree of {int(level.max())} levels of switches"
    return Layout(text, places, _straight(graph), True, tuple(captions))


def _rank(groups: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Number of each entry within its group, and the size of the group."""
    order = np.argsort(groups, kind="stable")
    _, first, back, count = np.unique(
        groups[order], return_index=True, return_inverse=True, return_counts=True
    )
    rank = np.empty(len(groups), dtype=np.int64)
    rank[order] = np.arange(len(groups)) - first[back]
    size = np.empty(len(groups), dtype=np.int64)
    size[order] = count[back]
    return rank, size


def _given(graph: Graph, kind: str, settings: Mapping[str, Any]) -> Places | None:
    """Coordinates of the switches of a graph that is in the experiment itself; None if not all have two or more."""
    if kind != "inline" or settings.get("format") != "toml":
        return None
    try:
        listed = tomllib.loads(str(settings.get("text", ""))).get("switch", [])
        by_name = {str(one["name"]): one.get("coordinates") for one in listed}
    except (tomllib.TOMLDecodeError, TypeError, KeyError, AttributeError):
        return None
    own = [by_name.get(name) for name, host in zip(graph.names, graph.is_host, strict=True) if not host]
    if not own or not all(isinstance(at, list) and 2 <= len(at) <= 3 for at in own):
        return None
    places = np.zeros((len(own), 3))
    for row, at in enumerate(own):
        places[row, : len(at or ())] = at
    return places * [1.0, -1.0, 1.0] if len(np.unique(places, axis=0)) == len(places) else None


def _by_force(graph: Graph, kind: str) -> Layout:
    named = {"": "graph", "inline": "graph", "file": "graph"}.get(kind, kind)
    count = int((~graph.is_host).sum())
    return _around(graph, f"{named}, force-directed", force_places(count, _edges(graph)))


def _edges(graph: Graph) -> npt.NDArray[np.int64]:
    """Pairs of switches that have links, by their number among the switches."""
    row = np.cumsum(~graph.is_host) - 1
    between = graph.between_switches() & (graph.sender != graph.receiver)
    return np.column_stack([row[graph.sender[between]], row[graph.receiver[between]]])


def _around(graph: Graph, text: str, own: Places) -> Layout:
    """Switches at given places, hosts around them."""
    space = np.column_stack([own, np.zeros(len(own))]) if own.shape[1] == 2 else own
    flat = not np.ptp(space[:, 2]) if len(space) else True
    return Layout(text, _with_hosts(graph, space, flat=flat), _straight(graph), bool(flat))


def _straight(graph: Graph) -> Places:
    return np.zeros((len(graph.links), 3))


def _with_hosts(graph: Graph, own: Places, *, flat: bool) -> Places:
    """Places of all nodes: hosts as far from their switch as in the drawing, in space on a circle that is tilted."""
    switches = ~graph.is_host
    places = np.zeros((len(graph.names), 3))
    places[switches] = own
    home = graph.home
    off = graph.drawn - graph.drawn[home]
    tilt = [1.0, 1.0, 0.0] if flat else [1.0, 0.75, 0.66]
    hosts = graph.is_host
    places[hosts] = places[home[hosts]] + (off[:, [0, 1, 1]] * tilt)[hosts]
    return places


def _beside(graph: Graph, layout: Layout) -> Places:
    """Arcs that part parallel cables."""
    found = np.zeros((len(graph.links), 3))
    several = graph.cable > 0
    if not several.any():
        return found
    low = np.minimum(graph.sender, graph.receiver)
    high = np.maximum(graph.sender, graph.receiver)
    _, pair = np.unique(np.column_stack([low, high]), axis=0, return_inverse=True)
    most = np.zeros(int(pair.max()) + 1)
    np.maximum.at(most, pair.ravel(), graph.cable)
    count = most[pair.ravel()]
    way = layout.places[high] - layout.places[low]
    length = np.maximum(np.linalg.norm(way, axis=1, keepdims=True), 1e-9)
    side = np.column_stack([-way[:, 1], way[:, 0], np.zeros(len(way))]) / length
    upright = np.linalg.norm(side, axis=1) < 0.1  # along z
    side[upright] = [1.0, 0.0, 0.0]
    step = np.minimum(0.12, 0.6 / np.maximum(count, 1.0)) * np.minimum(length[:, 0], 1.0)
    off = (graph.cable - (count + 1.0) / 2.0) * step
    found[several] = (side * off[:, None])[several]
    return found
