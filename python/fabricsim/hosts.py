"""Hosts by name, pattern and group."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence

Groups = Mapping[str, Sequence[str]]


def host_test(names: Iterable[str], groups: Groups) -> Callable[[str], bool]:
    """True if a host is one of `names`: hosts, patterns with `*`, groups. `*` alone is also the host `*` of tables."""
    patterns = [re.escape(name).replace(r"\*", ".*") for name in _expanded(names, groups, set())]
    whole = re.compile("|".join(f"(?:{pattern})" for pattern in patterns) or r"(?!)")
    return lambda host: whole.fullmatch(host) is not None


def _expanded(names: Iterable[str], groups: Groups, seen: set[str]) -> list[str]:
    found: list[str] = []
    for name in names:
        if name not in groups:
            found.append(name)
        elif name not in seen:
            found += _expanded(groups[name], groups, seen | {name})
    return found
