"""Python values as TOML, the language of experiment files."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from typing import Any

from fabricsim.errors import InputError

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|\([^()"]*\)|[][{},]')
"""A quoted text, coordinates such as those of the host H(0,0).0, or what structures lists of values."""
_PART = re.compile(r'"[^"]*"|[^."]+')
"""A part of a key."""


def toml_value(value: Any) -> str:
    """`value` as it would be written on one line of an experiment file.

    Raises:
        InputError: it is not a number, text, truth value, list or mapping of these.
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{toml_value(str(k))} = {toml_value(v)}" for k, v in value.items()) + "}"
    if isinstance(value, Sequence):
        return "[" + ", ".join(toml_value(item) for item in value) + "]"
    if hasattr(value, "item"):  # a scalar of numpy
        return toml_value(value.item())
    raise InputError(f"{value!r} cannot be written in an experiment file")


def override(key: str, value: Any) -> tuple[str, str]:
    """A pair for the engine that replaces the value of `key` (`traffic.0.load`)."""
    return key, toml_value(value)


def key_parts(key: str) -> list[str]:
    """`links.named."SW11-SW12".rate` in its parts."""
    return [part.strip('"') for part in _PART.findall(key)]


def entry_number(entries: Any, part: str) -> int | None:
    """Place of an entry of a list, by its number or its `name`; None where there is no list or no such entry."""
    if not isinstance(entries, list):
        return None
    if part.isdecimal() and int(part) < len(entries):
        return int(part)
    named = (
        at for at, entry in enumerate(entries) if isinstance(entry, Mapping) and entry.get("name") == part
    )
    return next(named, None)


def same_key(tree: Any, key: str) -> tuple[str, ...]:
    """A key in parts that are equal for all its spellings: entries by number, though it has their names."""
    parts = []
    for part in key_parts(key):
        number = entry_number(tree, part)
        if number is not None:
            parts.append(str(number))
            tree = tree[number]
        else:
            parts.append(part)
            tree = tree.get(part) if isinstance(tree, Mapping) else None
    return tuple(parts)


def require_apart(one: str, other: str, tree: Any, where: str) -> None:
    """Refuses two keys that vary if they are the same key, in any spelling, or one is a part of the other.

    Raises:
        InputError: they are.
    """
    (first, key), (second, following) = sorted([(same_key(tree, one), one), (same_key(tree, other), other)])
    if first == second:
        same = f"{key} is" if key == following else f"{key} and {following} are the same key, which is"
        raise InputError(f"{where}: {same} varied twice: keep one of them")
    if second[: len(first)] == first:
        raise InputError(
            f"{where}: {following} is a part of {key}, which is varied as well: keep one of them"
        )


def put(tree: dict[str, Any], key: str, value: str) -> None:
    """Sets the value of a key, as TOML or as text without quotes. A key that finds no place changes nothing."""
    *path, last = key_parts(key) or [""]
    at: Any = tree
    for part in path:
        at = at.setdefault(part, {}) if isinstance(at, dict) else _entry(at, part)
    try:
        parsed = tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        parsed = value
    if isinstance(at, dict):
        at[last] = parsed
    elif (number := entry_number(at, last)) is not None:
        at[number] = parsed


def _entry(entries: Any, part: str) -> Any:
    """An entry of a list; None where there is no list or no such entry."""
    number = entry_number(entries, part)
    return None if number is None else entries[number]


def parse_assignment(text: str) -> tuple[str, str]:
    """`key=value` as typed on the command line, in its two halves.

    Raises:
        InputError: there is no `=`, or nothing before it.
    """
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise InputError(f"{text!r} is not an assignment: write key=value, for example traffic.0.load=0.4")
    key, value = key.strip(), value.strip()
    require_text(key, "a key")
    require_text(value, key)
    return key, value


def require_text(text: str, what: str) -> None:
    """Refuses what the command line took from bytes that are no UTF-8.

    Raises:
        InputError: there are such bytes in it.
    """
    if not text.isprintable() and any("\ud800" <= c <= "\udfff" for c in text):
        raise InputError(f"{what}: {text!r} is not UTF-8 text")


def split_values(text: str) -> list[str]:
    """`1,2,[3, 4],"a,b",H(0,0).0` at its outer commas."""
    parts, depth, start = [], 0, 0
    for match in _TOKEN.finditer(text):
        mark = match[0]
        depth += (mark in "[{") - (mark in "]}")
        if mark == "," and depth == 0:
            parts.append(text[start : match.start()].strip())
            start = match.end()
    return [part for part in [*parts, text[start:].strip()] if part]
