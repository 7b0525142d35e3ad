"""What programs say of themselves, for sequence charts."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Note:
    """A text of a program."""

    time_ns: float
    """Simulated time in nanoseconds."""
    host: str
    """Name of the program's host."""
    text: str
