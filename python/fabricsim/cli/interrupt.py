"""Ctrl-C, SIGTERM and SIGHUP: the first stops the work and keeps what there is, the second ends the process at once."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType, TracebackType
from typing import Any

from fabricsim.cli.console import tell

# The program that starts the command line has the same before this module can be imported; a test compares them.
INTERRUPTED = 130
SIGNALS: tuple[int, ...] = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

Handler = Callable[[int, FrameType | None], None]


class Interrupt:
    """While entered, signals are only recorded, in `asked`."""

    def __init__(self) -> None:
        self._count = 0
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Interrupt:
        self._before = _install(self._note)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _restore(self._before)

    def asked(self) -> bool:
        """True if a signal has come."""
        return self._count > 0

    def _note(self, number: int, frame: FrameType | None) -> None:
        self._count += 1
        if self._count > 1:
            end(number, frame)
        tell("stopping, results so far are kept; once more to end at once")


@contextmanager
def interruptible() -> Iterator[None]:
    """While entered, the first signal raises KeyboardInterrupt, so that unfinished work is cleaned up."""
    struck = False

    def strike(number: int, frame: FrameType | None) -> None:
        nonlocal struck
        if struck:
            end(number, frame)
        struck = True
        raise KeyboardInterrupt

    before = _install(strike)
    try:
        yield
    finally:
        _restore(before)


def _install(handler: Handler) -> dict[int, Any]:
    before = {number: signal.getsignal(number) for number in SIGNALS}
    for number, old in before.items():
        # nohup ignores SIGHUP, and means it
        if number != signal.SIGHUP or old is not signal.SIG_IGN:
            signal.signal(number, handler)
    return before


def _restore(before: dict[int, Any]) -> None:
    for number, handler in before.items():
        signal.signal(number, handler)


def end(number: int, frame: FrameType | None) -> None:
    """Ends the process at once."""
    with suppress(OSError):  # the terminal may be gone
        os.write(2, b"interrupted\n")
    os._exit(INTERRUPTED)
