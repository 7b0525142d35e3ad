"""Jobs and the counters of routers in a report of a run."""

from __future__ import annotations

from fabricsim import catalogue
from fabricsim.lazy import pandas as pd
from fabricsim.report.parts import Section, table_of
from fabricsim.results import Result, flatten

_JOBS = ("job", "ranks", "done", "iterations")
_TIMES = ("iteration_ns.mean", "iteration_ns.min", "iteration_ns.max", "end_ns", "gbps_per_rank")
_PARTS = ("compute_ns", "exposed_ns")
"""Only of jobs whose ranks compute."""
_ROUTERS = ("direction", "granted", "stalled_per_packet", "blocked_per_packet", "queueing_cycles")


def jobs(result: Result) -> Section | None:
    """A row for each job."""
    found = result.manifest["summary"].get("jobs")
    if not found:
        return None
    frame = pd.DataFrame([flatten(job) for job in found])
    parts = _PARTS if any(job.get("compute_ns") for job in found) else ()
    entries = catalogue.keys("jobs[]", *_JOBS, *_TIMES, *parts)
    return Section("Jobs", table=table_of(frame, entries, len(frame), "jobs"))


def routers(result: Result) -> Section | None:
    """A row for each direction of outputs; ages only where packets age."""
    counters = result.frames.get("router_dimensions")
    if counters is None or not (counters["granted"] > 0).any():
        return None
    aged = bool((counters["age_mean"] > 0).any())
    columns = catalogue.some("router_dimensions", *_ROUTERS, *(["age_mean"] if aged else []))
    text = "Performance counters, in cycles of the routers' clock."
    return Section("Routers", text=text, table=table_of(counters, columns, len(counters), "directions"))
