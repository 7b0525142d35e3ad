"""Topologies from graphs that a program has: tables of links, networkx."""

from __future__ import annotations

import csv
import io
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import tomli_w

from fabricsim.errors import InputError
from fabricsim.spec.topologies import Inline

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Topology"]

ENDS = (("a", "b"), ("source", "target"), ("from", "to"))
"""Columns with the nodes at both ends of a link."""
LINK_KEYS = (
    "a_port",
    "b_port",
    "rate",
    "latency",
    "buffer",
    "packet_overhead",
    "reads",
    "bit_error_rate",
    "mtu",
)
"""Attributes of a link, as in a file."""
CABLES = "cables"
MOST_CABLES = 1024
NODE_KEYS = ("kind", "coordinates")
KINDS = {"switch": "switch", "router": "switch", "host": "host", "terminal": "host", "endpoint": "host"}


class Topology:
    """Topologies for `Experiment.build(topology=...)` from graphs.

    The graph becomes a part of the experiment's text, so that a run's folder holds it.
    """

    @staticmethod
    def from_edges(
        edges: pd.DataFrame | Iterable[Sequence[Any]], *, hosts_per_switch: int | None = None
    ) -> Inline:
        """A topology from a table of links.

        Args:
            edges: a data frame with the columns `a` and `b` (or `source` and `target`, or `from` and `to`) and, as
                wanted, `a_port`, `b_port`, `rate`, `latency`, `buffer`, `packet_overhead`, `reads`,
                `bit_error_rate`, `mtu`, `cables`; or pairs of names. Empty cells leave the values of the
                experiment's `links`.
            hosts_per_switch: hosts on every node. If it is not given, a node with one link is a host.

        Raises:
            InputError: the table has no such columns, or a row of another length. All else is checked with the
                experiment.
        """
        columns, rows = _rows(edges)
        if not any(set(pair) <= set(columns) for pair in ENDS):
            wanted = ", or ".join(f"`{a}` and `{b}`" for a, b in ENDS)
            raise InputError(f"from_edges: the columns are {list(columns)}: two must be {wanted}")
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(columns)
        for row in rows:
            writer.writerow([_cell(cell) for cell in row])
        return Inline(format="csv", text=text.getvalue(), hosts_per_switch=hosts_per_switch)

    @staticmethod
    def from_networkx(graph: Any, *, hosts_per_switch: int | None = None) -> Inline:
        """A topology from a graph of networkx.

        Nodes are named by `str(node)`. The attribute `kind` of a node (`"switch"` or `"host"`) says what it is;
        without, a node with one link is a host. The attribute `coordinates` says where a switch is drawn. Edges
        have the attributes of `from_edges`; others are left out, but not those whose names are nearly one of these.
        In a multigraph parallel edges are parallel
        cables. Of a directed graph, two edges of opposite directions are one cable.

        Args:
            graph: a `networkx.Graph`, `DiGraph`, `MultiGraph` or `MultiDiGraph`.
            hosts_per_switch: hosts on every node, for graphs without hosts.

        Raises:
            InputError: two nodes have the same name, opposite edges differ, or an attribute has no allowed value or a
                name that is nearly a known one.
        """
        if not all(hasattr(graph, name) for name in ("nodes", "edges", "is_directed")):
            raise InputError(f"from_networkx: graph is {type(graph).__name__}: must be a graph of networkx")
        names = _names(graph.nodes)
        links = _cables(graph, names)
        degrees = dict.fromkeys(names.values(), 0)
        for link in links:
            degrees[link["a"]] += 1
            degrees[link["b"]] += 1
        switches, hosts = [], []
        for node, attributes in graph.nodes(data=True):
            name = names[node]
            _require_no_slip(attributes, NODE_KEYS, f"node {name}")
            if _kind(name, attributes, degrees[name] == 1 and hosts_per_switch is None) == "host":
                hosts.append({"name": name})
            else:
                switches.append({"name": name, **_place(name, attributes)})
        text = tomli_w.dumps({"switch": switches, "host": hosts, "link": links})
        return Inline(format="toml", text=text, hosts_per_switch=hosts_per_switch)


def _rows(edges: Any) -> tuple[list[str], list[Sequence[Any]]]:
    if hasattr(edges, "itertuples"):
        return [str(column) for column in edges.columns], list(edges.itertuples(index=False, name=None))
    if isinstance(edges, str) or not isinstance(edges, Iterable):
        raise InputError(
            f"from_edges: edges is {type(edges).__name__}: must be pairs of names, or a data frame; "
            "pandas.read_csv reads a file"
        )
    rows: list[Sequence[Any]] = []
    for number, row in enumerate(edges):
        if isinstance(row, str) or not isinstance(row, Iterable):
            raise InputError(f"from_edges: entry {number} is {row!r}: must be a pair of names")
        rows.append(tuple(row))
    wrong = next((number for number, row in enumerate(rows) if len(row) != 2), None)
    if wrong is not None:
        raise InputError(
            f"from_edges: entry {wrong} has {len(rows[wrong])} values: give pairs of names, "
            "or a data frame with columns"
        )
    return ["a", "b"], rows


def _cell(value: Any) -> Any:
    if value is None or value != value:  # noqa: PLR0124 - NaN, as a frame has it in empty cells
        return ""
    # A column of whole numbers with an empty cell is one of floats.
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _names(nodes: Iterable[Hashable]) -> dict[Hashable, str]:
    names: dict[Hashable, str] = {}
    first: dict[str, Hashable] = {}
    for node in nodes:
        name = str(node)
        if name in first:
            raise InputError(f"from_networkx: the nodes {first[name]!r} and {node!r} are both named {name}")
        first[name] = node
        names[node] = name
    return names


def _cables(graph: Any, names: Mapping[Hashable, str]) -> list[dict[str, Any]]:
    links: list[dict[str, Any]] = []
    single: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for a, b, attributes in graph.edges(data=True):
        link = {"a": names[a], "b": names[b]}
        where = f"the edge between {names[a]} and {names[b]}"
        _require_no_slip(attributes, (*LINK_KEYS, CABLES), where)
        link |= {
            key: _plain(attributes[key]) for key in (*LINK_KEYS, CABLES) if _is_given(attributes.get(key))
        }
        if graph.is_directed():
            back = single.get((link["b"], link["a"]))
            if back:
                other = back.pop(0)
                if _turned(link) != other:
                    raise InputError(
                        f"from_networkx: the edges between {link['a']} and {link['b']} differ by direction: "
                        "a cable has the same attributes in both"
                    )
                continue
            single.setdefault((link["a"], link["b"]), []).append(link)
        links.append(link)
    return [cable for link in links for cable in _parallel(link)]


def _parallel(link: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The cables of a link, as a table of links has them."""
    where = f"from_networkx: the edge between {link['a']} and {link['b']}"
    count = link.get(CABLES, 1)
    if isinstance(count, bool) or count not in range(1, MOST_CABLES + 1):
        raise InputError(f"{where}: cables = {count!r}: must be a whole number from 1 to {MOST_CABLES}")
    if count > 1 and {"a_port", "b_port"} & set(link):
        raise InputError(f"{where}: {count} cables cannot share a port: give each an edge of a multigraph")
    return [{key: value for key, value in link.items() if key != CABLES}] * int(count)


def _is_given(value: Any) -> bool:
    """False for none and NaN, which `networkx.from_pandas_edgelist` makes of empty cells."""
    return value is not None and value == value  # noqa: PLR0124


def _require_no_slip(attributes: Mapping[str, Any], known: Sequence[str], where: str) -> None:
    """Refuses names that are known ones but for their case, a dash or one letter, as GraphML files do."""
    for name in attributes:
        plain = str(name).lower().translate(str.maketrans("- .", "___"))
        near = next((key for key in known if name != key and _is_near(plain, key)), None)
        if near is not None and name not in known:
            raise InputError(
                f"from_networkx: {where}: the attribute {name!r} is not known; did you mean {near!r}?"
            )


def _is_near(name: str, known: str) -> bool:
    """True if at most one letter is another one, is missing, is too much, or has changed places with the next."""
    if abs(len(name) - len(known)) > 1:
        return False
    same = next((at for at, (a, b) in enumerate(zip(name, known, strict=False)) if a != b), None)
    if same is None:
        return True
    left, right = name[same:], known[same:]
    swapped = left[1::-1] + left[2:]
    return right in (swapped, right[0] + left[1:], left[1:]) or left == right[1:]


def _plain(value: Any) -> Any:
    """A number of numpy as Python's."""
    return value.item() if hasattr(value, "item") else value


def _turned(link: Mapping[str, Any]) -> dict[str, Any]:
    """The same link from its other end."""
    other = {"a": "b", "b": "a", "a_port": "b_port", "b_port": "a_port"}
    return {other.get(key, key): value for key, value in link.items()}


def _kind(name: str, attributes: Mapping[str, Any], is_leaf: bool) -> str:
    kind = attributes.get("kind")
    if kind is None:
        return "host" if is_leaf else "switch"
    if str(kind).lower() not in KINDS:
        raise InputError(f"from_networkx: node {name}: kind = {kind!r}: must be 'switch' or 'host'")
    return KINDS[str(kind).lower()]


def _place(name: str, attributes: Mapping[str, Any]) -> dict[str, list[int]]:
    """Coordinates as a list, or as GraphML has them: a text, `"0,2"`."""
    place = attributes.get("coordinates")
    if place is None:
        return {}
    try:
        parts = [float(part) for part in (place.split(",") if isinstance(place, str) else place)]
        if not all(map(float.is_integer, parts)):
            raise ValueError(place)
        return {"coordinates": [int(part) for part in parts]}
    except (TypeError, ValueError):
        raise InputError(
            f"from_networkx: node {name}: coordinates = {place!r}: must be whole numbers, such as [0, 2]"
        ) from None
