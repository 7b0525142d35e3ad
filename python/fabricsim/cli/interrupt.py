"""Ctrl-C and SIGTERM: the first stops the work and keeps what there is, the second ends the process at once."""

from __future__ import annotations

import os
import signal
from types import FrameType, TracebackType
from typing import Any

from fabricsim.cli.state import tell

INTERRUPTED = 130


class Interrupt:
    """While entered, signals are only noted; `asked` tells."""

    def __init__(self) -> None:
        self._count = 0
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Interrupt:
        for number in (signal.SIGINT, signal.SIGTERM):
            self._before[number] = signal.signal(number, self._note)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def asked(self) -> bool:
        """Whether a signal has come."""
        return self._count > 0

    def _note(self, number: int, frame: FrameType | None) -> None:
        self._count += 1
        if self._count > 1:
            os._exit(INTERRUPTED)
        tell("stopping, results so far are kept; once more to end at once")
