"""Places of links in heat maps: a panel for each kind of link and direction, cells by the topology's coordinates."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from fabricsim.dimensions import dimension_name
from fabricsim.lazy import numpy as np
from fabricsim.lazy import pandas as pd
from fabricsim.results import Result

MOST_PANELS = 10
"""Panels up to which both directions of a dimension have one each."""
MOST_TICKS = 10

Ticks = list[tuple[float, str]]


@dataclass(frozen=True)
class Panel:
    """Links of one kind and direction, with the columns `link`, `value`, `x` and `y`."""

    title: str
    xlabel: str
    ylabel: str
    links: pd.DataFrame
    columns: int
    rows: int
    equal: bool = False
    """Cells are squares."""
    xticks: Ticks | None = None
    yticks: Ticks | None = None


def panels_of(result: Result, column: str) -> list[Panel]:
    """All links of a run, in panels."""
    links = _links(result, column)
    if links.empty:
        return []
    classes = set(links["class"])
    dimensions = [int(name.removeprefix("dimension ")) for name in classes if name.startswith("dimension ")]
    coordinates = min(map(len, links["switch_at"]))
    if dimensions and coordinates > max(dimensions):
        return _grid(links, sorted(dimensions))
    if any(name.startswith("level ") for name in classes) and coordinates == 2:
        return _tree(links)
    if {"local", "global"} & classes and coordinates >= 2:
        return _groups(links)
    return _plain(links)


def _links(result: Result, column: str) -> pd.DataFrame:
    """A row for each direction of a cable: its ends, their coordinates, and the switch at which it is shown."""
    table = result.links
    kinds = table["class"].astype(str) if "class" in table else pd.Series("plain", index=table.index)
    links = (
        table.assign(**{"class": kinds}).groupby("link", sort=False).agg({column: "sum", "class": "first"})
    )
    links = links.reset_index().rename(columns={column: "value"})
    ends = links["link"].astype(str).str.replace(r" #\d+$", "", regex=True).str.partition("->")
    names = [str(name) for name in result.nodes["name"]]
    index = pd.Index(names, dtype=object)
    sender, receiver = (index.get_indexer(pd.Index(ends[end].astype(object))) for end in (0, 2))
    known = (sender >= 0) & (receiver >= 0)
    links, sender, receiver = links[known], sender[known], receiver[known]
    is_host = (result.nodes["kind"] == "host").to_numpy()
    up, down = is_host[sender], is_host[receiver]
    switch, host = np.where(up, receiver, sender), np.where(up, sender, receiver)
    places = pd.Series([coordinates_of(name) for name in names], dtype=object).to_numpy()
    return links.assign(
        **{"class": links["class"].where(~(up | down), "host")},
        upwards=up,
        order=switch,
        host_order=host,
        switch=np.array(names, dtype=object)[switch],
        switch_at=places[switch],
        receiver_at=places[receiver],
    )


def coordinates_of(name: str) -> tuple[int, ...]:
    """The numbers in a name: `S(2,3)` and `L1S12` have two."""
    return tuple(int(digits) for digits in re.findall(r"\d+", name))


def _grid(links: pd.DataFrame, dimensions: list[int]) -> list[Panel]:
    places = np.array(links["switch_at"].tolist())
    sizes = (places.max(axis=0) + 1).tolist()
    x, y, axes = fold(places, sizes)
    links = links.assign(x=x, y=y)
    found = []
    split = 2 * len(dimensions) + 2 <= MOST_PANELS
    for dimension in dimensions:
        own = links[links["class"] == f"dimension {dimension}"]
        here = np.array([at[dimension] for at in own["switch_at"]])
        there = np.array([at[dimension] for at in own["receiver_at"]])
        size = sizes[dimension]
        ahead = np.where(size > 2, (there - here) % size == 1, there > here)
        behind = np.where(size > 2, (here - there) % size == 1, there < here)
        if split and bool((ahead | behind).all()):
            found += [
                (f"+{dimension_name(dimension)}", own[ahead]),
                (f"-{dimension_name(dimension)}", own[behind]),
            ]
        else:
            found.append((f"dimension {dimension_name(dimension)}", own))
    found += [(title, links[chosen]) for title, chosen in _host_parts(links)]
    across, up = (_axis(each, sizes) for each in axes)
    width, height = (int(value.max()) + 1 for value in (x, y))
    equal = max(width, height) < 8 * min(width, height)
    return [
        Panel(title, across[0], up[0], own, width, height, equal, across[1], up[1])
        for title, own in found
        if len(own)
    ]


def _axis(dimensions: Sequence[int], sizes: Sequence[int]) -> tuple[str, Ticks | None]:
    """Label and ticks: of several dimensions the ticks are at the blocks of the last."""
    if len(dimensions) < 2:
        return "".join(map(dimension_name, dimensions)), None
    *inner, last = dimensions
    width = 1
    for dimension in inner:
        width = width * sizes[dimension] + 1
    step = -(-sizes[last] // MOST_TICKS)
    ticks = [(at * width + (width - 2) / 2, str(at)) for at in range(0, sizes[last], step)]
    return f"blocks of {dimension_name(last)}; in them {', '.join(map(dimension_name, inner))}", ticks


def fold(
    places: np.ndarray, sizes: Sequence[int]
) -> tuple[np.ndarray, np.ndarray, tuple[list[int], list[int]]]:
    """Coordinates in the plane: every other dimension across, the rest up, later ones in blocks of earlier ones."""
    found = []
    for first in (0, 1):
        at, width = np.zeros(len(places), dtype=int), 1
        for dimension in range(first, len(sizes), 2):
            at = at + places[:, dimension] * width
            width = width * sizes[dimension] + 1  # a gap between blocks
        found.append(at)
    return found[0], found[1], (list(range(0, len(sizes), 2)), list(range(1, len(sizes), 2)))


def _host_parts(links: pd.DataFrame) -> list[tuple[str, pd.Series[bool]]]:
    hosts = links["class"] == "host"
    return [("from hosts", hosts & links["upwards"]), ("to hosts", hosts & ~links["upwards"])]


def _tree(links: pd.DataFrame) -> list[Panel]:
    found = []
    levels = sorted({name for name in links["class"] if name.startswith("level ")}, key=_number)
    for name in reversed(levels):
        own = links[links["class"] == name]
        ups = np.array([a[0] < b[0] for a, b in zip(own["switch_at"], own["receiver_at"], strict=True)])
        for title, part, up in (("up", own[ups], True), ("down", own[~ups], False)):
            low = [(a if up else b)[1] for a, b in zip(part["switch_at"], part["receiver_at"], strict=True)]
            high = [(b if up else a)[1] for a, b in zip(part["switch_at"], part["receiver_at"], strict=True)]
            placed = _ranked(part.assign(x=low, key=high))
            level = _number(name)
            ends = f"level {level} to {level + 1}" if up else f"level {level + 1} to {level}"
            found.append(_panel(f"{title}, {ends}", f"switch of level {level}", "port up", placed))
    for title, chosen in _host_parts(links):
        part = links[chosen]
        placed = _ranked(part.assign(x=[at[1] for at in part["switch_at"]], key=part["host_order"]))
        found.append(_panel(title, "switch of level 1", "host of the switch", placed))
    return [panel for panel in found if len(panel.links)]


def _groups(links: pd.DataFrame) -> list[Panel]:
    groups = {key: at for at, key in enumerate(sorted({at[:-1] for at in links["switch_at"]}))}
    own_group = [groups[at[:-1]] for at in links["switch_at"]]
    links = links.assign(x=own_group)
    between = links[links["class"] == "global"]
    to = [groups[at[:-1]] for at in between["receiver_at"]]
    between = between.assign(y=between["x"], x=to)
    found = [_panel("global", "to group", "from group", between, equal=True)]
    inside = links[links["class"] == "local"]
    letters = inside["switch"].str.extract(r"^([A-Za-z]*)")[0]
    for name in sorted(letters.unique()):
        part = inside[letters == name]
        placed = part.assign(y=[at[-1] for at in part["switch_at"]])
        title = f"local, from {name} switches" if letters.nunique() > 1 else "local"
        found.append(_panel(title, "group", "switch in its group", placed))
    for title, chosen in _host_parts(links):
        part = links[chosen]
        found.append(
            _panel(title, "group", "host in its group", _ranked(part.assign(key=part["host_order"])))
        )
    return [panel for panel in found if len(panel.links)]


def _plain(links: pd.DataFrame) -> list[Panel]:
    order = {at: number for number, at in enumerate(sorted(set(links["order"])))}
    links = links.assign(x=links["order"].map(order), key=np.arange(len(links)))
    between = _ranked(links[links["class"] != "host"])
    found = [_panel("between switches", "switch", "output", between)]
    for title, chosen in _host_parts(links):
        part = links[chosen]
        found.append(
            _panel(title, "switch", "host of the switch", _ranked(part.assign(key=part["host_order"])))
        )
    return [panel for panel in found if len(panel.links)]


def _number(name: str) -> int:
    return int(name.rpartition(" ")[2])


def _ranked(links: pd.DataFrame) -> pd.DataFrame:
    """Rows by the order of `key` within each column `x`."""
    placed = links.sort_values(["x", "key"], kind="stable")
    return placed.assign(y=placed.groupby("x", sort=False).cumcount())


def _panel(title: str, xlabel: str, ylabel: str, links: pd.DataFrame, *, equal: bool = False) -> Panel:
    if links.empty:
        return Panel(title, xlabel, ylabel, links, 1, 1)
    return Panel(title, xlabel, ylabel, links, int(links["x"].max()) + 1, int(links["y"].max()) + 1, equal)
