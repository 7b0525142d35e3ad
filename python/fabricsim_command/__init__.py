"""The program `fabricsim`: signals and streams are ready before the package, which takes a second to import.

Nothing else belongs here. What is imported before the signals have handlers is loaded by the interpreter at its start:
a module of the standard library, such as `signal` or `contextlib`, would take as long as the interpreter took to start.
"""

import _signal  # type: ignore[import-not-found] # what `signal` is made of
import os
import sys

INTERRUPTED = 130
YOUNG_OBJECTS = 20_000
"""New objects after which unreachable cycles are looked for. Python's 700 (2000 since 3.13) find none while modules are
imported, which takes a twentieth of a short command.
"""
SIGNALS: tuple[int, ...] = (_signal.SIGINT, _signal.SIGTERM, _signal.SIGHUP)
"""Signals that interrupt the program."""


def main() -> None:
    """Runs the command line."""
    end_at_signals()
    _open_closed_streams()
    import atexit  # noqa: PLC0415 - see above
    import gc  # noqa: PLC0415

    gc.set_threshold(YOUNG_OBJECTS, *gc.get_threshold()[1:])

    atexit.register(_ignore_signals)  # the first that is registered is the last that is called
    from fabricsim.cli import main as fabricsim  # noqa: PLC0415 - see above

    try:
        fabricsim()
    except SystemExit as ended:
        _leave_threads(ended.code)
        # `python -m` ends by SIGINT if a KeyboardInterrupt left the last `exec` of a text, though it was caught later.
        exec("")  # noqa: S102
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
        if number != _signal.SIGHUP or _signal.getsignal(number) != _signal.SIG_IGN:
            _signal.signal(number, end)


def end(number: int, frame: object) -> None:
    """Ends the process at once."""
    try:  # noqa: SIM105 - see above
        os.write(2, b"interrupted\n")
    except OSError:  # the terminal may be gone
        pass
    os._exit(INTERRUPTED)


def _ignore_signals() -> None:
    """The interpreter takes handlers away while it ends: a signal would end the process without its exit code."""
    for number in SIGNALS:
        _signal.signal(number, _signal.SIG_IGN)


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


# The installed program does a little between this import and its call of `main`.
if os.path.basename("".join(getattr(sys, "argv", [])[:1])) in (
    "fabricsim",
    "fabricsim.exe",
    "fabricsim-script.py",
):
    end_at_signals()
