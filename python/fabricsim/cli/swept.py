"""Files that are valid only with the points of their `[sweep]`, for commands that need one experiment."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path

from fabricsim.cli.console import tell
from fabricsim.cli.state import read
from fabricsim.errors import InputError
from fabricsim.spec import Experiment


def read_single(file: Path, assignments: list[str] | None) -> Experiment:
    """The experiment of a command that simulates it.

    Raises:
        InputError: it cannot be read, or it is valid only with the points of its `[sweep]`.
    """
    experiment = read(file, assignments)
    if (refusal := without_points(experiment)) is None:
        return experiment
    try:
        first = _first(experiment)
    except InputError:
        return experiment  # the command says what is wrong with it
    sets = " ".join(f"--set {shlex.quote(f'{key}={text}')}" for key, text in first.items())
    raise InputError(
        f"{refusal}\nIts [sweep] gives that: use fabricsim sweep {shlex.quote(str(file))}, or set a point of it: {sets}"
    )


def read_first(file: Path, assignments: list[str] | None) -> Experiment:
    """The experiment of a command that describes it; if it is valid only with the points of its `[sweep]`, the first.

    Raises:
        InputError: it cannot be read, or the point is invalid, too.
    """
    experiment = read(file, assignments)
    if without_points(experiment) is None:
        return experiment
    from fabricsim.sweep.mistakes import point_text  # noqa: PLC0415 - few experiments need it

    first = _first(experiment)
    tell(f"{experiment.file}: valid only with its [sweep]; this is its first point: {point_text(first)}")
    return experiment.with_overrides([*first.items()])


def without_points(experiment: Experiment) -> InputError | None:
    """The reason why an experiment with a `[sweep]` is invalid without it; None if it is valid, or has none."""
    on_top = any(key.partition(".")[0] == "sweep" for key, _ in experiment.overrides)
    # the text first: files of large networks take long to read
    if (not on_top and "sweep" not in experiment.text) or "sweep" not in experiment.written():
        return None
    try:
        experiment.check()
    except InputError as refusal:
        return refusal
    return None


def _first(experiment: Experiment) -> Mapping[str, str]:
    """The first point of its `[sweep]`.

    Raises:
        InputError: the section, or the point, is invalid.
    """
    from fabricsim.sweep.mistakes import check_points  # noqa: PLC0415 - few experiments need it
    from fabricsim.sweep.plan import plan  # noqa: PLC0415

    first = plan(experiment).first
    check_points(experiment, [first])
    return first
