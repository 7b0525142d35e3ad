"""Jobs and the counters of routers in a report of a run."""

from __future__ import annotations

import pandas as pd

from fabricsim.report.parts import Section, table_of
from fabricsim.results import Result

_JOBS = {
    "job": "job",
    "ranks": "ranks",
    "done": "iterations done",
    "iterations": "requested",
    "mean_ns": "mean iteration",
    "min_ns": "shortest",
    "max_ns": "longest",
    "end_ns": "end",
    "gbps_per_rank": "Gb/s per rank",
}
_ROUTERS = {
    "direction": "output",
    "granted": "packets",
    "stalled_per_packet": "stalled per packet",
    "blocked_per_packet": "blocked per packet",
    "queueing_cycles": "queueing delay",
    "age_mean": "mean age",
}


def jobs(result: Result) -> Section | None:
    """A row for each job."""
    found = result.manifest["summary"].get("jobs")
    if not found:
        return None
    rows = [
        {**job, **{f"{name}_ns": job["iteration_ns"][name] for name in ("mean", "min", "max")}}
        for job in found
    ]
    frame = pd.DataFrame(rows)
    return Section("Jobs", table=table_of(frame, _JOBS, len(frame), "jobs"))


def routers(result: Result) -> Section | None:
    """A row for each direction of outputs; ages only where packets age."""
    counters = result.frames.get("router_dimensions")
    if counters is None or not (counters["granted"] > 0).any():
        return None
    columns = dict(_ROUTERS)
    if not (counters["age_mean"] > 0).any():
        del columns["age_mean"]
    text = "Performance counters, in cycles of the routers' clock."
    return Section("Routers", text=text, table=table_of(counters, columns, len(counters), "directions"))
