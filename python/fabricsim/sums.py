"""Sums over the flows of a run: by source, destination, entry, or group of hosts."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from fabricsim import catalogue
from fabricsim.errors import InputError
from fabricsim.hosts import Groups, host_test
from fabricsim.lazy import numpy as np
from fabricsim.lazy import pandas as pd

SUMMED_BY = ("source", "destination", "group")
"""By what flows are summed up, beside entries."""
COLUMNS: dict[str, tuple[str, str]] = {name: (of.unit, of.text) for name, of in catalogue.SUMS.items()}
"""Columns of a sum, with unit and text."""
_NEEDED = ("offered_gbps", "accepted_gbps", "latency_packets", "latency_mean_ns", "latency_p99_ns")
"""Columns of flows that sums are of."""
_ENDS = ("source", "destination", "entry")
_OTHERS = "others"
_UNGROUPED = "(no group)"
_BY_SOURCE = "*"
"""Destination of all flows of a run that does not record them by destination."""


def keys_of(by: str) -> list[str]:
    """The columns that distinguish the rows of sums: two for groups of hosts, else one."""
    return ["source_group", "destination_group"] if by == "group" else [by]


def key_text(key: Any) -> str:
    """A row of sums as text: a host's name, or `senders->others`."""
    return "->".join(map(str, key)) if isinstance(key, tuple | list) else str(key)


def sum_name(by: str, key: str, column: str) -> str:
    """The name of a sum among metrics: `destination.H9.accepted_gbps`, `group.senders->others.jain`."""
    return f"{by}.{key}.{column}"


def summed_by(by: str | Sequence[str] | None, where: str = "by") -> tuple[str, ...]:
    """Names of sums, each once.

    Raises:
        InputError: one is another name.
    """
    names = [by] if isinstance(by, str) else list(by or ())
    for name in names:
        if name not in SUMMED_BY:
            raise InputError(
                f"{where} {name}: must be {', '.join(SUMMED_BY[:-1])} or {SUMMED_BY[-1]}{nearest(name, SUMMED_BY)}"
            )
    return tuple(dict.fromkeys(names))


def nearest(name: str, known: Collection[str]) -> str:
    """The end of a message: the known name that is nearest, if one is near."""
    near = difflib.get_close_matches(name, list(known), n=1)
    return f"; did you mean {near[0]}?" if near else ""


_LISTS = ("traffic", "jobs")
"""Lists of an experiment whose entries have figures."""


def nearest_metric(name: str, more: Collection[str] = ()) -> str:
    """The end of a message about a metric that no run has: the nearest key of summaries, sum, or one of `more`."""
    by, _, rest = name.partition(".")
    key_of, dot, _ = rest.rpartition(".")
    near = difflib.get_close_matches(by, SUMMED_BY, n=1)
    near_sums = [sum_name(near[0], key_of, column) for column in catalogue.SUMS] if near and dot else []
    whose = rest.partition(".")[0]
    of_entry = [f"{by}.{whose}.{figure}" for figure in catalogue.figures(by)] if by in _LISTS else []
    return nearest(name, [*more, *catalogue.names(), *near_sums, *of_entry])


def require_sums(names: Sequence[str], written: Mapping[str, Any], file: str, where: str = "by") -> None:
    """Refuses sums that no run of an experiment can have. `written`: the experiment as it is written.

    Raises:
        InputError: there are no groups, or flows are not recorded by destination.
    """
    if "group" in names and not written.get("groups"):
        raise InputError(f"{where} group: {file} has no [groups] of hosts")
    measure = written.get("measure")
    merged = isinstance(measure, Mapping) and measure.get("flows") == "sources"
    if merged and (lost := [name for name in names if name != "source"]):
        raise InputError(f"{where} {lost[0]}: {file}: {_merged(lost[0])}")


def sums(flows: pd.DataFrame, by: str, groups: Groups | None) -> pd.DataFrame:
    """The flows summed up, a row for each source, destination or entry, or for each pair of groups of hosts.

    Args:
        flows: the table of a run.
        by: "source", "destination", "entry" or "group".
        groups: of "group": lists of hosts by name. A host counts to the first group that has it, else to
            `implicit_group`.

    Raises:
        InputError: `by` is none of these, no group is given, or the flows are not recorded by destination, or lack a
            column.
    """
    if lacking := [name for name in _NEEDED if name not in flows]:
        raise InputError(f"the flows of this run have no column {lacking[0]!r}, so they cannot be summed up")
    keys = _keys(flows, by, groups)
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


def extremes(found: pd.DataFrame, most: int) -> pd.DataFrame:
    """The sums, the largest throughput first; of more than `most` the largest and the smallest, half of them each."""
    ordered = found.sort_values("accepted_gbps", ascending=False, kind="stable")
    if len(ordered) <= most:
        return ordered
    half = most // 2
    return ordered.iloc[[*range(half), *range(len(ordered) - half, len(ordered))]]


def sums_over_time(series: pd.DataFrame, by: str, groups: Groups | None) -> pd.DataFrame:
    """Throughput over time summed up: a row for each time bin and key, with `time_ns`, the keys and `gbps`.

    Raises:
        InputError: as `sums`.
    """
    keys = _keys(series, by, groups)
    grouped = series["gbps"].groupby([series["time_ns"], *keys], sort=False).sum()
    rows = grouped.reset_index()
    notes = {"time_ns": ("ns", "Begin of the time bin"), "gbps": ("Gb/s", "Sum of accepted throughput")}
    rows.attrs["columns"] = {name: list(note) for name, note in notes.items()}
    return rows


def _keys(flows: pd.DataFrame, by: str, groups: Groups | None) -> list[pd.Series[Any]]:
    """Key of each flow, in one column, or two."""
    if by != "group" and (by not in _ENDS or by not in flows):
        raise InputError(f"flows cannot be summed up by {by!r}: give {', '.join(_ENDS)} or group")
    if by in ("destination", "group") and (flows["destination"] == _BY_SOURCE).any():
        raise InputError(_merged(by))
    if by != "group":
        return [flows[by]]
    of = _group_of(groups or {})
    found = []
    for end in ("source", "destination"):
        # Hosts are few, and flows many.
        known = {host: of(host) for host in flows[end].unique()}
        found.append(flows[end].map(known).astype("str").rename(f"{end}_group"))
    return found


def _merged(by: str) -> str:
    return f'flows are recorded by source only, so there are no sums by {by}: set measure.flows = "pairs"'


def groups_in(written: Mapping[str, Any]) -> Groups:
    """The groups of hosts of an experiment as it is written."""
    found: Any = written.get("groups", {})
    return found if isinstance(found, Mapping) else {}


def _group_of(groups: Groups) -> Callable[[str], str]:
    if not groups:
        raise InputError(
            'the experiment has no groups of hosts: give groups={"name": ["H1", "H2"]}, or a [groups] table'
        )
    tests = {name: host_test([name], groups) for name in groups}
    implicit = implicit_group(groups)
    return lambda host: next((name for name, is_in in tests.items() if is_in(host)), implicit)


def implicit_group(groups: Groups) -> str:
    """The name of the hosts that are in no group: `others`, or `(no group)` if a group of the file has that name."""
    name = _UNGROUPED if _OTHERS in groups else _OTHERS
    while name in groups:
        name = f"({name})"
    return name


def jain(shares: pd.Series[float]) -> float:
    """Jain's fairness index (DEC-TR-301, 1984): 1 when all shares are equal, 1/n when one of n has everything; NaN if
    all are zero.
    """
    values = shares.to_numpy(dtype=float)
    squares = float(len(values) * np.square(values).sum())
    return float(values.sum()) ** 2 / squares if squares > 0.0 else float("nan")
