"""Kinds of topologies. See the experiment file's reference for the meaning of every key."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

Naming = Literal["coordinates", "thesis"]
Arrangement = Literal["absolute", "palmtree", "circulant"]


@dataclass(frozen=True)
class _Grid:
    dimensions: list[int]
    """Radix of each dimension, x first."""
    hosts_per_switch: int | None = None
    naming: Naming | None = None


@dataclass(frozen=True)
class Mesh(_Grid):
    """A mesh in every dimension."""

    kind: ClassVar[str] = "mesh"


@dataclass(frozen=True)
class Torus(_Grid):
    """A torus in every dimension."""

    kind: ClassVar[str] = "torus"


@dataclass(frozen=True)
class Grid(_Grid):
    """Mesh or torus chosen per dimension."""

    kind: ClassVar[str] = "grid"
    wrap: list[bool] | None = None
    """For each dimension, true for a torus."""


@dataclass(frozen=True)
class Hypercube:
    """A binary hypercube."""

    kind: ClassVar[str] = "hypercube"
    dimensions: int
    hosts_per_switch: int | None = None


@dataclass(frozen=True)
class FatTree:
    """A k-ary n-tree."""

    kind: ClassVar[str] = "fat-tree"
    arity: int
    levels: int


@dataclass(frozen=True)
class Xgft:
    """An extended generalised fat tree."""

    kind: ClassVar[str] = "xgft"
    children: list[int]
    parents: list[int]


@dataclass(frozen=True)
class ParkingLot:
    """A chain of switches with the destination of all at its end."""

    kind: ClassVar[str] = "parking-lot"
    switches: int
    hosts_per_switch: int | None = None


@dataclass(frozen=True)
class Ring:
    """A ring of switches."""

    kind: ClassVar[str] = "ring"
    switches: int
    hosts_per_switch: int | None = None


@dataclass(frozen=True)
class SingleSwitch:
    """Hosts on one switch."""

    kind: ClassVar[str] = "single-switch"
    hosts: int


@dataclass(frozen=True)
class Dragonfly:
    """Groups of routers that are all joined, and groups that are all joined."""

    kind: ClassVar[str] = "dragonfly"
    p: int
    """Hosts on every router."""
    a: int
    """Routers in a group."""
    h: int
    """Global links of a router."""
    g: int | None = None
    """Groups; by default the largest possible number, a h + 1."""
    arrangement: Arrangement | None = None


@dataclass(frozen=True)
class Megafly:
    """A dragonfly whose groups are two-level trees (dragonfly+)."""

    kind: ClassVar[str] = "megafly"
    p: int
    """Hosts on every leaf."""
    leaves: int
    spines: int
    h: int
    """Global links of a spine."""
    g: int | None = None
    """Groups; by default the largest possible number, spines h + 1."""
    arrangement: Arrangement | None = None


@dataclass(frozen=True)
class HyperX:
    """All switches of a line are joined, in every dimension."""

    kind: ClassVar[str] = "hyperx"
    dimensions: list[int]
    """Switches along each dimension."""
    hosts_per_switch: int | None = None


@dataclass(frozen=True)
class SlimFly:
    """The graph of McKay, Miller and Širáň, of diameter 2."""

    kind: ClassVar[str] = "slim-fly"
    q: int
    """A prime power of 3 or more: 2 q^2 switches."""
    hosts_per_switch: int | None = None
    """By default half the number of a switch's links to others, rounded up."""


@dataclass(frozen=True)
class Jellyfish:
    """A random graph in which every switch has the same number of links."""

    kind: ClassVar[str] = "jellyfish"
    switches: int
    degree: int
    """Links of a switch to others."""
    hosts_per_switch: int | None = None
    seed: int | None = None
    """Of the graph alone."""


@dataclass(frozen=True)
class Xpander:
    """A random lift of the complete graph."""

    kind: ClassVar[str] = "xpander"
    degree: int
    """Links of a switch to others, one to each other group."""
    lift: int
    """Switches of a group."""
    hosts_per_switch: int | None = None
    seed: int | None = None
    """Of the graph alone."""


@dataclass(frozen=True)
class File:
    """Any graph, read from a file."""

    kind: ClassVar[str] = "file"
    path: str


Topology = (
    Mesh
    | Torus
    | Grid
    | Hypercube
    | FatTree
    | Xgft
    | ParkingLot
    | Ring
    | SingleSwitch
    | Dragonfly
    | Megafly
    | HyperX
    | SlimFly
    | Jellyfish
    | Xpander
    | File
)
