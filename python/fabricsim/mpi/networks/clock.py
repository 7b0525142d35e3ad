"""A clock for programs without a fabric: what `fabricsim.programs.Scheduler` requires of a run of the engine."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from typing import Any

_DONE, _BLOCKED, _POLLING = -1, -2, -3
"""Steps that are no program, as of the engine."""

_ENDED, _WAITS, _SLEEPS, _POLLS = range(4)


class Clock:
    """Simulated time, events, and the order of programs.

    At one time events are first, in order of their creation, then programs in order of their number.

    Args:
        programs: their number.
        polling_limit: picoseconds for which programs may poll in vain while nothing is in progress.
    """

    def __init__(self, programs: int, polling_limit: int = 100_000_000_000) -> None:
        self.time = 0
        """Simulated time in picoseconds."""
        self._patience = polling_limit
        self._active = 0
        """Time of the last event or of the end of a sleep."""
        self._created = 0
        self._events = 0
        self._sleepers = 0
        self._left = programs
        self._state = [_WAITS] * programs
        self._turn = [0] * programs
        """An entry of the queue is valid if it has the program's number of waits."""
        self._queue: list[tuple[int, int, int, Any]] = [(0, 1, number, 0) for number in range(programs)]

    def now(self) -> int:
        """Simulated time in picoseconds."""
        return self.time

    def at(self, time: int, action: Callable[[], None]) -> None:
        """An event: calls `action` at a time, before programs go on."""
        self._created += 1
        self._events += 1
        heapq.heappush(self._queue, (time, 0, self._created, action))

    def next(self) -> int:
        """Advances to the next program that can go on and returns its number; below 0: none."""
        queue = self._queue
        while queue:
            time, kind, number, what = heapq.heappop(queue)
            if kind == 0:
                self.time = self._active = time
                self._events -= 1
                what()
                continue
            if what != self._turn[number] or self._state[number] == _ENDED:
                continue
            state = self._state[number]
            if state == _SLEEPS:
                self._sleepers -= 1
                self._active = time
            elif state == _POLLS and self._is_stuck(time):
                return _POLLING
            self._state[number] = _WAITS
            self.time = time
            return number
        return _BLOCKED if self._left else _DONE

    def _is_stuck(self, time: int) -> bool:
        return not self._events and not self._sleepers and time - self._active > self._patience

    def wait(self, number: int, duration: int | None, things: list[tuple[int, int]]) -> int:
        """A program waits until `wake`, or for picoseconds, which nothing else ends."""
        self._turn[number] += 1
        if duration is None:
            self._state[number] = _WAITS
        else:
            self._state[number] = _SLEEPS
            self._sleepers += 1
            heapq.heappush(self._queue, (self.time + duration, 1, number, self._turn[number]))
        return self.next()

    def poll(self, number: int, duration: int, things: list[tuple[int, int]]) -> int:
        """A program polls until `wake`, in vain if picoseconds pass."""
        self._turn[number] += 1
        self._state[number] = _POLLS
        heapq.heappush(self._queue, (self.time + duration, 1, number, self._turn[number]))
        return self.next()

    def end(self, number: int) -> None:
        """A program has ended."""
        self._state[number] = _ENDED
        self._left -= 1

    def wake(self, number: int) -> None:
        """Ends the wait of a program, unless it sleeps or has ended."""
        if self._state[number] in (_WAITS, _POLLS):
            self._state[number] = _WAITS
            self._turn[number] += 1
            heapq.heappush(self._queue, (self.time, 1, number, self._turn[number]))

    def deadlock(self) -> list[str] | None:
        """None: there is no fabric."""
        return None

    def adapter(self, number: int) -> Any:
        """Programs of this clock have no adapter."""
        raise NotImplementedError(f"program {number} has no adapter")

    def result(self) -> Any:
        """There are no tables."""
        return None
