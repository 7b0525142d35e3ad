"""Means of repetitions with their confidence intervals, as cells of tables."""

from __future__ import annotations

from typing import Any

from fabricsim.catalogue import FRACTION, Entry
from fabricsim.cli.numbers import nanoseconds, percent, significant
from fabricsim.frames import missing

_NO_HALF = 1e-9
"""Part of the mean below which half of an interval is a rounding error of equal repetitions."""
_TIMES = ((1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1.0, "ns"))


def joined(row: dict[Any, Any] | None, of: Entry) -> str:
    """A mean and half of its confidence interval in one cell, in the unit of the mean; a dash for none."""
    if row is None or missing(row["mean"]):
        return "-"
    mean = float(row["mean"])
    half = (row["high"] - row["low"]) / 2
    scale, unit = _scale(mean, of)
    text = significant(mean / scale, 3 if of.unit in ("ns", FRACTION) else 4)
    if missing(half):
        return f"{text}{unit}"
    return f"{text} ± {_half(half / scale, mean / scale)}{unit}"


def _half(half: float, mean: float) -> str:
    """Two digits are as much as so few repetitions know of an interval."""
    if half <= _NO_HALF * abs(mean):
        return "0"
    return significant(half, 2 if half < 100.0 else 3)


def _scale(mean: float, of: Entry) -> tuple[float, str]:
    """The number that is 1 in the text, and the unit behind it."""
    if of.unit == FRACTION:
        return 0.01, "%"
    if of.unit == "ns":
        scale, unit = next((one for one in _TIMES if abs(mean) >= 0.9995 * one[0]), _TIMES[-1])
        return scale, f" {unit}"
    return of.scale, f" {of.shown_unit}" if of.shown_unit else ""


def cells(row: dict[Any, Any], of: Entry) -> tuple[str, str]:
    """A mean, and half of its confidence interval."""
    return quantity(row["mean"], of), quantity((row["high"] - row["low"]) / 2, of)


def quantity(value: Any, of: Entry) -> str:
    """A value with its unit; a dash for none."""
    if missing(value):
        return "-"
    if of.unit == FRACTION:
        return f"{value:.2%}" if abs(value) < 0.1 else percent(value)
    if of.unit == "ns":
        return nanoseconds(value) if value >= 0.0 else f"-{nanoseconds(-value)}"
    return f"{significant(value / of.scale)}{f' {of.shown_unit}' if of.shown_unit else ''}"
