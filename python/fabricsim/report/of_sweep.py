"""The sections of a sweep."""

from __future__ import annotations

from pathlib import Path

from fabricsim.catalogue import Entry, entry_parts
from fabricsim.errors import FabricsimError
from fabricsim.plots import save_sweep_plots
from fabricsim.report.brief import OF_JOBS, entries_of_sweep
from fabricsim.report.parts import Section, Table, cell, embedded, given, noted, scratch, table_of
from fabricsim.report.sums import sums_of_sweep
from fabricsim.results import without_computing
from fabricsim.statistics import CONFIDENCE
from fabricsim.sweep import SweepResult
from fabricsim.sweep.precision import PrecisionSchedule
from fabricsim.sweep.table import entry

MOST_ROWS = 1000
_METRICS = (
    "offered_load",
    "accepted_load",
    "accepted_gbps",
    "bound_fraction",
    "latency_ns.mean",
    "latency_ns.p99",
    "jain",
    "job_time_ns",
    "transport.completion_ns.mean",
    "transport.completion_ns.p99",
    "transport.completion_ns.p999",
    "transport.reordered_share",
    "transport.dropped_share",
    "status",
    "message",
)


_TOTALS = ("offered_load", "accepted_load", "latency_ns.mean", "latency_ns.p99", "jain", "job_time_ns")
_NUMBERS = ("mean", "from", "to", "seeds")


def sections_of_sweep(result: SweepResult) -> list[Section]:
    """Its points, saturation and pictures."""
    states = {name: result.count(name) for name in ("ok", "deadlock", "failed")}
    facts = [(name, count or "") for name, count in states.items()]
    facts.insert(0, ("points", f"{len(result.points):,} of {result.manifest['size']:,}"))
    if result.schedule is not None:
        facts[0] = ("points that ran", f"{len(result.points):,} of at most {result.manifest['size']:,}")
    columns = [*(noted(result.points, key) for key in result.parameters), *map(entry, _METRICS)]
    found = [
        Section("Summary", facts=given(facts)),
        Section("Points", table=table_of(result.points, columns, MOST_ROWS, "points")),
    ]
    if result.repeated:
        found.insert(1, _means(result))
    found += entries_of_sweep(result, MOST_ROWS)
    found += sums_of_sweep(result)
    saturation = result.saturation()
    if len(saturation):
        names = [Entry(str(name), str(name)) for name in saturation]
        found.append(Section("Saturation", table=table_of(saturation, names, MOST_ROWS, "curves")))
    if isinstance(result.schedule, PrecisionSchedule):
        reached = result.precision()
        names = [Entry(str(name), str(name)) for name in reached]
        found.append(Section("Precision", table=table_of(reached, names, MOST_ROWS, "metrics")))
    found.append(_pictures(result))
    found.append(Section("Experiment", code=str(result.manifest.get("experiment", ""))))
    return found


def _means(result: SweepResult) -> Section:
    """Means over the seeds, with their intervals: totals, then figures of entries and jobs."""
    table = result.estimates()
    metrics = [name for name in _TOTALS if name in set(table["metric"])]
    twice = without_computing(table.groupby("metric")["mean"].max().to_dict())
    metrics += [name for name in table["metric"].unique() if _is_of_entry(str(name)) and name not in twice]
    headings = [*result.varied, "quantity", "mean", "from", "to", "seeds"]
    rows = []
    for metric in metrics:
        of = entry(metric, result.entry_names)
        for row in table[table["metric"] == metric].to_dict("records"):
            values = (cell(row[name], of) for name in ("mean", "low", "high"))
            rows.append([*(str(row[key]) for key in result.varied), of.heading, *values, f"{row['seeds']:,}"])
    text = f"Means over the seeds, and {CONFIDENCE:.0%} confidence intervals."
    return Section(
        "Means", text=text, table=Table(headings, rows[:MOST_ROWS], [h in _NUMBERS for h in headings])
    )


def _is_of_entry(name: str) -> bool:
    parts = entry_parts(name)
    return parts is not None and parts[2] in ("accepted_gbps", "latency_ns.mean", "latency_ns.p99", *OF_JOBS)


def _pictures(result: SweepResult) -> Section:
    with scratch() as folder:
        try:
            return Section("Pictures", pictures=embedded(save_sweep_plots(result, Path(folder), "svg")))
        except FabricsimError as error:
            return Section("Pictures", text=f"There are none: {error}")
