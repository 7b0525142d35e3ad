"""Packets of operations of verbs: which operation each belongs to, and their way over the links as a trace."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from fabricsim.lazy import pandas as pd
from fabricsim.packets.events import link_events, link_tracks, packet_paths
from fabricsim.ranks.log import RunLog

_CALLS = 1
"""Track of a rank's calls."""
_WR_ID = (1 << 32) - 1
"""Bits of `wr_id` that packets have; all ones of responses."""


def operations_of(
    log: RunLog, operations: Sequence[Mapping[str, Any]], hops: pd.DataFrame
) -> dict[int, Mapping[str, Any]]:
    """The operation of each packet with data, by the packet's number, as far as it is known.

    Packets of requests have the number of their work request, which is used again: a packet belongs to the last
    operation of that number before it. Responses of READs come in the order in which these were posted.
    """
    host = [rank.host for rank in log.ranks]
    requests: dict[tuple[str, str, int], list[Mapping[str, Any]]] = defaultdict(list)
    reads: dict[tuple[str, str], list[Mapping[str, Any]]] = defaultdict(list)
    for one in operations:
        ends = (host[one["from"]], host[one["to"]])
        requests[(*ends, one["wr_id"] & _WR_ID)].append(one)
        if one["op"] == "RDMA_READ":
            reads[ends].append(one)
    found: dict[int, Mapping[str, Any]] = {}
    answered: dict[tuple[str, str], int] = defaultdict(int)
    first = hops[(hops["hop"] == 0) & (hops["kind"] == "data")]
    columns = ("packet", "source", "destination", "message", "last", "start_ns")
    for packet, source, destination, number, last, start in zip(
        *(first[name] for name in columns), strict=True
    ):
        if number == _WR_ID:
            own = reads[destination, source]
            place = answered[destination, source]
            answered[destination, source] += last
        else:
            own = requests[source, destination, number]
            place = bisect_right(own, start, key=lambda one: one["time_ns"]) - 1
        if 0 <= place < len(own):
            found[int(packet)] = own[place]
    return found


def packet_events(
    log: RunLog, operations: Sequence[Mapping[str, Any]], hops: pd.DataFrame
) -> Iterator[dict[str, Any]]:
    """Links as tracks, packets on them, and arrows from the call that posted an operation along its packets."""
    process = len(log.ranks)
    tracks = link_tracks(hops)
    yield from link_events(hops, tracks, process)
    posted = operations_of(log, operations, hops)
    for packet, ends in packet_paths(hops).items():
        one = posted.get(packet)
        if one is None:
            continue
        common = {"cat": "packet", "id": f"packet {packet}", "name": one["op"]}
        yield {**common, "ph": "s", "pid": one["from"], "tid": _CALLS, "ts": one["time_ns"] / 1000}
        for number, (link, start) in enumerate(ends, 1):
            phase = {"ph": "f", "bp": "e"} if number == len(ends) else {"ph": "t"}
            yield {**common, **phase, "pid": process, "tid": tracks[link], "ts": start / 1000}
