"""Results of runs as short tables."""

from __future__ import annotations

import textwrap
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from fabricsim import catalogue
from fabricsim.cli.layout import narrow
from fabricsim.cli.numbers import fixed, nanoseconds, percent, stacked
from fabricsim.cli.routers import print_routers
from fabricsim.cli.sums import SumsOf
from fabricsim.cli.traffic import print_entries, print_flows
from fabricsim.cli.transport import print_messages, transport_rows
from fabricsim.durations import seconds
from fabricsim.hot_links import sentences
from fabricsim.results import Result
from fabricsim.scaling import Scaling
from fabricsim.shown import number_of

_LATENCIES = {"mean": "mean", "p50": "p50", "p99": "p99", "p999": "p99.9", "max": "max"}
_COUNTS = {"injected": "injected", "delivered": "delivered", "in_flight": "in flight", "dropped": "lost"}


def print_result(
    result: Result, console: Console, said: Collection[str] = (), sums: SumsOf | None = None
) -> None:
    """Hottest links, entries, sums of flows, flows, totals and warnings of a run, but for the warnings that have been
    said.
    """
    for line in sentences(result):
        console.print(textwrap.fill(line, 80, break_long_words=False, break_on_hyphens=False), markup=False)
    print_entries(result, console)
    if sums is not None:
        sums.print(console)
    print_flows(result, console)
    print_routers(result, console)
    console.print(_totals(result))
    if silent := result.manifest["summary"].get("silent_hosts"):
        what = "source sends" if silent == 1 else "sources send"
        console.print(f"{silent:,} {what} nothing: the only destination is the host itself")
    print_messages(result, console)
    _print_jobs(result, console)
    if why := result.manifest["summary"].get("saturation"):
        console.print(f"saturated: {why}", markup=False)
    for warning in result.manifest["summary"].get("warnings") or ():
        if warning in said:
            continue
        console.print(f"warning: {warning}", markup=False)
    if result.status == "deadlock":
        _print_deadlock(result.manifest["summary"].get("deadlock") or (), console)
    elif result.status == "interrupted":
        console.print("interrupted: these are the results until then", style="yellow")


def _print_jobs(result: Result, console: Console) -> None:
    """A row for each job, and a line for each that is not done."""
    jobs = result.manifest["summary"].get("jobs") or []
    if not jobs:
        return
    times = ("iteration_ns.mean", "iteration_ns.min", "iteration_ns.max", "end_ns", "gbps_per_rank")
    # Only where ranks compute is there a difference between the time and the communication.
    parts = ("compute_ns", "exposed_ns") if any(job.get("compute_ns") for job in jobs) else ()
    times = (times[0], *parts, *times[3:]) if parts else times
    entries = catalogue.keys("jobs[]", "ranks", "iterations", *times)
    table = narrow(texts=["job"], numbers=map(stacked, entries))
    for job in jobs:
        shown = ("mean",) if parts else ("mean", "min", "max")
        each = [nanoseconds(job["iteration_ns"][name]) for name in shown]
        table.add_row(
            job["job"],
            f"{job['ranks']:,}",
            f"{job['done']:,} of {job['iterations']:,}",
            *each,
            *(nanoseconds(job.get(name)) for name in parts),
            nanoseconds(job["end_ns"]),
            fixed(job["gbps_per_rank"]),
        )
    console.print(table)
    for job in jobs:
        if job["done"] < job["iterations"]:
            text = f"job {job['job']} is not done: {job['done']:,} of {number_of(job['iterations'], 'iteration')}"
            text += _cure(job["job"], result.manifest["summary"].get("warnings") or ())
            console.print(text, style="yellow", markup=False)


def _cure(job: str, warnings: Iterable[str]) -> str:
    """Remedy for a job that is not done: more time does not help ranks that wait for lost packets."""
    lost = [text.replace('"', "") for text in warnings if "jobs." in text and "nothing retransmits" in text]
    if any(f"jobs.{job} " in text or "others have lost some" in text for text in lost):
        return "; ranks wait for lost packets (see the warning)"
    return "; give a longer run.duration"


def _totals(result: Result) -> Table:
    summary = result.manifest["summary"]
    latency = summary.get("latency_ns") or {}
    invariants = summary.get("invariants") or {}
    wall = result.manifest.get("wall_s")
    table = Table.grid(padding=(0, 2))
    offered, accepted = (percent(summary.get(f"{kind}_load")) for kind in ("offered", "accepted"))
    table.add_row("load", f"offered {offered}, accepted {accepted} of {_links_of(summary)}")
    parts = [f"{name} {nanoseconds(latency.get(key))}" for key, name in _LATENCIES.items()]
    table.add_row("latency", ", ".join(parts) + _confidence(summary.get("latency_confidence")))
    if rows := summary.get("precision"):
        table.add_row("precision", _precision(rows))
    counts = [f"{text} {invariants.get(key, 0):,}" for key, text in _COUNTS.items()]
    table.add_row("packets", ", ".join(counts) + _causes(invariants.get("lost")))
    for name, text in transport_rows(summary):
        table.add_row(name, text)
    simulated = nanoseconds((summary.get("simulated_s") or 0.0) * 1e9)
    hops = summary.get("packet_hops") or 0
    speed = f" ({hops / wall / 1e6:.2f} M/s)" if wall else ""
    took = seconds(wall or 0.0)
    table.add_row("simulated", f"{simulated} in {took}, {hops:,} packet-hops{speed}")
    if scaling := Scaling.of(result.manifest).sentence():
        table.add_row("threads" if not Scaling.of(result.manifest).processes else "processes", scaling)
    table.add_row(
        "run", f"seed {summary.get('seed')}, fingerprint {summary.get('fingerprint')}, {result.status}"
    )
    return table


def _links_of(summary: Mapping[str, Any]) -> str:
    """The links of which loads are fractions: of hosts that created messages, maybe not all sources of an entry."""

    def of(row: Mapping[str, Any]) -> float:
        load = row.get("offered_load")
        return float(row.get("offered_gbps") or 0.0) / load if load else 0.0

    entries = summary.get("entries") or ()
    some_are_silent = any(of(summary) < 0.999 * of(entry) for entry in entries)
    return "the links of hosts that created messages" if some_are_silent else "the hosts' links"


def _causes(lost: Mapping[str, int] | None) -> str:
    """The causes of lost packets, with their numbers."""
    causes = [f"{cause.replace('_', ' ')} {count:,}" for cause, count in (lost or {}).items() if count]
    return f" ({', '.join(causes)})" if causes else ""


def _confidence(found: Mapping[str, Any] | None) -> str:
    if not found:
        return ""
    # Equal means of batches leave the errors of rounding of their differences.
    half = round(found.get("half_width_ns") or 0.0, 6)
    width, level = nanoseconds(half), percent(found.get("level"))
    return f"; mean ± {width} with confidence {level}"


def _precision(rows: Sequence[Mapping[str, Any]]) -> str:
    """Each number that the measurement waited for, with its interval."""
    texts = []
    for row in rows:
        metric, value = str(row["metric"]), row.get("value")
        name, _, part = metric.partition(".")
        is_latency = name == "latency_ns"
        label = f"latency {_LATENCIES[part]}" if is_latency else "accepted"
        shown = nanoseconds(value) if is_latency else f"{fixed(value)} Gb/s"
        relative = row.get("relative")
        width = "unknown" if relative is None else f"± {relative:.2%}"
        reason = ", batches correlated" if row.get("correlated") else ""
        texts.append(f"{label} {shown} {width}" + ("" if row.get("reached") else f" (not reached{reason})"))
    return f"{', '.join(texts)}; required ± {rows[0]['required']:.2%}"


def _print_deadlock(deadlock: Sequence[str], console: Console) -> None:
    console.print("deadlock: cyclic dependency of these packets", style="red")
    for line in deadlock:
        console.print(f"  {line}", markup=False)
