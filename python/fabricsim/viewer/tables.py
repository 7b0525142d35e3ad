"""The tables of a run that the viewer draws, checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fabricsim import checksums
from fabricsim.absent_columns import absent_column
from fabricsim.errors import InputError, StoreError
from fabricsim.lazy import numpy as np
from fabricsim.lazy import pandas as pd
from fabricsim.results import Result
from fabricsim.store import read_manifest, read_table

TEXT, NUMBER, VALUE = "text", "number", "value"
"""Kinds of columns: texts, finite numbers, numbers that may be missing (of a measurement that did not begin)."""
REQUIRED: dict[str, dict[str, str]] = {
    "nodes": {"name": TEXT, "kind": TEXT, "x": NUMBER, "y": NUMBER},
    "links": {"link": TEXT, "utilisation": VALUE},
    "link_series": {"time_ns": NUMBER, "link": TEXT, "utilisation": VALUE, "stalled": VALUE},
    "congestion_trees": {"time_ns": NUMBER, "root": TEXT, "lane": NUMBER},
}
"""Columns without which a table cannot be drawn, by table."""
NEEDED = ("nodes", "links")
"""Tables without which a run cannot be drawn."""


@dataclass(frozen=True)
class Tables:
    """Manifest and tables of one run."""

    where: str
    """The folder, or the title of results in memory; for messages."""
    manifest: Mapping[str, Any]
    frames: Mapping[str, pd.DataFrame]

    @property
    def end_ns(self) -> float:
        """Simulated time at the end of the run; NaN if the manifest does not have it."""
        seconds = self.manifest["summary"].get("simulated_s")
        return float(seconds) * 1e9 if isinstance(seconds, int | float) else float("nan")


def read(run: str | Path | Result) -> Tables:
    """The tables of a run folder, or of results in memory. Reads no other table.

    Raises:
        InputError: it is not the folder of one run, or the run has no nodes or links.
        StoreError: a table is missing, cannot be read, or is damaged.
    """
    if isinstance(run, Result):
        where = str(run.folder or run.title)
        tables = Tables(
            where, run.manifest, {name: run.frames[name] for name in REQUIRED if name in run.frames}
        )
    else:
        folder = Path(run)
        manifest = read_manifest(folder)
        if manifest.get("kind") != "run":
            raise InputError(
                f"{folder}: this is a folder of kind {manifest.get('kind')!r}; `fabricsim view` draws single runs"
            )
        paths = {name: folder / f"{name}.parquet" for name in REQUIRED}
        checksums.require(folder, {path.name for path in paths.values()}.__contains__)
        tables = Tables(
            str(folder),
            manifest,
            {
                name: read_table(path, ["link"] if name == "link_series" else ())
                for name, path in paths.items()
                if path.exists()
            },
        )
    _check(tables)
    return tables


def _check(tables: Tables) -> None:
    for name in NEEDED:
        if name not in tables.frames or tables.frames[name].empty:
            raise InputError(
                f"{tables.where}: this run has no rows in the table {name!r}, which the viewer draws; run the "
                "experiment again with this version of fabricsim"
            )
    for name, frame in tables.frames.items():
        for column, kind in REQUIRED[name].items():
            if column not in frame:
                raise StoreError(absent_column(tables.where, name, column))
            if (problem := _problem(frame, column, kind)) is not None:
                raise StoreError(f"{tables.where}: the table {name!r} is damaged: {problem}")
    names = tables.frames["nodes"]["name"]
    if names.duplicated().any():
        twice = names[names.duplicated()].iloc[0]
        raise StoreError(f"{tables.where}: the table 'nodes' is damaged: {twice!r} has two rows")


def _problem(frame: pd.DataFrame, column: str, kind: str) -> str | None:
    """The reason why a column cannot be drawn."""
    values = frame[column]
    if kind == TEXT:
        is_text = all(isinstance(value, str) for value in values.unique())
        return None if is_text else f"the column {column!r} is not text"
    if not pd.api.types.is_numeric_dtype(values):
        return f"the column {column!r} has no numbers"
    if kind == NUMBER and not np.isfinite(values.to_numpy(float)).all():
        return f"the column {column!r} has values that are no finite numbers"
    return None
