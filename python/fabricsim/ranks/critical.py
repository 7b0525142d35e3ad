"""Critical path: the chain of computations, calls and messages that ends last.

It is followed backwards from the last rank's end. A rank that works is on the path itself. A rank that waited until a
message came hands the path to the message, and it to the rank that sent it. Each part is a time of one cause; the parts
follow each other without gaps, so that they add up to the end of the run. Where the times are known for which packets
waited for links, those of the two hosts are parts of the message, with their link.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, replace

from fabricsim.ranks.causes import Turn, turns
from fabricsim.ranks.log import RankLog, Receive, RunLog, Wait
from fabricsim.ranks.queues import BUSY_INPUT, CONGESTED, FREE_LINK, Queues

COMPUTATION, CALLS, MESSAGES = "computation", "calls", "messages"
CAUSES = (COMPUTATION, CALLS, MESSAGES, CONGESTED, BUSY_INPUT, FREE_LINK)


@dataclass(frozen=True, slots=True)
class Segment:
    """A part of the path, picoseconds."""

    cause: str
    """`computation`, `calls` (work inside MPI), `messages` (between ranks), or why packets waited for a link."""
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
    link: str = ""
    """The link for which the message's packets waited, where that is the cause."""


def critical_path(log: RunLog, queues: Queues | None = None) -> list[Segment]:
    """Segments in order of time. Messages must be paired.

    Args:
        log: the record.
        queues: times for which packets waited for links, if they are known.
    """
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
    if queues is None:
        return found
    return [part for one in found for part in _in_fabric(log, one, queues)]


def _in_fabric(log: RunLog, one: Segment, queues: Queues) -> Iterator[Segment]:
    """A message, with the times in which its packets waited for links apart."""
    if one.peer is None:
        yield one
        return
    at = one.begin
    for queued in queues.within(log.ranks[one.rank].host, log.ranks[one.peer].host, one.begin, one.end):
        if queued.begin > at:
            yield replace(one, begin=at, end=queued.begin)
        yield replace(one, cause=queued.cause, begin=queued.begin, end=queued.end, link=queued.link)
        at = queued.end
    if one.end > at:
        yield replace(one, begin=at)


def shares(path: list[Segment]) -> dict[str, int]:
    """Picoseconds of each cause; of waits for links, where there are any."""
    found = dict.fromkeys(CAUSES, 0)
    for one in path:
        found[one.cause] += one.end - one.begin
    return {cause: time for cause, time in found.items() if time or cause in CAUSES[:3]}


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
