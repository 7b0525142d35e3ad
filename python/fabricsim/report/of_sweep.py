"""The sections of a sweep."""

from __future__ import annotations

from pathlib import Path

from fabricsim.catalogue import Entry
from fabricsim.errors import FabricsimError
from fabricsim.plots import save_sweep_plots
from fabricsim.report.parts import Section, embedded, given, noted, scratch, table_of
from fabricsim.report.sums import sums_of_sweep
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
    "transport.completion_ns.mean",
    "transport.completion_ns.p99",
    "transport.completion_ns.p999",
    "transport.reordered_share",
    "transport.dropped_share",
    "status",
    "message",
)


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


def _pictures(result: SweepResult) -> Section:
    with scratch() as folder:
        try:
            return Section("Pictures", pictures=embedded(save_sweep_plots(result, Path(folder), "svg")))
        except FabricsimError as error:
            return Section("Pictures", text=f"There are none: {error}")
