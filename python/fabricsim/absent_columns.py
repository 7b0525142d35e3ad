"""Columns that a table of a stored run lacks, such as one that another program has written."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from fabricsim import catalogue
from fabricsim.errors import StoreError

if TYPE_CHECKING:
    import pandas as pd


class Run(Protocol):
    """The results of one run."""

    @property
    def frames(self) -> Mapping[str, pd.DataFrame]:
        """All tables by name."""
        ...

    @property
    def folder(self) -> Path | None:
        """The run folder, if there is one."""
        ...

    @property
    def title(self) -> str:
        """The title of the experiment."""
        ...


@contextmanager
def absent_columns_named(runs: Iterable[Run]) -> Iterator[None]:
    """Around code that uses tables of runs: turns the lack of a column into an error that names table and column.

    Which columns are needed depends on what is drawn or printed, and runs of earlier versions have fewer. So tables are
    not checked when they are read.

    Raises:
        StoreError: the code needs a column that a table lacks.
    """
    try:
        yield
    except KeyError as error:
        # pandas names the column, among other words, and not the table.
        words = set(re.findall(r"\w+", " ".join(map(str, error.args))))
        for run in runs:
            for table, frame in run.frames.items():
                absent = sorted(words & (_known(table) - set(frame.columns)))
                if absent:
                    where = run.folder or run.title
                    raise StoreError(absent_column(where, table, absent[0])) from error
        raise


def _known(table: str) -> set[str]:
    """Columns that a table may have. The column `flow` of the engine is two in frames."""
    known = set(catalogue.columns(table))
    return known | {"source", "destination"} if "flow" in known else known


def absent_column(where: object, table: str, column: str) -> str:
    """The message on a table of the run `where` without a column."""
    return f"{where}: the table {table!r} is damaged: it has no column {column!r}"
