"""The command line in processes of their own, for tests of signals, streams and locks."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

LONGEST_S = 120.0
"""Seconds within which everything happens, also on a machine with much else to do."""

ENDLESS = """
[topology.mesh]
dimensions = [3, 3]

[[traffic]]
pattern = "uniform"
load = 0.3
message = "2 KiB"

[run]
duration = "600000 s"
"""


def started(folder: Path, *arguments: str, **options: Any) -> subprocess.Popen[str]:
    """`python -m fabricsim`, in which signals have their ordinary meaning: test runners may ignore some."""
    given: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
    prepare: Callable[[], None] = given.pop("prepare", lambda: None)

    def before() -> None:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)
        prepare()

    command = given.pop("command", [sys.executable, "-m", "fabricsim"])
    given["preexec_fn"] = before
    return subprocess.Popen([*command, *arguments], cwd=folder, encoding="utf-8", **given)


def ended(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    """Exit code, output and errors."""
    try:
        out, err = process.communicate(timeout=LONGEST_S)
    finally:
        process.kill()
    return process.returncode, out or "", err or ""


def wait_until(condition: Callable[[], bool], what: str = "") -> None:
    """Waits for what another process does."""
    begun = time.monotonic()
    while not condition():
        assert time.monotonic() - begun < LONGEST_S, what
        time.sleep(0.02)


def staging(folder: Path) -> bool:
    """Whether a run into `folder` has begun: its results gather beside it."""
    pattern = re.compile(rf"\.{re.escape(folder.name)}\.[a-z0-9_]{{8}}")
    return any(pattern.fullmatch(path.name) for path in folder.parent.iterdir())


def processor_s(number: int) -> float:
    """Seconds of processor time that a process has used; 0 if it is gone."""
    try:
        fields = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def workers(parent: int) -> list[int]:
    """The worker processes of a sweep."""
    try:
        children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
        return [int(child) for child in children if b"spawn_main" in _command(int(child))]
    except OSError:
        return []


def is_alive(number: int) -> bool:
    """Whether a process is there, and is not one that has ended and waits for its parent."""
    try:
        return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def _command(number: int) -> bytes:
    try:
        return Path(f"/proc/{number}/cmdline").read_bytes()
    except OSError:
        return b""
