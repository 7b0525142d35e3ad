"""`experiments/<seed>/expected.toml`: what a publication states, as data. The format is described in
`docs/reproduction/format.md`.
"""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fabricsim.errors import InputError
from fabricsim.reproduce.grid import Grid, Label, RunOf, read_grid
from fabricsim.reproduce.reading import make, unknown
from fabricsim.reproduce.rows import JUDGING, Cells, Judging, Quantity, read_row

FILE = "expected.toml"


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
    slow: bool = False
    """True if its runs take minutes: such figures are left to `make reproduce`."""

    @property
    def rows(self) -> list[Quantity | Cells]:
        """All rows, those of cells first."""
        return [*self.cells, *self.quantities]


@dataclass(frozen=True)
class Choice:
    """A parameter that was chosen with results at hand: rows that depend on it are calibrated."""

    parameter: str
    value: str
    when: str
    """Time of the choice, and the results known then."""
    rows: str
    """The rows that it was chosen for."""
    others: str
    """Results of other values."""


@dataclass(frozen=True)
class Seed:
    """All comparisons with one publication."""

    name: str
    folder: Path
    figures: list[Figure]
    title: str = ""
    source: str = ""
    text: str = ""
    differences: list[str] = field(default_factory=list)
    """Differences of our model from the publication's, and points that the publication leaves open."""
    tolerances: dict[str, str] = field(default_factory=dict)
    """Origins of tolerances, by the names that rows give in `because`."""
    choices: dict[str, Choice] = field(default_factory=dict)
    """Parameters chosen with results at hand, by name."""


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
    choices = {
        key: make(Choice, f"{path}: choice {key}", choice)
        for key, choice in content.pop("choice", {}).items()
    }
    seed = make(
        Seed,
        str(path),
        {**content, "name": name, "folder": path.parent, "figures": figures, "choices": choices},
    )
    for message in _contradictions(seed):
        raise InputError(f"{path}: {message}")
    return seed


def _contradictions(seed: Seed) -> Iterator[str]:
    """Errors between rows: duplicate names, and unknown references."""
    figures = [figure.name for figure in seed.figures]
    for figure in seed.figures:
        names = Counter(row.quantity for row in figure.rows)
        yield from (
            f"{figure.name}: two rows are called `{name}`" for name, count in names.items() if count > 1
        )
        for row in figure.rows:
            for what, name, known in (
                ("entry of [tolerances]", row.because, list(seed.tolerances)),
                ("choice", row.calibrated, list(seed.choices)),
                ("figure", row.repeats, figures),
            ):
                if name and name not in known:
                    yield f"{figure.name}: {row.quantity}: {unknown(what, name, known)}"


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
    defaults = {key: item.pop(key) for key in JUDGING if key in item}
    make(Judging, where, {key: value for key, value in defaults.items() if key != "control"})
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
    quantities = [read_row(Quantity, f"{where}: quantity", q, defaults) for q in item.pop("quantity", [])]
    cells = [read_row(Cells, f"{where}: cells", c, defaults) for c in item.pop("cells", [])]
    content = {**item, "runs": runs, "quantities": quantities, "cells": cells, "places": places}
    return make(Figure, where, content)
