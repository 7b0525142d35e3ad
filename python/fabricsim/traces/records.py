"""GOAL schedules of messages that a run has recorded."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from fabricsim.errors import InputError, StoreError


class Record(NamedTuple):
    """A message at one of its ends. Times are in nanoseconds."""

    rank: int
    op: str
    """"send" or "recv"."""
    peer: int
    """The other rank."""
    bytes: int
    tag: int
    start: float
    """Time at which the send or the receive was started."""
    end: float
    """Time at which it was complete."""


def write_records(records: Iterable[Record], ranks: int, path: Path | str) -> None:
    """Writes what a run did as a GOAL schedule.

    An operation waits for the last one of its rank that had ended when it started, and for the start of the last one
    that had started since; a computation of the time between stands before it. So a replay on another network keeps the
    order of operations, which of them overlap, and the time between them.

    Args:
        records: messages of all ranks, in any order.
        ranks: number of ranks.
        path: the file, which is replaced.

    Raises:
        InputError: a record is not valid.
        StoreError: the file cannot be written.
    """
    everything: list[list[Record]] = [[] for _ in range(ranks)]
    for record in records:
        _check(record, ranks)
        everything[record.rank].append(record)
    lines = [f"num_ranks {ranks}"]
    for rank, found in enumerate(everything):
        lines += ["", f"rank {rank} {{", *_rank(sorted(found, key=lambda one: one.start)), "}"]
    try:
        Path(path).write_text("\n".join(lines) + "\n", encoding="utf-8")
    except OSError as error:
        raise StoreError(f"{path}: it cannot be written: {error.strerror}") from error


def _check(record: Record, ranks: int) -> None:
    for name in ("rank", "peer"):
        value = getattr(record, name)
        if not 0 <= value < ranks:
            raise InputError(f"{record}: {name} = {value}: must be 0 to {ranks - 1}")
    if record.op not in ("send", "recv"):
        raise InputError(f'{record}: op = {record.op!r}: must be "send" or "recv"')
    if record.bytes < 0 or record.tag < 0:
        raise InputError(f"{record}: bytes and tag must be 0 or more")
    if not 0 <= record.start <= record.end < float("inf"):
        raise InputError(f"{record}: start and end must be times, the end not before the start")


def _rank(records: Sequence[Record]) -> list[str]:
    """Lines of a rank; `records` are in order of their start."""
    order = sorted(range(len(records)), key=lambda number: records[number].end)
    ends = [records[number].end for number in order]
    lines = []
    for number, record in enumerate(records):
        ended = bisect_right(ends, record.start)
        # Operations of no duration end when they start: only earlier ones count.
        before = next((order[at] for at in range(ended - 1, -1, -1) if order[at] < number), None)
        since = 0.0 if before is None else records[before].end
        waits = [] if before is None else [f"requires m{before}"]
        if number and records[number - 1].start >= since and number - 1 != before:
            since = records[number - 1].start
            waits.append(f"irequires m{number - 1}")
        label = f"m{number}"
        gap = round(record.start - since)
        if gap:
            lines.append(f"c{number}: calc {gap}")
            lines += [f"c{number} {wait}" for wait in waits]
            waits = [f"requires c{number}"]
        direction = "to" if record.op == "send" else "from"
        lines.append(f"{label}: {record.op} {record.bytes}b {direction} {record.peer} tag {record.tag}")
        lines += [f"{label} {wait}" for wait in waits]
    return lines
