"""Evaluates the quantities of figures, and holds them against what is published."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from fabricsim.errors import InputError
from fabricsim.reproduce.expected import Cells, Figure, Number, Quantity, Seed
from fabricsim.reproduce.expressions import evaluate
from fabricsim.reproduce.over import Over, over_functions
from fabricsim.reproduce.quantities import functions, load_hooks
from fabricsim.results import Result

Functions = dict[str, Callable[..., Any]]


@dataclass(frozen=True)
class Entry:
    """One published number or stated claim, and ours beside it."""

    seed: str
    figure: str
    quantity: str
    unit: str
    published: Number | None
    ours: Number | None
    ratio: float | None
    """Ours over the published number, or over the derived one where none is printed."""
    tolerance: float
    holds: bool | None
    """None where there is nothing to judge by."""
    note: str
    reference: Number | None = None
    """What ours is held against: the published number, or the derived one."""
    absolute: bool = False
    """The tolerance is in the quantity's own unit, not relative."""

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {key: value for key, value in vars(self).items() if key not in ("reference", "absolute")}


def judge_figure(seed: Seed, figure: Figure, runs: Mapping[str, Result]) -> tuple[list[Entry], list[str]]:
    """The entries of a figure, and what could not be evaluated."""
    judging = _Judging(seed, figure, runs)
    return list(judging.entries()), judging.problems


class _Judging:
    def __init__(self, seed: Seed, figure: Figure, runs: Mapping[str, Result]) -> None:
        self._seed = seed
        self._figure = figure
        self._runs = runs
        self._hooks = load_hooks(seed.folder)
        self.problems: list[str] = []

    def entries(self) -> Iterator[Entry]:
        """Cells first, since quantities may ask for them."""
        over: dict[str, Over] = {}
        for cells in self._figure.cells:
            yield from self._guarded(cells.quantity, partial(self._cells, cells, over))
        available = {**functions(self._runs, self._hooks), **over_functions(over)}
        for quantity in self._figure.quantities:
            yield from self._guarded(quantity.quantity, partial(self._one, quantity, available))

    def _guarded(self, what: str, make: Callable[[], list[Entry]]) -> list[Entry]:
        try:
            return make()
        except InputError as error:
            self.problems.append(f"{self._seed.name} {self._figure.name}: {what}: {error}")
            return []

    def _cells(self, cells: Cells, over: dict[str, Over]) -> list[Entry]:
        places = self._figure.places
        published = _flat("published", cells.published, len(places))
        expected = _flat("expected", cells.expected, len(places))
        entries = []
        for (name, labels), number, other in zip(places.items(), published, expected, strict=True):
            runs = {name: self._runs[name], **self._runs}
            quantity = Quantity(
                quantity=_in_words(cells.quantity, labels),
                value=cells.value,
                unit=cells.unit,
                published=number,
                expected=other,
                tolerance=cells.tolerance,
                absolute=cells.absolute,
            )
            entries += self._one(quantity, functions(runs, self._hooks))
        over[cells.name] = Over(
            list(places.values()), [entry.ours for entry in entries], [entry.reference for entry in entries]
        )
        if not cells.listed:
            return []
        return entries if cells.judged else [replace(entry, holds=None) for entry in entries]

    def _one(self, quantity: Quantity, available: Functions) -> list[Entry]:
        return [_judge(self._seed, self._figure, quantity, available)]


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


def _judge(seed: Seed, figure: Figure, q: Quantity, available: dict[str, Callable[..., Any]]) -> Entry:
    ours = _number(evaluate(q.value, available))
    reference = q.expected if q.published is None else q.published
    ratio = None
    holds: bool | None = None
    if ours is not None and reference is not None:
        holds = within(ours, reference, q.tolerance, absolute=q.absolute)
        if not isinstance(reference, bool) and reference != 0:
            ratio = ours / reference
    if q.claim is not None:
        holds = bool(evaluate(q.claim, available, {"ours": ours}))
    return Entry(
        seed=seed.name,
        figure=figure.name,
        quantity=q.quantity,
        unit=q.unit,
        published=q.published,
        ours=ours,
        ratio=ratio,
        tolerance=q.tolerance,
        holds=holds,
        note=q.note,
        reference=reference,
        absolute=q.absolute,
    )


def within(ours: Number, reference: Number, tolerance: float, *, absolute: bool = False) -> bool:
    """Whether ours is the reference within the tolerance, relative to the reference unless `absolute`."""
    if isinstance(reference, bool):
        return ours is reference
    slack = tolerance if absolute else tolerance * abs(reference)
    return abs(ours - reference) <= slack


def _number(value: Any) -> Number | None:
    if isinstance(value, bool):
        return value
    if value is None or not isinstance(value, int | float):
        if value is None:
            return None
        raise InputError(f"it is {value!r}, not a number")
    return value if math.isfinite(value) else None
