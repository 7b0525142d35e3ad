"""The program `fabricsim`: signals and streams are ready before the package, which takes a second to import.

Nothing else belongs here: this module imports only what the interpreter has loaded anyway.
"""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress
from types import FrameType

INTERRUPTED = 130
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Signals that interrupt the program."""


def main() -> None:
    """Runs the command line."""
    end_at_signals()
    _open_closed_streams()
    from fabricsim.cli import main as fabricsim  # noqa: PLC0415 - see above

    try:
        fabricsim()
    except SystemExit as ended:
        _leave_threads(ended.code)
        raise


def _leave_threads(code: object) -> None:
    """Ends the process if a thread still builds a network for a command that was interrupted: it would take minutes."""
    import threading  # noqa: PLC0415 - see above

    if any(thread.name == "fabricsim" for thread in threading.enumerate()):
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code if isinstance(code, int) else 1)


def end_at_signals() -> None:
    """Until the command line has handlers of its own, a signal ends the process at once with one line."""
    for number in SIGNALS:
        # nohup ignores SIGHUP, and means it
        if number != signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, end)


def end(number: int, frame: FrameType | None) -> None:
    """Ends the process at once."""
    with suppress(OSError):  # the terminal may be gone
        os.write(2, b"interrupted\n")
    os._exit(INTERRUPTED)


def _open_closed_streams() -> None:
    """A standard stream that is closed becomes the null device, else the next file that opens would take its place."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is not None:
            continue
        opened = os.open(os.devnull, os.O_RDWR)
        if opened != number:
            os.dup2(opened, number)
            os.close(opened)
        stream = open(number, "r" if number == 0 else "w", encoding="utf-8", closefd=False)  # noqa: SIM115
        setattr(sys, name, stream)
