"""`fabricsim bound`, and the line about it below a run."""

from __future__ import annotations

from contextlib import nullcontext, suppress
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from fabricsim.bound import Bound
from fabricsim.bound import bound as bound_of
from fabricsim.bound.compute import LIMIT_S
from fabricsim.bound.jobs import rows as job_rows
from fabricsim.bound.reached import reached as reached_of
from fabricsim.cli.console import output
from fabricsim.cli.layout import narrow
from fabricsim.cli.numbers import fixed, nanoseconds, percent
from fabricsim.cli.state import ExperimentFile, Json, Set, show, warn
from fabricsim.cli.swept import read_first
from fabricsim.durations import seconds
from fabricsim.errors import InputError
from fabricsim.lazy import pandas as pd
from fabricsim.results import Result
from fabricsim.spec import Experiment

MOST_ROWS = 20
_RATES = ["fair_gbps", "maximum_gbps", "sender_fair_gbps"]

At = Annotated[
    str | None,
    typer.Option(
        "--at",
        metavar="TIME",
        help='Look at this time of the run ("0.3 s"); by default at the last part of the measurement in which '
        "most flows are active.",
    ),
]
Limit = Annotated[
    float, typer.Option("--limit", min=0.1, metavar="SECONDS", help="Longest time for each linear program.")
]


def bound(
    file: ExperimentFile, set: Set = None, at: At = None, limit: Limit = LIMIT_S, json: Json = False
) -> None:
    """Bounds: fair rates, the largest total throughput, the limiting links; least times of jobs. Runs nothing."""
    experiment = read_first(file, set)
    known = experiment.check()
    jobs = job_rows(experiment) if known.get("jobs") else []
    if jobs and not known.get("traffic"):
        warn(experiment)
        show(json, lambda: {"jobs": jobs}, lambda: print_jobs(jobs, output()))
        return
    found = bound_of(experiment, at=at, limit_s=limit)
    warn(experiment)

    def print_all() -> None:
        print_bound(found, output())
        if jobs:
            print_jobs(jobs, output())

    show(json, lambda: {**found.as_dict(), **({"jobs": jobs} if jobs else {})}, print_all)


def print_jobs(jobs: list[dict[str, Any]], console: Console) -> None:
    """Least times of jobs."""
    headings = (
        "ranks",
        "iterations",
        "time",
        "computing",
        "exposed\ncommunication",
        "busiest link\nof a host",
    )
    table = narrow("least time of an iteration", texts=["job"], numbers=headings)
    for job in jobs:
        times = [nanoseconds(job[f"{name}_ns"]) for name in ("iteration", "compute", "exposed", "link")]
        table.add_row(job["job"], f"{job['ranks']:,}", f"{job['iterations']:,}", *times)
    console.print(table)
    console.print(
        "on a network on which messages meet at no link but those of hosts; no setting can be faster"
    )


def print_bound(found: Bound, console: Console) -> None:
    """Flows, entries and totals."""
    _print_flows(found, console)
    if len(found.entries) > 1:
        _print_entries(found, console)
    facts = found.facts
    table = Table.grid(padding=(0, 2))
    table.add_row("", "total Gb/s", "")
    table.add_row("offered", fixed(found.offered_gbps), "")
    table.add_row("largest", fixed(found.total_gbps), "no setting can exceed it")
    table.add_row("fair to pairs", fixed(found.fair_total_gbps), "a rate for each source and destination")
    text = "a rate for each source; its messages keep their proportions"
    table.add_row("largest, by source", fixed(found.sender_total_gbps), text)
    table.add_row("fair to sources", fixed(found.sender_fair_total_gbps), text)
    console.print(table)
    first, last = seconds(facts["from_s"]), seconds(facts["to_s"])
    console.print(f"from {first} to {last} of the run, in which the same flows are active")
    if found.head_of_line:
        console.print("open_messages = 1: a blocked message blocks all behind it, as in the rates by source")


def _print_flows(found: Bound, console: Console) -> None:
    flows, note = found.flows.assign(count=1), None
    if len(flows) > MOST_ROWS:
        flows = _grouped(flows)
        note = "flows of an entry with the same rates in one line; rates are those of each flow"
    if len(flows) > MOST_ROWS:
        note = f"the {MOST_ROWS} largest of {len(flows)} lines, each for flows with the same rates; --json has all"
        flows = flows.nlargest(MOST_ROWS, "count")
    headings = ["offered\nGb/s", "fair\nGb/s", "at largest\ntotal", "fair to\nsources"]
    title = str(found.facts["title"] or found.facts["topology"])
    table = narrow(title, note, texts=["source", "destination", "entry"], numbers=headings)
    table.add_column("limited by")
    for row in flows.to_dict("records"):
        rates = [fixed(row[name]) for name in ("demand_gbps", *_RATES)]
        names = [str(row[name]) for name in ("source", "destination", "entry")]
        table.add_row(*names, *rates, str(row["bottleneck"]) or "-")
    console.print(table)


def _grouped(flows: pd.DataFrame) -> pd.DataFrame:
    """Flows of an entry with the same rates as one row."""
    rates = ["demand_gbps", *_RATES]
    keys = [flows["entry_number"], *(flows[name].round(6) for name in rates)]
    grouped = flows.groupby(keys, sort=False)
    summed = grouped.agg(
        entry=("entry", "first"),
        count=("count", "size"),
        source=("source", lambda names: _several(names, "hosts")),
        destination=("destination", lambda names: _several(names, "hosts")),
        bottleneck=("bottleneck", lambda names: _several(names, "links")),
        **{f"mean_{name}": (name, "mean") for name in rates},
    )
    return summed.rename(columns=lambda name: name.removeprefix("mean_")).reset_index(drop=True)


def _several(names: pd.Series[str], what: str) -> str:
    """The only name, or the number of several."""
    distinct = names.unique()
    first = str(distinct[0])
    return first if len(distinct) == 1 else f"{len(distinct):,} {what}"


def _print_entries(found: Bound, console: Console) -> None:
    headings = ["flows", "offered", "fair", "at largest\ntotal", "fair to\nsources"]
    table = narrow("by traffic entry, Gb/s in all", texts=["entry"], numbers=headings)
    for row in found.entries.to_dict("records"):
        rates = [fixed(row[name]) for name in ("demand_gbps", *_RATES)]
        table.add_row(str(row["entry"]), f"{row['flows']:,}", *rates)
    console.print(table)


def reached(experiment: Experiment, result: Result) -> dict[str, Any]:
    """Fraction of its bound that a run reached, and the mean iteration of each job beside its least time.

    Raises:
        InputError: neither traffic nor jobs have a bound, or the run has no accepted throughput of that part.
    """
    known = experiment.check()
    jobs: list[dict[str, Any]] = []
    if known.get("jobs"):
        # Of very long jobs the least time is not computed; the bound of the traffic is.
        with suppress(InputError) if known.get("traffic") else nullcontext():
            jobs = _jobs_reached(result, job_rows(experiment))
    of_jobs = {"jobs": jobs} if jobs else {}
    if jobs and not known.get("traffic"):
        return of_jobs
    found = bound_of(experiment)
    part = reached_of(result, found)
    return {
        "accepted_gbps": part.accepted_gbps,
        "from_ns": part.from_ns,
        "to_ns": part.to_ns,
        "whole_measurement": part.whole,
        "chance_known": part.chance,
        "total_gbps": found.total_gbps,
        "fraction": part.fraction,
        "bound_gbps": part.bound_gbps if part.fraction > 0 else found.total_gbps,
        "fair_total_gbps": found.fair_total_gbps,
        "sender_fair_total_gbps": found.sender_fair_total_gbps,
        **of_jobs,
    }


def _jobs_reached(result: Result, least: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The mean iteration of each job in the run, and its least time."""
    means = {job["job"]: job["iteration_ns"]["mean"] for job in result.manifest["summary"].get("jobs") or []}
    return [
        {
            "job": job["job"],
            "iteration_ns": means.get(job["job"]),
            "least_iteration_ns": job["iteration_ns"],
        }
        for job in least
    ]


def print_reached(part: dict[str, Any], console: Console) -> None:
    """The same in a line, and one for each job."""
    if "fraction" in part:
        _print_throughput_reached(part, console)
    for job in part.get("jobs", ()):
        mean, least = job["iteration_ns"], job["least_iteration_ns"]
        of_run = "the run completed none"
        if mean is not None:
            times = f", {mean / least:.2f} times that" if least > 0 else ""
            of_run = f"the mean of the run is {nanoseconds(mean)}{times}"
        console.print(
            f"bound      an iteration of {job['job']} takes at least {nanoseconds(least)}; {of_run}",
            markup=False,
        )


def _print_throughput_reached(part: dict[str, Any], console: Console) -> None:
    when = ""
    if not part["whole_measurement"]:
        when = f" from {nanoseconds(part['from_ns'])} to {nanoseconds(part['to_ns'])}"
    total = fixed(part["total_gbps"])
    # More may be offered by chance than at the mean rates.
    of_mean = "" if fixed(part["bound_gbps"]) == total else f"{total} at the mean rates; "
    is_above = part["chance_known"] and part["fraction"] > 1 and percent(part["fraction"]) != percent(1.0)
    edges = "; above 100 % because packets count whole when they arrive" if is_above else ""
    by_chance = "" if part["chance_known"] else "; what was offered by chance in that part is not known"
    console.print(
        f"bound      {percent(part['fraction'])} of the bound{when}: {fixed(part['accepted_gbps'])} of "
        f"{fixed(part['bound_gbps'])} Gb/s ({of_mean}fair rates: {fixed(part['fair_total_gbps'])} by pair, "
        f"{fixed(part['sender_fair_total_gbps'])} by source{by_chance}{edges})"
    )
