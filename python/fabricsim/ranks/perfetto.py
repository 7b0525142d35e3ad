"""Trace of a run of ranks for Perfetto (ui.perfetto.dev) and Chrome, in the Trace Event Format (JSON).

Each rank is a process with two tracks: its calls and computations, and its waits. Messages are arrows from the call
that sends to the call that finds the message complete. On a fabric each operation of verbs is an instant on a third
track. Where the run recorded packets, the links are a process with a track each, and arrows lead from the call in which
an operation was posted along the links of each of its packets.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from fabricsim.lazy import pandas as pd
from fabricsim.packets.events import write_events
from fabricsim.ranks.causes import Part, parts
from fabricsim.ranks.log import RunLog
from fabricsim.ranks.messages import messages_of
from fabricsim.ranks.packets import packet_events

_CALLS, _WAITS, _VERBS = 1, 2, 3
_PS_IN_US = 1_000_000


def write_perfetto(
    log: RunLog,
    path: Path | str,
    operations: Sequence[Mapping[str, Any]] | None = None,
    *,
    waits: Iterable[Part] | None = None,
    hops: pd.DataFrame | None = None,
    force: bool = False,
) -> None:
    """Writes a run as a JSON trace; times in it are microseconds. Messages must be paired.

    Args:
        log: record of a complete run.
        path: the file.
        operations: operations of verbs, as of `FabricNetwork.log`.
        waits: waits by cause, if they are known already.
        hops: table `packet_hops` of the fabric.
        force: True if a file that exists is replaced.

    Raises:
        InputError: the file exists.
        StoreError: the file cannot be written.
    """
    known = parts(log) if waits is None else waits
    events = [
        *_names(log, operations is not None),
        *_times(log, known),
        *_messages(log),
        *_verbs(operations or ()),
        *(() if hops is None else packet_events(log, operations or (), hops)),
    ]
    write_events(events, path, force=force)


def _names(log: RunLog, has_verbs: bool) -> Iterator[dict[str, Any]]:
    tracks = {_CALLS: "calls", _WAITS: "waits", **({_VERBS: "verbs"} if has_verbs else {})}
    for rank in log.ranks:
        common = {"ph": "M", "pid": rank.rank}
        yield {**common, "name": "process_name", "args": {"name": f"rank {rank.rank} on {rank.host}"}}
        yield {**common, "name": "process_sort_index", "args": {"sort_index": rank.rank}}
        for track, name in tracks.items():
            yield {**common, "tid": track, "name": "thread_name", "args": {"name": name}}


def _times(log: RunLog, waits: Iterable[Part]) -> Iterator[dict[str, Any]]:
    for rank in log.ranks:
        for call in rank.calls:
            yield _slice(rank.rank, _CALLS, call.name, "call", call.begin, call.end)
        for one in rank.computations:
            yield _slice(rank.rank, _CALLS, "compute", "computation", one.begin, one.end)
    for part in waits:
        about = {
            **({} if part.peer is None else {"peer": part.peer}),
            **({"link": part.link} if part.link else {}),
        }
        yield {
            **_slice(part.rank, _WAITS, part.cause, "wait", part.begin, part.end),
            **({"args": about} if about else {}),
        }


def _slice(rank: int, track: int, name: str, kind: str, begin: int, end: int) -> dict[str, Any]:
    times = {"ts": begin / _PS_IN_US, "dur": (end - begin) / _PS_IN_US}
    return {"ph": "X", "pid": rank, "tid": track, "name": name, "cat": kind, **times}


def _messages(log: RunLog) -> Iterator[dict[str, Any]]:
    for number, (send, receive) in enumerate(messages_of(log)):
        if receive is None or receive.done is None:
            continue
        common = {"cat": "message", "id": number, "name": f"{send.bytes} B", "tid": _CALLS}
        what = {"tag": send.tag, "context": send.context, "bytes": send.bytes, "protocol": send.protocol}
        yield {**common, "ph": "s", "pid": send.rank, "ts": send.begin / _PS_IN_US, "args": what}
        yield {**common, "ph": "f", "bp": "e", "pid": send.dest, "ts": receive.done / _PS_IN_US}


def _verbs(operations: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    for one in operations:
        yield {
            "ph": "i",
            "s": "t",
            "pid": one["from"],
            "tid": _VERBS,
            "ts": one["time_ns"] / 1000,
            "name": one["op"],
            "cat": "verbs",
            "args": {"to": one["to"], "bytes": one["bytes"], "header": one["header"]},
        }
