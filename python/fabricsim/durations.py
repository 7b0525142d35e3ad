"""Times for people."""

from __future__ import annotations

_UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))


def seconds(value: float, digits: int = 3) -> str:
    """A time in seconds with the unit that suits it: `1.5 ms`; minutes and hours above two minutes.

    `digits`: significant ones, 3 or more.
    """
    if value >= 7200:
        return f"{value / 3600:.1f} h"
    if value >= 120:
        return f"{value / 60:.1f} min"
    # The unit is that of the rounded value: 999.9 ns are 1 µs, not 1e+03 ns.
    rounded = float(f"{value:.{digits - 1}e}")
    for size, unit in _UNITS:
        if rounded >= size:
            return f"{value / size:.{digits}g} {unit}"
    return "0 s" if value == 0 else f"{value / 1e-9:.{digits}g} ns"


def unit_of(longest_ns: float) -> tuple[float, str]:
    """Nanoseconds in the unit that suits a time of `longest_ns`, and that unit."""
    name = nanoseconds(min(longest_ns, 100e9)).rpartition(" ")[2]
    size = next((size for size, unit in _UNITS if unit == name), 1.0)
    return size * 1e9, name


def nanoseconds(value: float, digits: int = 3) -> str:
    """A time in nanoseconds with the unit that suits it."""
    return seconds(value * 1e-9, digits)
