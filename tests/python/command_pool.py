"""Runs many `fabricsim` command lines, each in a process of its own that is forked when everything is imported.

Reads one JSON object per line, `{"arguments": [...], "folder": "..."}`, and answers each with `{"code", "out", "err"}`.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from collections.abc import Callable

LONGEST_S = 60.0
"""A command that takes longer is killed; its code is -9."""


def main() -> None:
    """Answers until the end of the input."""
    from fabricsim.cli import main as fabricsim  # noqa: PLC0415 - imported here, so that children need not

    for line in sys.stdin:
        wanted = json.loads(line)
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            code = _forked(fabricsim, wanted, out.fileno(), err.fileno())
            out.seek(0)
            err.seek(0)
            answer = {"code": code, "out": out.read().decode(), "err": err.read().decode()}
        print(json.dumps(answer), flush=True)


def _forked(fabricsim: Callable[[], None], wanted: dict[str, object], out: int, err: int) -> int:
    child = os.fork()
    if child == 0:
        _work(fabricsim, wanted, out, err)
    begun = time.monotonic()
    while True:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() - begun > LONGEST_S:
            os.kill(child, 9)
            os.waitpid(child, 0)
            return -9
        time.sleep(0.005)


def _work(fabricsim: Callable[[], None], wanted: dict[str, object], out: int, err: int) -> None:
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(out, 1)
    os.dup2(err, 2)
    os.chdir(str(wanted["folder"]))
    arguments = wanted["arguments"]
    assert isinstance(arguments, list)
    sys.argv = ["fabricsim", *map(str, arguments)]
    code = 0
    try:
        fabricsim()
    except SystemExit as error:
        code = int(error.code or 0)
    except BaseException as error:
        sys.stderr.write(f"Traceback: {error!r}\n")
        code = 99
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    main()
