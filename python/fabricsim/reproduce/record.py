"""The numbers of a page as data, `SEED.json` beside it: the reference of later runs, value by value."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable
from dataclasses import fields
from pathlib import Path
from typing import Any

from fabricsim.errors import InputError, StoreError
from fabricsim.reproduce import ranks, verbs_runs
from fabricsim.reproduce.expected import Figure, Seed
from fabricsim.reproduce.judge import Entry
from fabricsim.reproduce.rows import Number

DIGITS = 9
"""Significant digits in which a value must be the same."""
_OF_CONTROL = ("control_ours", "control_holds")


def record_of(pages: Path, seed: str) -> Path:
    """The file with the numbers of a seed's page."""
    return pages / f"{seed}.json"


def read_record(pages: Path, seed: str) -> dict[str, Any]:
    """The committed numbers by figure: `{"digest": ..., "entries": [...]}`; empty if there are none.

    Raises:
        InputError: the file cannot be read.
    """
    path = record_of(pages, seed)
    if not path.exists():
        return {}
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        figures = content["figures"]
        if not isinstance(figures, dict):
            raise TypeError("`figures` is not a table")
    except (OSError, UnicodeDecodeError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path}: it cannot be read: {error}; delete it, and run `make reproduce`") from None
    return dict(figures)


def write_record(pages: Path, seed: Seed, figures: dict[str, Any]) -> None:
    """Writes the numbers of a seed's page, in the order of its figures.

    Raises:
        StoreError: it cannot be written.
    """
    path = record_of(pages, seed.name)
    ordered = {figure.name: figures[figure.name] for figure in seed.figures if figure.name in figures}
    try:
        path.write_text(
            json.dumps({"figures": ordered}, indent=1, ensure_ascii=False) + "\n", encoding="utf-8"
        )
    except OSError as error:
        raise StoreError(f"{path}: it cannot be written: {error.strerror}") from error


def figure_record(
    seed: Seed, figure: Figure, entries: Iterable[Entry], before: dict[str, Any]
) -> dict[str, Any]:
    """The numbers of a figure; results of controls are kept from `before` if they were not run now."""
    now = digest(seed, figure)
    kept = {}
    if before.get("digest") == now:
        kept = {entry["quantity"]: entry for entry in before["entries"]}
    rows = []
    for entry in entries:
        row = {
            key: _rounded(value) for key, value in entry.as_dict().items() if key not in ("seed", "figure")
        }
        if entry.listed:
            del row["listed"]
        if entry.control and entry.control_holds is None and entry.quantity in kept:
            row.update({key: kept[entry.quantity].get(key) for key in _OF_CONTROL})
        rows.append(row)
    return {"digest": now, "basis": basis(seed, figure), "entries": rows}


def entries_of(seed: str, figure: str, record: dict[str, Any]) -> list[Entry]:
    """The entries of a figure's record.

    Raises:
        InputError: the record has other keys than an entry.
    """
    known = {field.name for field in fields(Entry)} - {"seed", "figure", "listed"}
    found = []
    for row in record["entries"]:
        if set(row) - {"listed"} != known:
            raise InputError(
                f"{seed}.json: {figure}: it was written by another version: run `make reproduce`"
            )
        found.append(Entry(seed=seed, figure=figure, **row))
    return found


def digest(seed: Seed, figure: Figure) -> str:
    """Hash of all inputs of a figure's entries except the engine: its rows, its runs, and their files."""
    return _hash([basis(seed, figure), repr(figure.quantities), repr(figure.cells)])


def basis(seed: Seed, figure: Figure) -> str:
    """Hash of all inputs of a figure's values except the engine and the rows: its runs, and their files."""
    parts: list[Any] = [repr(figure.places)]
    parts += [[name, run.experiment, run.set] for name, run in figure.runs.items()]
    names = {run.experiment for run in figure.runs.values()}
    names |= {path.name for path in seed.folder.glob("*.txt")}
    for of in (ranks.OPTIONS, verbs_runs.OPTIONS):
        programs = {file for run in figure.runs.values() if (file := of.file(run.set)) is not None}
        if programs:
            names |= {*programs, *(path.name for path in seed.folder.glob(of.hooks))}
    names |= {name for name in ("quantities.py",) if (seed.folder / name).exists()}
    parts += [[name, (seed.folder / name).read_text(encoding="utf-8")] for name in sorted(names)]
    return _hash(parts)


def _hash(parts: list[Any]) -> str:
    return hashlib.sha256(json.dumps(parts, default=repr).encode()).hexdigest()[:16]


def differences(pages: Path, seed: Seed, figure: Figure, entries: Iterable[Entry]) -> list[str]:
    """Differences of a figure's numbers from the committed ones: a line for each row."""
    where = f"{seed.name} {figure.name}"
    record = read_record(pages, seed.name).get(figure.name)
    if record is None:
        return [f"{where}: the page has no such figure"]
    before = {row["quantity"]: row for row in record["entries"]}
    lines = []
    for entry in entries:
        row = before.pop(entry.quantity, None)
        if row is None:
            lines.append(f"{where}: {entry.quantity}: the page has no such row")
            continue
        if _rounded(entry.ours) != row["ours"]:
            lines.append(f"{where}: {entry.quantity}: {row['ours']} on the page, now {_rounded(entry.ours)}")
        elif entry.verdict != row["verdict"]:
            lines.append(f"{where}: {entry.quantity}: {row['verdict']} on the page, now {entry.verdict}")
        if entry.control_holds is not None and _rounded(entry.control_ours) != row["control_ours"]:
            lines.append(
                f"{where}: {entry.quantity}: control: {row['control_ours']} on the page, "
                f"now {_rounded(entry.control_ours)}"
            )
    return lines + [f"{where}: {name}: only on the page" for name in before]


def _rounded(value: Any) -> Any:
    if isinstance(value, float) and math.isfinite(value) and value != 0:
        number: Number = float(f"{value:.{DIGITS}g}")
        return number
    return value
