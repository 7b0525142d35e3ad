"""Packets on links in a trace of Paraver: a second application, with a task for each link.

Lines lead from the call in which an operation of verbs was posted to the first link of each of its packets, and from
link to link. The processors of the links are on a node of their own, behind those of the ranks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from fabricsim.lazy import pandas as pd
from fabricsim.packets.events import link_tracks, packet_paths
from fabricsim.ranks.log import RunLog
from fabricsim.ranks.packets import operations_of

NODE = "links"
"""Name of the node of the links."""
_RUNNING, _IDLE = 1, 0


class Links:
    """The links of a run that recorded packets.

    Args:
        log: record of the run.
        operations: operations of verbs, as of `FabricNetwork.log`.
        hops: table `packet_hops` of the fabric.
    """

    def __init__(self, log: RunLog, operations: Sequence[Mapping[str, Any]], hops: pd.DataFrame) -> None:
        self._log, self._operations, self._hops = log, operations, hops
        self._tracks = link_tracks(hops)

    @property
    def names(self) -> list[str]:
        """The links, in order of their tasks."""
        return list(self._tracks)

    def application(self, node: int) -> str:
        """The tasks in the head of a trace, on the node with a number."""
        return f"{len(self._tracks)}({','.join([f'1:{node}'] * len(self._tracks))}),0"

    def records(self, end: int) -> Iterator[tuple[int, int, str]]:
        """Time, order and text of each record of a run that ends at a time, in nanoseconds."""
        yield from self._states(end)
        posted = operations_of(self._log, self._operations, self._hops)
        sizes = dict(zip(self._hops["packet"], self._hops["bytes"], strict=True))
        for packet, ends in packet_paths(self._hops).items():
            one = posted.get(packet)
            if one is None:
                continue
            before = (f"{one['from'] + 1}:1:{one['from'] + 1}:1", round(one["time_ns"]))
            for link, start in ends:
                at = (self._place(link), round(start))
                (sender, sent), (receiver, arrived) = before, at
                line = f"3:{sender}:{sent}:{sent}:{receiver}:{arrived}:{arrived}:{sizes[packet]}:{packet}"
                yield sent, 3, line
                before = at

    def _states(self, end: int) -> Iterator[tuple[int, int, str]]:
        """Each link carries a packet, or is idle."""
        columns = ("start_ns", "end_ns")
        for link, rows in self._hops.groupby("link", sort=True):
            place, at = self._place(str(link)), 0
            for begin, until in sorted(zip(*(rows[name] for name in columns), strict=True)):
                start, stop = max(round(begin), at), min(round(until), end)
                if start < stop:
                    if at < start:
                        yield at, 0, f"1:{place}:{at}:{start}:{_IDLE}"
                    yield start, 0, f"1:{place}:{start}:{stop}:{_RUNNING}"
                    at = stop
            if at < end:
                yield at, 0, f"1:{place}:{at}:{end}:{_IDLE}"

    def _place(self, link: str) -> str:
        """Processor, application, task and thread of a link."""
        task = self._tracks[link]
        return f"{len(self._log.ranks) + task}:2:{task}:1"
