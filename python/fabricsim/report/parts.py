"""Parts of a page."""

from __future__ import annotations

import base64
import math
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fabricsim.catalogue import FRACTION, Entry
from fabricsim.lazy import pandas as pd
from fabricsim.results import column_notes

_TYPES = {".png": "image/png", ".svg": "image/svg+xml"}


@dataclass(frozen=True)
class Table:
    """Cells as texts, under headings."""

    headings: list[str]
    rows: list[list[str]]
    numeric: list[bool]
    """Numeric columns."""
    note: str = ""


@dataclass(frozen=True)
class Picture:
    """A picture, in the page itself."""

    name: str
    url: str


@dataclass(frozen=True)
class Section:
    """A heading and what stands below it."""

    title: str
    text: str = ""
    lines: list[str] = field(default_factory=list)
    """Sentences, each a paragraph of its own."""
    facts: list[tuple[str, str]] = field(default_factory=list)
    table: Table | None = None
    pictures: list[Picture] = field(default_factory=list)
    code: str = ""


def table_of(frame: pd.DataFrame, columns: Sequence[Entry], most: int, what: str) -> Table:
    """The columns that the frame has, without those that have no value in any row; the first `most` rows."""
    known = [
        entry
        for entry in columns
        if entry.name in frame and (frame.empty or bool(frame[entry.name].notna().any()))
    ]
    shown = frame.head(most)
    rows = [[cell(row[entry.name], entry) for entry in known] for row in shown.to_dict("records")]
    numeric = [pd.api.types.is_numeric_dtype(frame[entry.name]) for entry in known]
    left = len(frame) - len(shown)
    note = f"The first {len(shown):,} of {len(frame):,} {what}." if left > 0 else ""
    return Table([entry.heading for entry in known], rows, numeric, note)


def noted(frame: pd.DataFrame, name: str) -> Entry:
    """A column by its own name, with the unit that the frame notes."""
    unit, text = column_notes(frame)[name]
    return Entry(name, name, unit, text)


def facts_of(scalars: Mapping[str, Any], entries: Iterable[Entry]) -> list[tuple[str, str]]:
    """Scalars that have a value, with their names and units."""
    return given([(entry.heading, cell(scalars.get(entry.name), entry)) for entry in entries])


def cell(value: Any, entry: Entry) -> str:
    """A value for people: times in the unit that suits them, fractions in percent, a dash for none."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if entry.unit in ("ns", "s") and isinstance(value, int | float):
        return duration(float(value) * (1.0 if entry.unit == "ns" else 1e9))
    if entry.unit == FRACTION:
        return f"{value:.1%}" if isinstance(value, int | float) else str(value)
    if isinstance(value, float):
        value /= entry.scale
        return f"{value:,.4g}" if abs(value) < 9999.5 else f"{value:,.0f}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def duration(ns: float) -> str:
    """Nanoseconds with the unit that suits them."""
    for size, unit in ((1e9, "s"), (1e6, "ms"), (1e3, "µs")):
        if ns >= size:
            return f"{ns / size:.4g} {unit}"
    return f"{ns:.4g} ns"


def embedded(paths: Iterable[Path]) -> list[Picture]:
    """Pictures as part of the page."""
    return [Picture(path.stem, _url(path)) for path in paths]


def _url(path: Path) -> str:
    content = base64.b64encode(path.read_bytes()).decode("ascii")
    return f"data:{_TYPES[path.suffix]};base64,{content}"


def scratch() -> tempfile.TemporaryDirectory[str]:
    """A folder for the time in which pictures are drawn."""
    return tempfile.TemporaryDirectory(prefix="fabricsim-report-")


def given(pairs: Sequence[tuple[str, Any]]) -> list[tuple[str, str]]:
    """Facts that have a value, as texts."""
    return [(name, str(value)) for name, value in pairs if value not in (None, "", "-")]
