"""Differences between the summaries of several runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fabricsim.catalogue import FRACTION, Entry, entry_parts, figures, key
from fabricsim.lazy import pandas as pd
from fabricsim.results import Result, few_looks, scalars, without_computing

FIRST = (
    "status",
    "offered_gbps",
    "accepted_gbps",
    "final_gbps",
    "accepted_load",
    "jain",
    "starving",
    "saturated",
    "latency_ns.mean",
    "latency_ns.p50",
    "latency_ns.p99",
    "latency_ns.p999",
    "latency_ns.max",
    "network_latency_ns.mean",
    "network_latency_ns.p99",
    "hops.mean",
    "transport.completion_ns.mean",
    "transport.completion_ns.p50",
    "transport.completion_ns.p99",
    "transport.completion_ns.p999",
    "transport.completion_ns.max",
    "transport.reordered_share",
    "transport.dropped_share",
    "transport.most_reordering",
    "transport.most_connections",
    "transport.resent",
    "transport.lost",
    "job_time_ns",
    "victims",
    "victim_time",
    "congestion.ccti_mean",
    "congestion.ccti_max",
    "congestion.rate_mean_mbps",
    "congestion.rate_min_mbps",
)
"""Scalars that are shown first."""

_DERIVED = (
    Entry("final_gbps", "accepted throughput in the last tenth", "Gb/s"),
    Entry("victims", "flows that were victims"),
    Entry("victim_time", "time as victims (mean of all flows)", FRACTION),
)
"""Scalars that are computed here, and so are in no summary."""

_OWN = {"experiment", "fingerprint", "seed", "wall_s", "saturation", "packet_hops", "simulated_s"}
"""Scalars that differ without being a result."""
_OWN_PARTS = ("latency_confidence.", "invariants.", "measured", "congestion_trees.")
_OF_JOBS = ("done", "iteration_ns.mean", "exposed_ns")
"""Figures of jobs beside those of their entries; the others follow from them."""


def totals_beside(results: Sequence[Result], labels: Sequence[str]) -> pd.DataFrame:
    """The scalars of the summaries that are not the same in all runs: a row for each, a column for each run."""
    all_scalars = [_scalars(result) for result in results]
    keys = dict.fromkeys([*FIRST, *(name for scalars in all_scalars for name in scalars)])
    rows = {}
    for name in keys:
        values = [scalars.get(name) for scalars in all_scalars]
        if len({str(value) for value in values}) > 1:
            rows[name] = values
    return pd.DataFrame.from_dict(rows, orient="index", columns=list(labels), dtype=object)


def entry(name: str, names: Mapping[str, str] = {}) -> Entry:
    """Name and unit of a scalar. `names`: of entries of the traffic list, by key."""
    return next((item for item in _DERIVED if item.name == name), None) or key(name, names)


def _scalars(result: Result) -> dict[str, Any]:
    everything = scalars(result.manifest["summary"])
    left_out = _OWN | without_computing(everything)
    found = {
        name: value
        for name, value in everything.items()
        if name not in left_out and not name.startswith(_OWN_PARTS) and not _follows(name)
    }
    return found | _final(result) | _victims(result)


def _follows(name: str) -> bool:
    """True for figures of a job that follow from others."""
    parts = entry_parts(name)
    return parts is not None and parts[2] in set(figures("jobs")) - {*figures("traffic"), *_OF_JOBS}


def _final(result: Result, part: float = 0.1) -> dict[str, Any]:
    """Accepted throughput in the last `part` of the run."""
    series = result.frames.get("series")
    if series is None or series.empty:
        return {}
    first, last = series["time_ns"].min(), series["time_ns"].max()
    late = series[series["time_ns"] >= last - part * (last - first)]
    return {"final_gbps": float(late.groupby("time_ns")["gbps"].sum().mean())}


def _victims(result: Result) -> dict[str, Any]:
    """Flows that shared buffers with a congestion tree to whose root they did not go, and the fraction of the
    measurement for which they did, in the mean over all flows. None with too few samples.
    """
    found = result.frames.get("congestion_flows")
    length = result.manifest["summary"].get("measured_ns")
    if found is None or "victim_ns" not in found:
        return {}
    if few_looks(result) or not length or result.flows.empty:
        return {"victims": None, "victim_time": None}
    flows, times = result.flows, found["victim_ns"]
    count = len(flows)
    if "*" in {*flows["destination"], *found["destination"]}:  # flows are kept apart by source only
        times, count = found.groupby("source")["victim_ns"].max(), flows["source"].nunique()
    return {"victims": int((times > 0).sum()), "victim_time": float(times.sum()) / length / count}
