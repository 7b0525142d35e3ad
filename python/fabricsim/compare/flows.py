"""The flows of several runs side by side."""

from __future__ import annotations

from collections.abc import Sequence

from fabricsim.lazy import pandas as pd
from fabricsim.results import Result, destination_share, final_destination_share

PAIR = ["source", "destination"]
RATIO = "ratio"
"""The column for accepted throughput over that of the first run."""
_NAMED = 3
"""Flows that a message names."""


def flows_beside(results: Sequence[Result], labels: Sequence[str]) -> pd.DataFrame:
    """The flows that all runs have, a row for each, with two levels of columns: quantity and run.

    `accepted_gbps`, `destination_share` (of the destination's link) and `final_destination_share` (the same in the last
    tenth of the run) have a column for each run, `ratio` (accepted throughput over that of the first run) for each but
    the first. No rows if no flow is in all runs.
    """
    tables = [_of_run(result) for result in results]
    common = tables[0].index
    for table in tables[1:]:
        common = common[common.isin(table.index)]
    columns = {
        (quantity, label): table.loc[common, quantity]
        for quantity in tables[0].columns
        for label, table in zip(labels, tables, strict=True)
    }
    first = tables[0].loc[common, "accepted_gbps"]
    for label, table in zip(labels[1:], tables[1:], strict=True):
        ratio = table.loc[common, "accepted_gbps"] / first
        columns[RATIO, label] = ratio.where(first > 0)
    return pd.DataFrame(columns, index=common)


def flows_missing(results: Sequence[Result], labels: Sequence[str], common: pd.Index) -> dict[str, int]:
    """Number of flows of each run that are not in all of the others; runs without any are left out."""
    counts = {label: len(result.flows) - len(common) for label, result in zip(labels, results, strict=True)}
    return {label: count for label, count in counts.items() if count > 0}


def _of_run(result: Result) -> pd.DataFrame:
    flows = result.flows
    table = pd.DataFrame(
        {
            "accepted_gbps": flows["accepted_gbps"],
            "destination_share": destination_share(result),
            "final_destination_share": final_destination_share(result),
        }
    )
    table.index = pd.MultiIndex.from_frame(flows[PAIR])
    return table


def nothing_in_common(results: Sequence[Result]) -> str:
    """A sentence with some flows of each run, for runs of which none has a flow of all others."""
    flows = [pd.MultiIndex.from_frame(result.flows[PAIR]) for result in results]
    told = [
        f"{result.folder or result.title} has {_some(index)}"
        for result, index in zip(results, flows, strict=True)
    ]
    by_source = [set(index.get_level_values("destination")) == {"*"} for index in flows]
    hint = ""
    if any(by_source) and not all(by_source):
        hint = '; some record their flows by source only: run all with measure.flows = "pairs"'
    return "these runs have no flow in common: " + ", ".join(told) + hint


def _some(flows: pd.Index) -> str:
    if flows.empty:
        return "none"
    names = [f"{source}->{destination}" for source, destination in flows[:_NAMED]]
    return ", ".join(names) + (f" and {len(flows) - _NAMED} more" if len(flows) > _NAMED else "")
