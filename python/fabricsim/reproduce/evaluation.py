"""Values of a figure's rows from its runs, with the runs that each value needs."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from fabricsim.errors import InputError
from fabricsim.reproduce.expected import Figure, Seed
from fabricsim.reproduce.expressions import evaluate
from fabricsim.reproduce.over import Over, over_functions
from fabricsim.reproduce.quantities import HOOKS, HOOKS_OF_RANKS, HOOKS_OF_VERBS, functions, load_hooks
from fabricsim.reproduce.rows import JUDGING, Cells, Number, Quantity
from fabricsim.results import Result


@dataclass(frozen=True)
class Instance:
    """One row, or one cell of a row of cells."""

    quantity: Quantity
    first: str | None = None
    """The run that expressions mean unless they name another; None: the figure's first."""
    judged: bool = True
    """True if it must hold."""
    listed: bool = True
    """True if it is an entry."""


@dataclass(frozen=True)
class Measured:
    """Result of a row."""

    ours: Number | None
    holds: bool | None
    """None if the row is not judged."""
    used: frozenset[str]
    """Names of the runs that the value and the claim needed."""


class Traced(Mapping[str, Result]):
    """Runs by name that note which of them are used."""

    def __init__(self, runs: Mapping[str, Result], first: str | None = None) -> None:
        self._runs = runs
        self._names = list(runs) if first is None else [first, *(name for name in runs if name != first)]
        self.used: set[str] = set()

    def __getitem__(self, name: str) -> Result:
        result = self._runs[name]
        self.used.add(name)
        return result

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __contains__(self, name: object) -> bool:
        return name in self._runs


def instances(figure: Figure) -> Iterator[Instance]:
    """All rows of a figure, one for each cell, those of cells first.

    Raises:
        InputError: the numbers of cells do not fit their grid.
    """
    for cells in figure.cells:
        yield from cell_instances(figure, cells)
    for quantity in figure.quantities:
        yield Instance(quantity)


def cell_instances(figure: Figure, cells: Cells) -> Iterator[Instance]:
    """A row of cells, one by one.

    Raises:
        InputError: the numbers do not fit the grid.
    """
    published = _flat("published", cells.published, len(figure.places))
    expected = _flat("expected", cells.expected, len(figure.places))
    for (name, labels), number, other in zip(figure.places.items(), published, expected, strict=True):
        quantity = Quantity(
            quantity=_in_words(cells.quantity, labels),
            value=cells.value,
            unit=cells.unit,
            published=number,
            expected=other,
            **{key: getattr(cells, key) for key in JUDGING},
        )
        yield Instance(quantity, first=name, judged=cells.judged, listed=cells.listed)


class Evaluation:
    """Evaluates rows of a figure with some runs."""

    def __init__(self, seed: Seed, figure: Figure, runs: Mapping[str, Result]) -> None:
        self._figure = figure
        self._runs = runs
        files = (HOOKS, HOOKS_OF_RANKS, HOOKS_OF_VERBS)
        self._hooks = {name: hook for file in files for name, hook in load_hooks(seed.folder, file).items()}
        self._over: dict[str, tuple[Over, frozenset[str]]] = {}

    def measure(self, instance: Instance) -> Measured:
        """The value of a row, and whether it holds.

        Raises:
            InputError: an expression cannot be evaluated.
        """
        row = instance.quantity
        runs = Traced(self._runs, instance.first)
        over = _Tables(self, runs)
        available: dict[str, Callable[..., Any]] = {**functions(runs, self._hooks), **over_functions(over)}
        ours = _number(evaluate(row.value, available))
        holds: bool | None = None
        if row.claim is not None:
            holds = bool(evaluate(row.claim, available, {"ours": ours}))
        elif row.reference is not None and row.tolerance is not None:
            holds = ours is not None and within(ours, row.reference, row.tolerance, absolute=row.absolute)
        return Measured(ours, holds if instance.judged else None, frozenset(runs.used))

    def over(self, cells: Cells) -> tuple[Over, frozenset[str]]:
        """A quantity of all cells, and the runs that it needs."""
        if cells.name not in self._over:
            rows = list(cell_instances(self._figure, cells))
            measured = [self.measure(row) for row in rows]
            over = Over(
                list(self._figure.places.values()),
                [one.ours for one in measured],
                [row.quantity.reference for row in rows],
            )
            self._over[cells.name] = over, frozenset().union(*(one.used for one in measured))
        return self._over[cells.name]

    def cells(self) -> dict[str, Cells]:
        """The figure's rows of cells by name."""
        return {cells.name: cells for cells in self._figure.cells}


class _Tables(Mapping[str, Over]):
    """Quantities of all cells by name, evaluated on demand."""

    def __init__(self, evaluation: Evaluation, runs: Traced) -> None:
        self._evaluation = evaluation
        self._cells = evaluation.cells()
        self._runs = runs

    def __getitem__(self, name: str) -> Over:
        over, used = self._evaluation.over(self._cells[name])
        self._runs.used |= used
        return over

    def __iter__(self) -> Iterator[str]:
        return iter(self._cells)

    def __len__(self) -> int:
        return len(self._cells)

    def __contains__(self, name: object) -> bool:
        return name in self._cells


def within(ours: Number, reference: Number, tolerance: float, *, absolute: bool = False) -> bool:
    """True if ours is the reference within the tolerance, relative to the reference unless `absolute`."""
    if isinstance(reference, bool):
        return ours is reference
    slack = tolerance if absolute else tolerance * abs(reference)
    return abs(ours - reference) <= slack


def _flat(key: str, values: list[Any] | None, count: int) -> list[Number | None]:
    """The numbers, one for each cell."""
    if values is None:
        return [None] * count
    numbers = list(_numbers(values))
    if len(numbers) != count:
        raise InputError(f"`{key}` has {len(numbers)} numbers for {count} cells")
    return [None if isinstance(n, float) and math.isnan(n) else n for n in numbers]


def _numbers(value: Any) -> Iterator[Number]:
    if isinstance(value, list):
        for item in value:
            yield from _numbers(item)
    else:
        yield value


def _in_words(text: str, labels: Mapping[str, Any]) -> str:
    try:
        return text.format(**labels)
    except (KeyError, IndexError, ValueError):
        raise InputError(f"`{text}` cannot be filled: the axes are {', '.join(labels)}") from None


def _number(value: Any) -> Number | None:
    if isinstance(value, bool):
        return value
    if value is None or not isinstance(value, int | float):
        if value is None:
            return None
        raise InputError(f"it is {value!r}, not a number")
    return value if math.isfinite(value) else None
