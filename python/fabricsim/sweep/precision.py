"""Repetitions until the confidence intervals of chosen metrics are narrow enough."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fabricsim import catalogue
from fabricsim.errors import InputError
from fabricsim.statistics import MOST_SEEDS, Estimate, estimate
from fabricsim.sums import nearest_metric
from fabricsim.sweep.sums import sum_in_row
from fabricsim.sweep.table import FAILED

PRECISION = "precision"
"""Kind of the schedule."""
FEWEST_SEEDS = 3
"""Seeds before the first look at an interval, at least: with two, chance alone makes a narrow one too often."""
FIRST_SEEDS = 5
"""Seeds before the first look, unless another number is given."""
METRICS = ("accepted_load", "latency_ns.mean")
"""Metrics of which the precision is requested if none is named."""


@dataclass(frozen=True)
class Precision:
    """Repeat each point until the intervals of its metrics are narrow enough."""

    metrics: Mapping[str, float]
    """Largest half-width of the 95 % confidence interval over the mean, by name of the metric: above 0, below 1."""
    most_seeds: int = 30
    """Number of seeds after which a point ends, reached or not."""

    def check(self, first: int) -> None:
        """Checks it with the number of seeds before the first look.

        Raises:
            InputError: something is out of range, or there is no such metric.
        """
        if not self.metrics:
            raise InputError("precision: metrics are missing: give one or more, such as latency_ns.mean")
        for name, value in self.metrics.items():
            if not 0.0 < value < 1.0:
                raise InputError(
                    f"precision of {name} = {value:g}: must be above 0 and below 1, such as 0.02 or 2%"
                )
            if not catalogue.is_known(name) and catalogue.sum_parts(name) is None:
                raise InputError(
                    f"precision of {name}: no run has such a number; see docs/reference/results.md"
                    f"{nearest_metric(name)}"
                )
        if not FEWEST_SEEDS <= first <= self.most_seeds <= MOST_SEEDS:
            raise InputError(
                f"precision with {first} seeds first and {self.most_seeds} at most: must be {FEWEST_SEEDS} or more, "
                f"the first number no larger than the second one, and that at most {MOST_SEEDS:,}"
            )


def looks(first: int, most: int) -> list[int]:
    """Numbers of seeds after which intervals are looked at: each half as large again as the one before. Few looks keep
    the effect of stopping by chance small.
    """
    found = [first]
    while found[-1] < most:
        found.append(min(found[-1] + (found[-1] + 1) // 2, most))
    return found


@dataclass(frozen=True)
class PrecisionSchedule:
    """Points of a sweep whose last axis are seeds, of which each combination takes as many as it needs."""

    metrics: Mapping[str, float]
    first: int
    """Seeds before the first look."""
    most: int
    size: int
    """Points with the largest number of seeds."""
    _verdicts: dict[tuple[int, int], bool] = field(default_factory=dict, compare=False, repr=False)
    """Looks that were taken, by combination and number of seeds: True if no further seed is necessary."""

    @classmethod
    def of(cls, stored: Mapping[str, Any], size: int) -> PrecisionSchedule:
        """From a manifest.

        Raises:
            KeyError, TypeError, ValueError: it is damaged.
        """
        metrics = {str(name): float(value) for name, value in stored["metrics"].items()}
        found = cls(metrics, int(stored["first"]), int(stored["most"]), size)
        if not 1 <= found.first <= found.most or size % found.most:
            raise ValueError(stored)
        return found

    def as_dict(self) -> dict[str, Any]:
        """For the manifest."""
        return {"kind": PRECISION, "metrics": dict(self.metrics), "first": self.first, "most": self.most}

    @property
    def combinations(self) -> int:
        """Number of points without the seeds."""
        return self.size // self.most

    def due(self, rows: Mapping[int, Mapping[str, Any]]) -> list[int]:
        """Points that may run now."""
        targets = (
            range(at * self.most, at * self.most + self.target(at, rows)) for at in range(self.combinations)
        )
        return [number for target in targets for number in target if number not in rows]

    def expected(self, rows: Mapping[int, Mapping[str, Any]]) -> int:
        """Runs so far and those that are due: more follow if intervals are too wide then."""
        return len(rows) + len(self.due(rows))

    def target(self, combination: int, rows: Mapping[int, Mapping[str, Any]]) -> int:
        """Number of seeds that a combination has to have before its intervals are looked at, or with which it ended."""
        for count in looks(self.first, self.most):
            look = (combination, count)
            if look not in self._verdicts:
                done = self._done(combination, count, rows)
                if len(done) < count:
                    return count
                self._verdicts[look] = self._is_enough(done)
            if self._verdicts[look]:
                return count
        return self.most

    def _is_enough(self, done: Sequence[Mapping[str, Any]]) -> bool:
        """True if the intervals of repetitions are narrow enough, or all failed."""
        if all(row.get("status") == FAILED for row in done):
            return True
        return all(is_narrow(of_metric(done, name), value) for name, value in self.metrics.items())

    def results(self, combination: int, rows: Mapping[int, Mapping[str, Any]]) -> list[dict[str, Any]]:
        """A row for each metric: mean, half-width of its interval over the mean, the requested one, whether reached."""
        done = self._done(combination, self.target(combination, rows), rows)
        found = []
        for name, wanted in self.metrics.items():
            of = of_metric(done, name)
            found.append(
                {
                    "metric": name,
                    "mean": of.mean,
                    "precision": relative(of),
                    "requested": wanted,
                    "reached": is_narrow(of, wanted),
                    "seeds": len(done),
                }
            )
        return found

    def _done(
        self, combination: int, count: int, rows: Mapping[int, Mapping[str, Any]]
    ) -> list[Mapping[str, Any]]:
        begin = combination * self.most
        return [rows[at] for at in range(begin, begin + count) if at in rows]


def of_metric(done: Sequence[Mapping[str, Any]], name: str) -> Estimate:
    """Mean and interval of a metric over repetitions."""
    parts = catalogue.sum_parts(name)
    values = [row.get(name) if parts is None else sum_in_row(row, *parts) for row in done]
    return estimate([math.nan if value is None else float(value) for value in values])


def relative(of: Estimate) -> float:
    """Half of an interval over the mean; NaN if one of them is missing or the mean is 0 and the interval is not."""
    if of.half_width == 0.0:
        return 0.0
    return of.half_width / abs(of.mean) if of.mean else math.nan


def is_narrow(of: Estimate, precision: float) -> bool:
    """True if the interval is known, and as narrow as requested."""
    return relative(of) <= precision
