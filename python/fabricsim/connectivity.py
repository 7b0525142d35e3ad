"""Hosts that a failure separates from the others: by the links of a network alone, whatever its routing."""

from __future__ import annotations

from collections.abc import Iterable

from fabricsim.lazy import numpy as np
from fabricsim.results import Result


class Connectivity:
    """The network of a run as pairs of nodes that are joined."""

    def __init__(self, result: Result) -> None:
        nodes = result.nodes
        self._names = [str(name) for name in nodes["name"]]
        self._hosts = np.flatnonzero((nodes["kind"] == "host").to_numpy())
        number = {name: at for at, name in enumerate(self._names)}
        self._number = number
        links = result.links
        between = (links["class"] != "host").to_numpy()
        directions = links["link"].map(lambda name: str(name).partition(" #")[0])
        self.links: dict[str, int] = {}
        """Links between switches by the names of their ends; parallel cables are one."""
        joined: dict[frozenset[int], int] = {}
        for direction, is_between in zip(directions, between, strict=True):
            begin, _, end = direction.partition("->")
            pair = frozenset((number[begin], number[end]))
            if is_between and pair not in joined:
                self.links[f"{begin}-{end}"] = len(joined)
            joined.setdefault(pair, len(joined))
        self._ends = np.array([(min(pair), max(pair)) for pair in joined], dtype=np.int64).reshape(-1, 2)

    @property
    def switches(self) -> list[str]:
        """Names of the switches."""
        hosts = set(self._hosts.tolist())
        return [name for at, name in enumerate(self._names) if at not in hosts]

    def cut_off(self, links: Iterable[str] = (), switches: Iterable[str] = ()) -> list[str]:
        """Hosts without a path to the largest number of hosts that have paths to each other, while links (`"A-B"`, in
        either order) and switches have failed. Names that are unknown are passed over.
        """
        from scipy.sparse import coo_matrix  # noqa: PLC0415 - takes long to import
        from scipy.sparse.csgraph import connected_components  # noqa: PLC0415

        works = np.ones(len(self._ends), dtype=bool)
        works[[self.links[known] for name in links if (known := self.link_named(name)) in self.links]] = False
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
        """The name in `links` of a link whose ends may be in either order; of an unknown link the name itself."""
        if name in self.links:
            return name
        # names of nodes may have hyphens
        parts = name.split("-")
        turned = ("-".join([*parts[at:], *parts[:at]]) for at in range(1, len(parts)))
        return next((other for other in turned if other in self.links), name)
