"""Means of repetitions with their confidence intervals, as cells of tables."""

from __future__ import annotations

from typing import Any

from fabricsim.catalogue import FRACTION, Entry
from fabricsim.cli.numbers import nanoseconds, percent, significant
from fabricsim.frames import missing


def joined(row: dict[Any, Any] | None, of: Entry) -> str:
    """A mean and half of its confidence interval in one cell; a dash for none."""
    return "-" if row is None else " ± ".join(cells(row, of))


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
    return f"{significant(value)}{f' {of.unit}' if of.unit else ''}"
