"""Functions of expressions over a quantity of all cells of a grid, by its name: `rank_correlation("total")`."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from fabricsim.errors import InputError
from fabricsim.lazy import numpy as np
from fabricsim.reproduce.grid import Label
from fabricsim.reproduce.rows import Number

if TYPE_CHECKING:
    import numpy.typing as npt

Reals: TypeAlias = "npt.NDArray[np.float64]"


@dataclass(frozen=True)
class Over:
    """A quantity of all cells."""

    labels: Sequence[Mapping[str, Label]]
    ours: Sequence[Number | None]
    reference: Sequence[Number | None]
    """The published numbers, or those that stand for them."""

    def pairs(self) -> tuple[Reals, Reals]:
        """Ours and the reference, of the cells that have both.

        Raises:
            InputError: fewer than two have.
        """
        pairs = [(a, b) for a, b in zip(self.ours, self.reference, strict=True) if None not in (a, b)]
        if len(pairs) < 2:
            raise InputError(f"{len(pairs)} of {len(self.ours)} cells have both a number and a published one")
        ours, published = np.array(pairs, dtype=float).T
        return ours, published


Named = Mapping[str, Over]


def rank_correlation(over: Named, name: str) -> float:
    """Spearman's rank correlation of ours and the published numbers."""
    from scipy.stats import spearmanr  # noqa: PLC0415 - takes long

    ours, published = _named(over, name).pairs()
    if np.ptp(ours) == 0.0 or np.ptp(published) == 0.0:
        raise InputError("all numbers are the same: there is no rank correlation")
    return float(spearmanr(ours, published).statistic)


def mean_error(over: Named, name: str) -> float:
    """Mean of the absolute differences between ours and the published numbers, relative to these."""
    ours, published = _named(over, name).pairs()
    return float(np.mean(np.abs(ours - published) / np.abs(published)))


def largest_error(over: Named, name: str) -> float:
    """Largest absolute difference between ours and the published numbers, relative to these."""
    ours, published = _named(over, name).pairs()
    return float(np.max(np.abs(ours - published) / np.abs(published)))


def best(over: Named, name: str, axis: str, **where: Label) -> float:
    """The label, as a number, that the cell with the largest value has on an axis; of the cells with these labels."""
    cells = _cells(over, name, where)
    at = max(cells, key=lambda cell: cell[1])[0]
    if axis not in at:
        raise InputError(f"there is no axis `{axis}`; there are: {', '.join(at)}")
    return _label_number(at[axis])


def at(over: Named, name: str, **where: Label) -> float:
    """The value of the one cell with these labels."""
    cells = _cells(over, name, where)
    if len(cells) != 1:
        raise InputError(f"{len(cells)} cells are at {where}, not one")
    return cells[0][1]


def highest(over: Named, name: str, **where: Label) -> float:
    """The largest value; of the cells with these labels."""
    return max(value for _, value in _cells(over, name, where))


def lowest(over: Named, name: str, **where: Label) -> float:
    """The smallest value; of the cells with these labels."""
    return min(value for _, value in _cells(over, name, where))


_FUNCTIONS = (rank_correlation, mean_error, largest_error, best, at, highest, lowest)


def over_functions(over: Named) -> dict[str, Callable[..., Any]]:
    """All functions over the cells, for expressions."""
    return {f.__name__: partial(f, over) for f in _FUNCTIONS}


def _named(over: Named, name: str) -> Over:
    if name not in over:
        near = difflib.get_close_matches(name, over, n=1)
        hint = f"; did you mean {near[0]}?" if near else ""
        have = ", ".join(over) or "none"
        raise InputError(f"the figure has no cells named `{name}`; it has: {have}{hint}")
    return over[name]


def _cells(over: Named, name: str, where: Mapping[str, Label]) -> list[tuple[Mapping[str, Label], float]]:
    one = _named(over, name)
    found = [
        (labels, float(value))
        for labels, value in zip(one.labels, one.ours, strict=True)
        if value is not None and all(labels.get(axis) == label for axis, label in where.items())
    ]
    if not found:
        raise InputError(f"no cell of `{name}` is at {dict(where)}")
    return found


def _label_number(label: Label) -> float:
    """A label as a number; of a text with a unit, what stands before the unit."""
    match = re.match(r"\s*[-+0-9.]+", str(label))
    try:
        return float(match[0] if match else label)
    except ValueError:
        raise InputError(f"`{label}` is not a number") from None
