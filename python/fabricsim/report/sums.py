"""Sections of sums of flows by destination and by group of hosts."""

from __future__ import annotations

import dataclasses

from fabricsim.catalogue import SUMS, Entry
from fabricsim.errors import InputError
from fabricsim.lazy import pandas as pd
from fabricsim.report.parts import Section, noted, table_of
from fabricsim.results import Result
from fabricsim.sums import extremes, keys_of
from fabricsim.sweep import SweepResult

MOST_KEYS = 20
"""Rows of a table of a run: half of them those with the largest throughput, half those with the smallest."""
MOST_ROWS = 1000
"""Rows of a table of a sweep."""
TITLES = {"group": "Groups of hosts", "destination": "Destinations", "source": "Sources"}
_TEXTS = {
    "group": "Flows between the groups of the experiment. A host counts to the first group that has it.",
    "destination": "Flows to each host.",
    "source": "Flows from each host.",
}


def sums_of_run(result: Result) -> list[Section]:
    """By group if the experiment has groups, and by destination. If the run lacks the data, a section says why."""
    if "flows" not in result.frames or result.flows.empty:
        return []
    return [_of_run(result, by) for by in ("group", "destination") if by != "group" or result.groups]


def _of_run(result: Result, by: str) -> Section:
    try:
        sums = result.by(by)
    except InputError as error:
        reason = str(error)
        return Section(TITLES[by], text=f"{reason[0].upper()}{reason[1:]}.")
    shown = extremes(sums, MOST_KEYS)
    table = table_of(shown.reset_index(), _columns(by), MOST_KEYS, "rows")
    if len(sums) > len(shown):
        half = MOST_KEYS // 2
        note = f"The {half} largest and the {half} smallest of {len(sums):,}, by accepted throughput."
        table = dataclasses.replace(table, note=note)
    return Section(TITLES[by], text=_TEXTS[by], table=table)


def sums_of_sweep(result: SweepResult) -> list[Section]:
    """The sums that the sweep has, at each point those of its largest and smallest keys."""
    return [_of_sweep(result, by) for by in result.sums]


def _of_sweep(result: SweepResult, by: str) -> Section:
    table, keys = result.by(by), keys_of(by)
    means = table.groupby(keys, sort=False)[["accepted_gbps"]].mean()
    chosen = extremes(means, MOST_KEYS).index
    rows = table[pd.MultiIndex.from_frame(table[keys]).isin(_tuples(chosen))]
    text = _TEXTS[by]
    if len(means) > len(chosen):
        half = MOST_KEYS // 2
        text += f" The {half} largest and the {half} smallest of {len(means):,}, by accepted throughput."
    columns = [*(noted(table, key) for key in result.parameters), *_columns(by)]
    return Section(TITLES[by], text=text, table=table_of(rows, columns, MOST_ROWS, "rows"))


def _tuples(index: pd.Index) -> list[tuple[object, ...]]:
    return [key if isinstance(key, tuple) else (key,) for key in index]


def _columns(by: str) -> list[Entry]:
    ends = [Entry(key, key.removesuffix("_group")) for key in keys_of(by)]
    return [*ends, *SUMS.values()]
