"""`fabricsim` on the command line. Exit codes: 0 done, 1 failed, 2 bad input, 3 deadlock, 130 interrupted."""

from __future__ import annotations

import sys
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

import fabricsim
from fabricsim.cli.app import app
from fabricsim.cli.console import caution, complain, settings
from fabricsim.cli.interrupt import INTERRUPTED, interruptible
from fabricsim.cli.streams import Streams, lenient
from fabricsim.errors import FabricsimError

ISSUES = "https://github.com/fabricsim/fabricsim/issues"


def main() -> None:
    """Runs the command line. A user's mistake gives one message, never a traceback."""
    settings.results = None
    try:
        with interruptible(), lenient() as streams:
            sys.exit(_told(streams, _code()))
    except KeyboardInterrupt:  # before the command began, or after it ended
        sys.exit(_failed("interrupted", INTERRUPTED))


def _code() -> int:
    """Runs the command and returns its exit code."""
    try:
        with _plain_warnings():
            app()
    except FabricsimError as error:
        return _failed(str(error), error.exit_code)
    except KeyboardInterrupt:
        return _failed("interrupted", INTERRUPTED)
    except MemoryError:
        return _failed("there is not enough memory for this", 1)
    except SystemExit as end:
        if end.code == INTERRUPTED and _was_struck(end):
            return _failed("interrupted", INTERRUPTED)
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException as error:  # a panic of the engine is no Exception
        return _failed(
            f"internal error: {type(error).__name__}: {error}\n"
            f"This is a defect of fabricsim. Please report it at {ISSUES} with the experiment file and the "
            "command; `fabricsim --debug ...` shows where it comes from.",
            1,
        )
    return 0


@contextmanager
def _plain_warnings() -> Iterator[None]:
    """Warnings of this package, and of packages for it, are lines as others: without the place in their files.

    Those of a user's script have it.
    """
    with warnings.catch_warnings():
        usual = warnings.showwarning
        own = str(Path(fabricsim.__file__).parent)

        def show(
            message: Warning | str,
            category: type[Warning],
            filename: str,
            lineno: int,
            file: TextIO | None = None,
            line: str | None = None,
        ) -> None:
            if not settings.debug and (filename.startswith(own) or "site-packages" in filename):
                caution(str(message))
            else:
                usual(message, category, filename, lineno, file, line)

        warnings.showwarning = show
        yield


def _told(streams: Streams, code: int) -> int:
    """The exit code, also when what was printed could not be written."""
    try:
        sys.stdout.flush()
    except (OSError, ValueError):
        return code
    if (failure := streams.failure()) is not None:
        where = "" if settings.results is None else f"; the results are in {settings.results}"
        complain(f"fabricsim: {failure}{where}")
        return code or 1
    return code


def _was_struck(end: BaseException | None) -> bool:
    """True if the command line ended by Ctrl-C, which typer turns into an exit without a word."""
    while end is not None and not isinstance(end, KeyboardInterrupt):
        end = end.__cause__ or end.__context__
    return end is not None


def _failed(message: str, code: int) -> int:
    if settings.debug:
        traceback.print_exc()
    complain(f"fabricsim: {message}" if code != INTERRUPTED else message)
    return code
