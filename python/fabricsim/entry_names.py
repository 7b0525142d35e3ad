"""Names of entries of the traffic list in tables and pictures, by their keys in metrics.

An entry without a name is called by its pattern, as in the tables of a run: `traffic.0` is `uniform`. If several
entries have the same name they are numbered, `uniform #1`, as the engine does.
"""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any

from fabricsim.spec import Experiment
from fabricsim.spec.values import key_parts, put

Names = Mapping[str, str]
"""Name of each entry by its key: `{"traffic.0": "uniform"}`."""
_NAMING = ("name", "pattern")
"""Keys of an entry from which its name follows."""


def of_summary(summary: Mapping[str, Any]) -> dict[str, str]:
    """Names in a run, by key: those that the engine gave."""
    return {str(entry["key"]): str(entry["entry"]) for entry in summary.get("entries") or ()}


def of_points(manifest: Mapping[str, Any], points: Iterable[Mapping[str, str]] = ()) -> dict[str, str]:
    """Names that all points of a sweep, or of a study, have in common, by key.

    Args:
        manifest: of its folder; has the experiment.
        points: keys of the experiment that a point replaces, with TOML values; without points the experiment itself.
    """
    written = Experiment.from_manifest(manifest).written()
    changes = {tuple((key, value) for key, value in point.items() if _names(key)) for point in points}
    return in_common(_changed(written, change) for change in changes or {()})


def in_common(every: Iterable[Names]) -> dict[str, str]:
    """Names on which all that have an entry agree, by key. Left out are those that two keys would share."""
    found: dict[str, set[str]] = {}
    for names in every:
        for key, name in names.items():
            found.setdefault(key, set()).add(name)
    agreed = {key: next(iter(names)) for key, names in found.items() if len(names) == 1}
    uses = Counter(agreed.values())
    return {key: name for key, name in agreed.items() if uses[name] == 1}


@cache
def _names(key: str) -> bool:
    """True if names of entries may depend on a key of the experiment."""
    parts = key_parts(key)
    return parts[:1] == ["traffic"] and (len(parts) < 3 or parts[2] in _NAMING)


def _changed(written: dict[str, Any], change: Sequence[tuple[str, str]]) -> dict[str, str]:
    tree = copy.deepcopy(written) if change else written
    for key, value in change:
        put(tree, key, value)
    entries = tree.get("traffic")
    return _of_traffic(entries if isinstance(entries, list) else [])


def _of_traffic(entries: Sequence[Any]) -> dict[str, str]:
    """Names of the entries of an experiment and of the responses to them, by key."""
    plain = [_plain(entry) for entry in entries]
    uses, seen = Counter(plain), Counter[str]()
    found = {}
    for number, (entry, name) in enumerate(zip(entries, plain, strict=True)):
        if not name:
            continue
        seen[name] += 1
        given = str(entry.get("name") or number)
        key = f'traffic."{given}"' if "." in given else f"traffic.{given}"
        found[key] = f"{name} #{seen[name]}" if uses[name] > 1 else name
        found[f"{key}.response"] = f"{found[key]} response"
    return found


def _plain(entry: Any) -> str:
    """The name of an entry, or the kind of its pattern; empty if it has neither."""
    if not isinstance(entry, Mapping):
        return ""
    pattern = entry.get("pattern", "")
    kind = next(iter(pattern), "") if isinstance(pattern, Mapping) else pattern
    return str(entry.get("name") or kind)
