"""Links for which the packets of ranks waited, from the table `packet_hops` of a run."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from fabricsim.lazy import pandas as pd

CONGESTED, BUSY_INPUT, FREE_LINK = "congested link", "busy input", "free link"
"""Causes of waits in the fabric: a link carried packets of others; it was free, and the packet's input sent another
one, over another link; neither: it had no credits, or the switch or the link delayed the packet (crossbars, head
delays, slower links before a faster one, errors)."""


@dataclass(frozen=True, slots=True)
class Queued:
    """A time for which a packet waited for a link, picoseconds."""

    begin: int
    end: int
    link: str
    cause: str


class Queues:
    """Times for which packets between two hosts waited for links, in either direction.

    A packet that waits behind others of the same two hosts, one way or the other, waits for its own transfer: that is
    no congestion. Nor is a wait at the source for the end of what its message has sent before.

    Args:
        hops: table `packet_hops`.
    """

    def __init__(self, hops: pd.DataFrame) -> None:
        self._by_pair: dict[frozenset[str], list[Queued]] = defaultdict(list)
        waited = hops[hops["waited_ns"] > 0]
        for row in waited.to_dict("records"):
            cause = _cause(row)
            if cause is None:
                continue
            begin, end = round(row["ready_ns"] * 1000), round(row["start_ns"] * 1000)
            pair = frozenset((row["source"], row["destination"]))
            self._by_pair[pair].append(Queued(begin, end, row["link"], cause))
        for queue in self._by_pair.values():
            queue.sort(key=lambda one: (one.begin, one.end))
        self._longest = {
            pair: max(one.end - one.begin for one in queue) for pair, queue in self._by_pair.items()
        }

    def within(self, first: str, second: str, begin: int, end: int) -> Iterator[Queued]:
        """Times between `begin` and `end` in which a packet between two hosts waited for a link, none twice, in order.

        If several wait at a time, it counts for the link of the one that has waited longest.
        """
        pair = frozenset((first, second))
        queue = self._by_pair.get(pair, [])
        # No earlier one reaches into the time.
        place = bisect_right(queue, begin - self._longest.get(pair, 0), key=lambda one: one.begin)
        at = begin
        for one in queue[place:]:
            if one.begin >= end:
                break
            start, stop = max(one.begin, at), min(one.end, end)
            if stop > start:
                yield Queued(start, stop, one.link, one.cause)
                at = stop


def _cause(row: Mapping[Any, Any]) -> str | None:
    """The cause of most of a packet's wait for a link; None if it waited for its own transfer."""
    waits, busy = row["waited_ns"], row["busy_ns"]
    if 2 * busy >= waits:
        source, destination = row["source"], row["destination"]
        is_own = row["behind"] in (f"{source} -> {destination}", f"{destination} -> {source}")
        return None if is_own else CONGESTED
    if row["hop"] == 0:
        return None
    return BUSY_INPUT if 2 * (busy + row["input_ns"]) >= waits else FREE_LINK
