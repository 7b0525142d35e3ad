"""Record of a setting: its runs, and their combined metrics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fabricsim.tune.problem import Problem
from fabricsim.tune.runs import BASELINE, Run


@dataclass(frozen=True)
class Record:
    """A setting that was tried, or the experiment as it is."""

    number: int
    settings: Mapping[str, Any]
    runs: tuple[Run, ...]
    metrics: Mapping[str, float] = field(default_factory=dict)
    """By name, over all runs; empty if one failed."""
    values: tuple[float, ...] = ()
    """Of the axes."""
    excess: tuple[float, ...] = ()
    """Violation of each constraint; 0 or less: it holds."""

    @classmethod
    def of(cls, problem: Problem, number: int, settings: Mapping[str, Any], runs: Sequence[Run]) -> Record:
        """From its runs."""
        if any(run.error for run in runs):
            return cls(number, settings, tuple(runs))
        metrics = {
            wanted.name: problem.aggregate(wanted, [run.values[at] for run in runs])
            for at, wanted in enumerate(problem.metrics)
        }
        return cls(
            number,
            settings,
            tuple(runs),
            metrics,
            tuple(axis.value(metrics) for axis in problem.axes),
            tuple(problem.excess(c, [run.values for run in runs]) for c in problem.constraints),
        )

    @property
    def error(self) -> str:
        """Reason of the failure; empty if it did not fail."""
        return next((run.error for run in self.runs if run.error), "")

    @property
    def feasible(self) -> bool:
        """True if all runs ended and all constraints hold."""
        return not self.error and all(excess <= 0.0 for excess in self.excess)

    @property
    def is_baseline(self) -> bool:
        return self.number == BASELINE

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "trial": None if self.is_baseline else self.number,
            "settings": dict(self.settings),
            "metrics": dict(self.metrics),
            "values": list(self.values),
            "feasible": self.feasible,
            "error": self.error,
        }
