"""Work for worker processes, which find it by its module's name."""

from __future__ import annotations

from typing import Any

import fabricsim as fs


def square(task: int, stop: Any) -> int:
    if task < 0:
        raise fs.InputError("negative")
    return task * task
