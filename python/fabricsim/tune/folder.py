"""The folder of a study: its tables, its manifest, and Optuna's file beside them."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fabricsim import checksums
from fabricsim.errors import InputError, StoreError
from fabricsim.lazy import pandas as pd
from fabricsim.lock import FolderLock
from fabricsim.native import version
from fabricsim.store import MANIFEST, Reservation, read_manifest, rescue, write_manifest, write_table
from fabricsim.tune.problem import Problem

KIND = "tune"
WRITE_S = 5.0
"""Seconds between two writings of the tables, at least."""


class Folder:
    """Folder of a study's tables; none without a path."""

    def __init__(self, problem: Problem, path: Path | None, force: bool) -> None:
        """Creates the folder, or resumes that of the same study.

        Raises:
            InputError: it is something else, cannot be written, or another process works on it.
            StoreError: its manifest is damaged.
        """
        self.path = path
        self._lock = None if path is None else FolderLock(path).acquire()
        self._next_write = 0.0
        experiment = problem.experiment
        self.manifest: dict[str, Any] = {
            "kind": KIND,
            "name": experiment.name,
            "file": experiment.file,
            "version": version(),
            "identity": problem.identity(),
            "overrides": [list(pair) for pair in experiment.overrides],
            "parameters": [item.key for item in problem.parameters],
            "objectives": [
                {"name": axis.name, "goal": "maximize" if axis.maximize else "minimize"}
                for axis in problem.axes
            ],
            "constraints": [vars(c) | {"which": c.which.label} for c in problem.constraints],
            "metrics": [metric.name for metric in problem.metrics],
            "sampler": problem.sampler,
            "scenarios": [scenario.name for scenario in problem.scenarios],
            "seeds": problem.seeds,
            "size": problem.trials,
            "experiment": experiment.text,
        }
        self._made = False
        try:
            self._open(path, force)
        except BaseException:
            self.close()
            raise

    def _open(self, path: Path | None, force: bool) -> None:
        self._made = path is not None and (force or not self._is_same(path))
        if path is not None and self._made:
            Reservation.create(path, self.manifest, {}, force=force)

    def close(self) -> None:
        """Releases the folder for other processes."""
        if self._lock is not None:
            self._lock.release()

    def _is_same(self, path: Path) -> bool:
        """
        Raises:
            InputError: it is the folder of another study.
            StoreError: its manifest is damaged.
        """
        if not os.path.lexists(path / MANIFEST):
            return False
        manifest = read_manifest(path)
        if manifest.get("kind") == KIND and manifest.get("identity") != self.manifest["identity"]:
            raise InputError(
                f"{path}: this is the study of another experiment, or of other parameters or objectives; "
                "choose another folder with --out, or replace it with --force"
            )
        return manifest.get("kind") == KIND

    def discard(self) -> None:
        """Removes a folder that was created in vain."""
        if self.path is not None and self._made:
            shutil.rmtree(self.path, ignore_errors=True)

    def open_file(self, name: str) -> None:
        """Checks a file of the folder that another library writes, and removes its checksum until `seal`.

        Raises:
            StoreError: it is damaged.
        """
        if self.path is not None and (self.path / name).exists():
            checksums.verify(self.path / name)
            with self._reported():
                checksums.forget(self.path, name)

    def seal(self, name: str) -> None:
        """Notes the checksum of a file that another library has written.

        Raises:
            StoreError: it cannot be written.
        """
        if self.path is not None and (self.path / name).exists():
            with self._reported():
                checksums.write(self.path, [name])

    @contextmanager
    def _reported(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise StoreError(f"{self.path}: it cannot be written: {error.strerror}") from error

    def due(self) -> bool:
        """True if the tables have not been written for a while."""
        return self.path is not None and time.monotonic() >= self._next_write

    def write(self, frames: Mapping[str, pd.DataFrame], facts: Mapping[str, Any] | None = None) -> None:
        """Writes tables, and with `facts` the manifest.

        Raises:
            StoreError: they cannot be written; they went elsewhere.
        """
        if facts is not None:
            self.manifest |= facts
        if self.path is None:
            return
        begun = time.monotonic()
        try:
            for name, frame in frames.items():
                write_table(self.path / f"{name}.parquet", frame)
            if facts is not None:
                write_manifest(self.path, self.manifest)
        except OSError as error:
            elsewhere = rescue(self.manifest, frames)
            raise StoreError(
                f"{self.path}: writing the tables failed: {error.strerror}; they are in {elsewhere}"
            ) from error
        ended = time.monotonic()
        self._next_write = ended + max(WRITE_S, 20.0 * (ended - begun))
