"""Parts of a page."""

from __future__ import annotations

import base64
import math
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

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
    facts: list[tuple[str, str]] = field(default_factory=list)
    table: Table | None = None
    pictures: list[Picture] = field(default_factory=list)
    code: str = ""


def table_of(frame: pd.DataFrame, columns: Mapping[str, str], most: int, what: str) -> Table:
    """The columns that the frame has, under their headings with units; the first `most` rows."""
    known = {name: heading for name, heading in columns.items() if name in frame}
    notes = column_notes(frame)
    headings = [_heading(heading, notes[name][0]) for name, heading in known.items()]
    shown = frame.head(most)
    rows = [[cell(row[name], name) for name in known] for row in shown.to_dict("records")]
    numeric = [pd.api.types.is_numeric_dtype(frame[name]) for name in known]
    left = len(frame) - len(shown)
    note = f"The first {len(shown):,} of {len(frame):,} {what}." if left > 0 else ""
    return Table(headings, rows, numeric, note)


def _heading(heading: str, unit: str) -> str:
    return f"{heading} ({unit})" if unit and unit != "ns" else heading


def cell(value: Any, name: str) -> str:
    """A value for people: times in the unit that suits them, shares in percent, a dash for none."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if any(part.endswith("_ns") for part in name.split(".")) and isinstance(value, int | float):
        return duration(float(value))
    if name.endswith(("share", "fraction", "_load", "stalled", "utilisation", "held_back", "throttled")):
        return f"{value:.1%}" if isinstance(value, int | float) else str(value)
    if isinstance(value, float):
        return f"{value:,.4g}" if abs(value) < 1e6 else f"{value:,.0f}"
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
