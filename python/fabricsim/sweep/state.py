"""The rows of a sweep in memory and in its folder, so that nothing that is done is lost.

Each row goes at once to the end of a journal, a line of JSON, so that also a process that is killed loses none. The
table is written now and then, and at the end, when the journal goes.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TextIO

import pandas as pd

from fabricsim.errors import InputError, StoreError
from fabricsim.native import version
from fabricsim.spec import Experiment
from fabricsim.store import Reservation, read_folder, read_manifest, rescue, write_table
from fabricsim.sweep.plan import Plan, Point
from fabricsim.sweep.table import FAILED, TABLE, Parameters, frame, rows_of, value_at

JOURNAL = f"{TABLE}.jsonl"
WRITE_S = 5.0
"""Seconds between two writings of the table, at least."""
WRITE_SHARE = 0.05
"""Part of the time that writing the table may take."""
_SAME = ("kind", "points", "overrides", "experiment", "version", "inputs")
"""What has to be equal for a sweep to go on in a folder."""


class SweepState:
    """A sweep under way."""

    def __init__(self, experiment: Experiment, plan: Plan, folder: Path | None, force: bool) -> None:
        """Takes up what `folder` has of the same sweep.

        Raises:
            InputError: the folder holds something else, can not be written, or another process works on it.
        """
        self.points: list[Point] = plan.points()
        checked = experiment.check()
        base = {key: value_at(checked, key) for key in plan.parameters}
        self._parameters = Parameters(self.points, base)
        self._rows: dict[int, dict[str, Any]] = {}
        self._folder = folder
        self._journal: TextIO | None = None
        self._next_write = 0.0
        self.manifest: dict[str, Any] = {
            "kind": "sweep",
            "name": experiment.name,
            "file": experiment.file,
            "version": version(),
            "parameters": plan.parameters,
            "base": base,
            "numeric": {key: self._parameters.numeric(key) for key in plan.parameters},
            "axes": [{"kind": axis.kind, "keys": axis.keys} for axis in plan.axes],
            "size": len(self.points),
            "points": self.points,
            "overrides": [list(pair) for pair in experiment.overrides],
            "inputs": dict(_inputs(checked, Path(experiment.base))),
            "experiment": experiment.text,
        }
        if folder is not None:
            self._open(folder, force)

    @property
    def done(self) -> int:
        """Number of points that are done."""
        return len(self._rows)

    def todo(self) -> list[int]:
        """Numbers of the points that are not done."""
        return [at for at in range(len(self.points)) if at not in self._rows]

    def row(self, at: int) -> Mapping[str, Any] | None:
        """What is kept of a point; None before it is done."""
        return self._rows.get(at)

    def add(self, at: int, row: dict[str, Any]) -> None:
        """Keeps a point, instead of what was kept of it before.

        Raises:
            StoreError: it can not be written; the points so far went elsewhere.
        """
        self._rows[at] = row
        if self._folder is None:
            return
        with self._rescued("writing a point"):
            assert self._journal is not None
            self._journal.write(json.dumps([at, row]) + "\n")
            self._journal.flush()
            if time.monotonic() >= self._next_write:
                self._write()

    def close(self) -> None:
        """Writes the table for good.

        Raises:
            StoreError: it can not be written; the points so far went elsewhere.
        """
        if self._folder is None or self._journal is None:
            return
        journal, self._journal = self._journal, None
        with self._rescued("writing the table"):
            self._write()
            (self._folder / JOURNAL).unlink()
        journal.close()

    def table(self) -> pd.DataFrame:
        """The points that are done."""
        return frame(self._parameters, self._rows)

    def _write(self) -> None:
        assert self._folder is not None
        begun = time.monotonic()
        write_table(self._folder / f"{TABLE}.parquet", self.table())
        ended = time.monotonic()
        self._next_write = ended + max(WRITE_S, (ended - begun) / WRITE_SHARE)

    def _rescued(self, what: str) -> _Rescued:
        return _Rescued(self, what)

    def _open(self, folder: Path, force: bool) -> None:
        if not force and os.path.lexists(folder) and self._is_same(folder):
            self._lock(folder)
            rows = read_rows(folder)
            self._rows = {at: row for at, row in rows.items() if row.get("status") != FAILED}
        else:
            Reservation(folder, force=force).commit(self.manifest, {TABLE: self.table()})
            self._lock(folder)
        self._next_write = time.monotonic() + WRITE_S

    def _lock(self, folder: Path) -> None:
        """Opens the journal, for this process alone."""
        path = folder / JOURNAL
        try:
            journal = path.open("a", encoding="utf-8")
        except OSError as error:
            raise InputError(f"{path}: it can not be written: {error.strerror}") from None
        try:
            fcntl.flock(journal, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            journal.close()
            raise InputError(
                f"{folder}: another process works on this sweep: wait for it, or stop it"
            ) from None
        except OSError:
            pass  # a file system without locks
        if path.stat().st_size:
            journal.write("\n")  # the last line may be half a line
        self._journal = journal

    def _is_same(self, folder: Path) -> bool:
        try:
            manifest = read_manifest(folder)
        except InputError:
            return False
        return all(manifest.get(key) == self.manifest[key] for key in _SAME)


class _Rescued:
    """Where writing fails, the points go to the directory for temporary files."""

    def __init__(self, state: SweepState, what: str) -> None:
        self._state = state
        self._what = what

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if isinstance(error, OSError):
            elsewhere = rescue(self._state.manifest, {TABLE: self._state.table()})
            raise StoreError(
                f"{self._state._folder}: {self._what} failed: {error.strerror}; the points so far are in {elsewhere}"
            ) from error


def read_rows(folder: Path) -> dict[int, dict[str, Any]]:
    """The rows in a folder by number of point: those of the table, then those of the journal.

    Raises:
        InputError: it is not the folder of a sweep.
        StoreError: it can not be read.
    """
    _, frames = read_folder(folder)
    if TABLE not in frames:
        raise InputError(f"{folder}: this is not the folder of a sweep")
    return rows_of(frames[TABLE]) | dict(_journal_rows(folder / JOURNAL))


def _journal_rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except FileNotFoundError:
        return
    except OSError as error:
        raise StoreError(f"{path}: it can not be read: {error.strerror}") from error
    for line in lines:
        try:
            at, row = json.loads(line)
        except ValueError:
            continue  # a line that was not written to its end
        yield at, row


def _inputs(tree: Any, base: Path) -> Iterator[tuple[str, str]]:
    """The files that an experiment refers to, and hashes of their contents."""
    values = tree.values() if isinstance(tree, Mapping) else tree if isinstance(tree, list) else ()
    for value in values:
        if isinstance(value, str):
            path = base / value
            if 0 < len(value) < 255 and "\0" not in value and path.is_file():
                yield value, hashlib.sha256(path.read_bytes()).hexdigest()
        else:
            yield from _inputs(value, base)
