"""Run folders: `manifest.json` and a Parquet file for each table, with units in the column metadata.

A folder appears whole or not at all: it is written beside its place and renamed. While a process works on it, it is
locked.
"""

from __future__ import annotations

import contextlib
import difflib
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar, cast

from fabricsim import checksums
from fabricsim.errors import InputError, StoreError
from fabricsim.frames import Column, Columns, columns_of
from fabricsim.lazy import numpy as np
from fabricsim.lazy import pandas as pd
from fabricsim.lazy import parquet as pq
from fabricsim.lazy import pyarrow as pa
from fabricsim.lock import FolderLock, FolderTakenError
from fabricsim.manifest import problem

T = TypeVar("T")
MANIFEST = "manifest.json"
VIEWER = "view.html"
"""Name of the viewer's page in a run folder."""
PAGES = (".html", ".htm")
"""Endings of names of pages."""
FORMAT = 1
"""Version of the layout of a folder, in the manifest as `format`."""


class Reservation:
    """A reserved folder: free and writable before the work starts, and locked until `discard`."""

    def __init__(self, folder: str | Path, *, force: bool = False, locked: bool = False) -> None:
        """Reserves `folder`. `force` allows to replace a folder of results, nothing else. `locked`: the caller has the
        lock of the folder, and keeps it.

        Raises:
            FolderTakenError: it exists, or another process uses it.
            InputError: it cannot be written.
        """
        self.folder = Path(folder)
        self._force = force
        self._lock = None if locked else FolderLock(folder)
        if self._lock is not None:
            self._lock.acquire()
        try:
            self._prepare()
        except BaseException:
            self._release()
            raise

    @classmethod
    def create(
        cls, folder: Path, manifest: Mapping[str, Any], frames: Mapping[str, pd.DataFrame], *, force: bool
    ) -> None:
        """Writes a folder of which the caller has the lock.

        Raises:
            InputError: it exists, or cannot be written.
            StoreError: writing it failed.
        """
        reservation = cls(folder, force=force, locked=True)
        try:
            reservation.commit(manifest, frames)
        finally:
            reservation.discard()

    def _prepare(self) -> None:
        self._check_free()
        parent = self.folder.parent
        try:
            parent.mkdir(parents=True, exist_ok=True)
            self.staging = Path(tempfile.mkdtemp(prefix=f".{self.folder.name}.", dir=parent))
            os.chmod(self.staging, 0o777 & ~_umask())
        except OSError as error:
            reason = error.strerror or str(error)
            raise InputError(
                f"{self.folder}: results cannot be written there: {reason}; choose another folder with --out"
            ) from error

    def _check_free(self) -> None:
        if not os.path.lexists(self.folder):
            return
        if not self._force:
            raise FolderTakenError(
                f"{self.folder}: this exists; choose another folder with --out, or replace it with --force"
            )
        if self.folder.is_symlink():
            raise InputError(
                f"{self.folder}: this is a symbolic link, which --force does not replace; "
                "give the folder that it leads to, or choose another one, with --out"
            )
        if not self.folder.is_dir() or not (
            (self.folder / MANIFEST).exists() or not any(self.folder.iterdir())
        ):
            raise InputError(
                f"{self.folder}: this is not a folder of results, so --force does not replace it; "
                "choose another folder with --out"
            )

    def commit(self, manifest: Mapping[str, Any], frames: Mapping[str, pd.DataFrame]) -> Path:
        """Writes everything and gives the folder its name.

        Raises:
            StoreError: it cannot be written.
        """
        try:
            _fill(self.staging, manifest, frames)
            self._rename()
        except (OSError, pa.ArrowException, InputError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise StoreError(f"{self.folder}: writing the results failed: {reason}") from error
        return self.folder

    def _rename(self) -> None:
        if os.path.lexists(self.folder):
            self._check_free()
            old = Path(tempfile.mkdtemp(prefix=f".{self.folder.name}.old.", dir=self.folder.parent))
            self.folder.rename(old)
            self.staging.rename(self.folder)
            shutil.rmtree(old, ignore_errors=True)
        else:
            self.staging.rename(self.folder)

    def discard(self) -> None:
        """Releases the reservation, or after `commit` only its lock."""
        shutil.rmtree(self.staging, ignore_errors=True)
        self._release()

    def _release(self) -> None:
        if self._lock is not None:
            self._lock.release()


def rescue(manifest: Mapping[str, Any], frames: Mapping[str, pd.DataFrame]) -> Path:
    """Writes a folder of results into the directory for temporary files, for when its own place failed.

    Raises:
        StoreError: that fails as well.
    """
    try:
        folder = Path(tempfile.mkdtemp(prefix="fabricsim-"))
        _fill(folder, manifest, frames)
    except (OSError, pa.ArrowException) as error:
        raise StoreError(f"writing the results to {tempfile.gettempdir()} failed, too: {error}") from error
    return folder


def in_free_folder(parent: str | Path, name: str, work: Callable[[Path], T]) -> T:
    """Returns what `work` does for `parent/name`, or for the first of `name-2`, `name-3`, ... that is free."""
    number = 1
    while True:
        folder = Path(parent) / (name if number == 1 else f"{name}-{number}")
        number += 1
        if os.path.lexists(folder):
            continue
        try:
            return work(folder)
        except FolderTakenError:  # by another process, since
            continue


def _fill(folder: Path, manifest: Mapping[str, Any], frames: Mapping[str, pd.DataFrame]) -> None:
    names = [f"{name}.parquet" for name in frames]
    for name, file in zip(frames, names, strict=True):
        columns = columns_of(frames, name)
        table = _table_of_frame(frames[name]) if columns is None else _table_of_columns(columns)
        _save_table(folder / file, table)
    _save_manifest(folder / MANIFEST, manifest)
    others = [path.name for path in folder.iterdir() if path.suffix == ".pcapng"]
    checksums.write(folder, [*names, *others, MANIFEST])


def write_manifest(folder: Path, manifest: Mapping[str, Any]) -> None:
    """Writes the manifest, whole or not at all."""
    checksums.replace(folder / MANIFEST, lambda path: _save_manifest(path, manifest))


def write_table(path: Path, frame: pd.DataFrame) -> None:
    """Writes a table, whole or not at all; unit and description of each column go into its metadata."""
    checksums.replace(path, lambda temporary: _save_table(temporary, _table_of_frame(frame)))


def _save_manifest(path: Path, manifest: Mapping[str, Any]) -> None:
    text = json.dumps({"format": FORMAT, **manifest}, indent=1, ensure_ascii=False) + "\n"
    path.write_text(text, encoding="utf-8")


def _save_table(path: Path, table: pa.Table) -> None:
    pq.write_table(table, path, compression="zstd")


def _table_of_frame(frame: pd.DataFrame) -> pa.Table:
    table = pa.Table.from_pandas(frame, preserve_index=False)
    notes = frame.attrs.get("columns", {})
    arrays = []
    for arrow_field in table.schema:
        unit, description = notes.get(arrow_field.name, ("", ""))
        arrays.append(arrow_field.with_metadata({"unit": unit, "description": description}))
    return table.cast(pa.schema(arrays))


def _table_of_columns(columns: Columns) -> pa.Table:
    """As `_table_of_frame` of their frame, bit by bit, but without pandas."""
    arrays = [_texts(column.values) if column.kind == "str" else _numbers(column) for column in columns]
    fields = [
        pa.field(column.name, array.type, metadata={"unit": column.unit, "description": column.description})
        for column, array in zip(columns, arrays, strict=True)
    ]
    return pa.Table.from_arrays(arrays, schema=pa.schema(fields))


# `pyarrow.array` imports pandas, whatever it is given; `Array.from_buffers` does not.


def _numbers(column: Column) -> pa.Array:
    """A column of numbers; NaN is a null, as in tables of frames."""
    values, valid = column.numbers(), None
    if column.kind == "f8" and (missing := np.isnan(values)).any():
        valid = pa.py_buffer(np.packbits(~missing, bitorder="little"))
    kind = pa.float64() if column.kind == "f8" else pa.int64()
    return pa.Array.from_buffers(kind, len(values), [valid, pa.py_buffer(column.values)])


def _texts(values: Sequence[str]) -> pa.Array:
    encoded = [value.encode() for value in values]
    offsets = np.zeros(len(encoded) + 1, dtype="<i8")
    np.cumsum(np.fromiter(map(len, encoded), dtype="<i8", count=len(encoded)), out=offsets[1:])
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(b"".join(encoded))]
    return pa.Array.from_buffers(pa.large_string(), len(encoded), buffers)


def read_table(path: Path, categories: Sequence[str] = ()) -> pd.DataFrame:
    """Reads a table that `write_table` wrote. `categories`: columns of texts of which each is there many times.

    Raises:
        StoreError: it is not there, damaged, or not Parquet.
    """
    checksums.verify(path)
    try:
        table = pq.read_table(path, read_dictionary=list(categories))
        frame: pd.DataFrame = table.to_pandas()
        notes = {field.name: _note(field.metadata or {}) for field in table.schema}
    except MemoryError:
        raise
    except Exception as error:  # Arrow, pandas, Python: whatever a damaged table runs into
        reason = str(error).partition("\n")[0] or type(error).__name__
        raise StoreError(f"{path}: this table cannot be read: {reason}") from error
    frame.attrs["columns"] = notes
    return frame


def _note(metadata: Mapping[bytes, bytes]) -> list[str]:
    return [metadata.get(key, b"").decode(errors="replace") for key in (b"unit", b"description")]


def read_manifest(folder: str | Path) -> dict[str, Any]:
    """The manifest of a folder of results.

    Raises:
        InputError: it is no such folder, or one of a later version.
        StoreError: the manifest is damaged.
    """
    path = Path(folder) / MANIFEST
    checksums.verify(path)
    try:
        manifest = cast("dict[str, Any]", json.loads(path.read_text(encoding="utf-8")))
        version = int(manifest["format"])
    except (FileNotFoundError, NotADirectoryError):
        raise InputError(f"{folder}: {_refusal(Path(folder))}") from None
    except OSError as error:
        raise InputError(f"{path}: it cannot be read: {error.strerror}") from None
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
        raise InputError(f"{path}: this is not the manifest of a folder of results") from None
    if version > FORMAT:
        raise InputError(f"{path}: written by a later fabricsim (format {version}, this one reads {FORMAT})")
    if (key := problem(manifest)) is not None:
        raise StoreError(f"{path}: damaged: {key!r} is missing, or is not what fabricsim writes")
    return manifest


def _refusal(folder: Path) -> str:
    """Why a path has no manifest: the reason that a user can do something about."""
    if folder.is_file():
        makes = f": `fabricsim run {folder} --out FOLDER` writes one" if folder.suffix == ".toml" else ""
        return f"this is a file, not a folder of results{makes}"
    if folder.is_dir():
        return f"this is not a folder of results: it has no {MANIFEST}"
    try:
        names = [other.name for other in folder.parent.iterdir() if (other / MANIFEST).is_file()]
    except OSError:
        names = []
    near = difflib.get_close_matches(folder.name, names, n=1)
    hint = f"; did you mean {folder.with_name(near[0])}?" if near else ""
    return f"this is not a folder of results: it does not exist{hint}"


def read_folder(folder: str | Path) -> tuple[dict[str, Any], dict[str, pd.DataFrame]]:
    """Manifest and tables of a folder of results.

    Raises:
        InputError: it is no such folder.
        StoreError: a table cannot be read, or is missing.
    """
    manifest = read_manifest(folder)
    checksums.require(Path(folder), lambda name: name.endswith(".parquet"))
    paths = sorted(Path(folder).glob("[!.]*.parquet"))
    return manifest, {path.stem: read_table(path) for path in paths}


def _umask() -> int:
    mask = os.umask(0)
    with contextlib.suppress(OSError):
        os.umask(mask)
    return mask


def page_path(path: str | Path) -> Path:
    """The path of a page for browsers.

    Raises:
        InputError: its name has another ending: the page could replace an experiment, or results.
    """
    page = Path(path)
    is_special = page.exists() and not page.is_file()  # such as a device
    if page.suffix.lower() not in PAGES and not is_special:
        raise InputError(f"{page}: a page for browsers has a name that ends with {' or '.join(PAGES)}")
    return page


def write_page(path: Path, text: str) -> Path:
    """Writes a page for browsers: what was there stays until it is whole.

    Raises:
        StoreError: it cannot be written.
    """
    # A device, or a link, is written and stays what it is.
    as_it_is = path.is_symlink() or (path.exists() and not path.is_file())
    temporary = path if as_it_is else path.with_name(f".{path.name}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_text(text, encoding="utf-8")
        if not as_it_is:
            temporary.replace(path)
    except OSError as error:
        if not as_it_is:
            with contextlib.suppress(OSError):
                temporary.unlink()
        raise StoreError(f"{path}: the page cannot be written: {error.strerror}") from error
    return path
