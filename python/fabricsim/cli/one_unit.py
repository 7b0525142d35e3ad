"""Values of a row or column of a table in one unit, which its heading has."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

from fabricsim.cli.numbers import plain, significant
from fabricsim.durations import unit_of
from fabricsim.sweep.quantity import Quantity, quantity

DIGITS = 5


def in_one_unit(values: Sequence[Any], unit: str) -> tuple[list[str], str]:
    """Texts of values, and their unit. Times have the unit that suits the longest; values that are texts with units
    have that of most of them, if all are of a kind. A dash for none.

    `unit`: that of numbers.
    """
    given = [quantity(value) for value in values]
    known = [one for one in given if one is not None]
    missing = [value for value, one in zip(values, given, strict=True) if one is None and value is not None]
    if known and not missing and len({one.dimension.suffix for one in known}) == 1:
        (name, _), *_ = Counter(one.unit for one in known).most_common(1)
        return [_in(one, name) for one in given], name.replace("us", "µs")
    scale, name = scale_of([value for value in values if isinstance(value, float)], unit)
    return [_cell(value / scale if isinstance(value, float) else value) for value in values], name


def scale_of(values: Sequence[float], unit: str) -> tuple[float, str]:
    """The number that is 1 in a table of these values, and its unit: times have the unit that suits the longest."""
    known = [abs(value) for value in values if math.isfinite(value)]
    return unit_of(max(known)) if unit == "ns" and any(known) else (1.0, unit)


def _in(value: Quantity | None, unit: str) -> str:
    return "-" if value is None else significant(float(value.in_unit(unit)), DIGITS)


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return "-" if math.isnan(value) else significant(value, DIGITS)
    return plain(value)
