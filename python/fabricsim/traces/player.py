"""Replay of a trace on any network of `fabricsim.mpi`: each rank is a program that starts its operations."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Sequence
from typing import Any

from fabricsim.errors import InputError
from fabricsim.programs import ProgramsBlockedError
from fabricsim.ranks import Recorder, RunLog
from fabricsim.traces.jobs import Jobs
from fabricsim.traces.trace import Replay, Trace

_SEND, _RECV = 1, 2
_STANDARD = 0
_COLLECTIVE_TAGS = 1 << 31
"""Tags from here on belong to the messages of collective operations, which have a context of their own."""
_PS_IN_NS = 1000
LONGEST = 1 << 31
"""Longest message of a rank, in bytes: that of the simulated adapters."""

Channel = tuple[int, int, int, int]
"""Sender, receiver, context and tag of messages, which are received in the order in which they are sent."""

Operations = tuple[Sequence[tuple[int, int, int, int]], Sequence[Sequence[int]], Sequence[Sequence[int]]]
"""Kind, peer, tag and size of each operation; the operations that wait for its end; those that wait for its start."""


class Player:
    """One rank of a trace.

    An operation starts when those that it waits for have started or ended; operations that may start at the same time
    do so in order of kind: sends, receives, computations. A computation makes no progress with messages.
    """

    def __init__(self, rank: int, operations: Operations, endpoint: Any, memory: memoryview) -> None:
        self.rank = rank
        self.done = 0
        self.end_ps = 0
        self._all, self._after_end, self._after_start = operations
        self._endpoint = endpoint
        self._memory = memory
        self._missing = [0] * len(self._all)
        for lists in (self._after_end, self._after_start):
            for numbers in lists:
                for number in numbers:
                    self._missing[number] += 1
        first = (number for number, count in enumerate(self._missing) if count == 0)
        self._ready: deque[int] = deque(sorted(first, key=self._kind))
        self._pending: dict[int, int] = {}
        self._posted: dict[int, int] = {}
        self.received: Counter[Channel] = Counter()
        """Messages that it has received."""

    def _kind(self, number: int) -> int:
        return self._all[number][0]

    def __call__(self) -> None:
        """The program of the rank."""
        while self._ready or self._pending:
            while self._ready:
                self._start(self._ready.popleft())
            if self._pending:
                self._wait()
        self.end_ps = self._endpoint.now()
        self._endpoint.close("the end of the trace")

    def _start(self, number: int) -> None:
        kind, peer, tag, size = self._all[number]
        call = self._describe(number)
        self._posted[number] = self._endpoint.now()
        if kind not in (_SEND, _RECV):
            self._endpoint.compute(size * _PS_IN_NS, call)
            self._release([*self._after_start[number], *self._after_end[number]])
            self.done += 1
            return
        context, tag = _context_of(tag)
        buffer = self._memory[:size]
        if kind == _SEND:
            request = self._endpoint.isend(buffer, peer, tag, context, _STANDARD, call)
        else:
            request = self._endpoint.irecv(buffer, peer, tag, context, call)
        self._pending[request] = number
        self._release(self._after_start[number])

    def _wait(self) -> None:
        """Waits until an operation ends, and releases those that wait for its end."""
        requests = list(self._pending)
        call = self._describe(self._pending[requests[0]])
        if len(requests) > 1:
            call = f"one of {len(requests)} operations, the first is {call}"
        self._endpoint.wait(requests, call)
        for request, arrival in zip(requests, self._endpoint.test(requests, call), strict=True):
            if arrival is not None:
                self._endpoint.free(request)
                self.done += 1
                number = self._pending.pop(request)
                kind, _, tag, _ = self._all[number]
                if kind == _RECV:
                    self.received[arrival.source, self.rank, _context_of(tag)[0], arrival.tag] += 1
                self._release(self._after_end[number])

    def _release(self, numbers: Sequence[int]) -> None:
        ready = []
        for number in numbers:
            self._missing[number] -= 1
            if self._missing[number] == 0:
                ready.append(number)
        self._ready.extend(sorted(ready, key=self._kind))

    def _describe(self, number: int) -> str:
        kind, peer, tag, size = self._all[number]
        if kind == _SEND:
            return f"send of {size} B to {peer} tag {tag} (operation {number})"
        if kind == _RECV:
            return f"recv of {size} B from {peer} tag {tag} (operation {number})"
        return f"calc {size} (operation {number})"

    def _channel(self, number: int) -> Channel:
        """That of a send."""
        _, peer, tag, _ = self._all[number]
        return (self.rank, peer, *_context_of(tag))

    def _left(self, received: Counter[Channel]) -> set[int]:
        """Sends whose messages have not been received: of each channel the last ones. Small ones have ended."""
        sends = [number for number in self._posted if self._kind(number) == _SEND]
        counts = Counter(map(self._channel, sends))
        left = {channel: count - received[channel] for channel, count in counts.items()}
        found = set()
        for number in reversed(sends):
            channel = self._channel(number)
            if left[channel] > 0:
                left[channel] -= 1
                found.add(number)
        return found

    def unmatched(self, received: Counter[Channel]) -> list[dict[str, Any]]:
        """Messages that have started and not ended, or have not been `received` by anyone."""

        def known(value: int) -> int | None:
            return None if value < 0 else value

        found = []
        for number in sorted({*self._pending.values(), *self._left(received)}):
            kind, peer, tag, size = self._all[number]
            found.append(
                {
                    "rank": self.rank,
                    "kind": "send" if kind == _SEND else "recv",
                    "peer": known(peer),
                    "tag": known(tag),
                    "bytes": size,
                    "operation": number,
                    "time_ns": self._posted[number] / _PS_IN_NS,
                }
            )
        return found

    def progress(self) -> dict[str, Any] | None:
        """How far the rank got; None if it ended."""
        if self.done == len(self._all):
            return None
        end = max(self._posted.values(), default=0) / _PS_IN_NS
        return {"rank": self.rank, "done": self.done, "operations": len(self._all), "end_ns": end}


def play(trace: Trace | Jobs, network: Any, name: str, log: RunLog | None = None) -> Replay:
    """Replays a trace on a network of `fabricsim.mpi`, such as its `FabricNetwork`.

    Messages have the sizes of the trace and contents without meaning. `end_ns` is the time at which the last rank has
    ended its last operation. A replay that cannot go on returns what has not ended.

    Args:
        trace: the trace, or several.
        network: the network; it has a place for each rank.
        name: name of a fabric in the result; a LogGP network is described by its parameters.
        log: takes a record of the ranks.

    Raises:
        InputError: a message is longer than `LONGEST`.
    """
    everything = [trace.operations(rank) for rank in range(trace.ranks)]
    memory = memoryview(bytearray(_longest([operations for operations, _, _ in everything])))
    if log is not None and hasattr(network, "keep_log"):
        network.keep_log()
    scheduler, endpoints = network.open([f"rank {rank}" for rank in range(trace.ranks)])
    if log is not None:
        endpoints = [Recorder(one, own) for one, own in zip(endpoints, log.ranks, strict=True)]
    players = [
        Player(rank, operations, endpoint, memory)
        for rank, (operations, endpoint) in enumerate(zip(everything, endpoints, strict=True))
    ]
    stopped = _run(scheduler.run, players)
    network.finish()
    received: Counter[Channel] = Counter()
    for player in players:
        received += player.received
    progress = [one for player in players if (one := player.progress()) is not None]
    ends = [player.end_ps / _PS_IN_NS for player in players]
    for one in progress:
        ends[one["rank"]] = one["end_ns"]
    return Replay(
        ranks=trace.ranks,
        events=trace.events,
        end_ns=max(ends),
        ends_ns=ends,
        # Of operations in progress at the end of the run it is not known whether they would have had a match.
        unmatched=[one for player in players for one in player.unmatched(received)]
        if stopped is None
        else [],
        unfinished=progress,
        network=network.described() if hasattr(network, "described") else {"fabric": name},
        stopped=stopped,
    )


def _context_of(tag: int) -> tuple[int, int]:
    """Context and tag in it."""
    return (1, tag - _COLLECTIVE_TAGS) if tag >= _COLLECTIVE_TAGS else (0, tag)


def _longest(ranks: Sequence[Sequence[tuple[int, int, int, int]]]) -> int:
    """Bytes of the longest message."""
    longest = 0
    for rank, operations in enumerate(ranks):
        for number, (kind, _, _, size) in enumerate(operations):
            if kind not in (_SEND, _RECV):
                continue
            if size > LONGEST:
                raise InputError(
                    f"rank {rank}, operation {number}: {size} B: a message of a rank has at most {LONGEST} B"
                )
            longest = max(longest, size)
    return longest


def _run(run: Callable[[Sequence[Player]], Any], players: Sequence[Player]) -> str | None:
    """Runs the ranks until all have ended, or none can go on, or the run ends: returns the reason for that."""
    try:
        run(players)
    except ProgramsBlockedError as error:
        if all(player.progress() is None for player in players):
            raise
        return error.ended
    return None
