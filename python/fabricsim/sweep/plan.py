"""The points of a sweep: every combination of the points of its axes."""

from __future__ import annotations

import itertools
import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from fabricsim.errors import InputError
from fabricsim.spec import Experiment, toml_value
from fabricsim.spec.sweep import RandomPoints
from fabricsim.spec.values import require_apart, same_key
from fabricsim.statistics import seeds_from
from fabricsim.sweep.base import Base
from fabricsim.sweep.draw import drawn_points
from fabricsim.sweep.mistakes import check_points
from fabricsim.sweep.repeated import SEED

Point = dict[str, str]
"""Keys of the experiment and their values as TOML."""
Kind = Literal["grid", "zip", "list", "random", "seeds"]
MOST_POINTS = 1_000_000
MOST_CHECKS = 200
"""Values that are checked before anything runs, at most; beyond, a bad one shows when its point runs."""


@dataclass(frozen=True)
class Axis:
    """Points that are combined with those of the other axes. A grid has an axis for each key."""

    kind: Kind
    points: list[Point]

    @property
    def keys(self) -> list[str]:
        """All keys that its points give, in order."""
        return list(dict.fromkeys(key for point in self.points for key in point))


@dataclass(frozen=True)
class Plan:
    """Points of a sweep."""

    axes: list[Axis]

    @property
    def parameters(self) -> list[str]:
        """The keys that vary."""
        return [key for axis in self.axes for key in axis.keys]

    @property
    def size(self) -> int:
        """Number of points."""
        return math.prod(len(axis.points) for axis in self.axes)

    def points(self) -> list[Point]:
        """All points; the last axis runs fastest."""
        combined = itertools.product(*(axis.points for axis in self.axes))
        return [{key: text for part in parts for key, text in part.items()} for parts in combined]

    @property
    def first(self) -> Point:
        """The first point."""
        return {key: text for axis in self.axes for key, text in axis.points[0].items()}

    def check(self, experiment: Experiment) -> None:
        """Checks the values of each axis, the others at their first.

        Raises:
            InputError: keys do not exist, or values are not allowed: a line for each mistake, with its point.
        """
        tried = [self.first]
        for axis in self.axes:
            for point in axis.points[1:]:
                # a point of a list may leave out keys that the first one gives
                left = set(axis.keys) - set(point)
                together = {**self.first, **point}
                tried.append({key: text for key, text in together.items() if key not in left})
        check_points(experiment, tried[:MOST_CHECKS])


def plan(
    experiment: Experiment,
    *,
    vary: Mapping[str, Sequence[Any]] | None = None,
    zip: Mapping[str, Sequence[Any]] | None = None,
    list: Sequence[Mapping[str, Any]] | None = None,
    random: RandomPoints | Mapping[str, Any] | None = None,
    seeds: int | None = None,
    loads: Sequence[Point] | None = None,
) -> Plan:
    """The points of the file's `[sweep]`, with what is given here.

    What is given here replaces the file's values for a key in its grid; `zip`, `list` and `random` each replace the
    file's whole. `seeds` repeats each point with that number of seeds: the experiment's, and those after it. `loads`
    are points of loads that are combined with all others. Texts are values as they would be written in the file
    (`"20 us"` needs no second quotes).

    Raises:
        InputError: there is nothing to vary, or something about it is wrong.
    """
    base = Base(experiment)
    given = _quoted(base.section())
    where = f"{experiment.file}: sweep"
    in_zip, in_list, in_random = given.pop("zip"), given.pop("list"), given.pop("random")
    together = in_zip if zip is None else zip
    spelled = in_list if list is None else list
    tree = base.tree()
    here = {
        same_key(tree, key) for key in (*(vary or {}), *(zip or {}), *_keys([*(list or []), *(loads or [])]))
    }
    drawn = _random(_without(in_random, here, tree) if random is None else random, where)
    here |= {same_key(tree, key) for key in drawn.keys} if drawn and random is not None else set()
    given = {key: values for key, values in given.items() if same_key(tree, key) not in here} | dict(
        vary or {}
    )
    axes = [
        Axis("grid", [{key: text} for text in _distinct(key, values, where)]) for key, values in given.items()
    ]
    if together:
        axes.append(_zip(together, f"{where}.zip"))
    if spelled:
        axes.append(_list(spelled, f"{where}.list"))
    if drawn is not None:
        axes.append(Axis("random", drawn_points(drawn, f"{where}.random")))
    if loads:
        axes.append(Axis("zip" if len(loads[0]) > 1 else "grid", [*loads]))
    if base.refusal is not None and not axes:
        raise base.refusal
    if seeds is not None:
        facts = base.facts(Plan(axes).first)
        axes.append(Axis("seeds", [{SEED: str(seed)} for seed in seeds_from(facts["seed"], seeds)]))
    found = Plan(axes)
    _check_axes(found, experiment, tree)
    return found


def grid(experiment: Experiment, vary: Mapping[str, Sequence[Any]] | None = None) -> list[Point]:
    """All points of the file's `[sweep]`, its grid replaced and extended by `vary`.

    Raises:
        InputError: there is nothing to vary, or something about it is wrong.
    """
    return plan(experiment, vary=vary).points()


def is_load(key: str) -> bool:
    """True if a key of an experiment is an offered load."""
    return key.rpartition(".")[2] in ("load", "rate") and key.startswith("traffic.")


def plain_value(text: str) -> Any:
    """A point's value as Python would have it; lists and tables stay texts."""
    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text
    return value if isinstance(value, bool | int | float | str) else text


def value_text(value: Any) -> str:
    """A value as TOML; texts are such already."""
    return value if isinstance(value, str) else toml_value(value)


def _quoted(section: Mapping[str, Any]) -> dict[str, Any]:
    """The file's section with its values as TOML texts; the ends of ranges stay as they are."""
    section = dict(section)
    together, spelled = section.pop("zip", {}), section.pop("list", [])
    drawn = section.pop("random", None)
    found: dict[str, Any] = {key: _all_texts(values) for key, values in section.items()}
    found["zip"] = {key: _all_texts(values) for key, values in together.items()}
    found["list"] = [{key: toml_value(value) for key, value in point.items()} for point in spelled]
    found["random"] = drawn
    if drawn is not None:
        found["random"] = {**drawn, "keys": {key: _all_texts(what) for key, what in drawn["keys"].items()}}
    return found


def _all_texts(values: Any) -> Any:
    return [toml_value(value) for value in values] if isinstance(values, list) else values


def _texts(key: str, values: Any, where: str) -> list[str]:
    if isinstance(values, str) or not isinstance(values, Sequence):
        raise InputError(f'{where}."{key}": expected a list of values, found {values!r}')
    if not values:
        raise InputError(f'{where}."{key}": it has no values')
    return [value_text(value) for value in values]


def _distinct(key: str, values: Any, where: str) -> list[str]:
    """Values of a grid, of which none is there twice: its points would be the same."""
    texts = _texts(key, values, where)
    if len(set(texts)) < len(texts):
        twice = next(text for text in texts if texts.count(text) > 1)
        raise InputError(f'{where}."{key}": {twice} is there twice')
    return texts


def _zip(together: Mapping[str, Sequence[Any]], where: str) -> Axis:
    texts = {key: _texts(key, values, where) for key, values in together.items()}
    if len({len(values) for values in texts.values()}) > 1:
        lengths = ", ".join(f"{key} has {len(values)}" for key, values in texts.items())
        raise InputError(f"{where}: its keys need equally many values: {lengths}")
    rows = zip(*texts.values(), strict=True)
    return Axis("zip", [dict(zip(texts, row, strict=True)) for row in rows])


def _list(spelled: Sequence[Mapping[str, Any]], where: str) -> Axis:
    points = []
    for number, point in enumerate(spelled):
        if not isinstance(point, Mapping) or not point:
            raise InputError(f"{where}.{number}: expected keys and their values, found {point!r}")
        points.append({key: value_text(value) for key, value in point.items()})
    return Axis("list", points)


def _keys(spelled: Any) -> set[str]:
    return {key for point in spelled if isinstance(point, Mapping) for key in point}


def _without(
    drawn: dict[str, Any] | None, keys: set[tuple[str, ...]], tree: Mapping[str, Any]
) -> dict[str, Any] | None:
    """Drawn points of the file, without keys that are varied otherwise."""
    if drawn is None:
        return None
    left = {key: what for key, what in drawn["keys"].items() if same_key(tree, key) not in keys}
    return {**drawn, "keys": left} if left or not drawn["keys"] else None


def _random(drawn: Any, where: str) -> RandomPoints | None:
    if drawn is None or isinstance(drawn, RandomPoints):
        return drawn
    if not isinstance(drawn, Mapping):
        raise InputError(f"{where}.random: expected samples and keys, found {drawn!r}")
    unknown = sorted(set(drawn) - {"samples", "seed", "method", "keys"})
    if unknown or not {"samples", "keys"} <= set(drawn):
        problem = f"unknown key {unknown[0]!r}" if unknown else "samples and keys are needed"
        raise InputError(f"{where}.random: {problem}: give samples, keys, and perhaps seed and method")
    return RandomPoints(**drawn)


def _check_axes(found: Plan, experiment: Experiment, tree: Mapping[str, Any]) -> None:
    if not found.axes:
        raise InputError(
            f"{experiment.file}: there is nothing to sweep over: give --vary KEY=VALUE,VALUE "
            "or a [sweep] table in the file"
        )
    keys = sorted(found.parameters)
    for one, other in itertools.combinations(keys, 2):
        require_apart(one, other, tree, f"{experiment.file}: sweep")
    if unfit := next((key for key in keys if key.partition(".")[0] in ("sweep", "tune")), None):
        raise InputError(f"{experiment.file}: sweep: {unfit} is no key of a run, so nothing changes with it")
    if found.size > MOST_POINTS:
        raise InputError(
            f"{experiment.file}: sweep: {found.size:,} points are too many: at most {MOST_POINTS:,}"
        )
