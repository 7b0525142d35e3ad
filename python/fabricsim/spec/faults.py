"""Links and switches that fail while traffic flows, as typed values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["Fault", "Faults"]


@dataclass(frozen=True, kw_only=True)
class Fault:
    """A link (by the names of its ends, "S(0)-S(1)") or a switch that fails, and the times of that."""

    link: str | None = None
    switch: str | None = None
    at: str
    until: str | None = None


@dataclass(frozen=True)
class Faults:
    """The plan of failures, and what the network does about them."""

    plan: list[Fault] | None = None
    waiting: Literal["discard", "hold"] | None = None
    reroute_after: str | None = None
