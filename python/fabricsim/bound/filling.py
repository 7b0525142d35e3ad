"""Max-min fair rates by progressive filling, for groups of flows with fixed routes.

D. Bertsekas, R. Gallager, "Data Networks", 2nd edition, 1992, section 6.5.2: the rates of all groups rise together.
If a link is full, or a group has its offered load, the groups concerned keep their rates and the others rise on.
"""

from __future__ import annotations

from dataclasses import dataclass

from scipy import sparse

from fabricsim.bound.problem import Reals, Wholes
from fabricsim.lazy import numpy as np

OWN_DEMAND = -1
"""In place of a bottleneck: the group gets its offered load."""

_SAME = 1e-9
"""Levels that differ by less, relatively, are one: what is reached at once by different sums of the same numbers."""


@dataclass(frozen=True)
class Rates:
    """A rate for every group, and the row of its bottleneck link (or `OWN_DEMAND`)."""

    gbps: Reals
    bottleneck: Wholes


def fill(use: sparse.csr_array, capacity: Reals, demand: Reals) -> Rates:
    """Max-min fair rates of groups.

    Args:
        use: links by groups, bits on the link for each of the group's; not negative.
        capacity: of the links, Gb/s, above 0.
        demand: of the groups, Gb/s; none gets more.
    """
    return _Filling(use, capacity, demand).run()


class _Filling:
    def __init__(self, use: sparse.csr_array, capacity: Reals, demand: Reals) -> None:
        self.columns, self.rows = sparse.csc_array(use), sparse.csr_array(use)
        self.demand = demand
        self.room = capacity.copy()
        self.rising = np.asarray(use.sum(axis=1)).ravel()
        self.risers = np.diff(self.rows.indptr).astype(np.int64)
        self.open = np.ones(len(demand), dtype=bool)
        self.gbps = np.zeros(len(demand))
        self.bottleneck = np.full(len(demand), OWN_DEMAND, dtype=np.int64)
        # By demand, so that the next to be content is found at once.
        self.order = np.argsort(demand, kind="stable")
        self.next = 0

    def run(self) -> Rates:
        while self._skip_closed():
            with np.errstate(divide="ignore", invalid="ignore"):
                levels = np.where(self.risers > 0, self.room / self.rising, np.inf)
            assert not np.isnan(levels).any()
            level = min(float(levels.min(initial=np.inf)), float(self.demand[self.order[self.next]]))
            level = max(level, 0.0)
            limit = level * (1.0 + _SAME)
            for link in np.flatnonzero(levels <= limit):
                groups = self.rows.indices[self.rows.indptr[link] : self.rows.indptr[link + 1]]
                self._close(groups[self.open[groups]], level, int(link))
            while self._skip_closed() and self.demand[self.order[self.next]] <= limit:
                self._close(self.order[self.next : self.next + 1], level, OWN_DEMAND)
        return Rates(self.gbps, self.bottleneck)

    def _skip_closed(self) -> bool:
        while self.next < len(self.order) and not self.open[self.order[self.next]]:
            self.next += 1
        return self.next < len(self.order)

    def _close(self, groups: Wholes, level: float, link: int) -> None:
        """These groups keep their level: what they use is no longer there for the others."""
        self.open[groups] = False
        rates = np.minimum(level, self.demand[groups])
        self.gbps[groups] = rates
        self.bottleneck[groups] = link
        part = self.columns[:, groups]
        self.rising -= part.sum(axis=1)
        self.risers -= np.bincount(part.indices, minlength=len(self.risers))
        self.room = np.maximum(self.room - part @ rates, 0.0)
