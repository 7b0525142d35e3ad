"""Runs the experiments of figures, evaluates their rows, and judges them."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import Any

from fabricsim.errors import FabricsimError, InputError
from fabricsim.reproduce import perftests, ranks, verbs_runs
from fabricsim.reproduce.evaluation import Evaluation
from fabricsim.reproduce.expected import FILE, Figure, Seed, choose, find_experiments, read_seed, seeds
from fabricsim.reproduce.grid import RunOf
from fabricsim.reproduce.judge import Entry, Row, judge_figure, with_control
from fabricsim.reproduce.kept import KeptRuns
from fabricsim.results import Result
from fabricsim.run import run
from fabricsim.spec import Experiment
from fabricsim.sweep import Stop, never, work_through

OnRun = Callable[[int, int], None]
_Task = tuple[str, Experiment, Path, dict[str, Any], dict[str, Any], dict[str, Any]]
"""Key, experiment, folder of the seed; options of a test of verbs, of a run of ranks, and of programs of verbs."""


@dataclass
class Outcome:
    """Entries of some figures, with their runs."""

    entries: list[Entry] = field(default_factory=list)
    figures: list[tuple[Seed, Figure, dict[str, Result]]] = field(default_factory=list)
    """The figures that were run, with their runs by name."""
    problems: list[str] = field(default_factory=list)
    """Runs that failed, rows that could not be evaluated, and rows that hold under their control."""
    complete: bool = True
    """True if all runs were completed."""


def reproduce(
    seed: str | None = None,
    figure: str | Collection[str] | None = None,
    *,
    experiments: str | Path | None = None,
    controls: bool = False,
    jobs: int | None = None,
    keep: str | Path | None = None,
    on_run: OnRun | None = None,
    stop: Stop = never,
) -> Outcome:
    """Runs the experiments of one figure or some, of one seed, or of all seeds, and compares.

    Args:
        seed: name of a seed; by default all.
        figure: name of a figure, or several; by default all.
        experiments: folder with the seeds' folders.
        controls: also run each judged row with its feature off; a row that holds then as well is a problem.
        jobs: number of processes; by default one for each core.
        keep: folder in which runs of experiments are kept: what it has of this build of the simulator is read, not run.
        on_run: called with the number of completed runs and that of all runs.
        stop: true to start no more runs.

    Raises:
        InputError: there is no such seed or figure, or an `expected.toml` is wrong.
    """
    folder = Path(experiments) if experiments is not None else find_experiments()
    names = [seed] if seed else seeds(folder)
    if not names:
        raise InputError(f"{folder}: there are no published numbers in it: no SEED/{FILE}")
    chosen = [read_seed(folder, name) for name in names]
    figures = [(item, found) for item in chosen for found in choose(item, figure)]
    work = _Runs(jobs, None if keep is None else KeptRuns.of(keep), on_run, stop)
    outcome = Outcome(complete=work.do((s, r) for s, f in figures for r in f.runs.values()))
    judged = []
    for item, found in figures:
        rows = _judge(item, found, work, outcome)
        judged.append((item, found, rows))
    if controls and outcome.complete:
        outcome.complete = work.do(
            (s, _controlled(f, name, row)) for s, f, rows in judged for row in rows for name in _names(row)
        )
    for item, found, rows in judged:
        outcome.entries += [
            _with_control(item, found, row, work, outcome) if controls else row.entry for row in rows
        ]
    return outcome


class _Runs:
    """Runs of experiments, each done once."""

    def __init__(self, jobs: int | None, kept: KeptRuns | None, on_run: OnRun | None, stop: Stop) -> None:
        self._jobs = jobs
        self._kept = kept
        self._on_run = on_run
        self._stop = stop
        self._results: dict[str, Result | str] = {}
        self._all = 0

    def do(self, runs: Iterable[tuple[Seed, RunOf]]) -> bool:
        """Executes the runs that are not done; false if it was stopped."""
        wanted = {}
        for seed, run_of in runs:
            key = _key(seed, run_of)
            if key not in self._results and key not in wanted:
                settings, of_test = perftests.split(run_of.set)
                settings, of_ranks = ranks.OPTIONS.split(settings)
                settings, of_verbs = verbs_runs.OPTIONS.split(settings)
                experiment = Experiment.from_file(seed.folder / run_of.experiment, settings)
                wanted[key] = (experiment, seed.folder, of_test, of_ranks, of_verbs)
        self._all += len(wanted)
        return not wanted or work_through(
            [(key, *of) for key, of in wanted.items()],
            partial(_run, self._kept),
            self._done,
            jobs=self._jobs,
            stop=self._stop,
        )

    def result(self, seed: Seed, run_of: RunOf) -> Result | str:
        """The result, or the reason why it is missing."""
        result = self._results.get(_key(seed, run_of), "it was not run")
        if not isinstance(result, str) and result.status == "interrupted":
            return "it was interrupted"
        return result

    def _done(self, task: _Task, result: Result | str) -> None:
        self._results[task[0]] = result
        if self._on_run:
            self._on_run(len(self._results), self._all)


def _key(seed: Seed, run_of: RunOf) -> str:
    """Runs with the same key are the same run."""
    return json.dumps([str(seed.folder / run_of.experiment), run_of.set], sort_keys=True)


def _run(kept: KeptRuns | None, task: _Task, stop: Stop) -> Result | str:
    """The result, or the reason why it is missing."""
    _, experiment, folder, of_test, of_ranks, of_verbs = task
    try:
        if of_verbs:
            return verbs_runs.run_verbs(folder, experiment, of_verbs)
        if of_ranks:
            return ranks.run_ranks(folder, experiment, of_ranks)
        if of_test:
            return perftests.run_perftest(experiment, of_test)
        return run(experiment, stop=stop) if kept is None else kept.run(experiment, stop)
    except FabricsimError as error:
        return str(error)


def _judge(seed: Seed, figure: Figure, work: _Runs, outcome: Outcome) -> list[Row]:
    runs: dict[str, Result] = {}
    for name, run_of in figure.runs.items():
        result = work.result(seed, run_of)
        if isinstance(result, str):
            outcome.problems.append(f"{seed.name} {figure.name}: {run_of.experiment}: {result}")
            return []
        runs[name] = result
    outcome.figures.append((seed, figure, runs))
    rows, problems = judge_figure(seed, figure, runs)
    outcome.problems += problems
    return rows


def _names(row: Row) -> Iterable[str]:
    """The runs that the row needs, if it has a control."""
    return sorted(row.used) if row.entry.control else ()


def _controlled(figure: Figure, name: str, row: Row) -> RunOf:
    """The run with the control's values after all others, since a later key may be part of an earlier one."""
    run_of, quantity = figure.runs[name], row.instance.quantity
    patterns = quantity.control_on
    if patterns and not any(fnmatchcase(name, pattern) for pattern in patterns):
        return run_of
    control = quantity.control
    kept: Mapping[str, Any] = {key: value for key, value in run_of.set.items() if key not in control}
    return RunOf(run_of.experiment, {**kept, **control})


def _with_control(seed: Seed, figure: Figure, row: Row, work: _Runs, outcome: Outcome) -> Entry:
    if not row.entry.control:
        return row.entry
    where = f"{seed.name} {figure.name}: {row.entry.quantity}: control {row.entry.control}"
    runs: dict[str, Result] = {}
    for name in figure.runs:
        if name not in row.used:
            continue
        result = work.result(seed, _controlled(figure, name, row))
        if isinstance(result, str):
            outcome.problems.append(f"{where}: {result}")
            return row.entry
        runs[name] = result
    try:
        entry = with_control(row, Evaluation(seed, figure, runs).measure(row.instance))
    except InputError as error:
        outcome.problems.append(f"{where}: {error}")
        return row.entry
    if entry.holds and entry.control_holds:
        outcome.problems.append(f"{where}: the row holds without its feature, and so shows nothing")
    return entry
