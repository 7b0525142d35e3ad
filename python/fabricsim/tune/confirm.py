"""Gain of a setting over the unchanged experiment, on seeds that were not used for choosing it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from fabricsim.lazy import numpy as np
from fabricsim.memory import Allowance
from fabricsim.statistics import differences, interval
from fabricsim.sweep import Stop, never
from fabricsim.sweep.executors import Executor
from fabricsim.sweep.precision import FIRST_SEEDS, looks
from fabricsim.tune.metrics import Which
from fabricsim.tune.metrics.registry import unit
from fabricsim.tune.problem import Problem, Settings
from fabricsim.tune.runs import BASELINE, Answer, Run, Task, work

if TYPE_CHECKING:
    from optuna.study import Study

BEST = 0
_FRESH = "fabricsim:fresh"


@dataclass(frozen=True)
class Gain:
    """A metric of the best setting and of the baseline, on the same fresh seeds."""

    metric: str
    unit: str
    baseline: float
    """Mean over the seeds."""
    best: float
    difference: float
    """Mean of best minus baseline, seed by seed."""
    low: float
    """End of the difference's confidence interval."""
    high: float
    confidence: float
    seeds: int

    @property
    def relative(self) -> float | None:
        """The difference as a fraction of the baseline."""
        return self.difference / abs(self.baseline) if self.baseline else None

    def as_dict(self) -> dict[str, Any]:
        """For JSON and tables."""
        return {**vars(self), "relative": self.relative}


@dataclass(frozen=True)
class Confirmation:
    """Best setting and baseline on fresh seeds."""

    gains: tuple[Gain, ...]
    runs: tuple[tuple[str, Run], ...]
    """Every run, with "best" or "baseline"."""
    holds: Mapping[str, bool]
    """For each constraint: whether the best setting keeps it on these seeds."""
    seeds: tuple[int, ...]
    """The fresh seeds that were used."""
    error: str = ""
    """Reason for a missing comparison."""

    def is_narrow(self, precision: float) -> bool:
        """True if all intervals of differences have at most this half-width, over the baseline's value."""
        return all((gain.high - gain.low) / 2 <= precision * abs(gain.baseline) for gain in self.gains)


class FreshRuns:
    """The runs with fresh seeds, kept in the study as they are done."""

    def __init__(self, problem: Problem, study: Study, settings: Settings, seeds: Sequence[int]) -> None:
        self._study = study
        self._known: dict[str, Any] = dict(study.user_attrs.get(_FRESH, {}))
        self.variants = {
            trial: problem.variants(values, seeds) for trial, values in ((BEST, settings), (BASELINE, {}))
        }
        self._keys = {
            (trial, place): json.dumps([{} if trial == BASELINE else dict(settings), scenario.name, seed])
            for trial, found in self.variants.items()
            for place, (scenario, seed, _) in enumerate(found)
        }

    @property
    def size(self) -> int:
        """Total number of runs."""
        return len(self._keys)

    @property
    def done(self) -> int:
        """Runs that are done."""
        return sum(key in self._known for key in self._keys.values())

    def todo(self, metrics: tuple[Which, ...]) -> list[Task]:
        """Runs that are left."""
        return [
            Task(trial, place, self.variants[trial][place][2], metrics)
            for (trial, place), key in self._keys.items()
            if key not in self._known
        ]

    def keep(self, task: Task, answer: Answer) -> None:
        """Stores the result of a run."""
        scenario, seed, _ = self.variants[task.trial][task.place]
        run = Run(scenario.name, seed, **vars(answer))
        self._known[self._keys[task.trial, task.place]] = run.as_dict()
        self._study.set_user_attr(_FRESH, self._known)

    def runs(self, trial: int) -> list[Run]:
        """All runs of the best setting, or of the baseline."""
        return [Run.of(self._known[key]) for (whose, _), key in self._keys.items() if whose == trial]


def confirm(
    problem: Problem,
    study: Study,
    settings: Settings,
    executor: Executor,
    *,
    allowed: Allowance | None = None,
    stop: Stop = never,
    on_progress: Callable[[int, int], None] | None = None,
) -> Confirmation | None:
    """Runs the best setting and the baseline with fresh seeds. None if it was stopped.

    With a precision, more seeds follow only until it is reached.
    """
    seeds, job = problem.fresh_seeds, partial(work, allowed=allowed)
    counts = [len(seeds)]
    if problem.precision is not None:
        counts = looks(min(FIRST_SEEDS, len(seeds)), len(seeds))
    found: Confirmation | None = None
    for count in counts:
        fresh = FreshRuns(problem, study, settings, seeds[:count])
        if not _run(problem, fresh, executor, job, stop, on_progress):
            return None
        found = _compared(problem, fresh.runs(BEST), fresh.runs(BASELINE), seeds[:count])
        if found.error or (problem.precision is not None and found.is_narrow(problem.precision)):
            break
    return found


def _run(
    problem: Problem,
    fresh: FreshRuns,
    executor: Executor,
    job: Callable[[Task, Stop], Answer | None],
    stop: Stop,
    on_progress: Callable[[int, int], None] | None,
) -> bool:
    """Does the runs that are left; False after a stop."""
    if on_progress:
        on_progress(fresh.done, fresh.size)

    def take(task: Task, answer: Answer | None) -> None:
        if answer is not None:
            fresh.keep(task, answer)
            if on_progress:
                on_progress(fresh.done, fresh.size)

    def lose(task: Task, why: str) -> None:
        take(task, Answer(error=why))

    todo = fresh.todo(tuple(wanted.which for wanted in problem.metrics))
    return not todo or executor.work_through(todo, job, take, stop=stop, on_lost=lose)


def _compared(
    problem: Problem, best: Sequence[Run], baseline: Sequence[Run], seeds: Sequence[int]
) -> Confirmation:
    runs = (*(("best", run) for run in best), *(("baseline", run) for run in baseline))
    failed = next((f"{name}, seed {run.seed}: {run.error}" for name, run in runs if run.error), "")
    if failed:
        return Confirmation((), runs, {}, tuple(seeds), failed)
    gains = [_gain(problem, at, best, baseline, seeds) for at in range(len(problem.metrics))]
    values = [run.values for run in best]
    holds = {c.name: problem.excess(c, values) <= 0.0 for c in problem.constraints}
    return Confirmation(tuple(gains), runs, holds, tuple(seeds))


def _gain(
    problem: Problem, at: int, best: Sequence[Run], baseline: Sequence[Run], seeds: Sequence[int]
) -> Gain:
    """Of the metric at a place, seed by seed."""
    wanted = problem.metrics[at]
    ours, theirs = (
        np.array([problem.aggregate(wanted, _of_seed(found, seed, at)) for seed in seeds])
        for found in (best, baseline)
    )
    apart = differences(ours, theirs)
    low, high = interval(apart, problem.confidence)
    return Gain(
        metric=wanted.name,
        unit=unit(wanted.which.metric),
        baseline=float(theirs.mean()),
        best=float(ours.mean()),
        difference=float(apart.mean()),
        low=low,
        high=high,
        confidence=problem.confidence,
        seeds=len(ours),
    )


def _of_seed(runs: Sequence[Run], seed: int, at: int) -> list[float]:
    return [run.values[at] for run in runs if run.seed == seed]
