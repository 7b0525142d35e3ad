"""Run folders: `manifest.json` and a Parquet file for each table, with units in the column metadata.

A folder appears whole or not at all: it is written beside its place and renamed.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from fabricsim.errors import InputError, StoreError

MANIFEST = "manifest.json"
FORMAT = 1
"""Version of the layout of a folder, in the manifest as `format`."""


class Reservation:
    """A place where a folder will be: proven to be free and writable before the work starts."""

    def __init__(self, folder: str | Path, *, force: bool = False) -> None:
        """Reserves `folder`. `force` allows to replace a folder of results, nothing else.

        Raises:
            InputError: it exists, or can not be written.
        """
        self.folder = Path(folder)
        self._force = force
        self._check_free()
        parent = self.folder.parent
        try:
            parent.mkdir(parents=True, exist_ok=True)
            self._staging = Path(tempfile.mkdtemp(prefix=f".{self.folder.name}.", dir=parent))
            os.chmod(self._staging, 0o777 & ~_umask())
        except OSError as error:
            reason = error.strerror or str(error)
            raise InputError(
                f"{self.folder}: results can not be written there: {reason}; choose another folder with --out"
            ) from error

    def _check_free(self) -> None:
        if not os.path.lexists(self.folder):
            return
        if not self._force:
            raise InputError(
                f"{self.folder}: this exists; choose another folder with --out, or replace it with --force"
            )
        is_ours = self.folder.is_dir() and not self.folder.is_symlink()
        if not is_ours or not ((self.folder / MANIFEST).exists() or not any(self.folder.iterdir())):
            raise InputError(
                f"{self.folder}: this is not a folder of results, so --force does not replace it; "
                "choose another folder with --out"
            )

    def commit(self, manifest: Mapping[str, Any], frames: Mapping[str, pd.DataFrame]) -> Path:
        """Writes everything and gives the folder its name.

        Raises:
            StoreError: it can not be written.
        """
        try:
            _fill(self._staging, manifest, frames)
            self._rename()
        except (OSError, pa.ArrowException) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise StoreError(f"{self.folder}: writing the results failed: {reason}") from error
        return self.folder

    def _rename(self) -> None:
        if os.path.lexists(self.folder):
            self._check_free()
            old = Path(tempfile.mkdtemp(prefix=f".{self.folder.name}.old.", dir=self.folder.parent))
            self.folder.rename(old)
            self._staging.rename(self.folder)
            shutil.rmtree(old, ignore_errors=True)
        else:
            self._staging.rename(self.folder)

    def discard(self) -> None:
        """Gives the place up. Harmless after `commit`."""
        shutil.rmtree(self._staging, ignore_errors=True)


def rescue(manifest: Mapping[str, Any], frames: Mapping[str, pd.DataFrame]) -> Path:
    """Writes a folder of results into the directory for temporary files, for when its own place failed.

    Raises:
        StoreError: that fails, too.
    """
    try:
        folder = Path(tempfile.mkdtemp(prefix="fabricsim-"))
        _fill(folder, manifest, frames)
    except (OSError, pa.ArrowException) as error:
        raise StoreError(f"writing the results to {tempfile.gettempdir()} failed, too: {error}") from error
    return folder


def free_folder(parent: str | Path, name: str) -> Path:
    """`parent/name`, or the first of `name-2`, `name-3`, ... that does not exist."""
    folder = Path(parent) / name
    number = 1
    while os.path.lexists(folder):
        number += 1
        folder = Path(parent) / f"{name}-{number}"
    return folder


def _fill(folder: Path, manifest: Mapping[str, Any], frames: Mapping[str, pd.DataFrame]) -> None:
    for name, frame in frames.items():
        write_table(folder / f"{name}.parquet", frame)
    write_manifest(folder, manifest)


def write_manifest(folder: Path, manifest: Mapping[str, Any]) -> None:
    """Writes the manifest, whole or not at all."""
    text = json.dumps({"format": FORMAT, **manifest}, indent=1, ensure_ascii=False) + "\n"
    temporary = folder / f".{MANIFEST}"
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(folder / MANIFEST)


def write_table(path: Path, frame: pd.DataFrame) -> None:
    """Writes a table, whole or not at all; unit and description of each column go into its metadata."""
    table = pa.Table.from_pandas(frame, preserve_index=False)
    notes = frame.attrs.get("columns", {})
    arrays = []
    for arrow_field in table.schema:
        unit, description = notes.get(arrow_field.name, ("", ""))
        arrays.append(arrow_field.with_metadata({"unit": unit, "description": description}))
    temporary = path.with_name(f".{path.name}")
    pq.write_table(table.cast(pa.schema(arrays)), temporary, compression="zstd")
    temporary.replace(path)


def read_table(path: Path) -> pd.DataFrame:
    """Reads a table that `write_table` wrote.

    Raises:
        StoreError: it is not there, or not Parquet.
    """
    try:
        table = pq.read_table(path)
    except (OSError, pa.ArrowException) as error:
        raise StoreError(f"{path}: this table can not be read: {error}") from error
    frame: pd.DataFrame = table.to_pandas()
    frame.attrs["columns"] = {f.name: _note(f.metadata or {}) for f in table.schema}
    return frame


def _note(metadata: Mapping[bytes, bytes]) -> list[str]:
    return [metadata.get(key, b"").decode() for key in (b"unit", b"description")]


def read_manifest(folder: str | Path) -> dict[str, Any]:
    """The manifest of a folder of results.

    Raises:
        InputError: it is no such folder, or one of a later version.
    """
    path = Path(folder) / MANIFEST
    try:
        manifest = cast("dict[str, Any]", json.loads(path.read_text(encoding="utf-8")))
        version = int(manifest["format"])
    except FileNotFoundError:
        raise InputError(f"{folder}: this is not a folder of results: it has no {MANIFEST}") from None
    except OSError as error:
        raise InputError(f"{path}: it can not be read: {error.strerror}") from None
    except (ValueError, KeyError, TypeError):
        raise InputError(f"{path}: this is not the manifest of a folder of results") from None
    if version > FORMAT:
        raise InputError(f"{path}: written by a later fabricsim (format {version}, this one reads {FORMAT})")
    return manifest


def read_folder(folder: str | Path) -> tuple[dict[str, Any], dict[str, pd.DataFrame]]:
    """Manifest and tables of a folder of results.

    Raises:
        InputError: it is no such folder.
        StoreError: a table can not be read.
    """
    manifest = read_manifest(folder)
    paths = sorted(Path(folder).glob("[!.]*.parquet"))
    return manifest, {path.stem: read_table(path) for path in paths}


def _umask() -> int:
    mask = os.umask(0)
    with contextlib.suppress(OSError):
        os.umask(mask)
    return mask
