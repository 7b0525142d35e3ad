"""A comparison of runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from fabricsim.absent_columns import absent_columns_named
from fabricsim.compare.flows import PAIR, flows_beside, flows_missing, nothing_in_common
from fabricsim.compare.settings import differences, labels
from fabricsim.compare.sums import sums_beside
from fabricsim.compare.totals import totals_beside
from fabricsim.entry_names import in_common, of_summary
from fabricsim.errors import InputError
from fabricsim.hosts import Groups
from fabricsim.lazy import pandas as pd
from fabricsim.results import Result, finite
from fabricsim.run import load
from fabricsim.shown import Shown, number_of
from fabricsim.sums import keys_of, summed_by

MOST_RUNS = 12
"""More are a sweep."""


@dataclass(frozen=True)
class Comparison(Shown):
    """Runs side by side, in the order in which they were given. The first is what ratios refer to."""

    runs: list[Result] = field(repr=False)
    labels: list[str]
    """A name for each run: the keys of the experiment in which it differs."""
    differences: pd.DataFrame = field(repr=False)
    """The keys in which the experiments differ: a row for each, a column for each run."""
    flows: pd.DataFrame = field(repr=False)
    """The flows that all runs have; no rows if there are none. Columns have two levels, quantity and run:
    `flows["accepted_gbps"]` has a column for each run; so have `destination_share` (of the destination's link) and
    `final_destination_share` (the same in the last tenth of the run); `ratio` is accepted throughput over that of the
    first run."""
    totals: pd.DataFrame = field(repr=False)
    """The scalars of the summaries that differ: a row for each, a column for each run."""
    missing: dict[str, int]
    """Flows of a run that are not in all of the others, and so in no table."""
    note: str = ""
    """A sentence if no flow is in all runs, as of different topologies: then there are only totals."""

    def __repr__(self) -> str:
        titles = ", ".join(repr(run.title) for run in self.runs)
        return f"Comparison({titles}; {number_of(len(self.flows), 'flow')} in common)"

    @property
    def series(self) -> pd.DataFrame:
        """Throughput over time of the common flows, as in `Result.series` with a column `run`; of runs that kept it."""
        parts = []
        for label, run in zip(self.labels, self.runs, strict=True):
            table = run.frames.get("series")
            if table is not None and len(table):
                known = pd.MultiIndex.from_frame(table[PAIR]).isin(self.flows.index)
                parts.append(table[known].assign(run=label))
        return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=["run"])

    @property
    def entry_names(self) -> dict[str, str]:
        """Names of the entries of the traffic list that all runs have in common, by key."""
        return in_common(of_summary(run.manifest["summary"]) for run in self.runs)

    def quantity(self, name: str) -> pd.DataFrame:
        """One quantity of the flows: a column for each run."""
        return cast("pd.DataFrame", self.flows[name])

    def by(self, what: str, groups: Groups | None = None) -> pd.DataFrame:
        """Flows summed up: a row for each source, destination, or pair of groups of hosts that any of the runs has.

        Columns have two levels, quantity and run: those of `Result.by` (throughput in Gb/s, latency in ns), and
        `ratio`, accepted throughput over that of the first run.

        Args:
            what: "source", "destination" or "group".
            groups: of "group": lists of hosts by name; by default those of each run's experiment.

        Raises:
            InputError: `what` is none of these, or a run has no such sums.
        """
        summed_by(what)
        with absent_columns_named(self.runs):
            return sums_beside(self.runs, self.labels, what, groups)

    def as_dict(self, by: Sequence[str] = ()) -> dict[str, Any]:
        """The output of `fabricsim compare --json`. `by`: names of sums."""
        runs = [
            {
                "label": label,
                "folder": None if run.folder is None else str(run.folder),
                "experiment": run.title,
                "status": run.status,
                "fingerprint": run.manifest.get("fingerprint"),
            }
            for label, run in zip(self.labels, self.runs, strict=True)
        ]
        quantities = list(dict.fromkeys(self.flows.columns.get_level_values(0)))
        flows = [
            {
                "source": pair[0],
                "destination": pair[1],
                **{name: self.flows.loc[pair, name].tolist() for name in quantities},
            }
            for pair in self.flows.index
        ]
        tables: dict[str, Any] = {
            name: {str(key): list(row) for key, row in zip(frame.index, frame.to_numpy(), strict=True)}
            for name, frame in (("differences", self.differences), ("totals", self.totals))
        }
        if by:
            tables["by"] = {name: _as_lists(self.by(name), name) for name in by}
        return cast(
            "dict[str, Any]",
            finite({"runs": runs, **tables, "flows": flows, "missing": self.missing, "note": self.note}),
        )


def _as_lists(table: pd.DataFrame, by: str) -> list[dict[str, Any]]:
    """A record for each row: its keys, and of each quantity a list with a value for each run."""
    quantities = list(dict.fromkeys(table.columns.get_level_values(0)))
    return [
        dict(zip(keys_of(by), key if isinstance(key, tuple) else (key,), strict=True))
        | {name: table.loc[[key], name].to_numpy()[0].tolist() for name in quantities}
        for key in table.index
    ]


def compare(runs: Sequence[str | Path | Result]) -> Comparison:
    """Runs side by side: folders, or results in memory. Needs no compiled module.

    Raises:
        InputError: there are fewer than two or more than twelve, or one is not a run.
        StoreError: a table cannot be read, or lacks a column.
    """
    if isinstance(runs, str | Path | Result):
        raise InputError("one run is nothing to compare: give a list of two or more")
    if not 2 <= len(runs) <= MOST_RUNS:
        hint = ": look at many runs with `fabricsim sweep`" if len(runs) > MOST_RUNS else ""
        count = "1 run" if len(runs) == 1 else f"{len(runs)} runs"
        raise InputError(f"{count} cannot be compared: give 2 to {MOST_RUNS}{hint}")
    results = [run if isinstance(run, Result) else load(run) for run in runs]
    for result in results:
        result.table("flows")
    found = differences(results)
    names = labels(results, found)
    with absent_columns_named(results):
        flows = flows_beside(results, names)
        return Comparison(
            runs=results,
            labels=names,
            differences=found.set_axis(names, axis=1),
            flows=flows,
            totals=totals_beside(results, names),
            missing=flows_missing(results, names, flows.index),
            note=nothing_in_common(results) if flows.empty else "",
        )
