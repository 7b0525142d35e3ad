"""Sums by entry of the traffic list and by group of hosts in a few rows, for views of notebooks."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import cast

from fabricsim.catalogue import SUMS, Entry, entry_name, entry_parts
from fabricsim.compare import Comparison, RepeatedComparison
from fabricsim.errors import InputError
from fabricsim.lazy import pandas as pd
from fabricsim.report.parts import Section, Table, cell, noted, table_of
from fabricsim.report.sums import TITLES
from fabricsim.results import Result, without_computing
from fabricsim.sums import extremes, keys_of
from fabricsim.sweep import SweepResult
from fabricsim.sweep.sums import with_silent
from fabricsim.sweep.table import LEAST_TIME
from fabricsim.sweep.table import entry as entry_of

MOST_KEYS = 8
"""Rows of a run or a comparison: half of them those with the largest throughput, half those with the smallest."""
MOST_ROWS = 24
"""Rows of a sweep."""
_FIGURES = ("accepted_gbps", "latency_ns.mean", "latency_ns.p99")
"""Figures of entries in sweeps."""
OF_JOBS = ("iteration_ns.mean", LEAST_TIME, "exposed_ns")
"""Figures of jobs beside them."""
_SHOWN = ("flows", "offered_gbps", "accepted_gbps", "latency_mean_ns", "latency_p99_ns", "jain")
_COMPARED = ("accepted_gbps", "latency_mean_ns")


def of_run(result: Result) -> list[Section]:
    """By group of hosts, if the experiment has groups."""
    if not result.groups or "flows" not in result.frames or result.flows.empty:
        return []
    try:
        found = result.by("group")
    except InputError as error:
        return [Section(TITLES["group"], text=f"{error}.")]
    rows = extremes(found, MOST_KEYS)
    table = table_of(rows.reset_index(), [*_ends("group"), *_entries(_SHOWN)], MOST_KEYS, "rows")
    return [Section(_title("group", rows, found), table=table)]


def of_sweep(result: SweepResult) -> list[Section]:
    """By entry if there are several, and the sums that the sweep has; of repetitions the means."""
    return [*entries_of_sweep(result, MOST_ROWS), *(_sums_of_sweep(result, by) for by in result.sums)]


def of_comparison(found: Comparison, marks: Sequence[str]) -> list[Section]:
    """By group of hosts, if all runs have the data."""
    if not all(run.groups for run in found.runs):
        return []
    try:
        sums = found.by("group")
    except InputError as error:
        return [Section(TITLES["group"], text=f"{error}.")]
    rates = cast("pd.DataFrame", sums["accepted_gbps"])
    means = pd.DataFrame({"accepted_gbps": rates.mean(axis=1)})
    chosen = extremes(means, MOST_KEYS).index
    entries = _entries(_COMPARED)
    rows = []
    for key, row in sums.loc[chosen].iterrows():
        values = (cell(float(row[of.name, label]), of) for of in entries for label in found.labels)
        rows.append([*map(str, key if isinstance(key, tuple) else (key,)), *values])
    headings = [entry.heading for entry in _ends("group")]
    headings += [f"{of.heading}, {mark}" for of in entries for mark in marks]
    numeric = [number >= len(keys_of("group")) for number in range(len(headings))]
    return [Section(_title("group", chosen, sums), table=Table(headings, rows, numeric))]


def of_sets(found: RepeatedComparison) -> list[Section]:
    """The sums that are compared: throughput and mean latency of each set beside the first."""
    sections = []
    for by in found.summed:
        sums = found.by(by)
        keys = keys_of(by)
        rates = sums[sums["metric"] == "accepted_gbps"].groupby(keys, sort=False)[["mean"]].mean()
        means = rates.rename(columns={"mean": "accepted_gbps"})
        chosen = extremes(means, MOST_KEYS).index
        table = sums[sums["metric"].isin(_COMPARED) & (sums["set"] != found.labels[0])]
        rows = []
        for key in chosen:
            ends = tuple(map(str, key)) if isinstance(key, tuple) else (str(key),)
            of_key = table[table[keys].astype(str).agg(tuple, axis=1) == ends]
            for row in of_key.to_dict("records"):
                of = SUMS[str(row["metric"])]
                rows.append(
                    [*ends, of.label, str(row["set"]), cell(float(row["mean"]), of), str(row["verdict"])]
                )
        headings = [*(entry.heading for entry in _ends(by)), "quantity", "set", "mean"]
        headings.append(f"beside {found.labels[0]}")
        numeric = [heading == "mean" for heading in headings]
        sections.append(Section(_title(by, chosen, means), table=Table(headings, rows, numeric)))
    return sections


def _entries_in(result: SweepResult) -> list[str]:
    """Entries of the traffic list, and jobs, that have figures."""
    parts = (entry_parts(str(name)) for name in result.points.columns)
    return list(dict.fromkeys(f"{part[0]}.{part[1]}" for part in parts if part and part[2] in _FIGURES))


def entries_of_sweep(result: SweepResult, most: int) -> list[Section]:
    """Figures of each entry and job at each point, of repetitions the means; nothing if the totals say the same."""
    points, names = result.means, _entries_in(result)
    if len(names) < 2 and not any(name.startswith("jobs.") for name in names):
        return []
    said = {*points} - without_computing(points.max(numeric_only=True).to_dict())
    figures = [*_FIGURES, *(of for of in OF_JOBS if any(f"{name}.{of}" in said for name in names))]
    parts = []
    entry_names = result.entry_names
    for at, name in enumerate(names):
        columns = {figure: points.get(f"{name}.{figure}") for figure in figures}
        part = points[result.varied].assign(entry=entry_name(name, entry_names), **columns)
        parts.append(part.assign(_point=range(len(points)), _entry=at))
    rows = pd.concat(parts, ignore_index=True).sort_values(["_point", "_entry"], kind="stable")
    columns_of = [*(Entry(key, key) for key in result.varied), Entry("entry", "entry")]
    columns_of += [dataclasses.replace(_figure(figure), name=figure) for figure in figures]
    jobs = all(name.startswith("jobs.") for name in names)
    title = "Jobs" if jobs else "Entries of the traffic list"
    return [Section(title, table=table_of(rows, columns_of, most, "rows"))]


def _figure(name: str) -> Entry:
    """Name and unit of a figure of an entry or a job."""
    return entry_of(f"{'jobs' if name in OF_JOBS else 'entries'}[].{name}")


def _sums_of_sweep(result: SweepResult, by: str) -> Section:
    keys, table = keys_of(by), result.by(by)
    ends = [noted(table, key) for key in result.varied]
    if result.repeated:
        rows = with_silent(table, result.varied, by)
        columns = [name for name in _SHOWN if name in rows]
        table = rows.groupby([*result.varied, *keys], sort=False, dropna=False)[columns].mean().reset_index()
        table = table.astype({"flows": "int64"}) if (table["flows"] % 1 == 0).all() else table
    means = table.groupby(keys, sort=False)[["accepted_gbps"]].mean()
    chosen = extremes(means, MOST_KEYS).index
    index = pd.MultiIndex.from_frame(table[keys])
    rows = table[index.isin([key if isinstance(key, tuple) else (key,) for key in chosen])]
    shown = table_of(rows, [*ends, *_ends(by), *_entries(_SHOWN)], MOST_ROWS, "rows")
    return Section(_title(by, chosen, means), table=shown)


def _title(by: str, shown: pd.DataFrame | pd.Index, of_all: pd.DataFrame) -> str:
    if len(shown) == len(of_all):
        return TITLES[by]
    half = MOST_KEYS // 2
    return f"{TITLES[by]}: the {half} largest and the {half} smallest of {len(of_all):,}"


def _ends(by: str) -> list[Entry]:
    return [Entry(key, key.removesuffix("_group")) for key in keys_of(by)]


def _entries(names: Sequence[str]) -> list[Entry]:
    return [SUMS[name] for name in names]
