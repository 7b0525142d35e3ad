"""Order of programs: each is a greenlet, and the engine says which one goes on.

A program that waits switches to the one that goes on, or stays if that is itself. Nothing here depends on wall time or
threads: two runs of the same programs are the same.
"""

from __future__ import annotations

import contextvars
import traceback
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, NoReturn

from fabricsim.durations import nanoseconds
from fabricsim.errors import InputError
from fabricsim.native_types import NativePrograms
from fabricsim.programs.errors import ProgramError, ProgramsBlockedError

if TYPE_CHECKING:
    from greenlet import greenlet

COMPLETION, EVENT, WRITE, ASYNC_EVENT, CONNECTION_EVENT = range(5)
Thing = tuple[int, int]
"""What becomes visible to a program: one of the kinds above, and the handle of its object."""

_DONE, _BLOCKED, _POLLING, _LIMIT, _STOPPED = range(-1, -6, -1)
_PACKAGE = str(Path(__file__).parents[1])


class _EndedError(BaseException):
    """Ends a program that waits when the run is over. Programs do not catch it."""


class Scheduler:
    """Runs programs by number, which are functions without arguments, over a run of the engine.

    Args:
        native: the run.
        names: names of the programs, each different.
    """

    def __init__(self, native: NativePrograms, names: Sequence[str]) -> None:
        self.native = native
        self.names = list(names)
        self.values: list[Any] = [None] * len(self.names)
        """What the programs have returned."""
        self._numbers = {name: number for number, name in enumerate(self.names)}
        self._calls = ["its start"] * len(self.names)
        self._greenlets: list[greenlet] = []
        self._mail: dict[tuple[int, int], deque[Any]] = {}
        self._receives: dict[int, int] = {}
        self._failure: tuple[int, BaseException] | None = None
        self._is_over = False

    def number(self, name: str) -> int:
        """Number of the program with a name."""
        if name not in self._numbers:
            raise InputError(f"there is no program {name!r}: there are {', '.join(self.names)}")
        return self._numbers[name]

    def run(self, programs: Sequence[Callable[[], Any]]) -> None:
        """Runs the programs until all have ended. Their values are in `values`.

        Raises:
            ProgramError: a program raised an exception.
            ProgramsBlockedError: no program can go on, or the run's time is over.
        """
        from greenlet import getcurrent, greenlet  # noqa: PLC0415 - only where programs run

        self._current, self._hub = getcurrent, getcurrent()
        for number, program in enumerate(programs):
            made = greenlet(self._body(number, program))
            made.gr_context = contextvars.copy_context()
            self._greenlets.append(made)
        try:
            step = self.native.next()
            while step >= 0:
                step = self._greenlets[step].switch()
            if self._failure is not None:
                self._raise_failure(*self._failure)
            if step != _DONE:
                raise self._blocked(step)
        finally:
            self._end_all()

    def suspend(self, number: int, duration: int | None, things: list[Thing], call: str) -> None:
        """The running program waits for the first of `things`, or for picoseconds; with neither, for mail.

        With a duration only, it sleeps: nothing else ends that. `call` describes it in messages.
        """
        self.begin(number, call)
        step = self.native.wait(number, duration, things)
        if step != number:
            self.switch(step)

    def poll(self, number: int, duration: int, things: list[Thing], call: str) -> None:
        """The running program polls: it waits for the first of `things`, in vain if picoseconds pass."""
        self.begin(number, call)
        step = self.native.poll(number, duration, things)
        if step != number:
            self.switch(step)

    def begin(self, number: int, call: str) -> None:
        """A program begins a call that takes time, which `call` describes in messages.

        Raises:
            InputError: another program runs, or none.
        """
        if self._is_over or self._current() is not self._greenlets[number]:
            self._refuse(number, call)
        self._calls[number] = call

    def switch(self, step: int) -> None:
        """The running program waits, and the one that `step` names goes on: another one, or none if it is below 0."""
        # The hub starts programs: one that another starts has its stack above that one's, and its depth of recursion.
        if step >= 0 and (following := self._greenlets[step]):
            following.switch()
        else:
            self._hub.switch(step)

    def send(self, number: int, receiver: int, value: Any) -> None:
        """Gives a value to another program, outside the fabric and at once."""
        self._mail.setdefault((number, receiver), deque()).append(value)
        if self._receives.get(receiver) == number:
            del self._receives[receiver]
            self.native.wake(receiver)

    def receive(self, number: int, sender: int, call: str) -> Any:
        """Takes the oldest value of another program; waits until there is one."""
        mail = self._mail.setdefault((sender, number), deque())
        if not mail:
            self._receives[number] = sender
            self.suspend(number, None, [], call)
        return mail.popleft()

    def _body(self, number: int, program: Callable[[], Any]) -> Callable[[], int]:
        """The program as a greenlet: its value is the step that the hub carries out when the program has ended."""

        def body() -> int:
            try:
                self.values[number] = program()
            except _EndedError:
                return _STOPPED
            except BaseException as error:  # raised again by the hub
                self._failure = self._failure or (number, error)
                return _STOPPED
            if self._is_over:
                return _STOPPED
            self.native.end(number)
            return self.native.next()

        return body

    def _refuse(self, number: int, call: str) -> NoReturn:
        if not self._is_over:
            raise InputError(
                f"{call}: an object of the program {self.names[number]} is used outside that program"
            )
        if not self._greenlets:
            raise InputError(f"{call}: the run of the programs has ended")
        raise _EndedError

    def _end_all(self) -> None:
        """Ends the programs that wait: their `finally` clauses run, and may not wait."""
        self._is_over = True
        for started in self._greenlets:
            while started and not started.dead:
                started.throw(_EndedError)
        self._greenlets.clear()

    def _raise_failure(self, number: int, error: BaseException) -> None:
        if not isinstance(error, Exception):
            raise error
        name = self.names[number]
        place = _place(error)
        text = traceback.format_exception_only(error)[-1].strip()
        raise ProgramError(f"{name} at {self._now()}{place}: {text}", name) from error

    def _now(self) -> str:
        # In more digits than tables have: it is looked up in captures and logs.
        return nanoseconds(self.native.now() / 1000, digits=6)

    def _blocked(self, step: int) -> ProgramsBlockedError:
        now = self._now()
        waits = {
            name: f"waits in {self._calls[number]}{_place_of_frame(self._greenlets[number].gr_frame)}"
            for number, name in enumerate(self.names)
            if not self._greenlets[number].dead
        }
        first = {
            _BLOCKED: f"no program can go on at {now}, and nothing is in progress",
            _POLLING: f"nothing is in progress at {now}, and programs poll in vain",
            _LIMIT: f"the run ended at {now} by run.warmup and run.duration, before its programs "
            "(raise run.duration)",
            _STOPPED: f"the run was stopped at {now}",
        }[step]
        ended = first if step in (_LIMIT, _STOPPED) else None
        head = f"{first}:" if ended is None else f"{first}; unfinished:"
        lines = [head, *(f"  {name} {text}" for name, text in waits.items())]
        if step == _BLOCKED and (cycle := self.native.deadlock()) is not None:
            lines += ["the fabric is in a deadlock:", *(f"  {line}" for line in cycle)]
        return ProgramsBlockedError("\n".join(lines), waits, ended)


def _place(error: BaseException) -> str:
    """The innermost line of a program that an exception passed."""
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    return _line(reversed(frames))


def _place_of_frame(frame: FrameType | None) -> str:
    return _line(frame for frame, _ in traceback.walk_stack(frame)) if frame is not None else ""


def _line(frames: Any) -> str:
    """File and line of the first frame that is outside this package."""
    for frame in frames:
        file = frame.f_code.co_filename
        if not file.startswith(_PACKAGE):
            return f" at {Path(file).name}:{frame.f_lineno} ({frame.f_code.co_name})"
    return ""
