"""Sums over the flows of a run: by source, destination, entry, or group of hosts."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from typing import Any

from fabricsim.errors import InputError
from fabricsim.hosts import Groups, host_test
from fabricsim.lazy import numpy as np
from fabricsim.lazy import pandas as pd

COLUMNS: dict[str, tuple[str, str]] = {
    "flows": ("", "Flows that are summed up"),
    "offered_gbps": ("Gb/s", "Sum of their offered throughput; nothing where it is not known"),
    "accepted_gbps": ("Gb/s", "Sum of their accepted throughput"),
    "latency_mean_ns": ("ns", "Mean latency of their packets"),
    "latency_p99_ns": ("ns", "99 % of the latencies are not larger, of the flow for which this is largest"),
    "jain": ("", "Jain's fairness index over their accepted throughput"),
}
"""Columns of a sum, with unit and text."""
_ENDS = ("source", "destination", "entry")


def sums(flows: pd.DataFrame, by: str, groups: Groups | None) -> pd.DataFrame:
    """The flows summed up, a row for each source, destination or entry, or for each pair of groups of hosts.

    Args:
        flows: the table of a run.
        by: "source", "destination", "entry" or "group".
        groups: of "group": lists of hosts by name. A host counts to the first group that has it, else to "others".

    Raises:
        InputError: `by` is none of these, or no group is given.
    """
    if by == "group":
        of = _group_of(groups or {})
        keys = [flows[end].map(of).rename(f"{end}_group") for end in ("source", "destination")]
    elif by in _ENDS and by in flows:
        keys = [flows[by]]
    else:
        raise InputError(f"flows cannot be summed up by {by!r}: give {', '.join(_ENDS)} or group")
    grouped = flows.groupby(keys, sort=False)
    rows = pd.DataFrame({"flows": grouped.size()})
    for name in ("offered_gbps", "accepted_gbps"):
        rows[name] = grouped[name].sum(min_count=1)
    rows.loc[grouped["offered_gbps"].count() < rows["flows"], "offered_gbps"] = np.nan
    packets = flows["latency_packets"]
    weighted = (
        (flows["latency_mean_ns"].fillna(0.0) * packets)
        .groupby([key.array for key in keys], sort=False)
        .sum()
    )
    total = packets.groupby([key.array for key in keys], sort=False).sum()
    rows["latency_mean_ns"] = (weighted / total.where(total > 0)).to_numpy()
    rows["latency_p99_ns"] = grouped["latency_p99_ns"].max()
    rows["jain"] = grouped["accepted_gbps"].agg(jain)
    rows.attrs["columns"] = {name: list(note) for name, note in COLUMNS.items()}
    return rows


def groups_of(experiment: str) -> Groups:
    """The groups of hosts of an experiment's text."""
    try:
        found: Any = tomllib.loads(experiment).get("groups", {})
    except tomllib.TOMLDecodeError:
        return {}
    return found if isinstance(found, Mapping) else {}


def _group_of(groups: Groups) -> Callable[[str], str]:
    if not groups:
        raise InputError(
            'the experiment has no groups of hosts: give groups={"name": ["H1", "H2"]}, or a [groups] table'
        )
    tests = {name: host_test([name], groups) for name in groups}
    return lambda host: next((name for name, is_in in tests.items() if is_in(host)), "others")


def jain(shares: pd.Series[float]) -> float:
    """Jain's fairness index (DEC-TR-301, 1984): 1 when all shares are equal, 1/n when one of n has everything; NaN if
    all are zero.
    """
    values = shares.to_numpy(dtype=float)
    squares = float(len(values) * np.square(values).sum())
    return float(values.sum()) ** 2 / squares if squares > 0.0 else float("nan")
