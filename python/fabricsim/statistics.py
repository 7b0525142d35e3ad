"""Mean and confidence interval of repetitions, and of paired differences."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from fabricsim.errors import InputError
from fabricsim.lazy import numpy as np

CONFIDENCE = 0.95
"""Confidence of intervals, unless another is given."""
FEWEST_REPETITIONS = 2
"""One run has no interval."""
MOST_SEEDS = 1000
ROUNDING = 1e-12
"""Relative difference of two results that is none: sums of the same numbers in another order differ by less."""


@dataclass(frozen=True)
class Estimate:
    """A mean over repetitions with its confidence interval (Student's t)."""

    mean: float
    low: float
    """NaN with one repetition."""
    high: float
    count: int
    """Repetitions that have the quantity."""

    @property
    def half_width(self) -> float:
        """Half of the interval's width: the number after a ±."""
        return (self.high - self.low) / 2

    @property
    def is_none(self) -> bool:
        """True if the interval contains zero: of a difference, that it is no larger than chance. True if not known."""
        return not (self.low > 0.0 or self.high < 0.0)

    def as_dict(self) -> dict[str, Any]:
        """For JSON and tables."""
        return {"mean": self.mean, "low": self.low, "high": self.high, "seeds": self.count}


def estimate(values: Sequence[float], confidence: float = CONFIDENCE) -> Estimate:
    """Mean and confidence interval of values, without those that are missing (NaN)."""
    known = np.array([value for value in values if not math.isnan(value)], dtype=float)
    if len(known) == 0:
        return Estimate(math.nan, math.nan, math.nan, 0)
    low, high = interval(known, confidence) if len(known) > 1 else (math.nan, math.nan)
    return Estimate(float(known.mean()), low, high, len(known))


def difference(ours: Sequence[float], theirs: Sequence[float], confidence: float = CONFIDENCE) -> Estimate:
    """Mean and confidence interval of `ours` minus `theirs`, pair by pair: repetitions with equal seeds."""
    return estimate(differences(ours, theirs).tolist(), confidence)


def differences(ours: Iterable[float], theirs: Iterable[float]) -> np.ndarray[Any, np.dtype[np.float64]]:
    """`ours` minus `theirs`, pair by pair; zero where they differ by no more than `ROUNDING`."""
    left, right = np.array([*ours], dtype=float), np.array([*theirs], dtype=float)
    return np.where(np.isclose(left, right, rtol=ROUNDING, atol=0.0), 0.0, left - right)


def interval(values: np.ndarray[Any, np.dtype[np.float64]], confidence: float) -> tuple[float, float]:
    """Confidence interval of the mean (Student's t).

    Without random influence all values are equal: then the interval is that point.
    """
    from scipy import stats  # noqa: PLC0415 - takes long

    if np.ptp(values) == 0.0:
        return float(values[0]), float(values[0])
    # scipy's test of one sample warns of values that are nearly equal, which repetitions may be.
    mean, count = float(np.mean(values)), len(values)
    quantile = float(stats.t.ppf(0.5 + confidence / 2.0, count - 1))
    half = quantile * float(np.std(values, ddof=1)) / math.sqrt(count)
    return mean - half, mean + half


def seeds_from(first: int, count: int) -> list[int]:
    """Seeds of `count` repetitions: the experiment's own, and those that follow it.

    Raises:
        InputError: there are fewer than two, or too many.
    """
    if not FEWEST_REPETITIONS <= count <= MOST_SEEDS:
        raise InputError(
            f"seeds = {count}: must be {FEWEST_REPETITIONS} to {MOST_SEEDS:,}; an interval needs two repetitions "
            "or more, and one run has none"
        )
    return list(range(first, first + count))
