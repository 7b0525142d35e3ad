"""Sums of flows by source, destination or group of hosts, of several runs side by side."""

from __future__ import annotations

from collections.abc import Sequence

from fabricsim.compare.flows import RATIO
from fabricsim.errors import InputError
from fabricsim.hosts import Groups
from fabricsim.lazy import pandas as pd
from fabricsim.results import Result
from fabricsim.sums import COLUMNS, keys_of
from fabricsim.sweep import SweepResult
from fabricsim.sweep.repeated import SEED
from fabricsim.sweep.sums import with_silent


def sums_beside(
    results: Sequence[Result], labels: Sequence[str], by: str, groups: Groups | None = None
) -> pd.DataFrame:
    """The sums of all runs, a row for each key that any run has, with two levels of columns: quantity and run.

    Quantities are those of `Result.by`, and `ratio` (accepted throughput over that of the first run) for each run but
    the first.

    Raises:
        InputError: a run has no such sums.
    """
    tables = []
    for result in results:
        try:
            tables.append(result.by(by, groups))
        except InputError as error:
            raise InputError(f"{result.folder or result.title}: {error}") from None
    index = tables[0].index
    for table in tables[1:]:
        index = index.append(table.index[~table.index.isin(index)])
    # Flows of a key that a run does not have are none; other quantities of it are not known.
    parts = [table.reindex(index).fillna({"flows": 0}).astype({"flows": "int64"}) for table in tables]
    columns = {
        (quantity, label): part[quantity]
        for quantity in COLUMNS
        for label, part in zip(labels, parts, strict=True)
    }
    first = parts[0]["accepted_gbps"]
    for label, part in zip(labels[1:], parts[1:], strict=True):
        columns[RATIO, label] = (part["accepted_gbps"] / first).where(first > 0)
    return pd.DataFrame(columns, index=index)


def sums_by_seed(result: SweepResult, by: str) -> pd.DataFrame:
    """The sums of repetitions: a row for each seed, columns with the column of the sum and the key.

    Raises:
        InputError: the repetitions have no such sums.
    """
    try:
        rows = result.by(by)
    except InputError as error:
        raise InputError(f"{result.folder or result.manifest['file']}: {error}") from None
    rows = with_silent(rows, [], by)
    rows = rows.astype({SEED: int, **dict.fromkeys(COLUMNS, float)})
    return rows.pivot_table(
        index=SEED, columns=keys_of(by), values=list(COLUMNS), aggfunc="first", sort=False
    )
