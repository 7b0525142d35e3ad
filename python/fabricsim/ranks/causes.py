"""Causes of waits: for whom a rank waits, and for what.

| cause | wait of | until |
|---|---|---|
| late sender | a receive | the sender starts the send; if the transfer needs it, it is back in MPI |
| late receiver | a send | the receiver posts the receive, and is in MPI |
| no credits | both | the message has credits, and a place in the send queue |
| congested link, busy input, free link | both | after that, while a packet of the two hosts waits for a link |
| transfer | both | the end, for the rest |
| polling | tests and probes in vain | the end |
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from fabricsim.ranks.log import RankLog, Receive, RunLog, Send, Wait
from fabricsim.ranks.queues import BUSY_INPUT, CONGESTED, FREE_LINK, Queues

LATE_SENDER, LATE_RECEIVER, TRANSFER, POLLING = "late sender", "late receiver", "transfer", "polling"
NO_CREDITS = "no credits"
CAUSES = (LATE_SENDER, LATE_RECEIVER, NO_CREDITS, CONGESTED, BUSY_INPUT, FREE_LINK, TRANSFER, POLLING)
_NEED_THE_SENDER = ("put", "send")
"""Protocols in which the sender answers the receiver: it must be in MPI."""
_NEED_THE_RECEIVER = ("get", *_NEED_THE_SENDER)
"""Protocols in which nothing is transferred before the receiver answers."""


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a wait with one cause, picoseconds."""

    rank: int
    call: int
    """Index of the call."""
    peer: int | None
    """Rank for which it waits; None of a poll in vain."""
    cause: str
    begin: int
    end: int
    link: str = ""
    """The link for which a packet waited, where that is the cause."""

    @property
    def time(self) -> int:
        """Duration."""
        return self.end - self.begin


@dataclass(frozen=True, slots=True)
class Turn:
    """An event without which a message could not go on."""

    time: int
    rank: int
    step: int
    """Number of steps of the rank up to the event."""
    returns: int
    """Time at which the rank goes on: of the start of a send its return."""


def parts(log: RunLog, queues: Queues | None = None) -> Iterator[Part]:
    """Waits of all ranks by cause, in order for each rank. Messages must be paired.

    Args:
        log: the record.
        queues: times for which packets waited for links, if they are known.
    """
    for rank in log.ranks:
        for wait in rank.waits:
            for part in _split(log, wait, rank.rank):
                yield from (
                    [part] if queues is None or part.cause != TRANSFER else _in_fabric(log, part, queues)
                )


def _in_fabric(log: RunLog, part: Part, queues: Queues) -> Iterator[Part]:
    """A transfer, with the times in which its packets waited for links apart."""
    assert part.peer is not None
    hosts = (log.ranks[part.rank].host, log.ranks[part.peer].host)
    at = part.begin
    for one in queues.within(*hosts, part.begin, part.end):
        if one.begin > at:
            yield Part(part.rank, part.call, part.peer, TRANSFER, at, one.begin)
        yield Part(part.rank, part.call, part.peer, one.cause, one.begin, one.end, one.link)
        at = one.end
    if part.end > at:
        yield Part(part.rank, part.call, part.peer, TRANSFER, at, part.end)


def _split(log: RunLog, wait: Wait, rank: int) -> Iterator[Part]:
    begin, end, operation = wait.begin, wait.end, wait.ended_by
    if operation is None:
        yield Part(rank, wait.call, None, POLLING, begin, end)
        return
    if isinstance(operation, Receive):
        peer, cause = operation.source, LATE_SENDER
    else:
        peer, cause = operation.dest, LATE_RECEIVER
    late = max((one.time for one in turns(log, operation, end) if one.rank == peer), default=begin)
    held = _held_until(operation)
    if isinstance(operation, Receive):
        steps = [(cause, min(late, held) if held else late), (NO_CREDITS, held)]
    else:
        steps = [(NO_CREDITS, held), (cause, late)]
    at = begin
    for why, to in [*steps, (TRANSFER, end)]:
        if min(to, end) > at:
            yield Part(rank, wait.call, peer, why, at, min(to, end))
            at = min(to, end)


def _held_until(operation: Send | Receive) -> int:
    """Time until which a message waited for credits; 0 if it did not."""
    send = operation.send if isinstance(operation, Receive) else operation
    return send.posted or 0 if send is not None and send.is_held else 0


def turns(log: RunLog, operation: Send | Receive, end: int) -> list[Turn]:
    """Events that an operation's end needed: start of the send, post of the receive, returns to MPI.

    An eager receive needs the start of its send only. A transfer by rendezvous, and a send that waits, need the receive
    and its rank in MPI: a rank makes progress only there.
    """
    is_receive = isinstance(operation, Receive)
    send = operation.send if isinstance(operation, Receive) else operation
    receive = operation if isinstance(operation, Receive) else operation.receive
    if send is None:
        return []
    found = [Turn(send.begin, send.rank, send.step + 1, send.end)]
    if send.is_held:
        found += _end_of_hold(log, send)
    if send.protocol in _NEED_THE_SENDER and send.rank != operation.rank:
        found += _last_return(log.ranks[send.rank], send.begin, send.step, end, send.done)
    if receive is None or (is_receive and send.protocol not in _NEED_THE_RECEIVER):
        return found
    found.append(Turn(receive.posted, receive.rank, receive.step + 1, receive.posted))
    found += _last_return(log.ranks[receive.rank], receive.posted, receive.step, end, receive.done)
    return found


def _end_of_hold(log: RunLog, send: Send) -> list[Turn]:
    """Why a message that was held could be posted: the receiver returned credits, or the sender came back to MPI."""
    assert send.posted is not None
    returned = _last_return(log.ranks[send.rank], send.end, send.step, send.posted, None)
    if send.credited is None or any(one.time > send.credited for one in returned):
        return returned
    return [Turn(send.credited, send.dest, len(log.ranks[send.dest].steps) + 1, send.credited)]


def _last_return(rank: RankLog, after: int, step: int, end: int, done: int | None) -> list[Turn]:
    """The end of the rank's last computation between the start of an operation and its end."""
    before = end if done is None else min(end, done)
    for one in reversed(rank.computations):
        if one.end <= after:
            break
        if one.end <= before and one.step > step:
            return [Turn(one.end, rank.rank, one.step + 1, one.end)]
    return []
