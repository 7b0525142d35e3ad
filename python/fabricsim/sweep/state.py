"""The rows of a sweep in memory and in its folder, so that nothing that is done is lost.

Each row goes at once to the end of a journal, a line of JSON, so that also a process that is killed loses none. The
table is written now and then, and at the end, when the journal goes.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from fabricsim.errors import StoreError
from fabricsim.lazy import pandas as pd
from fabricsim.lock import FolderLock
from fabricsim.native import version
from fabricsim.spec import Experiment
from fabricsim.store import MANIFEST, Reservation, read_manifest, read_table, rescue, write_table
from fabricsim.sums import SUMMED_BY
from fabricsim.sweep.base import Base
from fabricsim.sweep.journal import Journal, JournalWriter, read_journal
from fabricsim.sweep.plan import Plan, Point
from fabricsim.sweep.schedule import Schedule
from fabricsim.sweep.sums import attach_sums, has_sums, sums_tables, table_name
from fabricsim.sweep.table import FAILED, TABLE, Parameters, frame, rows_of

JOURNAL = f"{TABLE}.jsonl"
WRITE_S = 5.0
"""Seconds between two writings of the table, at least."""
WRITE_SHARE = 0.05
"""Part of the time that writing the table may take."""
_SAME = ("kind", "points", "overrides", "experiment", "version", "inputs", "schedule")
"""Keys of the manifest that must be equal to resume a sweep in a folder."""


class SweepState:
    """A running sweep."""

    def __init__(
        self,
        experiment: Experiment,
        plan: Plan,
        folder: Path | None,
        force: bool,
        say: Callable[[str], None] = lambda _: None,
        schedule: Schedule | None = None,
        by: Sequence[str] = (),
    ) -> None:
        """Resumes from the results already in `folder`; `say` receives the damaged points.

        `schedule` chooses the points that run; without it all do. `by`: sums of flows that each point has; points in
        the folder without them run again.

        Raises:
            InputError: the folder holds something else, cannot be written, or another process works on it.
            StoreError: its manifest or its table is damaged.
        """
        self.points: list[Point] = plan.points()
        self.schedule = schedule
        self.by = tuple(by)
        varied = Base(experiment)
        base = varied.values(plan)
        self._parameters = Parameters(self.points, base)
        self._rows: dict[int, dict[str, Any]] = {}
        self._stale: set[int] = set()
        """Points whose rows are kept until they have run again."""
        self._folder = folder
        self._journal: JournalWriter | None = None
        self._lock = None if folder is None else FolderLock(folder)
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
            "inputs": dict(_inputs(varied.facts(plan.first), Path(experiment.base))),
            "experiment": experiment.text,
            "schedule": None if schedule is None else schedule.as_dict(),
        }
        if folder is not None:
            self._open(folder, force, say)

    @property
    def done(self) -> int:
        """Number of points that are done."""
        return len(self._rows) - len(self._stale)

    @property
    def rows(self) -> Mapping[int, Mapping[str, Any]]:
        """Rows of the points that are done, by number."""
        if not self._stale:
            return self._rows
        return {at: row for at, row in self._rows.items() if at not in self._stale}

    @property
    def expected(self) -> int:
        """Number of points in all, or that are expected to run."""
        return len(self.points) if self.schedule is None else self.schedule.expected(self.rows)

    def todo(self) -> list[int]:
        """Numbers of the points that are not done; with a schedule those that may run now."""
        if self.schedule is not None:
            return self.schedule.due(self.rows)
        done = self.rows
        return [at for at in range(len(self.points)) if at not in done]

    def row(self, at: int) -> Mapping[str, Any] | None:
        """Recorded row of a point; None before it is done."""
        return self._rows.get(at)

    def add(self, at: int, row: dict[str, Any]) -> None:
        """Keeps a point, instead of what was kept of it before.

        Raises:
            StoreError: it cannot be written; the points so far went elsewhere.
        """
        self._rows[at] = row
        self._stale.discard(at)
        if self._folder is None:
            return
        with self._rescued("writing a point"):
            assert self._journal is not None
            self._journal.add(at, row)
            if time.monotonic() >= self._next_write:
                self._write()

    def close(self) -> None:
        """Writes the table for good.

        Raises:
            StoreError: it cannot be written; the points so far went elsewhere.
        """
        if self._folder is None or self._journal is None:
            return
        journal, self._journal = self._journal, None
        try:
            with self._rescued("writing the table"):
                self._write()
                journal.remove()
        finally:
            journal.close()
            self._release()

    def _release(self) -> None:
        if self._lock is not None:
            self._lock.release()

    def table(self) -> pd.DataFrame:
        """The points that are done."""
        return frame(self._parameters, self._rows)

    def sums(self) -> dict[str, pd.DataFrame]:
        """Sums of flows of the points that are done, by name."""
        return sums_tables(self._parameters, self._rows)

    def _tables(self) -> dict[str, pd.DataFrame]:
        """All tables by the names of their files."""
        return {TABLE: self.table()} | {table_name(by): found for by, found in self.sums().items()}

    def _write(self) -> None:
        assert self._folder is not None
        begun = time.monotonic()
        for name, table in self._tables().items():
            write_table(self._folder / f"{name}.parquet", table)
        ended = time.monotonic()
        self._next_write = ended + max(WRITE_S, (ended - begun) / WRITE_SHARE)

    def _rescued(self, what: str) -> _Rescued:
        return _Rescued(self, what)

    def _open(self, folder: Path, force: bool, say: Callable[[str], None]) -> None:
        assert self._lock is not None
        self._lock.acquire()
        try:
            if not force and self._is_same(folder):
                rows, damaged = read_rows(folder, len(self.points))
                self._rows = {at: row for at, row in rows.items() if row.get("status") != FAILED}
                had = [
                    name for name in SUMMED_BY if any(has_sums(row, [name]) for row in self._rows.values())
                ]
                self.by = tuple(dict.fromkeys([*self.by, *had]))
                self._stale = {at for at, row in self._rows.items() if not has_sums(row, self.by)}
                for message in damaged:
                    say(message)
            else:
                Reservation.create(folder, self.manifest, {TABLE: self.table()}, force=force)
            self._journal = JournalWriter(folder / JOURNAL)
        except BaseException:
            self._release()
            raise
        self._next_write = time.monotonic() + WRITE_S

    def _is_same(self, folder: Path) -> bool:
        """
        Raises:
            StoreError: its manifest is damaged.
        """
        if not os.path.lexists(folder / MANIFEST):
            return False
        manifest = read_manifest(folder)
        return all(manifest.get(key) == self.manifest[key] for key in _SAME)


class _Rescued:
    """If writing fails, saves the points to the directory for temporary files."""

    def __init__(self, state: SweepState, what: str) -> None:
        self._state = state
        self._what = what

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if isinstance(error, OSError):
            elsewhere = rescue(self._state.manifest, self._state._tables())
            raise StoreError(
                f"{self._state._folder}: {self._what} failed: {error.strerror}; the points so far are in {elsewhere}"
            ) from error


def read_rows(folder: Path, size: int) -> tuple[dict[int, dict[str, Any]], list[str]]:
    """The rows in the folder of a sweep of `size` points by number of point: those of the table, then those of the
    journal; and messages about lines of it that are damaged.

    Raises:
        StoreError: its table cannot be read.
    """
    path = folder / f"{TABLE}.parquet"
    journal: Journal = read_journal(folder / JOURNAL, size)
    rows: dict[int, dict[str, Any]] = {}
    if path.exists():
        found = rows_of(read_table(path), size)
        if found is None:
            raise StoreError(
                f"{path}: damaged: this is not the table of this sweep; remove it to run its points again"
            )
        rows = found
        for by in SUMMED_BY:
            path = folder / f"{table_name(by)}.parquet"
            if path.exists() and not attach_sums(rows, by, read_table(path)):
                raise StoreError(
                    f"{path}: damaged: these are not sums of this sweep; remove it to run its points again"
                )
    return rows | journal.rows, journal.damaged


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
