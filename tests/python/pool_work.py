"""Work for worker processes, which find it by its module's name."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

import fabricsim as fs
from fabricsim import cores


def square(task: int, stop: Any) -> int:
    if task < 0:
        raise fs.InputError("negative")
    return task * task


def cores_here(task: int, stop: Any) -> int:
    """Cores that a run of this process may use."""
    return cores.available()


def die(task: int, stop: Any) -> int:
    """The square; a negative task kills its process."""
    if task < 0:
        os.kill(os.getpid(), signal.SIGKILL)
    return task * task


def die_once(task: str, stop: Any) -> str:
    """Kills its process, unless the file that the task names is there."""
    if not Path(task).exists():
        Path(task).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return "done"


def until_stopped(task: str, stop: Any) -> None:
    """Creates the file that the task names, then works until it is stopped."""
    Path(task).touch()
    while not stop():
        time.sleep(0.02)
