"""`fabricsim` on the command line. Exit codes: 0 done, 1 failed, 2 bad input, 3 deadlock, 130 interrupted."""

from __future__ import annotations

import signal
import sys
import traceback

from fabricsim.cli.app import app
from fabricsim.cli.interrupt import INTERRUPTED
from fabricsim.cli.state import complain, settings
from fabricsim.errors import FabricsimError

ISSUES = "https://github.com/fabricsim/fabricsim/issues"


def main() -> None:
    """Runs the command line. A user's mistake gives one message, never a traceback."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        app()
    except FabricsimError as error:
        _fail(str(error), error.exit_code)
    except KeyboardInterrupt:
        _fail("interrupted", INTERRUPTED)
    except MemoryError:
        _fail("there is not enough memory for this", 1)
    except SystemExit as end:
        if end.code == INTERRUPTED and _was_struck(end):
            _fail("interrupted", INTERRUPTED)
        raise
    except BaseException as error:  # a panic of the engine is no Exception
        _fail(
            f"internal error: {type(error).__name__}: {error}\n"
            f"This is a defect of fabricsim. Please report it at {ISSUES} with the experiment file and the "
            "command; `fabricsim --debug ...` shows where it comes from.",
            1,
        )


def _was_struck(end: BaseException | None) -> bool:
    """Whether the command line ended by Ctrl-C, which typer turns into an exit without a word."""
    while end is not None and not isinstance(end, KeyboardInterrupt):
        end = end.__cause__ or end.__context__
    return end is not None


def _fail(message: str, code: int) -> None:
    if settings.debug:
        traceback.print_exc()
    complain(f"fabricsim: {message}" if code != INTERRUPTED else message)
    sys.exit(code)
