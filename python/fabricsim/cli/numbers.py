"""Numbers for people."""

from __future__ import annotations

from typing import Any

from fabricsim.catalogue import FRACTION, Entry
from fabricsim.durations import seconds
from fabricsim.frames import missing


def nanoseconds(value: Any) -> str:
    """A time in nanoseconds with the unit that suits it; a dash for none."""
    return "-" if missing(value) else seconds(float(value) * 1e-9)


def fixed(value: Any, digits: int = 3) -> str:
    """A number with some decimals; a dash for none."""
    return "-" if missing(value) else f"{float(value):,.{digits}f}"


def significant(value: float, digits: int = 4) -> str:
    """A number with some significant digits; large ones without an exponent."""
    rounded = float(f"{value:.{digits}g}")
    return f"{rounded:,.0f}" if 10.0**digits <= abs(rounded) < 1e15 else f"{value:,.{digits}g}"


def rate(value: Any) -> str:
    """A rate in Gb/s of one flow or of all, in at most seven characters below a million; a dash for none."""
    return fixed(value, 2 if missing(value) or value < 9999.5 else 0)


def percent(value: Any) -> str:
    """A fraction as a percentage; a dash for none."""
    return "-" if missing(value) else f"{float(value):.1%}"


def plain(value: Any) -> str:
    """Anything, on one line."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return significant(value, 6)
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, list):
        return ", ".join(plain(item) for item in value)
    if isinstance(value, dict):
        return " ".join(f"{key} {plain(item)}" for key, item in value.items())
    return "-" if value is None else str(value)


def shown(value: Any, entry: Entry) -> str:
    """A value of a quantity of the results: times with the unit that suits them, fractions as percentages."""
    if missing(value):
        return "-"
    if entry.unit == FRACTION:
        return percent(value)
    if entry.unit in ("ns", "s"):
        return seconds(float(value) * (1e-9 if entry.unit == "ns" else 1.0))
    return significant(value / entry.scale) if isinstance(value, float) else plain(value)


def stacked(entry: Entry) -> str:
    """The heading of a narrow column: a word a line, the unit below."""
    return "\n".join([*entry.label.split(" "), *([entry.shown_unit] if entry.shown_unit else [])])
