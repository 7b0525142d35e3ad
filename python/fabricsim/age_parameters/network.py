"""A k-ary n-cube: radix, and mesh or torus, of each dimension, in the order in which packets are routed."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fabricsim.dimensions import LETTERS, dimension_name
from fabricsim.errors import InputError
from fabricsim.spec import Experiment

MOST_DIMENSIONS = 16
LARGEST_RADIX = 65_536
_LETTER_KEYS = 3
"""Dimensions that also have a letter in experiments."""
_SHAPE = re.compile(r"(?P<radices>\d+[mt]?(?:x\d+[mt]?)*)(?::(?P<kind>\w*))?", re.ASCII)
_KINDS = {"torus": True, "mesh": False}
_EXAMPLES = (
    "write 11x12x16 (a torus), 11x12x16:mesh, 16tx12tx8m (a letter for each dimension), or a .toml file"
)


@dataclass(frozen=True)
class Dimension:
    """One dimension of a k-ary n-cube."""

    name: str
    """x, y, z, w, v, u, then d7 and so on."""
    radix: int
    """Routers along it, k. 1 or more; with 1 it has no links."""
    wrap: bool
    """True for a torus, false for a mesh."""

    @property
    def key(self) -> str:
        """Name of the dimension in `switch.age.bias.dimension`: its letter, from the fourth on its number."""
        if self.name in LETTERS:
            number = LETTERS.index(self.name)
            return self.name if number < _LETTER_KEYS else str(number)
        return str(int(self.name[1:]) - 1)

    @property
    def kind(self) -> str:
        """ "torus" or "mesh"."""
        return "torus" if self.wrap else "mesh"


@dataclass(frozen=True)
class Network:
    """A k-ary n-cube with dimension-order routing."""

    dimensions: tuple[Dimension, ...]
    """In the order in which packets are routed."""
    notes: tuple[str, ...] = ()
    """Features that the equations do not cover."""

    @property
    def nodes(self) -> int:
        """Routers, and processors: each router has one."""
        return math.prod(dimension.radix for dimension in self.dimensions)

    @property
    def title(self) -> str:
        """As it would be given to [`parse_topology`][fabricsim.age_parameters.network.parse_topology]."""
        kinds = {dimension.kind for dimension in self.dimensions}
        letter = len(kinds) > 1
        radices = "x".join(f"{d.radix}{d.kind[0] if letter else ''}" for d in self.dimensions)
        return radices if letter else f"{radices}:{kinds.pop()}"


def parse_topology(text: str) -> Network:
    """Radices separated by x, in the order of routing: `11x12x16`.

    A letter after a radix makes the dimension a mesh (m) or a torus (t); `:mesh` or `:torus` at the end says what those
    without a letter are, by default a torus.

    Raises:
        InputError: it is not written like that, or a radix is out of range.
    """
    found = _SHAPE.fullmatch(text)
    if not found:
        raise InputError(f"{text!r} is not a topology: {_EXAMPLES}")
    kind = found["kind"] if found["kind"] is not None else "torus"
    if kind not in _KINDS:
        raise InputError(f"{text}: {kind!r} is not a kind of topology here: write mesh or torus")
    dimensions = [
        _dimension(part, number, _KINDS[kind]) for number, part in enumerate(found["radices"].split("x"))
    ]
    return _checked(tuple(dimensions), text)


def _dimension(part: str, number: int, wrap: bool) -> Dimension:
    digits = part.rstrip("mt")
    return Dimension(
        dimension_name(number), _radix(digits), {"m": False, "t": True}.get(part[len(digits) :], wrap)
    )


def _radix(digits: str) -> int:
    # Longer ones are out of range, and Python refuses to read those of thousands of digits.
    return int(digits) if len(digits) <= 9 else 10**9


def of_experiment(experiment: Experiment) -> Network:
    """The grid of an experiment, with its order of routing.

    Raises:
        InputError: the experiment is invalid, or its topology is no mesh or torus.
    """
    tree = experiment.check()
    (kind, shape), *_ = tree["topology"].items()
    radices, wraps = _shape(kind, shape, experiment)
    dimensions = [
        Dimension(dimension_name(number), radix, wrap)
        for number, (radix, wrap) in enumerate(zip(radices, wraps, strict=True))
    ]
    order = (tree.get("routing") or {}).get("order") or range(len(dimensions))
    ordered = tuple(dimensions[number] for number in order)
    return _checked(ordered, experiment.file, _notes(tree, shape))


def _shape(kind: str, shape: dict[str, Any], experiment: Experiment) -> tuple[list[int], list[bool]]:
    if kind in ("mesh", "torus"):
        radices = shape["dimensions"]
        return radices, [kind == "torus"] * len(radices)
    if kind == "grid":
        return shape["dimensions"], shape["wrap"]
    if kind == "ring":
        return [shape["switches"]], [True]
    if kind == "hypercube":
        return [2] * shape["dimensions"], [False] * shape["dimensions"]
    raise InputError(
        f"{experiment.file}: topology.{kind}: age parameters are for meshes and tori: "
        "give a mesh, torus, grid, ring or hypercube"
    )


def _notes(tree: dict[str, Any], shape: dict[str, Any]) -> tuple[str, ...]:
    notes = []
    if (hosts := shape.get("hosts_per_switch", 1)) != 1:
        notes.append(
            f"the equations are for one processor for each router; here are {hosts} hosts for each switch"
        )
    algorithm = (tree.get("routing") or {}).get("algorithm")
    if algorithm not in (None, "auto", "dimension-order"):
        notes.append(f"the equations are for dimension-order routing; here it is {algorithm}")
    return tuple(notes)


def _checked(dimensions: tuple[Dimension, ...], where: str, notes: tuple[str, ...] = ()) -> Network:
    if len(dimensions) > MOST_DIMENSIONS:
        raise InputError(f"{where}: {len(dimensions)} dimensions are too many: give 1 to {MOST_DIMENSIONS}")
    for dimension in dimensions:
        if not 1 <= dimension.radix <= LARGEST_RADIX:
            raise InputError(
                f"{where}: the radix of dimension {dimension.name} is out of range: give 1 to {LARGEST_RADIX:,}"
            )
    if all(dimension.radix == 1 for dimension in dimensions):
        raise InputError(f"{where}: this has no links: give a radix of 2 or more in some dimension")
    return Network(dimensions, notes)


def is_file(text: str) -> bool:
    """True if a topology is given by an experiment file."""
    return not _SHAPE.fullmatch(text) and (text.endswith(".toml") or Path(text).is_file())
