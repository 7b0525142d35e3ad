"""The points of a sweep as they are typed on the command line."""

from __future__ import annotations

import re
from typing import Any

from fabricsim.errors import InputError
from fabricsim.spec import Experiment, split_values
from fabricsim.spec.sweep import RandomPoints, Range
from fabricsim.spec.values import parse_assignment
from fabricsim.sweep.base import Base

_RANGE = re.compile(r"(?P<low>.+?)\s*\.\.\s*(?P<high>.+)")
_MARKS = ("linear", "log", "integer")


def values_by_key(texts: list[str] | None) -> dict[str, list[str]]:
    """`KEY=V1,V2` as key and values; a key that is given again gets more values.

    Raises:
        InputError: one is no assignment.
    """
    found: dict[str, list[str]] = {}
    for key, text in map(parse_assignment, texts or []):
        found.setdefault(key, []).extend(split_values(text))
    return found


def spelled_points(texts: list[str] | None) -> list[dict[str, str]] | None:
    """`KEY=VALUE,KEY=VALUE`, one text for each point.

    Raises:
        InputError: one is no list of assignments.
    """
    if not texts:
        return None
    return [dict(map(parse_assignment, split_values(text))) for text in texts]


def random_points(
    experiment: Experiment, texts: list[str] | None, samples: int | None, seed: int | None, spread: bool
) -> RandomPoints | None:
    """Points to draw: those of the file, with replacements of the command line.

    Raises:
        InputError: a range cannot be read, or options do not go together.
    """
    if not texts and samples is None and seed is None and not spread:
        return None
    written: dict[str, Any] = Base(experiment).section().get("random") or {}
    if not texts and not written:
        raise InputError(
            "--samples, --random-seed, --latin-hypercube: there is nothing to draw: give --random as well"
        )
    keys = {key: _drawn(key, text) for key, text in map(parse_assignment, texts or [])}
    wanted = samples if samples is not None else written.get("samples")
    if wanted is None:
        raise InputError("--random: the number of points is missing: give --samples")
    return RandomPoints(
        samples=wanted,
        keys=keys or written["keys"],
        seed=seed if seed is not None else written.get("seed", 0),
        method="latin-hypercube" if spread else written.get("method", "independent"),
    )


def _drawn(key: str, text: str) -> Range | list[str]:
    """`1 us..1 ms,log` as a range; `a,b,c` as choices."""
    first, *marks = split_values(text) or [""]
    found = _RANGE.fullmatch(first)
    if found is None:
        return [first, *marks] if first else []
    if unknown := [mark for mark in marks if mark not in _MARKS]:
        raise InputError(
            f"--random {key}: {unknown[0]!r} is not allowed after a range: give {', '.join(_MARKS)}"
        )
    return Range(
        low=_end(found["low"]),
        high=_end(found["high"]),
        scale="log" if "log" in marks else "linear",
        integer="integer" in marks,
    )


def _end(text: str) -> float | int | str:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text.strip("\"'")
