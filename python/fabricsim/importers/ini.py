"""OMNeT++ configuration files (`omnetpp.ini`), as far as models' parameters go.

After the OMNeT++ Simulation Manual, chapter "Configuring Simulations": sections `[General]` and `[Config NAME]` with
`extends`, keys with wildcards of which the first that matches a parameter's full path counts, `include`, lines that
continue after a backslash, and iteration variables `${name=1,2}`, of which the first value is taken. The older sections
`[Parameters]`, `[Cmdenv]` and `[Tkenv]` are read as parts of `[General]`, and `[Run 1]` as a configuration `Run 1`.

`Ini` keeps account of which entries gave a value, so that the others can be named.
"""

from __future__ import annotations

import heapq
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from fabricsim.errors import InputError
from fabricsim.importers.wildcards import Matcher, matcher

GENERAL = "General"
_PARTS_OF_GENERAL = {"Parameters", "Cmdenv", "Tkenv"}
_DEPTH = 8
_MOST_FILES = 1000
_MOST_BYTES = 64 << 20
_SECTION = re.compile(r"\[(?:Config\s+)?([^\]]+)\]")
_VARIABLE = re.compile(r"\$\{(?:\s*(\w+)\s*=)?([^{}]*)\}")
_QUANTITY = re.compile(r"([+-]?[0-9.]+(?:[eE][+-]?[0-9]+)?)\s*([A-Za-z]*)")
UNITS = {
    **{
        unit: ("s", scale)
        for unit, scale in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9), ("ps", 1e-12))
    },
    **{
        unit: ("B", scale)
        for unit, scale in (("B", 1.0), ("KiB", 1024.0), ("kB", 1024.0), ("MiB", 1024.0**2))
    },
    **{unit: ("Hz", scale) for unit, scale in (("Hz", 1.0), ("kHz", 1e3), ("MHz", 1e6), ("GHz", 1e9))},
    **{unit: ("bps", scale) for unit, scale in (("bps", 1.0), ("kbps", 1e3), ("Mbps", 1e6), ("Gbps", 1e9))},
}
"""Units of a value: what they measure, and how much of its base unit they are."""


@dataclass(frozen=True)
class Entry:
    """A line `key = value`."""

    key: str
    value: str
    file: str
    line: int
    section: str = GENERAL

    @property
    def place(self) -> str:
        """File and line."""
        return f"{self.file}:{self.line}"


class Ini:
    """The entries of a configuration in the order in which they count."""

    def __init__(self, entries: list[Entry], file: str, others: list[Entry] | None = None) -> None:
        self.file = file
        substituted, self.several = _substituted(entries)
        self.others = others or []
        """Entries of the configurations that were not chosen."""
        self.entries = substituted
        """All entries of the configuration, variables replaced."""
        self._by_name: dict[str, list[tuple[int, Entry, Matcher]]] = {}
        for number, entry in enumerate(substituted):
            found = self._by_name.setdefault(_name(entry.key), [])
            found.append((number, entry, matcher(entry.key, entry.place)))
        self._found: dict[str, Entry | None] = {}
        self._read: set[Entry] = set()
        self._behind: dict[Entry, Entry] = {}

    @classmethod
    def read(cls, path: Path, config: str = GENERAL) -> Ini:
        """Reads a file. The section `[Config NAME]` comes before those that it extends, and `[General]` comes last.

        Raises:
            InputError: it cannot be read, or has no such configuration.
        """
        sections: dict[str, list[Entry]] = {GENERAL: []}
        section = GENERAL
        for name, entry in _Reader().lines(path, 0):
            section = name or section
            sections.setdefault(section, [])
            if entry:
                sections[section].append(replace(entry, section=section))
        if config not in sections:
            raise InputError(f"{path}: there is no configuration {config}; there are: {', '.join(sections)}")
        order = _order(sections, config, str(path))
        chosen = [entry for name in order for entry in sections[name] if entry.key != "extends"]
        others = [entry for name, entries in sections.items() if name not in order for entry in entries]
        return cls(chosen, str(path), others)

    def was_read(self, entry: Entry) -> bool:
        """True if the entry has given a value."""
        return entry in self._read

    def overridden_by(self, entry: Entry) -> Entry | None:
        """The entry that comes before this one wherever it matches."""
        return None if entry in self._read else self._behind.get(entry)

    def entry(self, path: str) -> Entry | None:
        """The entry that gives the parameter or option with this full path its value."""
        if path not in self._found:
            lists = [self._by_name.get(name, []) for name in (_name(path), "")]
            matching = [entry for _, entry, matches in heapq.merge(*lists, key=_number) if matches(path)]
            self._found[path] = matching[0] if matching else None
            for behind in matching[1:]:
                self._behind.setdefault(behind, matching[0])
        found = self._found[path]
        if found:
            self._read.add(found)
        return found

    def text(self, path: str, default: str | None = None) -> str:
        """The value of the parameter or option with this full path, without quotes.

        Raises:
            InputError: there is none, and no default.
        """
        entry = self.entry(path)
        if entry:
            return entry.value.strip('"')
        if default is None:
            raise InputError(f"{self.file}: there is no value for {path}")
        return default

    def number(self, path: str, default: float | None = None, unit: str | None = None) -> float:
        """A number; a value with a unit is converted to `unit`.

        Raises:
            InputError: there is none and no default, or it is not a number.
        """
        entry = self.entry(path)
        if entry is None and default is not None:
            return default
        text = self.text(path)
        value = quantity(text, unit)
        if value is None:
            with_unit = f", alone or with a unit that fits {unit}" if unit else ""
            raise InputError(f"{self.at(path)}: {path} is {text!r}: a number is needed{with_unit}")
        return value

    def whole(self, path: str, default: int | None = None) -> int:
        """A whole number, 0 or more.

        Raises:
            InputError: there is none and no default, or it is not a whole number.
        """
        value = self.number(path, default)
        if value < 0 or value != int(value):
            raise InputError(f"{self.at(path)}: {path} is {value:g}: a whole number of 0 or more is needed")
        return int(value)

    def flag(self, path: str, default: bool | None = None) -> bool:
        """True or false.

        Raises:
            InputError: there is none and no default, or it is neither.
        """
        text = self.text(path, None if default is None else str(default)).lower()
        if text not in ("true", "false", "1", "0", "yes", "no"):
            raise InputError(f"{self.at(path)}: {path} is {text!r}: true or false is needed")
        return text in ("true", "1", "yes")

    def seconds(self, path: str, default: float | None = None) -> float:
        """A time; seconds if it has no unit.

        Raises:
            InputError: there is none and no default, or it is not a time.
        """
        if self.entry(path) is None and default is not None:
            return default
        text = self.text(path)
        value = quantity(text, "s")
        if value is None or value < 0:
            raise InputError(f"{self.at(path)}: {path} is {text!r}: a time such as 5ms is needed")
        return value

    def at(self, path: str) -> str:
        """File and line of the entry for this parameter; the file if there is none."""
        entry = self.entry(path)
        return entry.place if entry else self.file


def _name(key: str) -> str:
    """The parameter that a key or a path is for; empty if a wildcard stands in its name."""
    name = key.rpartition(".")[2]
    return name if re.fullmatch(r"[\w-]+", name) else ""


def _number(item: tuple[int, Entry, Matcher]) -> int:
    return item[0]


def quantity(text: str, unit: str | None) -> float | None:
    """A finite number, converted to `unit` if it has one of its kind; None if it is something else."""
    found = _QUANTITY.fullmatch(text.strip())
    if not found:
        return None
    try:
        value = float(found[1])
    except ValueError:
        return None
    if found[2]:
        if unit is None or found[2] not in UNITS or UNITS[found[2]][0] != UNITS[unit][0]:
            return None
        value *= UNITS[found[2]][1] / UNITS[unit][1]
    return value if math.isfinite(value) else None


def _order(sections: dict[str, list[Entry]], config: str, file: str) -> list[str]:
    """The sections of a configuration, those that it extends after it, `General` last."""
    order: list[str] = []

    def add(name: str, chain: tuple[str, ...]) -> None:
        if name in chain:
            raise InputError(f"{file}: configurations extend each other: {' -> '.join((*chain, name))}")
        if name not in sections:
            there = ", ".join(sections)
            raise InputError(f"{file}: {chain[-1]} extends {name}, which is not there; there are: {there}")
        if name not in order and name != GENERAL:
            order.append(name)
        for entry in sections[name]:
            if entry.key == "extends" and name != GENERAL:
                for base in filter(None, map(str.strip, entry.value.split(","))):
                    add(base, (*chain, name))

    add(config, ())
    return [*order, GENERAL]


class _Reader:
    """Reads a file and those that it includes."""

    def __init__(self) -> None:
        self._files = 0

    def lines(self, path: Path, depth: int) -> Iterator[tuple[str | None, Entry | None]]:
        """Section names and entries."""
        self._files += 1
        if depth > _DEPTH or self._files > _MOST_FILES:
            raise InputError(
                f"{path}: files include each other more than {_DEPTH} deep or {_MOST_FILES} times"
            )
        for number, line in _joined(_text(path)):
            if section := _SECTION.fullmatch(line):
                name = section[1].strip()
                yield GENERAL if name in _PARTS_OF_GENERAL else name, None
            elif re.match(r"include\s", line):
                yield from self.lines(path.parent / line.removeprefix("include").strip(), depth + 1)
            elif "=" in line:
                key, _, value = line.partition("=")
                yield None, Entry(key.strip(), value.strip(), str(path), number)
            else:
                raise InputError(f"{path}:{number}: this is neither a section nor `key = value`: {line}")


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            content = file.read(_MOST_BYTES + 1)
        if len(content) > _MOST_BYTES:
            raise InputError(f"{path}: this is larger than {_MOST_BYTES >> 20} MiB")
        return content.decode("utf-8-sig")
    except (OSError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{path}: it cannot be read: {error}") from None


def _joined(text: str) -> Iterator[tuple[int, str]]:
    """Lines with their numbers, without comments; those that end with a backslash with the next."""
    begun, parts = 0, list[str]()
    for number, raw in enumerate(text.split("\n"), 1):
        line = _without_comment(raw).strip()
        begun = begun or number
        parts.append(line.removesuffix("\\"))
        if line.endswith("\\"):
            continue
        if whole := " ".join(parts).strip():
            yield begun, whole
        begun, parts = 0, []
    if whole := " ".join(parts).strip():
        yield begun, whole


def _without_comment(line: str) -> str:
    """The line up to `#` or `;` outside of quotes."""
    quoted = escaped = False
    for at, character in enumerate(line):
        if quoted:
            quoted = escaped or character != '"'
            escaped = character == "\\" and not escaped
        elif character == '"':
            quoted = True
        elif character in "#;":
            return line[:at]
    return line


def _substituted(entries: list[Entry]) -> tuple[list[Entry], dict[Entry, int]]:
    """The entries with iteration variables replaced by their first values, and how many values each has."""
    values: dict[str, str] = {}
    for entry in entries:
        for name, content in _VARIABLE.findall(entry.value):
            if name:
                values.setdefault(name, _choices(content)[0])
    several: dict[Entry, int] = {}
    result = []
    for entry in entries:
        counts = [1]

        def replacement(match: re.Match[str], counts: list[int] = counts) -> str:
            name, content = match[1], match[2]
            if name is None and (known := values.get(content.strip())) is not None:
                return known
            if name is None and re.fullmatch(r"\s*[A-Za-z_]\w*\s*", content):
                return match[0]
            counts.append(len(_choices(content)))
            return _choices(content)[0]

        whole = replace(entry, value=_VARIABLE.sub(replacement, entry.value))
        result.append(whole)
        if max(counts) > 1:
            several[whole] = max(counts)
    return result, several


def _choices(content: str) -> list[str]:
    """The values of an iteration: `1, 2, 5..9 step 2`. Of a range only the ends."""
    values: list[str] = []
    for part in content.partition("!")[0].split(","):
        text = part.strip()
        ends = re.fullmatch(r"([^.\s]+(?:\.\d+)?)\s*\.\.\s*(\S+)(?:\s+step\s+\S+)?", text)
        values += [ends[1], ends[2]] if ends else [text]
    return values
