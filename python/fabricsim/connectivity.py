"""Hosts that a failure separates from the others: by the links of a network alone, whatever its routing."""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property

from fabricsim.lazy import numpy as np
from fabricsim.results import Result
from fabricsim.spec import Experiment

Port = tuple[str, int]
"""A switch, and the physical number of its port."""


class Connectivity:
    """The network of a run as pairs of nodes that are joined.

    Links are named by their ends in either order, `"A-B"`, which are all cables between the two; or by a port of a
    switch, `"A/3"`, which is one cable.
    """

    def __init__(self, result: Result, experiment: Experiment | None = None) -> None:
        self._links = result.links
        self._experiment = experiment or Experiment.from_manifest(result.manifest)
        nodes = result.nodes
        self._names = [str(name) for name in nodes["name"]]
        self._hosts = np.flatnonzero((nodes["kind"] == "host").to_numpy())
        number = {name: at for at, name in enumerate(self._names)}
        self._number = number
        between = (self._links["class"] != "host").to_numpy()
        directions = self._links["link"].map(lambda name: str(name).partition(" #")[0])
        self.links: dict[str, int] = {}
        """Links between switches by the names of their ends; parallel cables are one."""
        joined: dict[frozenset[int], int] = {}
        for direction, is_between in zip(directions, between, strict=True):
            begin, _, end = direction.partition("->")
            pair = frozenset((number[begin], number[end]))
            if is_between and pair not in joined:
                self.links[f"{begin}-{end}"] = len(joined)
            joined.setdefault(pair, len(joined))
        found = Counter(directions[~self._links["link"].duplicated()].str.replace("->", "-", regex=False))
        self.cables: dict[str, int] = {link: found[link] for link in self.links}
        """Cables of each of these links."""
        self._rows = joined
        self._link_of = {row: name for name, row in self.links.items()}
        self._ends = np.array([(min(pair), max(pair)) for pair in joined], dtype=np.int64).reshape(-1, 2)

    @property
    def switches(self) -> list[str]:
        """Names of the switches."""
        hosts = set(self._hosts.tolist())
        return [name for at, name in enumerate(self._names) if at not in hosts]

    def cut_off(self, links: Iterable[str] = (), switches: Iterable[str] = ()) -> list[str]:
        """Hosts without a path to the largest number of hosts that have paths to each other, while links and switches
        have failed. Names that are unknown are passed over.
        """
        from scipy.sparse import coo_matrix  # noqa: PLC0415 - takes long to import
        from scipy.sparse.csgraph import connected_components  # noqa: PLC0415

        works = np.ones(len(self._ends), dtype=bool)
        works[[row for row, left in self._working(links) if not left]] = False
        failed = [self._number[name] for name in switches if name in self._number]
        works &= ~np.isin(self._ends, failed).any(axis=1)
        ends, count = self._ends[works], len(self._names)
        matrix = coo_matrix(
            (np.ones(len(ends), dtype=np.int8), (ends[:, 0], ends[:, 1])), shape=(count, count)
        )
        _, part = connected_components(matrix, directed=False)
        of_hosts = part[self._hosts]
        if not len(of_hosts):
            return []
        main = np.bincount(of_hosts).argmax()
        return [self._names[at] for at in self._hosts[of_hosts != main].tolist()]

    def links_of(self, switches: Iterable[str]) -> list[str]:
        """Links between switches that end at one of these."""
        known = {self._number[name] for name in switches if name in self._number}
        return [name for name, row in self.links.items() if not known.isdisjoint(self._ends[row].tolist())]

    def link_named(self, name: str) -> str:
        """The name in `links` of a link, or of the link that a cable belongs to; of an unknown one the name itself."""
        row = self._by_ends(name)
        if row is None and (cable := self._by_port(name)) is not None:
            row = cable[0]
        return name if row is None else self._link_of.get(row, name)

    def working_cables(self, failed: Iterable[str]) -> dict[str, list[str]]:
        """Links between switches of which some cables have failed, with names of the cables that work; empty: none."""
        return {self._link_of[row]: left for row, left in self._working(failed) if row in self._link_of}

    def _working(self, failed: Iterable[str]) -> Iterator[tuple[int, list[str]]]:
        """Rows of `_ends` of which some cables have failed, each with names of the cables that work."""
        whole: set[int] = set()
        single: dict[int, set[frozenset[Port]]] = {}
        for name in failed:
            if (row := self._by_ends(name)) is not None:
                whole.add(row)
            elif (found := self._by_port(name)) is not None:
                single.setdefault(found[0], set()).add(found[1])
        yield from ((row, []) for row in whole)
        for row, cables in single.items():
            if row not in whole:
                left = {cable for at, cable in self._cables.values() if at == row} - cables
                yield row, ["{}/{}".format(*min(cable)) for cable in sorted(left, key=min)]

    def _by_ends(self, name: str) -> int | None:
        """Row of `_ends` of the nodes that a name has; names of nodes may have hyphens."""
        parts = name.split("-")
        for at in range(1, len(parts)):
            ends = ("-".join(parts[:at]), "-".join(parts[at:]))
            pair = frozenset(self._number[end] for end in ends if end in self._number)
            if pair in self._rows:
                return self._rows[pair]
        return None

    def _by_port(self, name: str) -> tuple[int, frozenset[Port]] | None:
        """Row of `_ends`, and the ports, of the cable at the port that a name has: a switch and a number."""
        switch, _, number = name.rpartition("/")
        return self._cables.get((switch, int(number))) if switch and number.isdecimal() else None

    @cached_property
    def _cables(self) -> Mapping[Port, tuple[int, frozenset[Port]]]:
        """By port of a switch: the row of `_ends`, and the ports of the cable."""
        found: dict[Port, tuple[int, frozenset[Port]]] = {}
        for ends in self._of_subnet() if "from_port" in self._links else self._of_graph():
            row = self._rows[frozenset(self._number[name] for name, _ in ends)]
            cable = frozenset((name, port) for name, port in ends if port is not None)
            found |= dict.fromkeys(cable, (row, cable))
        return found

    def _of_subnet(self) -> Iterator[list[tuple[str, int | None]]]:
        """Names and ports of the ends of each cable; of a subnet the table of links has physical ports."""
        columns = ["link", "from_port", "to_port"]
        for name, *ports in self._links[columns].drop_duplicates().itertuples(index=False):
            begin, _, end = str(name).partition(" #")[0].partition("->")
            yield list(zip((begin, end), ports, strict=True))

    def _of_graph(self) -> Iterator[list[tuple[str, int | None]]]:
        """The same of a network that is no subnet: physical ports are those of the graph, counted from 1."""
        graph = tomllib.loads(self._experiment.export("toml"))
        for link in graph["link"]:
            ports = [link.get(f"{side}_port") for side in "ab"]
            yield [
                (link[side], None if port is None else port + 1)
                for side, port in zip("ab", ports, strict=True)
            ]
