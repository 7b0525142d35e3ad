"""Critical path: the chain of computations, calls and messages that ends last.

It is followed backwards from the last rank's end. A rank that works is on the path itself. A rank that waited until a
message came hands the path to the message, and it to the rank that sent it. Each part is a time of one cause; the parts
follow each other without gaps, so that they add up to the end of the run.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass

from fabricsim.ranks.causes import Turn, turns
from fabricsim.ranks.log import RankLog, Receive, RunLog, Wait

COMPUTATION, CALLS, MESSAGES = "computation", "calls", "messages"
CAUSES = (COMPUTATION, CALLS, MESSAGES)


@dataclass(frozen=True, slots=True)
class Segment:
    """A part of the path, picoseconds."""

    cause: str
    """`computation`, `calls` (work inside MPI) or `messages` (between ranks)."""
    rank: int
    """Rank that works; of a message the one that sent it."""
    peer: int | None
    """Of a message the other rank."""
    call: str
    """Call of the rank, or that which waits for the message; empty for a computation."""
    begin: int
    end: int
    bytes: int = 0
    """Of a message."""


def critical_path(log: RunLog) -> list[Segment]:
    """Segments in order of time. Messages must be paired."""
    last = max(log.ranks, key=lambda one: one.end, default=None)
    if last is None:
        return []
    found: list[Segment] = []
    rank, time, step = last, last.end, len(last.steps) + 1
    while True:
        hand_over = _last_wait(log, rank, time, step)
        begin = 0 if hand_over is None else hand_over[0].end
        found.extend(reversed(list(_local(rank, begin, time))))
        if hand_over is None:
            break
        wait, turn = hand_over
        at = min(turn.returns, begin)
        if begin > at:
            found.append(_message(wait, _call(rank, wait.call), at))
        rank, time, step = log.ranks[turn.rank], at, turn.step
    found.reverse()
    return found


def shares(path: list[Segment]) -> dict[str, int]:
    """Picoseconds of each cause."""
    found = dict.fromkeys(CAUSES, 0)
    for one in path:
        found[one.cause] += one.end - one.begin
    return found


def _last_wait(log: RunLog, rank: RankLog, time: int, step: int) -> tuple[Wait, Turn] | None:
    """The last wait before a step that a message ended, and the event from which that message went on."""
    for number in range(bisect_left(rank.waits, step, key=lambda wait: wait.step) - 1, -1, -1):
        wait = rank.waits[number]
        if wait.end > time or wait.ended_by is None:
            continue
        events = turns(log, wait.ended_by, wait.end)
        if events:
            return wait, max(events, key=lambda one: one.time)
    return None


def _message(wait: Wait, call: str, begin: int) -> Segment:
    operation = wait.ended_by
    assert operation is not None
    if isinstance(operation, Receive):
        return Segment(MESSAGES, operation.source, operation.rank, call, begin, wait.end, operation.bytes)
    return Segment(MESSAGES, operation.rank, operation.dest, call, begin, wait.end, operation.bytes)


def _local(rank: RankLog, begin: int, end: int) -> Iterator[Segment]:
    """Work of a rank in a time, in order: its computations, and the calls between them."""
    at = begin
    first = bisect_left(rank.computations, begin, key=lambda one: one.end)
    for one in rank.computations[first:]:
        if one.begin >= end:
            break
        start, stop = max(one.begin, begin), min(one.end, end)
        if stop <= start:
            continue
        yield from _in_calls(rank, at, start)
        yield Segment(COMPUTATION, rank.rank, None, "", start, stop)
        at = stop
    yield from _in_calls(rank, at, end)


def _in_calls(rank: RankLog, begin: int, end: int) -> Iterator[Segment]:
    number = bisect_left(rank.calls, begin, key=lambda call: call.end)
    while begin < end:
        while number < len(rank.calls) and rank.calls[number].end <= begin:
            number += 1
        known = number < len(rank.calls)
        stop = min(end, rank.calls[number].end) if known else end
        yield Segment(CALLS, rank.rank, None, rank.calls[number].name if known else "", begin, stop)
        begin = stop


def _call(rank: RankLog, number: int) -> str:
    return rank.calls[number].name if number < len(rank.calls) else ""
