"""Differences between the summaries of several runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from fabricsim.results import Result, few_looks, flatten

NAMES = {
    "status": "status",
    "offered_gbps": "offered Gb/s",
    "accepted_gbps": "accepted Gb/s",
    "final_gbps": "accepted Gb/s in the last tenth",
    "accepted_load": "accepted load",
    "jain": "fairness (Jain)",
    "starving": "starving flows",
    "saturated": "saturated",
    "latency_ns.mean": "mean latency",
    "latency_ns.p50": "p50 latency",
    "latency_ns.p99": "p99 latency",
    "latency_ns.p999": "p99.9 latency",
    "latency_ns.max": "largest latency",
    "network_latency_ns.mean": "mean latency in the network",
    "network_latency_ns.p99": "p99 latency in the network",
    "hops.mean": "mean hops",
    "transport.completion_ns.mean": "mean completion of messages",
    "transport.completion_ns.p50": "p50 completion",
    "transport.completion_ns.p99": "p99 completion",
    "transport.completion_ns.p999": "p99.9 completion",
    "transport.completion_ns.max": "largest completion",
    "transport.reordered_share": "operations reordered",
    "transport.dropped_share": "requests dropped",
    "transport.most_reordering": "most in a reorder buffer",
    "transport.most_connections": "most connections of a target",
    "transport.resent": "requests retransmitted",
    "transport.lost": "packets lost",
    "job_time_ns": "time of all jobs",
    "victims": "flows that were victims",
    "victim_time": "time as victims (mean of all flows)",
    "congestion.ccti_mean": "mean index CCTI",
    "congestion.ccti_max": "largest index CCTI",
    "congestion.rate_mean_mbps": "mean allowed rate, Mb/s",
    "congestion.rate_min_mbps": "lowest allowed rate, Mb/s",
}
"""Scalars that are shown first, with their labels. The others are shown by their key in the summary."""

_OWN = {"experiment", "fingerprint", "seed", "wall_s", "saturation", "packet_hops", "simulated_s"}
"""Scalars that differ without being a result."""
_OWN_PARTS = ("latency_confidence.", "invariants.", "measured", "congestion_trees.")


def totals_beside(results: Sequence[Result], labels: Sequence[str]) -> pd.DataFrame:
    """The scalars of the summaries that are not the same in all runs: a row for each, a column for each run."""
    all_scalars = [_scalars(result) for result in results]
    keys = dict.fromkeys([*NAMES, *(key for scalars in all_scalars for key in scalars)])
    rows = {}
    for key in keys:
        values = [scalars.get(key) for scalars in all_scalars]
        if len({str(value) for value in values}) > 1:
            rows[key] = values
    return pd.DataFrame.from_dict(rows, orient="index", columns=list(labels), dtype=object)


def _scalars(result: Result) -> dict[str, Any]:
    found = {
        key: value
        for key, value in flatten(result.manifest["summary"]).items()
        if key not in _OWN and not key.startswith(_OWN_PARTS)
    }
    return found | _final(result) | _victims(result) | _jobs(result)


def _jobs(result: Result) -> dict[str, Any]:
    """Completed iterations of each job, and their mean time."""
    found = {}
    for job in result.manifest["summary"].get("jobs") or ():
        found[f"jobs.{job['job']}.done"] = job["done"]
        found[f"jobs.{job['job']}.iteration_ns"] = job["iteration_ns"]["mean"]
    return found


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
