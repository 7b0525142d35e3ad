"""`experiments/<seed>/expected.toml`: what a publication states, as data. The format is described in
`docs/reproduction/format.md`.
"""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from pathlib import Path
from typing import Any, TypeVar

from fabricsim.errors import InputError

FILE = "expected.toml"
Number = int | float | bool
T = TypeVar("T")


@dataclass(frozen=True)
class RunOf:
    """One run that a figure needs."""

    experiment: str
    """File, relative to the seed's folder."""
    set: dict[str, Any] = field(default_factory=dict)
    """Values to replace."""


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
        raise InputError(_unknown("seed", name, known))
    path = experiments / name / FILE
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: {error}") from None
    figures = [
        _figure(f"{path}: figure {number}", item) for number, item in enumerate(content.pop("figure", []))
    ]
    return _make(Seed, str(path), {**content, "name": name, "folder": path.parent, "figures": figures})


def choose(seed: Seed, figure: str | None) -> list[Figure]:
    """The figures of a seed, or the one that is named.

    Raises:
        InputError: there is no such figure.
    """
    chosen = [item for item in seed.figures if figure in (None, item.name)]
    if not chosen:
        raise InputError(
            _unknown(f"figure of {seed.name}", str(figure), [item.name for item in seed.figures])
        )
    return chosen


def _figure(where: str, item: Mapping[str, Any]) -> Figure:
    item = dict(item)
    where = f"{where} ({item.get('name', 'no name')})"
    runs = {name: _make(RunOf, f"{where}: run {name}", run) for name, run in item.pop("run", {}).items()}
    if "experiment" in item:
        runs = {"": RunOf(item.pop("experiment"), item.pop("set", {})), **runs}
    if not runs:
        raise InputError(f"{where}: it has no run: give `experiment`, or tables [figure.run.NAME]")
    quantities = [_make(Quantity, f"{where}: quantity", q) for q in item.pop("quantity", [])]
    return _make(Figure, where, {**item, "runs": runs, "quantities": quantities})


def _make(kind: type[T], where: str, content: Mapping[str, Any]) -> T:
    """A value of a dataclass from a table, with its keys checked."""
    known = {f.name: f for f in fields(kind)}  # type: ignore[arg-type]
    for key in content:
        if key not in known:
            raise InputError(f"{where}: {_unknown('key', key, list(known))}")
    missing = [
        name
        for name, f in known.items()
        if name not in content and f.default is MISSING and f.default_factory is MISSING
    ]
    if missing:
        raise InputError(f"{where}: the key `{missing[0]}` is missing")
    return kind(**content)


def _unknown(what: str, name: str, known: list[str]) -> str:
    near = difflib.get_close_matches(name, known, n=1)
    hint = f"; did you mean {near[0]}?" if near else ""
    return f"there is no {what} `{name}`; there are: {', '.join(known) or 'none'}{hint}"
