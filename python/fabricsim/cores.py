"""Cores that a run of this process may use, where its experiment does not say how many threads it has."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

MOST = 256
"""Maximum number of threads of a run."""

_limit: int | None = None


def available() -> int:
    """Number of cores: those on which this process may run, or fewer while other runs are at work beside it."""
    return max(1, min(MOST, _limit or allowed()))


def allowed() -> int:
    """Number of cores on which this process may run."""
    if hasattr(os, "sched_getaffinity"):  # not on macOS and Windows
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def limit(cores: int | None) -> None:
    """Sets the number of cores that a run of this process may use; None: all."""
    global _limit  # noqa: PLW0603 - a setting of the process, as the cores are
    _limit = cores


@contextmanager
def limited(cores: int | None) -> Iterator[None]:
    """Limits the cores that a run in the context may use; None: the limit stays."""
    before = _limit
    limit(before if cores is None else cores)
    try:
        yield
    finally:
        limit(before)
