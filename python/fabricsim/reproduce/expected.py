"""`experiments/<seed>/expected.toml`: what a publication states, as data. The format is described in
`docs/reproduction/format.md`.
"""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fabricsim.errors import InputError
from fabricsim.reproduce.grid import Grid, Label, RunOf, read_grid
from fabricsim.reproduce.reading import make, unknown

FILE = "expected.toml"
Number = int | float | bool


@dataclass(frozen=True)
class Quantity:
    """One published number or stated claim."""

    quantity: str
    """What it is, in words."""
    value: str
    """Expression that gives ours."""
    unit: str = ""
    published: Number | None = None
    """The number in print; none where the publication prints none."""
    expected: Number | None = None
    """What to hold ours against where nothing is printed: derived from the publication, as `note` says."""
    tolerance: float = 0.02
    """Largest difference, relative to the reference unless `absolute`."""
    absolute: bool = False
    """The tolerance is in the quantity's own unit."""
    claim: str | None = None
    """Expression that decides whether it holds, instead of a tolerance; `ours` is the value."""
    note: str = ""


@dataclass(frozen=True)
class Cells:
    """A quantity of every cell of a figure's grid."""

    name: str
    """What expressions call it."""
    quantity: str
    """What it is, in words; `{AXIS}` stands for the cell's label on that axis."""
    value: str
    """Expression that gives ours; the cell's run is the first."""
    unit: str = ""
    published: list[Any] | None = None
    """Numbers in print, as many as there are cells: lists of lists, the first axis outermost; `nan`: none."""
    expected: list[Any] | None = None
    """What to hold ours against where nothing is printed."""
    tolerance: float = 0.02
    absolute: bool = False
    judged: bool = True
    """Whether each cell has to hold; otherwise only what is said of all of them."""
    listed: bool = True
    """Whether each cell is an entry of its own."""


@dataclass(frozen=True)
class Figure:
    """A figure or table of a publication."""

    name: str
    """`figure-4.1`, `table-4.9`."""
    runs: dict[str, RunOf]
    """Runs by name; the first is what expressions mean unless they name another."""
    quantities: list[Quantity]
    title: str = ""
    text: str = ""
    plots: list[str] = field(default_factory=list)
    """Pictures for the page: `throughput`, `links`, `latency`, `name of run/throughput`, or a function of the seed's
    own `figures.py`."""
    tables: list[str] = field(default_factory=list)
    """Further tables for the page: functions of the seed's own `tables.py`."""
    cells: list[Cells] = field(default_factory=list)
    places: dict[str, dict[str, Label]] = field(default_factory=dict)
    """Labels by axis of the runs that are cells of a grid, by their names."""


@dataclass(frozen=True)
class Seed:
    """All that is held against one publication."""

    name: str
    folder: Path
    figures: list[Figure]
    title: str = ""
    source: str = ""
    text: str = ""
    differences: list[str] = field(default_factory=list)
    """Where our model differs from the publication's, or the publication is silent."""


def find_experiments() -> Path:
    """The folder `experiments` of the checkout that the working directory or this package is in.

    Raises:
        InputError: there is none.
    """
    here = Path.cwd()
    for parent in [here, *here.parents, *Path(__file__).resolve().parents]:
        if any((parent / "experiments").glob(f"*/{FILE}")):
            return parent / "experiments"
    raise InputError(
        "no folder experiments/ with published numbers was found: work in a checkout, or give --experiments DIR"
    )


def seeds(experiments: Path) -> list[str]:
    """Names of the seeds in a folder of experiments."""
    return sorted(path.parent.name for path in experiments.glob(f"*/{FILE}"))


def read_seed(experiments: Path, name: str) -> Seed:
    """Reads a seed's `expected.toml`.

    Raises:
        InputError: there is no such seed, or its file is wrong.
    """
    if name not in (known := seeds(experiments)):
        raise InputError(unknown("seed", name, known))
    path = experiments / name / FILE
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: {error}") from None
    grids = {
        key: read_grid(f"{path}: grid {key}", key, grid) for key, grid in content.pop("grid", {}).items()
    }
    figures = [
        _figure(f"{path}: figure {number}", item, grids)
        for number, item in enumerate(content.pop("figure", []))
    ]
    return make(Seed, str(path), {**content, "name": name, "folder": path.parent, "figures": figures})


def choose(seed: Seed, figure: str | Collection[str] | None) -> list[Figure]:
    """The figures of a seed, or the one or those that are named.

    Raises:
        InputError: there is no such figure.
    """
    known = [item.name for item in seed.figures]
    wanted = known if figure is None else [figure] if isinstance(figure, str) else figure
    for name in wanted:
        if name not in known:
            raise InputError(unknown(f"figure of {seed.name}", name, known))
    return [item for item in seed.figures if item.name in wanted]


def _figure(where: str, item: Mapping[str, Any], grids: Mapping[str, Grid]) -> Figure:
    item = dict(item)
    where = f"{where} ({item.get('name', 'no name')})"
    runs = {name: make(RunOf, f"{where}: run {name}", run) for name, run in item.pop("run", {}).items()}
    values = item.pop("set", {})
    if "experiment" in item:
        runs = {"": RunOf(item.pop("experiment"), values), **runs}
    places = {}
    only = item.pop("where", {})
    for name in item.pop("grids", []):
        if name not in grids:
            raise InputError(f"{where}: {unknown('grid', name, list(grids))}")
        for place in grids[name].places(where, only, values):
            runs[place.name] = place.run
            places[place.name] = place.labels
    if not runs:
        raise InputError(f"{where}: it has no run: give `experiment`, `grids`, or tables [figure.run.NAME]")
    quantities = [make(Quantity, f"{where}: quantity", q) for q in item.pop("quantity", [])]
    cells = [make(Cells, f"{where}: cells", c) for c in item.pop("cells", [])]
    content = {**item, "runs": runs, "quantities": quantities, "cells": cells, "places": places}
    return make(Figure, where, content)
