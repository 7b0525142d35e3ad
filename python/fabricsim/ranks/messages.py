"""Pairs of sends and receives, and protocols of messages."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from fabricsim.ranks.log import Receive, RunLog, Send

PROTOCOLS = ("eager", "eager-rdma", "get", "put", "send", "shared")
"""Protocols of messages, as of the table `mpi_ranks`."""
_SEQUENCES = 1 << 16
_ENVELOPE = re.compile(
    r"(MATCH|RNDV|RGET) context (\d+) source \d+ tag -?\d+ sequence (\d+)(?: length (\d+))?"
)
_CREDITS = "CREDITS"
_HEADERS = {"SEND": 36, "RDMA_WRITE": 40}
"""Bytes of the headers of RNDV by operation: those in a ring have 4 B more."""


def pair(log: RunLog) -> None:
    """Finds the receive of each send.

    Messages of one source, context and tag do not overtake each other. So the n-th of them belongs to the n-th receive
    in the order in which receives take part in matching. A probe that leaves the message sees that of the next receive.
    """
    sends: dict[tuple[int, int, int, int], list[Send]] = defaultdict(list)
    for rank in log.ranks:
        for send in rank.sends:
            sends[send.rank, send.dest, send.context, send.tag].append(send)
    for rank in log.ranks:
        taken: dict[tuple[int, int, int, int], int] = defaultdict(int)
        for receive in rank.receives:
            if receive.is_cancelled:
                continue
            key = (receive.source, receive.rank, receive.context, receive.tag)
            found = sends.get(key, ())
            number = taken[key]
            if number < len(found):
                receive.send = found[number]
                if not receive.is_peek:
                    found[number].receive = receive
            taken[key] += not receive.is_peek


def classify(log: RunLog, operations: Iterable[Mapping[str, Any]]) -> None:
    """Sets the protocol of each message on a fabric from the operations of verbs, and when it was posted.

    The first operation of a message states its context and sequence number. Messages between ranks of one host have no
    operation: they take shared memory.
    """
    first: dict[tuple[int, int, int, int], list[tuple[str, int]]] = defaultdict(list)
    credits: dict[tuple[int, int], list[int]] = defaultdict(list)
    for one in operations:
        at = round(one["time_ns"] * 1000)
        if one["header"].startswith(_CREDITS):
            credits[one["from"], one["to"]].append(at)
        found = _ENVELOPE.match(one["header"])
        if found is not None:
            name, context, sequence, length = found.groups()
            protocol = _protocol(name, one["op"], one["bytes"], int(length or 0))
            first[one["from"], one["to"], int(context), int(sequence)].append((protocol, at))
    for rank in log.ranks:
        counts: dict[tuple[int, int], int] = defaultdict(int)
        for send in rank.sends:
            number = counts[send.dest, send.context]
            counts[send.dest, send.context] += 1
            known = first.get((send.rank, send.dest, send.context, number % _SEQUENCES), ())
            turn = number // _SEQUENCES
            if turn >= len(known):
                send.protocol = "shared"
                continue
            send.protocol, send.posted = known[turn]
            if send.is_held:
                returned = credits[send.dest, send.rank]
                place = bisect_right(returned, send.posted) - 1
                send.credited = returned[place] if place >= 0 and returned[place] > send.end else None


def _protocol(header: str, operation: str, size: int, length: int) -> str:
    if header == "RGET":
        return "get"
    data = size - _HEADERS.get(operation, 0)
    if header == "RNDV" and data < length:
        return "send" if data else "put"
    return "eager-rdma" if operation == "RDMA_WRITE" else "eager"


def messages_of(log: RunLog) -> list[tuple[Send, Receive | None]]:
    """All messages in order of their start, with their receives."""
    everything = [send for rank in log.ranks for send in rank.sends]
    everything.sort(key=lambda send: (send.begin, send.rank, send.step))
    return [(send, send.receive) for send in everything]
