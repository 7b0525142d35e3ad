"""Runs the experiments of figures, evaluates their quantities, and judges them."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from pathlib import Path

from fabricsim.errors import FabricsimError, InputError
from fabricsim.reproduce.expected import FILE, Figure, Seed, choose, find_experiments, read_seed, seeds
from fabricsim.reproduce.grid import RunOf
from fabricsim.reproduce.judge import Entry, judge_figure
from fabricsim.results import Result
from fabricsim.run import run
from fabricsim.spec import Experiment
from fabricsim.sweep import Stop, never, work_through


@dataclass
class Outcome:
    """What became of some seeds."""

    entries: list[Entry] = field(default_factory=list)
    figures: list[tuple[Seed, Figure, dict[str, Result]]] = field(default_factory=list)
    """The figures that were run, with their runs by name."""
    problems: list[str] = field(default_factory=list)
    """What could not be run or evaluated."""
    complete: bool = True
    """Whether all runs came to their end."""


def reproduce(
    seed: str | None = None,
    figure: str | Collection[str] | None = None,
    *,
    experiments: str | Path | None = None,
    jobs: int | None = None,
    on_run: Callable[[int, int], None] | None = None,
    stop: Stop = never,
) -> Outcome:
    """Runs the experiments of one figure or some, of one seed, or of all seeds, and compares.

    Raises:
        InputError: there is no such seed or figure, or an `expected.toml` is wrong.
    """
    folder = Path(experiments) if experiments is not None else find_experiments()
    names = [seed] if seed else seeds(folder)
    if not names:
        raise InputError(f"{folder}: there are no published numbers in it: no SEED/{FILE}")
    chosen = [read_seed(folder, name) for name in names]
    figures = [(item, found) for item in chosen for found in choose(item, figure)]
    wanted = {
        _key(s, r): Experiment.from_file(s.folder / r.experiment, r.set)
        for s, f in figures
        for r in f.runs.values()
    }
    results: dict[str, Result | str] = {}

    def done(task: tuple[str, Experiment], result: Result | str) -> None:
        results[task[0]] = result
        if on_run:
            on_run(len(results), len(wanted))

    complete = not wanted or work_through(list(wanted.items()), _run, done, jobs=jobs, stop=stop)
    outcome = Outcome(complete=complete)
    for item, found in figures:
        _judge_figure(item, found, results, outcome)
    return outcome


def _key(seed: Seed, run_of: RunOf) -> str:
    """Runs with the same key are the same run."""
    return json.dumps([str(seed.folder / run_of.experiment), run_of.set], sort_keys=True)


def _run(task: tuple[str, Experiment], stop: Stop) -> Result | str:
    """The result, or why there is none."""
    try:
        return run(task[1], stop=stop)
    except FabricsimError as error:
        return str(error)


def _judge_figure(seed: Seed, figure: Figure, results: dict[str, Result | str], outcome: Outcome) -> None:
    runs: dict[str, Result] = {}
    for name, run_of in figure.runs.items():
        result = results.get(_key(seed, run_of), "it was not run")
        if isinstance(result, str) or result.status == "interrupted":
            reason = result if isinstance(result, str) else "it was interrupted"
            outcome.problems.append(f"{seed.name} {figure.name}: {run_of.experiment}: {reason}")
            return
        runs[name] = result
    outcome.figures.append((seed, figure, runs))
    entries, problems = judge_figure(seed, figure, runs)
    outcome.entries += entries
    outcome.problems += problems
