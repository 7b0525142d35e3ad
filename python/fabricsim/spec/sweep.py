"""The points of a sweep as typed values, as they stand in the section `[sweep]` of an experiment file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

__all__ = ["RandomPoints", "Range"]


@dataclass(frozen=True)
class Range:
    """A range of values: numbers, or texts with a unit (`"20 us"`)."""

    low: Any
    high: Any
    scale: Literal["linear", "log"] = "linear"
    """Quantity that is uniform: the value, or its logarithm."""
    integer: bool = False
    """Whole numbers only, of the unit of `low` if it has one."""


@dataclass(frozen=True)
class RandomPoints:
    """Points drawn at random. The same seed draws the same points."""

    samples: int
    keys: Mapping[str, Range | Mapping[str, Any] | Sequence[Any]]
    """For each key a range, or a list of choices."""
    seed: int = 0
    method: Literal["independent", "latin-hypercube"] = "independent"
