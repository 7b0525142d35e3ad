"""Switches, hosts and directions of links by number, from the tables of a run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fabricsim.dimensions import class_name
from fabricsim.errors import InputError
from fabricsim.lazy import numpy as np
from fabricsim.lazy import pandas as pd
from fabricsim.viewer.tables import Tables

if TYPE_CHECKING:
    import numpy.typing as npt

    Numbers = npt.NDArray[np.int64]
    Places = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Graph:
    """Nodes by their row in the table `nodes`, and the directions of links between them."""

    names: list[str]
    is_host: npt.NDArray[np.bool_]
    drawn: Places
    """Places in the drawing of the table `nodes`, y upwards."""
    links: pd.Index[str]
    """Names of the directions, `from->to` or `from->to #2`."""
    sender: Numbers
    receiver: Numbers
    cable: Numbers
    """Number of the cable among parallel ones, from 1; 0 for a single one."""
    classes: list[str]
    """Kinds of links: `host`, `dimension 0`, `level 1`, `local`, `global`, `plain`."""
    link_class: Numbers

    @property
    def home(self) -> Numbers:
        """The switch of each host, or the other end of its link; a switch's own number."""
        found = np.arange(len(self.names))
        for here, there in ((self.sender, self.receiver), (self.receiver, self.sender)):
            hosts = self.is_host[here]
            found[here[hosts]] = there[hosts]
        return found

    def between_switches(self) -> npt.NDArray[np.bool_]:
        """True for the directions that have a switch at both ends."""
        found: npt.NDArray[np.bool_] = ~(self.is_host[self.sender] | self.is_host[self.receiver])
        return found


def graph_of(tables: Tables) -> Graph:
    """The graph that a run has tables of.

    Raises:
        InputError: none of its links is between nodes that it lists.
    """
    nodes, links = tables.frames["nodes"], tables.frames["links"]
    first = links.drop_duplicates("link")
    names = [str(name) for name in nodes["name"]]
    index = pd.Index(names, dtype=object)
    parts = first["link"].astype(str).str.extract(r"^(?P<ends>.*?)(?: #(?P<cable>\d+))?$")
    ends = parts["ends"].str.partition("->")
    sender, receiver = (index.get_indexer(pd.Index(ends[end].astype(object))) for end in (0, 2))
    known = (sender >= 0) & (receiver >= 0)
    if not known.any():
        raise InputError(
            f"{tables.where}: this run has no links between nodes that it lists: nothing to draw"
        )
    kinds = first["class"].astype(str) if "class" in first else pd.Series("plain", index=first.index)
    is_host = (nodes["kind"] == "host").to_numpy(bool)
    kinds = kinds.where(~(is_host[sender] | is_host[receiver]), "host")[known]
    code, classes = pd.factorize(kinds, sort=True)
    return Graph(
        names,
        is_host,
        nodes[["x", "y"]].to_numpy(float) * [1.0, -1.0],
        pd.Index(first["link"].astype(str)[known]),
        sender[known].astype(np.int64),
        receiver[known].astype(np.int64),
        parts["cable"].fillna("0").to_numpy().astype(np.int64)[known],
        [class_name(str(name)) for name in classes],
        code.astype(np.int64),
    )
