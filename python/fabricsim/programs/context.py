"""What a program knows and can do whatever its calls are: its name, its clock, and values of other programs."""

from __future__ import annotations

import math
from typing import Any, NoReturn

from fabricsim.errors import InputError
from fabricsim.native import bad_input, native
from fabricsim.programs.notes import Note
from fabricsim.programs.scheduler import Scheduler, Thing

LONGEST_POLL_PS = 1_000_000
"""Longest time of a poll that finds nothing, if the program does nothing else than polling: 1 us."""


class ProgramContext:
    """The place of a program in a run."""

    def __init__(self, scheduler: Scheduler, number: int, host: str) -> None:
        self._scheduler = scheduler
        self._number = number
        self.host = host
        """Name of the program's host."""
        self.program = scheduler.names[number]
        """Name of the program: that of its host, with a number if the host has several."""
        self.poll_ps = 1000
        """Time of a poll, in picoseconds, at least 1 ns."""
        self._looked: set[Thing] = set()
        self._read: tuple[object, int] | None = None
        self.notes: list[Note] = []
        """What the program has said of itself."""

    def __reduce__(self) -> NoReturn:
        """Refuses copies, and other processes.

        Raises:
            TypeError: always.
        """
        raise TypeError(
            f"the program {self.program} and its run cannot be copied: its state is in Python functions that are "
            "running, which Python cannot copy; fabricsim.Session.fork copies runs without programs"
        )

    @property
    def now(self) -> float:
        """Simulated time in nanoseconds.

        Raises:
            InputError: the run has ended.
        """
        try:
            return self._scheduler.native.now() / 1000
        except native().NativeError as error:
            raise InputError(f"now: {error}; its end is `end_ns` of the result") from None

    def sleep(self, duration: str | float) -> None:
        """Lets simulated time pass, as a computation or a sleep does: "3 us", or nanoseconds."""
        self.spend(picoseconds("duration", duration), "sleep()")

    def note(self, text: str) -> None:
        """Says what the program does now, for `ProgramsRun.notes` and sequence charts. It takes no simulated time."""
        self.notes.append(Note(self.now, self.host, text))

    def send_info(self, peer: str, value: Any) -> None:
        """Gives a value to another program, outside the simulated fabric. It takes no simulated time."""
        self.has_acted()
        self._scheduler.send(self._number, self._scheduler.number(peer), value)

    def recv_info(self, peer: str) -> Any:
        """Takes the oldest value that another program has given to this one; waits for it."""
        sender = self._scheduler.number(peer)
        return self._scheduler.receive(self._number, sender, f"recv_info({peer!r})")

    def exchange(self, peer: str, value: Any) -> Any:
        """Gives a value to another program, and returns the one that it gives to this one.

        So two programs exchange numbers of queue pairs, keys and addresses, as real ones do over TCP. It takes no
        simulated time but that for which the other one is late.
        """
        self.send_info(peer, value)
        sender = self._scheduler.number(peer)
        return self._scheduler.receive(self._number, sender, f"exchange({peer!r})")

    def spend(self, picoseconds: int, call: str = "a call that takes time") -> None:
        """Lets the time of a call pass. Other programs run meanwhile."""
        self._looked.clear()
        if picoseconds > 0:
            self._scheduler.suspend(self._number, picoseconds, [], call)

    def wait_for(self, things: list[Thing], call: str) -> None:
        """Waits for the first of several things."""
        self._looked.clear()
        self._scheduler.suspend(self._number, None, things, call)

    def has_acted(self) -> None:
        """The program has done something else than polling."""
        self._looked.clear()

    def look(self, thing: Thing, call: str) -> None:
        """The program has polled for a thing in vain: lets the time of that pass.

        It lasts until something is visible for which the program has polled, but at most for the time of a poll, or, if
        it has polled for the same thing before and done nothing else since, for 1 us.
        """
        scheduler, looked = self._scheduler, self._looked
        duration = LONGEST_POLL_PS if thing in looked else self.poll_ps
        until = scheduler.native.now() + duration
        looked.add(thing)
        scheduler.poll(self._number, duration, list(looked), call)
        if scheduler.native.now() < until:
            # What is visible now ends no other poll of a program that does not take it.
            looked.clear()

    def look_at_memory(self, place: object) -> None:
        """The program reads memory. If it read the same place at the same time, it polls, for the time of a poll."""
        scheduler = self._scheduler
        now = scheduler.native.now()
        if self._read == (place, now):
            scheduler.poll(self._number, self.poll_ps, [], "MR.read()")
            now += self.poll_ps
        self._read = (place, now)


def picoseconds(argument: str, value: str | float) -> int:
    """A time as text with a unit, or as a number of nanoseconds."""
    if isinstance(value, str):
        try:
            with bad_input():
                return native().parse_time(value)
        except InputError as error:
            raise InputError(f"{argument}: {error}") from None
    if isinstance(value, bool) or not _is_finite(value) or value < 0:
        raise InputError(
            f'{argument} = {value!r}: must be a time such as "3 us", or nanoseconds of 0 or more'
        )
    found = round(value * 1000)
    if found >= 1 << 64:
        raise InputError(f"{argument} = {value!r}: must be below 18,446,744 s, where times end")
    return found


def _is_finite(value: object) -> bool:
    """False also for what is no number, and for whole numbers beyond those of floating point."""
    try:
        return math.isfinite(value)  # type: ignore[arg-type]
    except (TypeError, OverflowError):
        return False
