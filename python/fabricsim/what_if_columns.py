"""Columns of the table of single failures, the numbers that they depend on, and time before the failure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fabricsim.durations import nanoseconds
from fabricsim.frames import missing

FEWEST_PACKETS = 10
"""Packets of a flow without a failure for it to count as worse or cut off: fewer may be late by chance."""
WORSE = 0.9
"""Accepted throughput over that without a failure below which a flow counts as worse."""
CUT_OFF = 0.01
"""The same below which it counts as cut off."""
SHORT_PART = 0.01
"""Part of the measurement that may be before the failure without a word."""
MOST_HOSTS = 8
"""Names of hosts that are cut off, for each failure."""
COLUMNS: dict[str, tuple[str, str]] = {
    "failure": ("", "Link or switch that fails"),
    "cables": ("", "Cables that fail together: all between two switches that work; none for a switch"),
    "status": ("", "ok, deadlock, or failed"),
    "accepted_gbps": ("Gb/s", "Accepted throughput of the whole fabric"),
    "accepted_load": (
        "fraction",
        "The same as a fraction of the link rates of the hosts that offer messages",
    ),
    "change": ("fraction", "Accepted throughput over that without a failure, less 1"),
    "latency_mean_ns": ("ns", "Mean latency of packets"),
    "flows_worse": (
        "",
        f"Flows that get less than {WORSE:.0%} of their accepted throughput without a failure; of those with "
        f"{FEWEST_PACKETS} packets or more",
    ),
    "flows_cut_off": ("", f"Those of them that get less than {CUT_OFF:.0%}"),
    "hosts_cut_off": (
        "",
        "Hosts that no path joins to most others at some time from the failure on, with what has failed in all runs "
        "(`links.failed`, `switches.failed`, `faults.plan`)",
    ),
    "names_cut_off": ("", f"Names of these hosts, {MOST_HOSTS} at most"),
    "worst_flow": ("", "Flow that loses the most throughput"),
    "job_time_ns": ("ns", "Time until the last job ends; none if a job does not end in the run"),
    "jobs_ended": ("", "Jobs that end in the run"),
    "lost_packets": ("packets", "Packets lost at what failed: they had no route around it"),
    "message": ("", "Reason why the run failed, or why routes stay as they are"),
}
"""Columns of the table, with unit and text."""


def before_failure(before_ns: float, measured_ns: float) -> str:
    """That the measurement has time before the failure; empty below 1 % of it."""
    if before_ns < SHORT_PART * measured_ns:
        return ""
    if before_ns >= measured_ns:
        return "the failure comes after the measurement, which has none of its effects: give an earlier time"
    return (
        f"{nanoseconds(before_ns)} of the measurement of {nanoseconds(measured_ns)} are before the failure: "
        "changes are smaller, and fewer flows are cut off, than after it; set run.warmup to its time"
    )


def failure_label(row: Mapping[Any, Any]) -> str:
    """A failure in tables and pictures: its name, and the number of parallel cables that fail together."""
    cables: Any = row.get("cables")
    together = "" if missing(cables) or cables < 2 else f" ({int(cables)} cables)"
    return f"{row['failure']}{together}"
