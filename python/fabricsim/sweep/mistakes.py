"""Mistakes of the points of a sweep, each with the values of the point that has it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from fabricsim.errors import InputError
from fabricsim.shown import number_of
from fabricsim.spec import Experiment

MOST_MISTAKES = 20
"""Mistakes that are listed, as for a single experiment."""
_ON_TOP = " (set on top of the file)"
"""End of a message about a value that is not in the file: here the values of a point."""


def check_points(experiment: Experiment, points: Sequence[Mapping[str, str]]) -> None:
    """Checks an experiment at points: keys and their values as TOML.

    Raises:
        InputError: points are invalid. Each mistake is a line, with the values of the first point that has it.
    """
    found: dict[str, list[Mapping[str, str]]] = {}
    for point in points:
        try:
            experiment.with_overrides([*point.items()]).check()
        except InputError as error:
            for mistake in _mistakes(experiment, error):
                found.setdefault(mistake, []).append(point)
    if found:
        own = _own_mistakes(experiment)
        lines = [
            # what is wrong in the file and mended by no point has nothing to do with the points
            mistake
            if mistake in own and len(at) == len(points)
            else f"{mistake.removesuffix(_ON_TOP)} ({_where(at)})"
            for mistake, at in found.items()
        ]
        more = len(lines) - MOST_MISTAKES
        raise InputError(
            "\n".join(
                lines[:MOST_MISTAKES] + ([f"and {number_of(more, 'more mistake')}"] if more > 0 else [])
            )
        )


def point_text(point: Mapping[str, str]) -> str:
    """The values of a point as they are typed after `--set`."""
    return ", ".join(f"{key} = {text}" for key, text in point.items())


def _mistakes(experiment: Experiment, error: InputError) -> list[str]:
    """The mistakes of a message, each of which begins with the file's name."""
    return re.split(rf"\n(?={re.escape(experiment.file)}:)", str(error))


def _own_mistakes(experiment: Experiment) -> list[str]:
    """The mistakes of an experiment without any point."""
    try:
        experiment.check()
    except InputError as error:
        return _mistakes(experiment, error)
    return []


def _where(points: Sequence[Mapping[str, str]]) -> str:
    more = f", and {len(points) - 1:,} more" if len(points) > 1 else ""
    return f"point {point_text(points[0])}{more}"
