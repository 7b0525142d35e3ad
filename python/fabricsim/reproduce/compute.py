"""Runs the experiments of figures, evaluates their quantities, and judges them."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fabricsim.errors import FabricsimError, InputError
from fabricsim.reproduce.expected import (
    FILE,
    Figure,
    Number,
    Quantity,
    RunOf,
    Seed,
    choose,
    find_experiments,
    read_seed,
    seeds,
)
from fabricsim.reproduce.expressions import evaluate
from fabricsim.reproduce.quantities import functions, load_hooks
from fabricsim.results import Result
from fabricsim.run import run
from fabricsim.spec import Experiment
from fabricsim.sweep import Stop, never, work_through


@dataclass(frozen=True)
class Entry:
    """One published number or stated claim, and ours beside it."""

    seed: str
    figure: str
    quantity: str
    unit: str
    published: Number | None
    ours: Number | None
    ratio: float | None
    """Ours over the published number, or over the derived one where none is printed."""
    tolerance: float
    holds: bool | None
    """None where there is nothing to judge by."""
    note: str
    reference: Number | None = None
    """What ours is held against: the published number, or the derived one."""
    absolute: bool = False
    """The tolerance is in the quantity's own unit, not relative."""

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {key: value for key, value in vars(self).items() if key not in ("reference", "absolute")}


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
    figure: str | None = None,
    *,
    experiments: str | Path | None = None,
    jobs: int | None = None,
    on_run: Callable[[int, int], None] | None = None,
    stop: Stop = never,
) -> Outcome:
    """Runs the experiments of one figure, of one seed, or of all seeds, and compares.

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
    available = functions(runs, load_hooks(seed.folder))
    for quantity in figure.quantities:
        try:
            outcome.entries.append(_judge(seed, figure, quantity, available))
        except InputError as error:
            outcome.problems.append(f"{seed.name} {figure.name}: {quantity.quantity}: {error}")


def _judge(seed: Seed, figure: Figure, q: Quantity, available: dict[str, Callable[..., Any]]) -> Entry:
    ours = _number(evaluate(q.value, available))
    reference = q.expected if q.published is None else q.published
    ratio = None
    holds: bool | None = None
    if ours is not None and reference is not None:
        holds = within(ours, reference, q.tolerance, absolute=q.absolute)
        if not isinstance(reference, bool) and reference != 0:
            ratio = ours / reference
    if q.claim is not None:
        holds = bool(evaluate(q.claim, available, {"ours": ours}))
    return Entry(
        seed=seed.name,
        figure=figure.name,
        quantity=q.quantity,
        unit=q.unit,
        published=q.published,
        ours=ours,
        ratio=ratio,
        tolerance=q.tolerance,
        holds=holds,
        note=q.note,
        reference=reference,
        absolute=q.absolute,
    )


def within(ours: Number, reference: Number, tolerance: float, *, absolute: bool = False) -> bool:
    """Whether ours is the reference within the tolerance, relative to the reference unless `absolute`."""
    if isinstance(reference, bool):
        return ours is reference
    slack = tolerance if absolute else tolerance * abs(reference)
    return abs(ours - reference) <= slack


def _number(value: Any) -> Number | None:
    if isinstance(value, bool):
        return value
    if value is None or not isinstance(value, int | float):
        if value is None:
            return None
        raise InputError(f"it is {value!r}, not a number")
    return value if math.isfinite(value) else None
