"""Points drawn at random: reproducible from their seed."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fabricsim.errors import InputError
from fabricsim.spec import toml_value
from fabricsim.spec.sweep import RandomPoints, Range
from fabricsim.sweep.quantity import quantity

MOST_SAMPLES = 1_000_000
DIGITS = 6
"""Significant digits of a drawn number: enough for any parameter, and readable."""
_METHODS = ("independent", "latin-hypercube")
_SCALES = ("linear", "log")


def drawn_points(wanted: RandomPoints, where: str) -> list[dict[str, str]]:
    """The points, as TOML values by key. `where` begins every message: `e.toml: sweep.random`.

    Raises:
        InputError: something about them is wrong.
    """
    if isinstance(wanted.samples, bool) or not 1 <= wanted.samples <= MOST_SAMPLES:
        raise InputError(f"{where}.samples: {wanted.samples} is not allowed: give 1 to {MOST_SAMPLES:,}")
    if wanted.method not in _METHODS:
        raise InputError(f"{where}.method: {wanted.method!r} is not allowed: give {' or '.join(_METHODS)}")
    if not wanted.keys:
        raise InputError(f"{where}.keys: keys are missing: give keys with ranges or choices")
    drawers = {key: _drawer(what, f'{where}.keys."{key}"') for key, what in wanted.keys.items()}
    rows = _units(len(drawers), wanted)
    return [{key: draw(u) for (key, draw), u in zip(drawers.items(), row, strict=True)} for row in rows]


def _units(keys: int, wanted: RandomPoints) -> Sequence[Sequence[float]]:
    """A row of numbers from 0 to 1 for each point."""
    if wanted.method == "latin-hypercube":
        from scipy.stats import qmc  # noqa: PLC0415 - takes a second to import

        rows: Sequence[Sequence[float]] = (
            qmc.LatinHypercube(keys, rng=wanted.seed).random(wanted.samples).tolist()
        )
        return rows
    stream = random.Random(wanted.seed)  # noqa: S311 - no secret; its sequence is the same in all versions
    return [[stream.random() for _ in range(keys)] for _ in range(wanted.samples)]


def _drawer(what: Any, where: str) -> Callable[[float], str]:
    """From a number in [0, 1) to a TOML value."""
    if isinstance(what, Mapping):
        unknown = sorted(set(what) - {"low", "high", "scale", "integer"})
        if unknown or not {"low", "high"} <= set(what):
            problem = f"unknown key {unknown[0]!r} in a range" if unknown else "low and high are needed"
            raise InputError(f"{where}: {problem}: give low, high, and perhaps scale and integer")
        what = Range(**what)
    if isinstance(what, Range):
        return _range(what, where)
    if isinstance(what, str) or not isinstance(what, Sequence):
        raise InputError(f"{where}: expected a range or a list of choices, found {what!r}")
    if not what:
        raise InputError(f"{where}: it has no choices")
    texts = [choice if isinstance(choice, str) else toml_value(choice) for choice in what]
    return lambda u: texts[min(int(u * len(texts)), len(texts) - 1)]


def _range(what: Range, where: str) -> Callable[[float], str]:
    ends = _ends(what, where)
    low, high = ends.low, ends.high
    if not low < high:
        raise InputError(f"{where}: low is {what.low} and high is {what.high}: low must be less than high")
    if what.scale not in _SCALES:
        raise InputError(f"{where}.scale: {what.scale!r} is not allowed: give linear or log")
    if what.scale == "log" and low <= 0:
        raise InputError(f"{where}: on the log scale low must be above 0, not {what.low}")
    if not what.integer:
        return lambda u: ends.text(min(max(float(f"{_at(u, low, high, what.scale):.{DIGITS}g}"), low), high))
    first, last = math.ceil(low), math.floor(high)
    if first > last:
        raise InputError(f"{where}: no whole number from {what.low} to {what.high}")
    # each whole number owns as much of the scale as the others do: from itself to the next
    return lambda u: ends.text(min(max(math.floor(_at(u, first, last + 1, what.scale)), first), last))


def _at(u: float, low: float, high: float, scale: str) -> float:
    if scale == "log":
        return math.exp(math.log(low) + u * (math.log(high) - math.log(low)))
    return low + u * (high - low)


@dataclass(frozen=True)
class _Ends:
    low: float
    high: float
    unit: str

    def text(self, value: float) -> str:
        if not self.unit:
            return repr(value)
        number = f"{value:.15f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)
        return toml_value(f"{number} {self.unit}")


def _ends(what: Range, where: str) -> _Ends:
    low, high = quantity(what.low), quantity(what.high)
    if low and high and low.dimension is high.dimension:
        return _Ends(float(low.number), float(high.in_unit(low.unit)), low.unit)
    numbers = [isinstance(end, int | float) and not isinstance(end, bool) for end in (what.low, what.high)]
    if not all(numbers) or not all(math.isfinite(end) for end in (what.low, what.high)):
        raise InputError(
            f"{where}: low {what.low!r} and high {what.high!r} must be two numbers, or two values with units of the "
            'same kind, such as "1 us" and "1 ms"'
        )
    return _Ends(float(what.low), float(what.high), "")
