"""Tables of a run: plain columns, as the engine gives them, and frames, which are made of them when they are used.

pandas takes longer to import than a small experiment to run. What writes and prints every run therefore asks for
columns: `Frames.columns` and `lists_of`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from fabricsim.lazy import numpy as np
from fabricsim.lazy import pandas as pd

Lists = dict[str, list[Any]]
"""The values of a table by column."""


@dataclass(frozen=True)
class Column:
    """A column of a table of the engine."""

    name: str
    unit: str
    description: str
    kind: str
    """ "f8", "i8" or "str"."""
    values: Any
    """Bytes of little-endian numbers, or a list of texts."""

    def numbers(self) -> Any:
        """The values of a column of numbers as an array that cannot be written to."""
        return np.frombuffer(self.values, dtype=f"<{self.kind}")


class Columns:
    """A table of the engine. A column `flow` (`source->destination`) is two columns here."""

    def __init__(self, columns: Iterable[tuple[str, str, str, Any, Any]]) -> None:
        """`columns`: name, unit, description, type and values of each."""
        self._given = [Column(*column) for column in columns]

    @cached_property
    def _columns(self) -> list[Column]:
        # Texts take time, and many tables of a run are never used.
        given, self._given = self._given, []
        has_source = any(column.name == "source" for column in given)
        found: list[Column] = []
        for column in given:
            if column.name == "flow" and not has_source:
                found += _ends(column)
            elif column.kind == "str":
                found.append(_text(column.name, column.unit, column.description, column.values))
            else:
                found.append(column)
        return found

    def __iter__(self) -> Iterator[Column]:
        return iter(self._columns)

    def lists(self, *only: str) -> Lists:
        """The values by column: of all columns, or of those of some names that there are."""
        return {
            column.name: column.values if column.kind == "str" else column.numbers().tolist()
            for column in self
            if not only or column.name in only
        }

    def frame(self) -> pd.DataFrame:
        """The table as a frame, with unit and description of its columns."""
        frame = pd.DataFrame(
            {
                column.name: pd.array(column.values, dtype="str")
                if column.kind == "str"
                else column.numbers().copy()
                for column in self
            }
        )
        frame.attrs["columns"] = {column.name: [column.unit, column.description] for column in self}
        return frame


def _ends(flow: Column) -> list[Column]:
    parts = [value.partition("->") for value in flow.values]
    return [
        _text(name, "", f"{name} of the flow", [part[2 * number] for part in parts])
        for number, name in enumerate(("source", "destination"))
    ]


def _text(name: str, unit: str, description: str, values: Iterable[str]) -> Column:
    """A column of texts. Equal ones are one object: most are names of hosts and links, which are there many times."""
    known: dict[str, str] = {}
    return Column(name, unit, description, "str", [known.setdefault(value, value) for value in values])


class Frames(Mapping[str, "pd.DataFrame"]):
    """Frames of a run by name, each made of its columns when it is used first."""

    def __init__(self, tables: Mapping[str, Columns]) -> None:
        self._tables: dict[str, Columns | pd.DataFrame] = dict(tables)

    def __getitem__(self, name: str) -> pd.DataFrame:
        table = self._tables[name]
        if isinstance(table, Columns):
            # From now on the frame is the table: users may change it.
            table = self._tables[name] = table.frame()
        return table

    def __contains__(self, name: object) -> bool:
        return name in self._tables

    def __iter__(self) -> Iterator[str]:
        return iter(self._tables)

    def __len__(self) -> int:
        return len(self._tables)

    def columns(self, name: str) -> Columns | None:
        """The columns of a table; None once its frame was used."""
        table = self._tables[name]
        return table if isinstance(table, Columns) else None


def columns_of(frames: Mapping[str, pd.DataFrame], name: str) -> Columns | None:
    """The columns of a table of which there is no frame yet."""
    return frames.columns(name) if isinstance(frames, Frames) else None


def lists_of(frames: Mapping[str, pd.DataFrame], name: str, *only: str) -> Lists | None:
    """The values of a table by column, without pandas where there is no frame of it yet; None without the table.

    `only`: names of columns. Tables of large networks have many rows; those that the table lacks are left out.
    """
    if name not in frames:
        return None
    if (columns := columns_of(frames, name)) is not None:
        return columns.lists(*only)
    frame = frames[name]
    return {str(column): frame[column].tolist() for column in frame if not only or column in only}


def records(table: Lists, rows: Iterable[int] | None = None) -> list[dict[str, Any]]:
    """Rows of a table, by default all."""
    numbers = range(rows_in(table)) if rows is None else rows
    return [{name: values[number] for name, values in table.items()} for number in numbers]


def rows_in(table: Lists) -> int:
    """Number of rows of a table."""
    return len(next(iter(table.values()), []))


def missing(value: Any) -> bool:
    """True if there is no value: None or NaN."""
    return value is None or (isinstance(value, float) and math.isnan(value))


def descending(value: float) -> tuple[bool, float]:
    """Key to sort numbers by, the largest first, and NaN last."""
    return (True, 0.0) if missing(value) else (False, -value)
