"""What the busiest link allows: accepted below it, and not beyond it."""

from __future__ import annotations

from dataclasses import dataclass

from .curves import Point, run

BELOW, BEYOND = 0.92, 1.08
"""Offered loads, in parts of the limit."""
KEPT, LOST = 0.985, 0.97
"""At least this part is accepted below the limit, at most this one beyond it."""


@dataclass(frozen=True)
class Limit:
    """The load at which the busiest link is full, in parts of the hosts' links."""

    algorithm: str
    arrangement: str
    offset: int
    limit: float
    reason: str


ONE_LINK = "one link for the 32 hosts of a group: 1 / (a p)"
GLOBAL = "global links, each used twice, but for the groups that are not drawn: 1/2 x 31/32"
LOCAL = "a local link with h = 4 flows that pass, and those that begin and end there"
SPREAD = "a local link with half as many flows that pass"
LIMITS = [
    Limit("minimal", "absolute", 1, 1 / 32, ONE_LINK),
    Limit("minimal", "absolute", 4, 1 / 32, ONE_LINK),
    Limit("valiant", "absolute", 1, 0.484, GLOBAL),
    Limit("valiant", "absolute", 4, 0.194, LOCAL),
    Limit("valiant", "palmtree", 4, 0.194, LOCAL),
    Limit("valiant", "circulant", 4, 0.323, SPREAD),
]


@dataclass(frozen=True)
class Held:
    """A limit, and what is accepted around it."""

    limit: Limit
    below: Point
    beyond: Point

    @property
    def holds(self) -> bool:
        return self.below.kept >= KEPT and self.beyond.kept <= LOST


def held(limit: Limit) -> Held:
    """Runs below and beyond a limit."""
    pattern = {"group-offset": limit.offset}
    below, beyond = (
        run(
            limit.algorithm,
            pattern,
            part * limit.limit,
            topology__dragonfly__arrangement=limit.arrangement,
            run__warmup="12 us",
            run__duration="10 us",
        )
        for part in (BELOW, BEYOND)
    )
    return Held(limit, below, beyond)
