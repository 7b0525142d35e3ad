"""Keys with wildcards, after the OMNeT++ Simulation Manual.

`**` stands for any text, `*` for any without dots, `?` for a character but a dot, `{a-c}` for one of a set,
`{2..5}` and `[2..5]` for a number of a range.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from fabricsim.errors import InputError

Matcher = Callable[[str], bool]
"""True if a key matches the full path of a parameter."""

_TOKEN = re.compile(r"\*\*+|\*|\?|([\[{])(\d*)\.\.(\d*)[\]}]|\{(\^?)([^{}.]+)\}|.", re.DOTALL)
_LARGEST_INDEX = 9999
_MOST_WILDCARDS = 6


def matcher(key: str, place: str = "") -> Matcher:
    """The matcher of a key.

    Raises:
        InputError: it has too many wildcards, or a range of too many numbers.
    """
    if not re.search(r"[*?\[{]", key):
        return key.__eq__
    tokens = list(_TOKEN.finditer(key))
    if sum(match[0].startswith("*") for match in tokens) > _MOST_WILDCARDS:
        raise InputError(f"{place}: {key!r} has more than {_MOST_WILDCARDS} wildcards")
    compiled = re.compile("".join(_piece(match, place) for match in tokens), re.DOTALL)
    return lambda path: compiled.fullmatch(path) is not None


def _piece(match: re.Match[str], place: str) -> str:
    if match[1]:
        return _range(match, place)
    if match[5]:
        inside = re.sub(r"[\\\]\[^]", r"\\\g<0>", match[5])
        return f"[{match[4]}{inside}]" if _is_set(match[5]) else re.escape(match[0])
    if match[0].startswith("**"):
        return ".*"
    return {"*": "[^.]*", "?": "[^.]"}.get(match[0], re.escape(match[0]))


def _is_set(inside: str) -> bool:
    """True if `inside` of braces can stand in a regular expression's set: no range runs backwards."""
    return not inside.startswith("-") and all(
        first <= last for first, last in re.findall(r"(.)-(.)", inside, re.DOTALL)
    )


def _range(match: re.Match[str], place: str) -> str:
    first, last = int(match[2][:9] or 0), int(match[3][:9] or _LARGEST_INDEX)
    if last > _LARGEST_INDEX:
        raise InputError(f"{place}: {match[0]}: the largest number of a range is {_LARGEST_INDEX}")
    alternatives = "|".join(map(str, range(first, last + 1))) or "(?!)"
    return rf"\[(?:{alternatives})\]" if match[1] == "[" else f"(?:{alternatives})"
