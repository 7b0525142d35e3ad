"""Result of a bound."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, cast

from fabricsim.errors import FabricsimError
from fabricsim.lazy import pandas as pd
from fabricsim.results import finite
from fabricsim.shown import Shown

RATES = ("fair_gbps", "maximum_gbps", "sender_fair_gbps", "sender_maximum_gbps")
"""The four answers, as columns."""


class SolverError(FabricsimError):
    """A linear program was not solved."""


@dataclass(frozen=True)
class Bound(Shown):
    """Upper bounds on an experiment's throughput, in Gb/s of packets (headers included, link overhead not).

    Two questions: what is the largest total (`maximum`), and what does everybody get if rates are max-min fair
    (`fair`: none can rise unless a smaller or equal one falls)? Each for two kinds of sources: those that keep a queue
    for each destination, so that each pair of source and destination has a rate of its own, and those whose messages
    go out in their order, so that the rates of a source stay in the proportions of its messages (`sender`).
    """

    facts: dict[str, Any]
    """Title, topology, `at_s`, `from_s`, `to_s` (the part of the run that is looked at), `open_messages`, `saturating`
    (whether a source offers all that its link carries)."""
    flows: pd.DataFrame = field(repr=False)
    """A row for each pair of source and destination by traffic entry: what it offers, its four rates, and the links
    that hold it back when rates are fair (`bottleneck`, `sender_bottleneck`; empty: it gets all that it offers)."""
    links: pd.DataFrame = field(repr=False)
    """A row for each direction of a link, and limited sink, that is used: its rate, and what is on it, overhead
    included, when rates are fair or, for the total, largest. NaN where packets choose their way."""

    def __repr__(self) -> str:
        title = self.facts.get("title") or self.facts["topology"]
        return f"Bound({title!r}, at most {self.total_gbps:,.5g} of {self.offered_gbps:,.5g} Gb/s)"

    @property
    def total_gbps(self) -> float:
        """The largest total throughput."""
        return self._sum("maximum_gbps")

    @property
    def fair_total_gbps(self) -> float:
        """Total throughput when the rates of pairs are max-min fair."""
        return self._sum("fair_gbps")

    @property
    def sender_total_gbps(self) -> float:
        """The largest total throughput when every source keeps the proportions of its messages."""
        return self._sum("sender_maximum_gbps")

    @property
    def sender_fair_total_gbps(self) -> float:
        """Total throughput when the rates of sources, which keep the proportions of their messages, are max-min
        fair.
        """
        return self._sum("sender_fair_gbps")

    @property
    def offered_gbps(self) -> float:
        """Total offered load of all sources; of saturating ones the capacity of their links."""
        return self._sum("demand_gbps")

    @property
    def head_of_line(self) -> bool:
        """True if a message that is blocked at a source blocks all behind it (`open_messages = 1`)."""
        return bool(self.facts["open_messages"] == 1)

    @property
    def entries(self) -> pd.DataFrame:
        """A row for each entry of the traffic list: flows, sources, and sums of what they offer and get."""
        grouped = self.flows.groupby("entry_number", sort=True)
        sums = grouped[["demand_gbps", *RATES]].sum()
        counts = grouped.agg(
            entry=("entry", "first"), flows=("source", "size"), sources=("source", "nunique")
        )
        return counts.join(sums).reset_index(drop=True)

    def fraction(self, accepted_gbps: float, offered_gbps: float | None = None) -> float:
        """A total throughput as a fraction of the largest.

        Args:
            accepted_gbps: throughput of the entries of the traffic list.
            offered_gbps: what all sources offered in the same time. The bound is of their mean rates; by chance there
                may be more messages. As every further Gb/s that is offered adds at most one to the largest total, that
                much is added to the bound. Saturating sources offer no more than their links carry.
        """
        more = 0.0
        if offered_gbps is not None and not self.facts.get("saturating", True):
            more = max(0.0, offered_gbps - self.offered_gbps)
        return accepted_gbps / (self.total_gbps + more)

    def as_dict(self) -> dict[str, Any]:
        """The output of `fabricsim bound --json`."""
        totals = {
            "offered_gbps": self.offered_gbps,
            "total_gbps": self.total_gbps,
            "fair_total_gbps": self.fair_total_gbps,
            "sender_total_gbps": self.sender_total_gbps,
            "sender_fair_total_gbps": self.sender_fair_total_gbps,
            "head_of_line": self.head_of_line,
        }
        frames = {
            "entries": self.entries,
            "flows": self.flows.drop(columns="entry_number"),
            "links": self.links,
        }
        tables = {name: frame.to_dict("records") for name, frame in frames.items()}
        return cast("dict[str, Any]", finite({**self.facts, **totals, **tables}))

    def _sum(self, column: str) -> float:
        return float(self.flows[column].sum())
