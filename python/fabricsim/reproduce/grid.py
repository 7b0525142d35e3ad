"""Grids of runs: an experiment at every combination of the values of some axes."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from fabricsim.errors import InputError
from fabricsim.reproduce.reading import make, unknown

Label = str | int | float
"""A value of an axis as the file has it, or the name of a variant."""


@dataclass(frozen=True)
class RunOf:
    """One run that a figure needs."""

    experiment: str
    """File, relative to the seed's folder."""
    set: dict[str, Any] = field(default_factory=dict)
    """Values to replace."""


@dataclass(frozen=True)
class Variant:
    """A point of an axis that stands for more than the value of one key."""

    experiment: str = ""
    """Another file than that of the grid."""
    set: dict[str, Any] = field(default_factory=dict)
    """Values to replace."""


@dataclass(frozen=True)
class Axis:
    """One direction of a grid: `key` with `values`, or `variants` by name."""

    key: str = ""
    values: list[Label] = field(default_factory=list)
    variants: dict[str, Variant] = field(default_factory=dict)

    def points(self) -> dict[Label, Variant]:
        """Values that each label of the axis replaces."""
        return {value: Variant(set={self.key: value}) for value in self.values} | dict(self.variants)


@dataclass(frozen=True)
class Place:
    """One cell of a grid."""

    name: str
    """Name of its run: its labels, joined by `/`."""
    labels: dict[str, Label]
    """By axis."""
    run: RunOf


@dataclass(frozen=True)
class Grid:
    """An experiment at every combination."""

    name: str
    axis: dict[str, Axis]
    experiment: str = ""
    set: dict[str, Any] = field(default_factory=dict)

    def places(self, where: str, only: Mapping[str, Any], extra: Mapping[str, Any]) -> Iterator[Place]:
        """The cells, the last axis fastest; `only` names the label, or a list of labels, to select of an axis.

        Raises:
            InputError: `only` names an unknown axis or label, or a cell has no experiment.
        """
        for name in only:
            if name not in self.axis:
                raise InputError(f"{where}: {unknown('axis', name, list(self.axis))}")
        axes = [_wanted(f"{where}: axis {name}", axis, only.get(name)) for name, axis in self.axis.items()]
        for combination in itertools.product(*axes):
            labels = dict(zip(self.axis, (label for label, _ in combination), strict=True))
            variants = [variant for _, variant in combination]
            experiment = next((v.experiment for v in variants if v.experiment), self.experiment)
            if not experiment:
                raise InputError(f"{where}: grid {self.name}: the cell {labels} has no experiment")
            values = {key: value for v in variants for key, value in v.set.items()}
            run = RunOf(experiment, {**self.set, **values, **extra})
            yield Place("/".join(map(str, labels.values())), labels, run)


def _wanted(where: str, axis: Axis, only: Any) -> list[tuple[Label, Variant]]:
    points = axis.points()
    labels = list(points) if only is None else only if isinstance(only, list) else [only]
    for label in labels:
        if label not in points:
            raise InputError(f"{where}: {unknown('value', str(label), [str(point) for point in points])}")
    return [(label, points[label]) for label in labels]


def read_grid(where: str, name: str, content: Mapping[str, Any]) -> Grid:
    """A grid from a table `[grid.NAME]`.

    Raises:
        InputError: it is invalid.
    """
    axes = {key: _axis(f"{where}: axis {key}", axis) for key, axis in content.get("axis", {}).items()}
    if not axes:
        raise InputError(f"{where}: it has no axis: give [grid.{name}.axis.NAME]")
    return make(Grid, where, {**content, "name": name, "axis": axes})


def _axis(where: str, content: Mapping[str, Any]) -> Axis:
    variants = {
        name: make(Variant, f"{where}: variant {name}", variant)
        for name, variant in content.get("variants", {}).items()
    }
    axis = make(Axis, where, {**content, "variants": variants})
    if bool(axis.key) != bool(axis.values) or bool(axis.key) == bool(axis.variants):
        raise InputError(f"{where}: give `key` and `values`, or `variants`")
    return axis
