"""Tables of a run of ranks. Times are in nanoseconds; columns have unit and description as those of the engine."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from fabricsim.lazy import pandas as pd
from fabricsim.ranks.causes import CAUSES, Part
from fabricsim.ranks.critical import Segment
from fabricsim.ranks.log import RunLog
from fabricsim.ranks.messages import PROTOCOLS, messages_of
from fabricsim.results import set_column_notes

Notes = Mapping[str, tuple[str, str]]
NO_PEER = -1
"""Peer of a wait for no rank in particular."""


def _protocol(name: str) -> str:
    return name.replace("-", "_") + "_bytes"


def _cause(name: str) -> str:
    return name.replace(" ", "_") + "_ns"


_WAITS: Notes = {
    "late_sender_ns": ("ns", "Time waiting in receives before the sender started, or was in MPI"),
    "late_receiver_ns": (
        "ns",
        "Time waiting in sends before the receiver was in MPI with its receive posted",
    ),
    "no_credits_ns": (
        "ns",
        "Time waiting for messages that waited for credits or a place in a send queue at their sender",
    ),
    "congested_link_ns": (
        "ns",
        "Time waiting for messages whose packets waited for links that carried those of others; of runs that record "
        "packets",
    ),
    "busy_input_ns": (
        "ns",
        "The same for links that were free, while the input of the packet's switch sent another one",
    ),
    "free_link_ns": (
        "ns",
        "The same for links that were free: without credits, or with delays of the switch or the link",
    ),
    "transfer_ns": ("ns", "Time waiting for messages in flight, for the rest"),
    "polling_ns": ("ns", "Time in tests and probes in vain"),
}
_CALLS: Notes = {
    "rank": ("", "Rank of MPI"),
    "call": ("", "Name of the call"),
    "count": ("", "Calls"),
    "time_ns": ("ns", "Time inside the calls, computations inside them excluded"),
    **_WAITS,
    "messages": ("", "Messages that the calls sent, those of collectives included"),
    "bytes": ("B", "Their bytes, without headers"),
    **{_protocol(name): ("B", f"Those sent with the protocol {name}") for name in PROTOCOLS},
}
_TIMES: Notes = {
    "rank": ("", "Rank of MPI"),
    "host": ("", "Name of its host"),
    "end_ns": ("ns", "Time at which the rank ended; the sum of the next two"),
    "computation_ns": ("ns", "Time of its computations"),
    "calls_ns": ("ns", "Time inside calls of MPI"),
    **_WAITS,
}
_PEERS: Notes = {
    "rank": ("", "Rank that waits"),
    "peer": ("", "Rank for which it waits; -1 for polls in vain"),
    "call": ("", "Call in which it waits"),
    "cause": ("", "late sender, late receiver, congested link, busy input, free link, transfer or polling"),
    "link": ("", "The link for which packets waited"),
    "count": ("", "Waits"),
    "time_ns": ("ns", "Their time"),
}
_MATRIX: Notes = {
    "source": ("", "Rank that sends"),
    "destination": ("", "Rank that receives"),
    "messages": ("", "Messages"),
    "bytes": ("B", "Their bytes, without headers"),
}
_PATH: Notes = {
    "cause": ("", "computation, calls (work inside MPI), messages (between ranks), or why packets waited"),
    "rank": ("", "Rank that works; of a message its sender"),
    "peer": ("", "Receiver of the message; -1 without a message"),
    "call": ("", "Call of the rank, or the one that waits for the message"),
    "start_ns": ("ns", "Begin of the part"),
    "end_ns": ("ns", "End of the part, which is the begin of the next one"),
    "bytes": ("B", "Bytes of the message"),
    "link": ("", "Link for which the message's packets waited, where that is the cause"),
}
_TIMELINE: Notes = {
    "rank": ("", "Rank of MPI"),
    "kind": ("", "call, computation or wait; waits are inside calls"),
    "name": ("", "Name of the call, or cause of the wait"),
    "start_ns": ("ns", "Begin"),
    "end_ns": ("ns", "End"),
}
_MESSAGES: Notes = {
    "source": ("", "Rank that sends"),
    "destination": ("", "Rank that receives"),
    "tag": ("", "Tag; of messages of collectives their number"),
    "context": ("", "Twice the number of the communicator, one more for messages of collectives"),
    "bytes": ("B", "Bytes, without headers"),
    "protocol": ("", ", ".join(PROTOCOLS)),
    "call": ("", "Call that sent it"),
    "start_ns": ("ns", "Start of the send"),
    "sent_ns": ("ns", "Time at which the sender found it complete; none if it did not ask"),
    "posted_ns": ("ns", "Post of the receive; none of a message that no call received"),
    "received_ns": ("ns", "Time at which the receiver found it complete"),
}


def tables(log: RunLog, waits: Sequence[Part], path: Sequence[Segment]) -> dict[str, pd.DataFrame]:
    """All tables of a run by name."""
    return {
        "mpi_calls": _frame(_CALLS, _calls(log, waits)),
        "mpi_times": _frame(_TIMES, _times(log, waits)),
        "mpi_waits": _frame(_PEERS, _peers(log, waits)),
        "mpi_matrix": _frame(_MATRIX, _matrix(log)),
        "mpi_path": _frame(_PATH, [_segment(one) for one in path]),
        "mpi_timeline": _frame(_TIMELINE, _timeline(log, waits)),
        "mpi_messages": _frame(_MESSAGES, _messages(log)),
    }


def _frame(notes: Notes, rows: Sequence[Sequence[Any]]) -> pd.DataFrame:
    columns: list[Sequence[Any]] = list(zip(*rows, strict=True)) if rows else [()] * len(notes)
    data: dict[str, Any] = {}
    for (name, (unit, _)), values in zip(notes.items(), columns, strict=True):
        if unit == "ns":
            data[name] = pd.array(list(values), dtype="float64")
        elif any(isinstance(value, str) for value in values) or (not rows and name in _TEXTS):
            data[name] = pd.array(list(values), dtype="str")
        else:
            data[name] = pd.array(list(values), dtype="int64").to_numpy()
    frame = pd.DataFrame(data)
    set_column_notes(frame, notes)
    return frame


_TEXTS = ("call", "cause", "host", "kind", "link", "name", "protocol")


def _ns(time: int | None) -> float:
    return math.nan if time is None else time / 1000


def _calls(log: RunLog, waits: Sequence[Part]) -> list[list[Any]]:
    found: dict[tuple[int, str], dict[str, int]] = {}

    def row(rank: int, call: int) -> dict[str, int]:
        name = _name(log, rank, call)
        return found.setdefault((rank, name), dict.fromkeys(list(_CALLS)[2:], 0))

    for rank in log.ranks:
        for number, call in enumerate(rank.calls):
            own = row(rank.rank, number)
            own["count"] += 1
            own["time_ns"] += call.end - call.begin - call.computing
        for send in rank.sends:
            own = row(rank.rank, send.call)
            own["messages"] += 1
            own["bytes"] += send.bytes
            own[_protocol(send.protocol)] += send.bytes
    for part in waits:
        row(part.rank, part.call)[_cause(part.cause)] += part.time
    return [
        [
            *key,
            *(_ns(value) if name.endswith("_ns") else value for name, value in own.items()),
        ]
        for key, own in sorted(found.items())
    ]


def _name(log: RunLog, rank: int, call: int) -> str:
    calls = log.ranks[rank].calls
    return calls[call].name if call < len(calls) else "Finalize"


def _times(log: RunLog, waits: Sequence[Part]) -> list[list[Any]]:
    by_cause = [dict.fromkeys(CAUSES, 0) for _ in log.ranks]
    for part in waits:
        by_cause[part.rank][part.cause] += part.time
    return [
        [
            rank.rank,
            rank.host,
            _ns(rank.end),
            _ns(sum(one.end - one.begin for one in rank.computations)),
            _ns(sum(one.end - one.begin - one.computing for one in rank.calls)),
            *(_ns(time) for time in by_cause[rank.rank].values()),
        ]
        for rank in log.ranks
    ]


def _peers(log: RunLog, waits: Sequence[Part]) -> list[list[Any]]:
    found: dict[tuple[int, int, str, str, str], list[int]] = {}
    for part in waits:
        peer = NO_PEER if part.peer is None else part.peer
        key = (part.rank, peer, _name(log, part.rank, part.call), part.cause, part.link)
        own = found.setdefault(key, [0, 0])
        own[0] += 1
        own[1] += part.time
    return [[*key, count, _ns(time)] for key, (count, time) in sorted(found.items())]


def _matrix(log: RunLog) -> list[list[int]]:
    found: dict[tuple[int, int], list[int]] = {}
    for rank in log.ranks:
        for send in rank.sends:
            own = found.setdefault((send.rank, send.dest), [0, 0])
            own[0] += 1
            own[1] += send.bytes
    return [[*key, *own] for key, own in sorted(found.items())]


def _segment(one: Segment) -> list[Any]:
    peer = NO_PEER if one.peer is None else one.peer
    return [one.cause, one.rank, peer, one.call, _ns(one.begin), _ns(one.end), one.bytes, one.link]


def _timeline(log: RunLog, waits: Sequence[Part]) -> list[list[Any]]:
    rows: list[tuple[int, int, int, str, str]] = []
    for rank in log.ranks:
        rows += [(rank.rank, one.begin, one.end, "call", one.name) for one in rank.calls]
        rows += [(rank.rank, one.begin, one.end, "computation", "compute") for one in rank.computations]
    rows += [(one.rank, one.begin, one.end, "wait", one.cause) for one in waits]
    order: Callable[[tuple[int, int, int, str, str]], Any] = lambda row: (row[0], row[1], -row[2], row[3])  # noqa: E731
    return [
        [rank, kind, name, _ns(begin), _ns(end)] for rank, begin, end, kind, name in sorted(rows, key=order)
    ]


def _messages(log: RunLog) -> list[list[Any]]:
    return [
        [
            send.rank,
            send.dest,
            send.tag,
            send.context,
            send.bytes,
            send.protocol,
            _name(log, send.rank, send.call),
            _ns(send.begin),
            _ns(send.done),
            _ns(None if receive is None else receive.posted),
            _ns(None if receive is None else receive.done),
        ]
        for send, receive in messages_of(log)
    ]
