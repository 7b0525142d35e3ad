"""Values with units, as numbers: what an axis of a plot and a range of a random sweep need."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

_NUMBER = re.compile(r"\s*([0-9._]+)\s*([a-zA-Zµ/]+)\s*")
_DECIMAL = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_BINARY = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}

_TIMES = {"ps": 1, "ns": 10**3, "us": 10**6, "µs": 10**6, "ms": 10**9, "s": 10**12, "min": 60 * 10**12}
_SIZES = {f"{prefix}B": size for prefix, size in {**_DECIMAL, **_BINARY}.items()}
_RATES = {
    f"{prefix}{unit}/s": size * bits
    for prefix, size in _DECIMAL.items()
    for unit, bits in (("b", 1), ("B", 8))
}


@dataclass(frozen=True)
class Dimension:
    """Dimension of a value with a unit, and its unit in tables."""

    suffix: str
    """End of the names of columns in this unit."""
    unit: str
    units: dict[str, Fraction]
    """Factor from a unit to that of the tables."""


DIMENSIONS = (
    Dimension("ns", "ns", {unit: Fraction(size, 1000) for unit, size in _TIMES.items()}),
    Dimension("bytes", "B", {unit: Fraction(size) for unit, size in _SIZES.items()}),
    Dimension("gbps", "Gb/s", {unit: Fraction(size, 10**9) for unit, size in _RATES.items()}),
)
"""Times, sizes, rates: the units that experiment files take."""


@dataclass(frozen=True)
class Quantity:
    """A value with a unit."""

    number: Fraction
    unit: str
    dimension: Dimension

    @property
    def base(self) -> float:
        """The value in the unit of tables: ns, B or Gb/s."""
        return float(self.number * self.dimension.units[self.unit])

    def in_unit(self, unit: str) -> Fraction:
        """The value in another unit of the same dimension."""
        units = self.dimension.units
        return self.number * units[self.unit] / units[unit]


def quantity(text: object) -> Quantity | None:
    """`"20 us"` as number and unit; None for what is no text with a unit."""
    found = _NUMBER.fullmatch(text) if isinstance(text, str) else None
    if found is None:
        return None
    digits, unit = found[1].replace("_", ""), found[2]
    dimension = next((d for d in DIMENSIONS if unit in d.units), None)
    if dimension is None or not re.fullmatch(r"\d+\.?\d*|\.\d+", digits):
        return None
    return Quantity(Fraction(digits), unit, dimension)


def common_dimension(values: list[object]) -> Dimension | None:
    """The dimension of values that all have units of the same kind."""
    found = {q.dimension.suffix if (q := quantity(value)) else "" for value in values}
    return next((d for d in DIMENSIONS if found == {d.suffix}), None)
