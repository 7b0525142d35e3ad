"""Trace of a run of ranks for Paraver: NAME.prv with the records, NAME.pcf with labels, NAME.row with names.

Times are whole nanoseconds. Types and values of events, and states, are those of Extrae (BSC), so that Paraver's
configurations for MPI apply. A rank is a task with one thread. Where the run recorded packets, the links are tasks of
a second application, and lines lead from calls to packets: see `paraver_links`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from fabricsim.errors import InputError, StoreError
from fabricsim.lazy import pandas as pd
from fabricsim.ranks.causes import LATE_RECEIVER, LATE_SENDER, NO_CREDITS, POLLING, TRANSFER, Part, parts
from fabricsim.ranks.log import RankLog, RunLog
from fabricsim.ranks.messages import messages_of
from fabricsim.ranks.paraver_links import NODE, Links

POINT_TO_POINT, COLLECTIVE, OTHER = 50000001, 50000002, 50000003
_TITLES = {POINT_TO_POINT: "MPI Point-to-point", COLLECTIVE: "MPI Collective Comm", OTHER: "MPI Other"}
_POINT_TO_POINT = """
Send=1 Recv=2 Isend=3 Irecv=4 Wait=5 Waitall=6 Bsend=33 Ssend=34 Rsend=35 Ibsend=36 Issend=37 Irsend=38
Test=39 Cancel=40 Sendrecv=41 Sendrecv_replace=42 Waitany=59 Waitsome=60 Probe=61 Iprobe=62 Start=123
Startall=124 Testall=125 Testany=126 Testsome=128 Mprobe=190 Improbe=191 Get_status=153
"""
_COLLECTIVE = """
Bcast=7 Barrier=8 Reduce=9 Allreduce=10 Alltoall=11 Alltoallv=12 Gather=13 Gatherv=14 Scatter=15 Scatterv=16
Allgather=17 Allgatherv=18 Scan=30 Reduce_scatter=80 Ireduce=154 Iallreduce=155 Ibarrier=156 Ibcast=157
Ialltoall=158 Ialltoallv=159 Iallgather=160 Iallgatherv=161 Igather=162 Igatherv=163 Iscatter=164
Iscatterv=165 Ireduce_scatter=166 Iscan=167 Reduce_scatter_block=168 Ireduce_scatter_block=169 Alltoallw=170
Ialltoallw=171 Neighbor_allgather=174 Ineighbor_allgather=175 Neighbor_allgatherv=176 Ineighbor_allgatherv=177
Neighbor_alltoall=178 Ineighbor_alltoall=179 Neighbor_alltoallv=180 Ineighbor_alltoallv=181
Neighbor_alltoallw=182 Ineighbor_alltoallw=183
"""
"""Extrae's values of calls."""


def _values(text: str) -> dict[str, int]:
    return {name: int(value) for name, _, value in (one.partition("=") for one in text.split())}


_VALUES = {
    POINT_TO_POINT: _values(_POINT_TO_POINT),
    COLLECTIVE: _values(_COLLECTIVE),
    OTHER: {"Finalize": 32},
}
_FIRST_OWN = 1000
"""Value of the first call that Extrae has no value for."""
_STATES = {
    0: ("Idle", (117, 195, 255)),
    1: ("Running", (0, 0, 255)),
    3: ("Waiting a message", (255, 0, 0)),
    4: ("Blocking Send", (255, 0, 174)),
    6: ("Test/Probe", (0, 255, 0)),
    15: ("Others", (255, 255, 174)),
}
_RUNNING, _IN_CALL, _IDLE = 1, 15, 0
_PS_IN_NS = 1000


def write_paraver(
    log: RunLog,
    path: Path | str,
    operations: Sequence[Mapping[str, Any]] | None = None,
    *,
    hops: pd.DataFrame | None = None,
    force: bool = False,
) -> list[Path]:
    """Writes the three files of a trace. Messages must be paired.

    Args:
        log: record of a complete run.
        path: NAME.prv.
        operations: operations of verbs, as of `FabricNetwork.log`.
        hops: table `packet_hops` of the fabric.
        force: True if files that exist are replaced.

    Returns:
        The files.

    Raises:
        InputError: the name does not end in .prv, or a file exists.
        StoreError: a file cannot be written.
    """
    target = Path(path)
    if target.suffix != ".prv":
        raise InputError(f"{path}: the name of a trace of Paraver must end in .prv")
    kinds = _Kinds(log)
    links = None if hops is None else Links(log, operations or (), hops)
    texts = {".prv": _records(log, kinds, links), ".pcf": _labels(kinds), ".row": _rows(log, links)}
    files = [target.with_suffix(suffix) for suffix in texts]
    for file in files:
        if file.exists() and not force:
            raise InputError(f"{file}: this exists; choose another file, or replace it with --force")
    for file, lines in zip(files, texts.values(), strict=True):
        try:
            file.write_text("\n".join(lines) + "\n", encoding="utf-8")
        except OSError as error:
            raise StoreError(f"{file}: it cannot be written: {error.strerror}") from error
    return files


class _Kinds:
    """Type and value of each call's events. Calls on objects (`send`) have those of their capital forms."""

    def __init__(self, log: RunLog) -> None:
        known = {name: (kind, value) for kind, values in _VALUES.items() for name, value in values.items()}
        self.of: dict[str, tuple[int, int]] = {}
        own = _FIRST_OWN
        for name in sorted({call.name for rank in log.ranks for call in rank.calls}):
            found = known.get(name) or known.get(name.capitalize())
            if found is None:
                found, own = (OTHER, own), own + 1
            self.of[name] = found

    def values(self, kind: int) -> dict[int, str]:
        """Labels of the values of a type that occur."""
        found: dict[int, str] = {}
        for name, (one, value) in self.of.items():
            if one == kind:
                found.setdefault(value, f"MPI_{name.capitalize()}")
        return dict(sorted(found.items()))


def _head(log: RunLog, links: Links | None) -> str:
    """Processors of each node, and node of each task."""
    ranks, hosts = len(log.ranks), _hosts(log)
    on_node = [0] * len(hosts)
    for rank in log.ranks:
        on_node[hosts[rank.host]] += 1
    tasks = ",".join(f"1:{hosts[rank.host] + 1}" for rank in log.ranks)
    applications = [f"{ranks}({tasks}),0"]
    if links is not None:
        on_node.append(len(links.names))
        applications.append(links.application(len(on_node)))
    processors = f"{len(on_node)}({','.join(map(str, on_node))})"
    return ":".join(
        [
            f"#Paraver (01/01/2000 at 00:00):{_ns(log.end)}_ns",
            processors,
            str(len(applications)),
            *applications,
        ]
    )


def _records(log: RunLog, kinds: _Kinds, links: Links | None) -> Iterator[str]:
    yield _head(log, links)
    found: list[tuple[int, int, str]] = []
    waits: dict[int, list[Part]] = defaultdict(list)
    for part in parts(log):
        waits[part.rank].append(part)
    for rank in log.ranks:
        place = _place(rank.rank)
        for begin, end, state in _states(rank, waits[rank.rank], log.end):
            found.append((begin, 0, f"1:{place}:{begin}:{end}:{state}"))
        for call in rank.calls:
            kind, value = kinds.of[call.name]
            begin, end = _ns(call.begin), _ns(call.end)
            found.append((begin, 2, f"2:{place}:{begin}:{kind}:{value}"))
            # A call ends before the next one begins, and one of no duration after its own begin.
            found.append((end, 1 if end > begin else 2, f"2:{place}:{end}:{kind}:0"))
    for send, receive in messages_of(log):
        if receive is None or receive.done is None:
            continue
        begin, end = _ns(send.begin), _ns(receive.done)
        sender = f"{_place(send.rank)}:{begin}:{begin}"
        receiver = f"{_place(send.dest)}:{_ns(receive.posted)}:{end}"
        found.append((begin, 3, f"3:{sender}:{receiver}:{send.bytes}:{send.tag}"))
    if links is not None:
        found.extend(links.records(_ns(log.end)))
    found.sort(key=lambda one: one[:2])
    yield from (line for _, _, line in found)


def _place(rank: int) -> str:
    """Processor, application, task and thread of a rank; all begin at 1."""
    return f"{rank + 1}:1:{rank + 1}:1"


def _states(rank: RankLog, waits: list[Part], end_of_run: int) -> Iterator[tuple[int, int, int]]:
    """Begin, end and state of a rank, without gaps, in nanoseconds."""
    changes: list[tuple[int, int, int]] = [(call.begin, call.end, _IN_CALL) for call in rank.calls]
    changes += [(one.begin, one.end, _RUNNING) for one in rank.computations]
    changes += [(one.begin, one.end, _STATE_OF[one.cause]) for one in waits]
    # What is inside a call divides it: the shorter interval is the one that counts.
    changes.sort(key=lambda one: (one[0], -one[1]))
    at, pending = 0, [(end_of_run, _IDLE)]
    for begin, end, state in changes:
        while len(pending) > 1 and pending[-1][0] <= begin:
            until, old = pending.pop()
            yield from _interval(at, until, old)
            at = max(at, until)
        yield from _interval(at, begin, pending[-1][1])
        at = max(at, begin)
        pending.append((end, state))
    while pending:
        until, old = pending.pop()
        yield from _interval(at, until, old)
        at = max(at, until)


_STATE_OF = {LATE_SENDER: 3, TRANSFER: 3, LATE_RECEIVER: 4, NO_CREDITS: 4, POLLING: 6}


def _interval(begin: int, end: int, state: int) -> Iterator[tuple[int, int, int]]:
    if _ns(end) > _ns(begin):
        yield _ns(begin), _ns(end), state


def _ns(time: int) -> int:
    return round(time / _PS_IN_NS)


def _hosts(log: RunLog) -> dict[str, int]:
    return {name: number for number, name in enumerate(dict.fromkeys(rank.host for rank in log.ranks))}


def _labels(kinds: _Kinds) -> Iterable[str]:
    yield from ("DEFAULT_OPTIONS", "", "LEVEL               THREAD", "UNITS               NANOSEC", "")
    yield "STATES"
    yield from (f"{value}    {name}" for value, (name, _) in _STATES.items())
    yield from ("", "STATES_COLOR")
    for value, (_, (red, green, blue)) in _STATES.items():
        yield f"{value}    {{{red},{green},{blue}}}"
    for kind, title in _TITLES.items():
        values = kinds.values(kind)
        if values:
            yield from ("", "EVENT_TYPE", f"9    {kind}    {title}", "VALUES")
            yield from (f"{value}    {name}" for value, name in values.items())
            yield "0    Outside MPI"


def _rows(log: RunLog, links: Links | None) -> Iterable[str]:
    names = [] if links is None else links.names
    nodes = [*_hosts(log), *([NODE] if names else [])]
    threads = [f"THREAD 1.{rank.rank + 1}.1" for rank in log.ranks] + names
    yield f"LEVEL CPU SIZE {len(threads)}"
    yield from (f"{rank.rank + 1}.{rank.host}" for rank in log.ranks)
    yield from (f"{len(log.ranks) + number}.{name}" for number, name in enumerate(names, 1))
    yield from ("", f"LEVEL NODE SIZE {len(nodes)}", *nodes)
    yield from ("", f"LEVEL THREAD SIZE {len(threads)}", *threads)
