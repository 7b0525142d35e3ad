"""A sweep: its points run, written one by one, and taken up again."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from pandas.api.types import is_object_dtype

from fabricsim.errors import InputError, StoreError
from fabricsim.results import finite, flatten, set_column_notes
from fabricsim.run import run
from fabricsim.spec import Experiment, as_experiment
from fabricsim.store import Reservation, read_folder, read_manifest, rescue, write_table
from fabricsim.sweep.grid import Point, grid, plain_value
from fabricsim.sweep.pool import Stop, never, work_through
from fabricsim.sweep.saturation import Saturation, saturation

TABLE = "sweep"
_UNITS = {"_ns": "ns", "_s": "s", "_gbps": "Gb/s", "_bytes": "B"}


@dataclass(frozen=True)
class SweepResult:
    """A sweep: a row for each point that is done."""

    manifest: dict[str, Any]
    points: pd.DataFrame
    """The parameters by their keys, then the scalars of each run's summary by dotted name."""
    complete: bool
    """Whether all points are done."""
    folder: Path | None = None

    @property
    def parameters(self) -> list[str]:
        """The keys that were varied."""
        return list(self.manifest["parameters"])

    def saturation(self) -> pd.DataFrame:
        """The saturation point for each combination of the parameters other than the load."""
        others = [key for key in self.parameters if not is_load(key)]
        if self.points.empty:
            return pd.DataFrame()
        groups = self.points.groupby(others, sort=False) if others else [((), self.points)]
        found = ((key, saturation(rows)) for key, rows in groups)
        rows = [
            dict(zip(others, key, strict=True)) | vars(s) for key, s in found if isinstance(s, Saturation)
        ]
        return pd.DataFrame(rows)

    def as_dict(self) -> dict[str, Any]:
        """What `fabricsim sweep --json` prints."""
        plain = {
            "experiment": self.manifest["file"],
            "parameters": self.parameters,
            "complete": self.complete,
            "folder": None if self.folder is None else str(self.folder),
            "points": self.points.to_dict("records"),
            "saturation": self.saturation().to_dict("records"),
        }
        return {key: finite(value) for key, value in plain.items()}


def is_load(key: str) -> bool:
    """Whether a key of an experiment is an offered load."""
    return key.rpartition(".")[2] in ("load", "rate") and key.startswith("traffic.")


def sweep(
    experiment: str | Path | Experiment,
    *,
    set: Mapping[str, Any] | None = None,
    vary: Mapping[str, Sequence[Any]] | None = None,
    jobs: int | None = None,
    out: str | Path | None = None,
    force: bool = False,
    on_point: Callable[[int, int], None] | None = None,
    stop: Stop = never,
) -> SweepResult:
    """Runs an experiment over a grid of values, in local processes.

    Each point is written to `out` as soon as it is done; a sweep into the folder of the same sweep goes on where it
    ended. Ctrl-C keeps the points that are done. In a script, call it under `if __name__ == "__main__":`.

    Args:
        experiment: an experiment file, or an `Experiment`.
        set: values to replace in all points.
        vary: values by key, beside those of the file's `[sweep]`.
        jobs: processes at most; by default one for each processor.
        out: write a folder there.
        force: replace a folder of another sweep.
        on_point: called with points done and points in all.
        stop: asked about ten times a second.

    Raises:
        InputError: the experiment is wrong at some point, or the folder exists or can not be written.
    """
    experiment = as_experiment(experiment, set)
    points = grid(experiment, vary)
    for point in points:
        experiment.with_overrides(list(point.items())).check()
    state = _State(experiment, points, None if out is None else Path(out), force)
    todo = state.todo()
    if on_point:
        on_point(state.done, len(points))

    def done(task: tuple[int, Experiment], row: dict[str, Any] | None) -> None:
        if row is not None:
            state.add(task[0], row)
            if on_point:
                on_point(state.done, len(points))

    tasks = [(at, experiment.with_overrides(list(points[at].items()))) for at in todo]
    if tasks:
        work_through(tasks, run_point, done, jobs=jobs, stop=stop)
    return state.result()


def load_sweep(folder: str | Path) -> SweepResult:
    """The sweep in a folder.

    Raises:
        InputError: it is not the folder of a sweep.
    """
    manifest, frames = read_folder(folder)
    if manifest.get("kind") != "sweep" or TABLE not in frames:
        raise InputError(f"{folder}: this is not the folder of a sweep")
    points = frames[TABLE]
    return SweepResult(manifest, points.drop(columns="point"), len(points) == manifest["size"], Path(folder))


def run_point(task: tuple[int, Experiment], stop: Stop) -> dict[str, Any] | None:
    """The scalars of one point's summary; None if it was stopped.

    Raises:
        KeyboardInterrupt: it was interrupted by hand.
    """
    result = run(task[1], stop=stop)
    if result.status == "interrupted":
        if not stop():
            raise KeyboardInterrupt
        return None
    return {
        **flatten(result.manifest["summary"]),
        "status": result.status,
        "wall_s": result.manifest["wall_s"],
    }


class _State:
    """The rows of a sweep in memory and on disk."""

    def __init__(self, experiment: Experiment, points: list[Point], folder: Path | None, force: bool) -> None:
        self._points = points
        self._rows: dict[int, dict[str, Any]] = {}
        self._folder = folder
        self._manifest = {
            "kind": "sweep",
            "name": experiment.name,
            "file": experiment.file,
            "parameters": list(points[0]),
            "size": len(points),
            "points": points,
            "overrides": [list(pair) for pair in experiment.overrides],
            "experiment": experiment.text,
        }
        if folder is not None:
            self._open(folder, force)

    @property
    def done(self) -> int:
        return len(self._rows)

    def todo(self) -> list[int]:
        return [at for at in range(len(self._points)) if at not in self._rows]

    def _open(self, folder: Path, force: bool) -> None:
        if not force and os.path.lexists(folder) and self._is_same(folder):
            rows = load_rows(folder).to_dict("records")
            self._rows = {int(row["point"]): {str(key): row[key] for key in row} for row in rows}
            return
        Reservation(folder, force=force).commit(self._manifest, {TABLE: self._frame()})

    def _is_same(self, folder: Path) -> bool:
        try:
            manifest = read_manifest(folder)
        except InputError:
            return False
        keys = ("kind", "points", "overrides", "experiment")
        return all(manifest.get(key) == self._manifest[key] for key in keys)

    def add(self, at: int, row: dict[str, Any]) -> None:
        self._rows[at] = row
        if self._folder is None:
            return
        try:
            write_table(self._folder / f"{TABLE}.parquet", self._frame())
        except OSError as error:
            elsewhere = rescue(self._manifest, {TABLE: self._frame()})
            raise StoreError(
                f"{self._folder}: writing a point failed: {error.strerror}; the points so far are in {elsewhere}"
            ) from error

    def _frame(self) -> pd.DataFrame:
        parameters = [{key: plain_value(text) for key, text in point.items()} for point in self._points]
        rows = [{"point": at, **parameters[at], **self._rows[at]} for at in sorted(self._rows)]
        frame = pd.DataFrame(rows, columns=None if rows else ["point", *self._points[0], "status"])
        for name in [name for name in frame if is_object_dtype(frame[name])]:
            kinds = {type(value) for value in frame[name] if value is not None}
            if len(kinds) > 1 and not kinds <= {int, float}:
                frame[name] = frame[name].astype("str")
        set_column_notes(frame, {name: _note(name, self._points[0]) for name in frame.columns})
        return frame

    def result(self) -> SweepResult:
        frame = self._frame().drop(columns="point")
        return SweepResult(self._manifest, frame, not self.todo(), self._folder)


def load_rows(folder: Path) -> pd.DataFrame:
    """The table of a sweep's folder, the points' numbers included."""
    return read_folder(folder)[1][TABLE]


def _note(name: str, parameters: Mapping[str, Any]) -> tuple[str, str]:
    if name in parameters:
        return "", "parameter: key of the experiment"
    ends = (unit for ending, unit in _UNITS.items() if any(p.endswith(ending) for p in name.split(".")))
    return next(ends, ""), "from the summary of the run"
