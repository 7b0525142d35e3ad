"""Parameters: ranges and choices, as distributions of Optuna and as values of an experiment."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Protocol

from fabricsim.errors import InputError
from fabricsim.spec import toml_value
from fabricsim.sweep.quantity import Quantity, quantity

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution

DIGITS = 4
"""Significant digits of values drawn from a range without steps."""


class Parameter(Protocol):
    """A key of the experiment that may be changed."""

    @property
    def key(self) -> str: ...

    def distribution(self) -> BaseDistribution:
        """Distribution for Optuna."""
        ...

    def value(self, drawn: Any) -> Any:
        """The drawn value as a value of the experiment."""
        ...

    def drawn(self, value: Any) -> Any:
        """A value of the experiment as it would be drawn.

        Raises:
            InputError: it is not one that can be drawn.
        """
        ...

    def examples(self) -> list[Any]:
        """Values of which one at least should be good."""
        ...

    def all(self) -> list[Any]:
        """Everything that can be drawn, in order."""
        ...


@dataclass(frozen=True)
class Choice:
    """One of some values."""

    key: str
    choices: tuple[Any, ...]

    def distribution(self) -> BaseDistribution:
        from optuna.distributions import CategoricalDistribution  # noqa: PLC0415 - takes long

        return CategoricalDistribution(self.all())

    def value(self, drawn: Any) -> Any:
        return self.choices[self.all().index(drawn)]

    def drawn(self, value: Any) -> Any:
        if value not in self.choices:
            raise InputError(f"{toml_value(value)} is not one of the choices: {', '.join(self.all())}")
        return toml_value(value)

    def examples(self) -> list[Any]:
        return list(self.choices)

    def all(self) -> list[Any]:
        """The choices as TOML: Optuna stores texts, not tables."""
        return [toml_value(choice) for choice in self.choices]


@dataclass(frozen=True)
class Numbers:
    """A range of numbers."""

    key: str
    low: int | float
    high: int | float
    log: bool
    step: int | float | None
    whole: bool

    def distribution(self) -> BaseDistribution:
        """Of the number of steps from `low` where there are steps, else of the value."""
        from optuna.distributions import FloatDistribution, IntDistribution  # noqa: PLC0415 - takes long

        if self.step is not None:
            return IntDistribution(0, self._steps)
        if self.whole:
            return IntDistribution(int(self.low), int(self.high), self.log)
        return FloatDistribution(self.low, self.high, self.log)

    @property
    def _steps(self) -> int:
        """Steps from the lowest to the highest value."""
        return math.floor((self.high - self.low) / (self.step or 1) * (1 + 1e-12))

    def value(self, drawn: Any) -> Any:
        if self.step is not None:
            value = self.low + self.step * int(drawn)
            return int(value) if self.whole else self._inside(float(f"{value:.12g}"))
        if self.whole:
            return int(drawn)
        return self._inside(float(f"{drawn:.{DIGITS}g}"))

    def _inside(self, value: float) -> float:
        """Rounding leads out of the range at its ends."""
        return min(max(value, self.low), self.high)

    def drawn(self, value: Any) -> Any:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise InputError(f"{toml_value(value)} is not a number")
        if not self.low <= value <= self.high:
            raise InputError(f"{value} is not between {self.low} and {self.high}")
        if self.step is not None:
            return _steps(value - self.low, self.step, value)
        return _steps(value, 1, value) if self.whole else value

    def examples(self) -> list[Any]:
        return [self.low, self.high]

    def all(self) -> list[Any]:
        if self.step is not None:
            return list(range(self._steps + 1))
        return list(range(int(self.low), int(self.high) + 1))


@dataclass(frozen=True)
class Quantities:
    """A range of values with a unit, as whole multiples of a grain: the smallest unit, or the configured one."""

    key: str
    low: Quantity
    high: Quantity
    log: bool
    step: Quantity | None
    whole: bool

    @property
    def _grain(self) -> str:
        """The unit in which values are counted."""
        if self.whole:
            return self.low.unit
        return {"ns": "ps", "bytes": "B", "gbps": "b/s"}[self.low.dimension.suffix]

    def _count(self, size: Quantity) -> int:
        count = size.in_unit(self._grain)
        if count.denominator != 1:
            raise InputError(
                f"{self.key}: {float(size.number):g} {size.unit} is no whole number of {self._grain}"
            )
        return int(count)

    def distribution(self) -> BaseDistribution:
        from optuna.distributions import IntDistribution  # noqa: PLC0415 - takes long

        step = 1 if self.step is None else self._count(self.step)
        return IntDistribution(self._count(self.low), self._last(), self.log, step)

    def _last(self) -> int:
        """The highest count that steps from `low` reach."""
        low, high = self._count(self.low), self._count(self.high)
        step = 1 if self.step is None else self._count(self.step)
        return low + (high - low) // step * step

    def value(self, drawn: Any) -> Any:
        count = int(drawn)
        if self.step is None and not self.whole:
            count = int(float(f"{count:.{DIGITS}g}"))
            count = min(max(count, self._count(self.low)), self._count(self.high))
        return _with_unit(Fraction(count), self._grain, self.low)

    def written(self, number: int | float, one: Quantity) -> str:
        """A plain number of the experiment, of which 1 is `one`, as a value with a unit."""
        return _with_unit(Fraction(str(number)) * one.in_unit(self._grain), self._grain, self.low)

    def drawn(self, value: Any) -> Any:
        given = quantity(value)
        if given is None or given.dimension != self.low.dimension:
            raise InputError(f"{toml_value(value)} is not like {self.low.unit!r}: write a number and a unit")
        count = self._count(given)
        if not self._count(self.low) <= count <= self._count(self.high):
            raise InputError(f"{toml_value(value)} is outside of the range")
        if self.step is not None:
            _steps(count - self._count(self.low), self._count(self.step), toml_value(value))
        return count

    def examples(self) -> list[Any]:
        return [self.value(self._count(self.low)), self.value(self._last())]

    def all(self) -> list[Any]:
        step = 1 if self.step is None else self._count(self.step)
        return list(range(self._count(self.low), self._last() + 1, step))


def _steps(distance: Any, step: Any, value: Any) -> int:
    """Number of steps to a value.

    Raises:
        InputError: not a whole number.
    """
    steps = round(float(distance / step))
    if abs(distance / step - steps) > 1e-9:
        raise InputError(f"{value} is not a whole number of steps of {step} away from the start of the range")
    return steps


def _with_unit(count: Fraction, grain: str, like: Quantity) -> str:
    """`count` grains in the unit of `like`, or else the largest, in which three decimals show it."""
    units = like.dimension.units
    by_size = sorted((unit for unit in units if unit.isascii()), key=lambda unit: -units[unit])
    sizes_mix_powers = like.dimension.suffix == "bytes"  # 1000 and 1024
    for unit in (like.unit, *(() if sizes_mix_powers else by_size)):
        thousandths = count * units[grain] / units[unit] * 1000
        if thousandths.denominator == 1 and thousandths >= 1000:
            break
    else:
        return f"{count} {grain}"
    text = f"{int(thousandths) // 1000}.{int(thousandths) % 1000:03}".rstrip("0").rstrip(".")
    return f"{text} {unit}"


def parameter(key: str, given: Mapping[str, Any]) -> Parameter:
    """A parameter as the experiment gives it: its types and their order were checked."""
    if given.get("choices"):
        return Choice(key, tuple(given["choices"]))
    low, high, step = given["low"], given["high"], given.get("step")
    log, whole = given.get("scale") == "log", bool(given.get("integer"))
    if isinstance(low, str):
        ends = [quantity(low), quantity(high)]
        assert ends[0] is not None
        assert ends[1] is not None
        made = Quantities(key, ends[0], ends[1], log, quantity(step), whole)
        made.distribution()
        return made
    if whole or (isinstance(low, int) and isinstance(high, int)):
        if low != int(low) or high != int(high):
            raise InputError(f"{key}: {low} and {high} are not both whole numbers")
        return Numbers(key, int(low), int(high), log, step, whole=True)
    return Numbers(key, float(low), float(high), log, step, whole=False)
