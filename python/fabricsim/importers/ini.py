"""OMNeT++ configuration files (`omnetpp.ini`), as far as models' parameters go.

After the OMNeT++ Simulation Manual, chapter "Configuring Simulations": sections `[General]` and `[Config NAME]`, keys
with wildcards of which the first that matches a parameter's full path counts, `include`, and iteration variables
`${name=1,2}`, of which the first value is taken.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from fabricsim.errors import InputError

GENERAL = "General"
_DEPTH = 8
_COMMENT = re.compile(r'^((?:[^"#]|"[^"]*")*)#.*$')
_VARIABLE = re.compile(r"\$\{(\w+)(?:=([^,}]*)[^}]*)?\}")
_WILDCARD = re.compile(r"\*\*|\*|\?|([\[{])(\d*)\.\.(\d*)[\]}]|.", re.DOTALL)
_UNITS_S = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9, "ps": 1e-12}


@dataclass(frozen=True)
class Entry:
    """A line `key = value`."""

    key: str
    value: str
    place: str


class Ini:
    """The entries of a configuration in the order in which they count."""

    def __init__(self, entries: list[Entry], file: str) -> None:
        self.file = file
        self._entries = [(entry, pattern(entry.key)) for entry in entries]

    @classmethod
    def read(cls, path: Path, config: str = GENERAL) -> Ini:
        """Reads a file; the section `[Config NAME]` comes before `[General]`.

        Raises:
            InputError: it can not be read, or has no such configuration.
        """
        sections: dict[str, list[Entry]] = {}
        section = GENERAL
        for name, entry in _lines(path, 0):
            section = name or section
            sections.setdefault(section, [])
            if entry:
                sections[section].append(entry)
        if config not in sections:
            raise InputError(f"{path}: there is no configuration {config}; there are: {', '.join(sections)}")
        chosen = sections[config] + (sections.get(GENERAL, []) if config != GENERAL else [])
        return cls(_substituted(chosen), str(path))

    def text(self, path: str, default: str | None = None) -> str:
        """The value of the parameter or option with this full path, without quotes.

        Raises:
            InputError: there is none, and no default.
        """
        for entry, matches in self._entries:
            if matches.fullmatch(path):
                return entry.value.strip('"')
        if default is None:
            raise InputError(f"{self.file}: there is no value for {path}")
        return default

    def number(self, path: str, default: float | None = None) -> float:
        """A value without a unit.

        Raises:
            InputError: there is none and no default, or it is not a number.
        """
        text = self.text(path, None if default is None else repr(default))
        try:
            return float(text)
        except ValueError:
            raise InputError(f"{self.file}: {path} is {text!r}: a number is needed") from None

    def seconds(self, path: str) -> float:
        """A time with a unit.

        Raises:
            InputError: there is none, or it is not a time.
        """
        text = self.text(path)
        found = re.fullmatch(r"([0-9.]+(?:e-?\d+)?)\s*([a-z]+)", text)
        if not found or found[2] not in _UNITS_S:
            raise InputError(f"{self.file}: {path} is {text!r}: a time such as 5ms is needed")
        return float(found[1]) * _UNITS_S[found[2]]


def pattern(key: str) -> re.Pattern[str]:
    """A key with wildcards as a regular expression: `**` any text, `*` any without dots, `[2..5]` a range."""
    return re.compile("".join(map(_piece, _WILDCARD.finditer(key))))


def _piece(match: re.Match[str]) -> str:
    if match[1]:
        numbers = range(int(match[2] or 0), int(match[3] or 999) + 1)
        alternatives = "|".join(map(str, numbers))
        return rf"\[(?:{alternatives})\]" if match[1] == "[" else f"(?:{alternatives})"
    return {"**": ".*", "*": "[^.]*", "?": "[^.]"}.get(match[0], re.escape(match[0]))


def _lines(path: Path, depth: int) -> Iterator[tuple[str | None, Entry | None]]:
    """Section names and entries of a file and those that it includes."""
    if depth > _DEPTH:
        raise InputError(f"{path}: files include each other more than {_DEPTH} deep")
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: it can not be read: {error}") from None
    for number, raw in enumerate(text.splitlines(), 1):
        line = _COMMENT.sub(r"\1", raw).strip()
        if not line:
            continue
        if section := re.fullmatch(r"\[(?:Config\s+)?([^\]]+)\]", line):
            yield section[1].strip(), None
        elif line.startswith("include "):
            yield from _lines(path.parent / line.removeprefix("include ").strip(), depth + 1)
        elif "=" in line:
            key, _, value = line.partition("=")
            yield None, Entry(key.strip(), value.strip(), f"{path}:{number}")
        else:
            raise InputError(f"{path}:{number}: this is neither a section nor `key = value`: {line}")


def _substituted(entries: list[Entry]) -> list[Entry]:
    """The entries with iteration variables replaced by their first values."""
    values: dict[str, str] = {}
    for entry in entries:
        for name, value in _VARIABLE.findall(entry.value):
            if value:
                values.setdefault(name, value.strip())

    def replace(match: re.Match[str]) -> str:
        return values.get(match[1], match[0])

    return [Entry(e.key, _VARIABLE.sub(replace, e.value), e.place) for e in entries]
