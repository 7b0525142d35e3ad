"""The journal of a sweep: a line of JSON for each point that is done, `[number, row, checksum]`.

A process that is killed loses at most the line that it was writing. A line that was damaged since is found by its
checksum, and left out.
"""

from __future__ import annotations

import json
import os
import re
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fabricsim.errors import InputError, StoreError

Row = dict[str, Any]
_LINE = re.compile(r'(?P<text>\[.*), "(?P<sum>[0-9a-f]{8})"\]', re.DOTALL)


@dataclass(frozen=True)
class Journal:
    """Content of a journal."""

    rows: dict[int, Row]
    damaged: list[str]
    """A message for each line that was left out."""


class JournalWriter:
    """A journal that is being written."""

    def __init__(self, path: Path) -> None:
        """Opens the journal, and goes on behind its last whole line.

        Raises:
            InputError: it cannot be written.
        """
        try:
            _cut_off_half_a_line(path)
            self._file = path.open("a", encoding="utf-8")
        except OSError as error:
            raise InputError(f"{path}: it cannot be written: {error.strerror}") from None
        self._path = path

    def add(self, number: int, row: Mapping[str, Any]) -> None:
        """Writes a point.

        Raises:
            OSError: it cannot be written.
        """
        self._file.write(line_of(number, row))
        self._file.flush()

    def remove(self) -> None:
        """Removes the journal.

        Raises:
            OSError: it cannot be removed.
        """
        self._path.unlink()

    def close(self) -> None:
        """Closes the file. What could not be written is lost."""
        try:
            self._file.close()
        except OSError:
            return  # it has been reported when it was written


def line_of(number: int, row: Mapping[str, Any]) -> str:
    """The line of a point."""
    text = json.dumps([number, row])
    return f'{text[:-1]}, "{_checksum(text)}"]\n'


def read_journal(path: Path, size: int) -> Journal:
    """The points in a journal of a sweep of `size` points; none if there is no journal.

    Raises:
        StoreError: it cannot be read.
    """
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return Journal({}, [])
    except OSError as error:
        raise StoreError(f"{path}: it cannot be read: {error.strerror}") from error
    lines = text.split("\n")
    rows: dict[int, Row] = {}
    damaged = []
    for number, line in enumerate(lines[:-1], 1):  # behind the last newline there may be half a line
        if not line:
            continue
        found = _point(line, size)
        if found is None:
            damaged.append(f"{path}, line {number}: damaged; the point in it is left out and runs again")
        else:
            rows[found[0]] = found[1]
    return Journal(rows, damaged)


def _point(line: str, size: int) -> tuple[int, Row] | None:
    text = line
    if (found := _LINE.fullmatch(line)) is not None:
        text = f"{found['text']}]"
        if _checksum(text) != found["sum"]:
            return None
    try:
        number, row = json.loads(text)
    except (ValueError, TypeError, RecursionError):
        return None
    is_number = isinstance(number, int) and not isinstance(number, bool) and 0 <= number < size
    is_row = isinstance(row, dict) and isinstance(row.get("status"), str)
    return (number, row) if is_number and is_row else None


def _checksum(text: str) -> str:
    return f"{zlib.crc32(text.encode()):08x}"


def _cut_off_half_a_line(path: Path) -> None:
    """A process that was killed may have left half a line at the end."""
    try:
        with path.open("rb+") as file:
            data = file.read()
            if data and not data.endswith(b"\n"):
                os.truncate(file.fileno(), data.rfind(b"\n") + 1)
    except FileNotFoundError:
        return
