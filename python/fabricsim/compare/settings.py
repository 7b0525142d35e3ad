"""Keys in which experiments differ, and labels of runs."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from fabricsim.errors import FabricsimError
from fabricsim.lazy import pandas as pd
from fabricsim.results import Result
from fabricsim.spec import Experiment, toml_value
from fabricsim.sweep import SweepResult

Tree = Mapping[str, Any]

_IGNORED = ("title", "description", "sweep", "tune")
"""Sections that change nothing in a run."""
_CHOICE = "congestion_control.algorithm"
"""The key that says which of its sibling sections counts."""
_ENTRY = re.compile(r"^[^.\"]+\.\d+(?=\.)")
"""An entry of a list at the top of an experiment, in a key: `traffic.1`."""
MOST_IN_LABEL = 3
"""Keys that a label names."""


def differences(results: Sequence[Result | SweepResult]) -> pd.DataFrame:
    """The keys in which the experiments differ: a row for each, a column for each run.

    Keys are as `--set` takes them, with the name of an entry of a list if it has the same one in all experiments.
    Values are as they would be written in the file; None where an experiment has no such key, or where the key
    belongs to an algorithm of congestion control that it does not use.
    """
    settings = [dict(_used(dict(_flat(tree, "")))) for tree in _trees(results)]
    keys = list(dict.fromkeys(key for one in settings for key in one))
    names = _names(settings)
    rows = {}
    for key in keys:
        values = [one.get(key) for one in settings]
        if len({value for one, value in zip(settings, values, strict=True) if _counts(key, one)}) > 1:
            rows[_named(key, names)] = [
                value if _counts(key, one) else None for one, value in zip(settings, values, strict=True)
            ]
    return pd.DataFrame.from_dict(rows, orient="index", columns=range(len(results)), dtype=object)


def _names(settings: Sequence[Mapping[str, str]]) -> dict[str, str]:
    """Names of entries of lists by the keys of these, `traffic.1`, if all experiments that have it agree.

    Left out are names that `--set` does not take: numbers, and those that two entries of a list have.
    """
    found: dict[str, set[str | None]] = {}
    for one in settings:
        entries = dict.fromkeys(match[0] for key in one if (match := _ENTRY.match(key)))
        for entry in entries:
            found.setdefault(entry, set()).add(one.get(f"{entry}.name"))
    names = {entry: name for entry, (name, *others) in found.items() if name and not others}
    lists = Counter((entry.rpartition(".")[0], name) for entry, name in names.items())
    return {
        entry: _part(name)
        for entry, name in names.items()
        if lists[entry.rpartition(".")[0], name] == 1 and not name.isdigit() and '"' not in name
    }


def _named(key: str, names: Mapping[str, str]) -> str:
    """A key with the name of its entry in place of the number."""
    match = _ENTRY.match(key)
    if match is None or match[0] not in names:
        return key
    return f"{match[0].rpartition('.')[0]}.{names[match[0]]}{key[match.end() :]}"


def is_missing(value: object) -> bool:
    """True of a value of `differences` where a run has no such key: None, or what frames make of it."""
    return value is None or (isinstance(value, float) and math.isnan(value))


def setting_labels(results: Sequence[Result | SweepResult]) -> list[str]:
    """The keys in which each experiment differs from the others, with their values; empty texts if they are equal."""
    found = differences(results)
    return [_label(found[number]) for number in range(len(results))]


def labels(results: Sequence[Result], found: pd.DataFrame) -> list[str]:
    """A name for each run: the keys in which it differs with their values; the folder if there are none."""
    names = [_label(found[number]) for number in range(len(results))]
    if len(set(names)) == len(names) and all(names):
        return names
    folders = [str(result.folder or result.title) for result in results]
    both = [f"{name} ({folder})" if name else folder for name, folder in zip(names, folders, strict=True)]
    if len(set(both)) == len(both):
        return both
    return [f"{number + 1}: {name}" for number, name in enumerate(both)]


def _label(values: pd.Series[Any]) -> str:
    told = [f"{key} = {value}" for key, value in values.items() if not is_missing(value)]
    more = len(told) - MOST_IN_LABEL
    return ", ".join(told[:MOST_IN_LABEL]) + (f" and {more} more" if more > 0 else "")


def _trees(results: Sequence[Result | SweepResult]) -> list[Tree]:
    """The experiments with all defaults; without, if one cannot be read as it was (files moved, no engine)."""
    experiments = [experiment_of(result) for result in results]
    try:
        return [experiment.check() for experiment in experiments]
    except FabricsimError:
        return [experiment.written() for experiment in experiments]


def experiment_of(result: Result | SweepResult) -> Experiment:
    """The experiment of a run or sweep, from its manifest."""
    return Experiment.from_manifest(result.manifest)


def _used(settings: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """All but the sections that change nothing."""
    for key, value in settings.items():
        if key.partition(".")[0] not in _IGNORED:
            yield key, value


def _counts(key: str, settings: Mapping[str, str]) -> bool:
    """True if an experiment uses a key: settings of an algorithm of congestion control only if it is chosen."""
    section = _CHOICE.rpartition(".")[0] + "."
    chosen = settings.get(_CHOICE)
    if not key.startswith(section) or key == _CHOICE or chosen is None:
        return True
    return chosen != "none" and (key.startswith((f"{section}{chosen}.", f"{section}notification.")))


def _flat(value: Any, key: str) -> Iterator[tuple[str, str]]:
    """Keys as `--set` takes them, with texts. Lists of tables are taken apart, others are values."""
    if isinstance(value, Mapping):
        for name, item in value.items():
            yield from _flat(item, f"{key}.{_part(str(name))}" if key else _part(str(name)))
    elif isinstance(value, list) and any(isinstance(item, Mapping) for item in value):
        for number, item in enumerate(value):
            yield from _flat(item, f"{key}.{number}")
    elif value is not None:
        yield key, value if isinstance(value, str) else toml_value(value)


def _part(name: str) -> str:
    plain = name.replace("-", "").replace("_", "").isalnum() and name.isascii()
    return name if plain else f'"{name}"'
