"""Views of results in notebooks: a few numbers, a small picture, and how to go on.

Adding a view: a function, and a line in `_VIEWS`; the class is a `fabricsim.shown.Shown`.
"""

from __future__ import annotations

import html as escaped
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fabricsim import catalogue
from fabricsim.age_parameters import AgeParameters
from fabricsim.bound import Bound
from fabricsim.catalogue import Entry
from fabricsim.compare import Comparison, RepeatedComparison
from fabricsim.compare.repeated import LARGER, SMALLER
from fabricsim.compare.totals import FIRST
from fabricsim.compare.totals import entry as entry_of
from fabricsim.errors import FabricsimError
from fabricsim.lazy import pandas as pd
from fabricsim.plots import comparison, save, save_plots, save_sweep_plots, save_tune_plots, sets_of_seeds
from fabricsim.plots.sets import left_out
from fabricsim.report import brief
from fabricsim.report.jobs import jobs as of_jobs
from fabricsim.report.parts import Picture, Section, Table, cell, embedded, facts_of, given, scratch, table_of
from fabricsim.results import Result, flatten
from fabricsim.shown import number_of
from fabricsim.spec import Experiment
from fabricsim.sweep import SweepResult
from fabricsim.sweep.table import entry as metric_of
from fabricsim.tune import TuneResult
from fabricsim.what_if import WhatIf
from fabricsim.what_if_columns import COLUMNS, failure_label

MOST_ROWS = 8
"""Rows of a view's table."""
MOST_QUANTITIES = 16
"""Rows of that of a comparison."""
_FIGURES = (".accepted_gbps", ".latency_ns.mean", ".latency_ns.p99")
"""Quantities of entries of the traffic list in a comparison."""
_SUMMARY = (
    "simulated_s",
    "offered_gbps",
    "accepted_gbps",
    "accepted_load",
    "latency_ns.mean",
    "latency_ns.p99",
    "jain",
    "seed",
)
_ENTRIES = (
    "entry",
    "text",
    "offered_gbps",
    "accepted_gbps",
    "source_share",
    "destination_share",
    "latency_mean_ns",
    "latency_p99_ns",
)
_FIRST = ("throughput", "entries", "links")
"""Pictures of a run, of which a view has the first that there is; of jobs alone that of their iterations."""
_WITHOUT = ("accepted_gbps", "latency_ns.mean", "job_time_ns")
"""What the run without a failure has."""
_FAILURES = [
    Entry(name, label, COLUMNS[name][0])
    for name, label in (
        ("failure", "failure"),
        ("accepted_gbps", "accepted throughput"),
        ("change", "change"),
        ("latency_mean_ns", "mean latency"),
        ("flows_worse", "flows worse"),
        ("flows_cut_off", "flows cut off"),
        ("hosts_cut_off", "hosts cut off"),
        ("lost_packets", "lost"),
        ("job_time_ns", "time of all jobs"),
        ("worst_flow", "worst flow"),
    )
]
MOST_MESSAGES = 2
"""Messages on failures in a view."""


@dataclass(frozen=True)
class View:
    """What is shown of a value."""

    title: str
    text: str = ""
    facts: list[tuple[str, str]] = field(default_factory=list)
    warnings: Sequence[str] = ()
    table: Table | None = None
    sums: Sequence[Section] = ()
    """Sums by entry of the traffic list, or by group of hosts."""
    picture: Picture | None = None
    code: str = ""
    """A text that is folded, such as an experiment's."""
    further: Sequence[str] = ()
    """Python by which one goes on."""


def html(value: object) -> str:
    """The view of a value as HTML.

    Raises:
        TypeError: values of its class have no view.
    """
    for of, view in _VIEWS.items():
        if isinstance(value, of):
            return _html(view(value))
    raise TypeError(f"{type(value).__name__} has no view in notebooks")


def _of_run(result: Result) -> View:
    summary = result.manifest["summary"]
    table = None
    if "entries" in result.frames and len(result.entries):
        table = table_of(result.entries, catalogue.some("entries", *_ENTRIES), MOST_ROWS, "entries")

    def draw(folder: Path) -> list[Path]:
        omitted = left_out(result)
        kinds = [kind for kind in _FIRST if kind in result.frames or kind == "throughput"]
        entries = summary.get("entries") or ()
        if summary.get("jobs") and all(entry.get("kind") == "job" for entry in entries):
            kinds.insert(0, "jobs")
        for kind in kinds:
            if kind in omitted:
                continue
            try:
                return save_plots(result, folder, "svg", [kind])
            except FabricsimError:
                continue
        return []

    return View(
        f"{result.title}: {result.status}",
        facts=facts_of(flatten(summary), map(catalogue.key, _SUMMARY)),
        warnings=[*(summary.get("warnings") or ()), *(summary.get("deadlock") or ())],
        table=table,
        sums=[*filter(None, [of_jobs(result)]), *brief.of_run(result)],
        picture=_drawn(draw),
        further=("run.entries", "run.flows", "run.links", "run.summary", 'fs.report(run, "report.html")'),
    )


def _of_sweep(result: SweepResult) -> View:
    states = {name: result.count(name) for name in ("ok", "deadlock", "failed")}
    metrics = ("accepted_load", "latency_ns.mean", "latency_ns.p99", "status")
    columns = [Entry(key, key) for key in result.parameters] + [catalogue.key(name) for name in metrics]
    of = "" if result.schedule else f"{len(result.points):,} of "
    count = number_of(len(result.points) if result.schedule else result.manifest["size"], "point")
    return View(
        f"{result.title}: {of}{count}",
        facts=given([(name, count or "") for name, count in states.items()]),
        table=table_of(result.points, columns, MOST_ROWS, "points"),
        sums=brief.of_sweep(result),
        picture=_drawn(lambda folder: save_sweep_plots(result, folder, "svg")),
        further=(
            "result.points",
            "result.curves()",
            "result.saturation()",
            'fs.report(result, "report.html")',
        ),
    )


def _of_study(result: TuneResult) -> View:
    best = result.best
    settings = [] if best is None else list(best["settings"].items())
    columns = [Entry(name, name) for name in ("trial", *result.parameters)]
    notes = result.trials.attrs.get("columns", {})
    columns += [
        Entry(name, metric_of(name, result.entry_names).label, str(notes.get(name, ("", ""))[0]))
        for name in result.objective_columns
    ]
    return View(
        f"{result.title}: {number_of(len(result.trials) - 1, 'trial')}",
        text=_verdict(result),
        facts=[(str(key), str(value)) for key, value in settings],
        table=table_of(result.front, columns, MOST_ROWS, "best settings"),
        picture=_drawn(lambda folder: save_tune_plots(result, folder, "svg")),
        further=("result.settings", "result.trials", "fs.run(experiment, set=result.settings)"),
    )


def _verdict(result: TuneResult) -> str:
    if result.best is None:
        return "No setting keeps the constraints."
    if not result.improves_on_search:
        return "None of the settings tried is better than the experiment as it is."
    if not result.improves_on_fresh_seeds:
        return "On the fresh seeds the best setting is not better than the experiment as it is."
    return ""


def _of_bound(found: Bound) -> View:
    totals = {
        "offered": found.offered_gbps,
        "largest total": found.total_gbps,
        "fair to pairs, in all": found.fair_total_gbps,
        "fair to sources, in all": found.sender_fair_total_gbps,
    }
    columns = [
        Entry(name, name.replace("_", " ").replace(" gbps", " (Gb/s)")) for name in found.entries.columns
    ]
    return View(
        f"Bound of {found.facts.get('title') or found.facts['topology']}",
        facts=[(name, f"{value:,.4g} Gb/s") for name, value in totals.items()],
        table=table_of(found.entries, columns, MOST_ROWS, "entries"),
        further=("found.flows", "found.links", "found.fraction(run.manifest['summary']['accepted_gbps'])"),
    )


def _of_experiment(experiment: Experiment) -> View:
    written = experiment.written()
    topology = written.get("topology") or {}
    title = str(written.get("title") or experiment.name)
    shapes = [f"{name}: {_short(value)}" for name, value in topology.items()]
    run = written.get("run") or {}
    bound = "job_bounds" if written.get("jobs") and not written.get("traffic") else "bound"
    facts = given(
        [("topology", "; ".join(shapes)), ("duration", run.get("duration")), ("warm-up", run.get("warmup"))]
    )
    facts += given([("traffic", ", ".join(_traffic(written.get("traffic") or [])))])
    return View(
        title,
        text=str(written.get("description", "")),
        facts=facts + [(key, str(value)) for key, value in experiment.overrides],
        code=experiment.text,
        further=(
            "experiment.check()",
            "experiment.describe()",
            f"fs.{bound}(experiment)",
            "fs.run(experiment)",
        ),
    )


def _traffic(entries: Sequence[dict[str, Any]]) -> list[str]:
    return [str(entry.get("name") or _short(entry.get("pattern", "?"))) for entry in entries[:MOST_ROWS]]


def _short(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key} = {_short(one)}" for key, one in value.items())
    return " x ".join(map(str, value)) if isinstance(value, list) else str(value)


def _of_comparison(found: Comparison) -> View:
    names = [str(name) for name in found.totals.index]
    of_entries = [name for name in names if name.startswith("traffic.") and name.endswith(_FIGURES)]
    shown = [*of_entries, *(name for name in names if name in FIRST)][:MOST_QUANTITIES]
    rows = [
        [of.heading, *(cell(value, of) for value in found.totals.loc[name])]
        for name in shown
        for of in [entry_of(name, found.entry_names)]
    ]
    left = len(names) - len(rows)
    note = f"{left:,} more quantities differ: found.totals." if left > 0 else ""
    marks = [chr(ord("A") + number) for number in range(len(found.labels))]
    return View(
        "Comparison of runs",
        text=found.note,
        facts=list(zip(marks, found.labels, strict=True)),
        table=Table(["quantity", *marks], rows, [False, *(True for _ in marks)], note),
        sums=brief.of_comparison(found, marks),
        picture=_drawn(lambda folder: [save(comparison(found), folder / "comparison.svg")]),
        further=("found.differences", "found.flows", "found.totals"),
    )


def _of_sets(found: RepeatedComparison) -> View:
    """What differs by more than chance comes first."""
    table = found.quantities[found.quantities["set"] != found.labels[0]]
    real = table["verdict"].isin([LARGER, SMALLER])
    rows = pd.concat([table[real], table[~real]]).head(MOST_ROWS).to_dict("records")
    texts = []
    for row in rows:
        of = metric_of(str(row["quantity"]), found.entry_names)
        low, high = sorted((abs(row["difference_low"]), abs(row["difference_high"])))
        is_real = row["verdict"] in (LARGER, SMALLER)
        by = f"by {cell(float(low), of)} to {cell(float(high), of)}" if is_real else ""
        texts.append([of.label, str(row["set"]), cell(float(row["mean"]), of), str(row["verdict"]), by])
    headings = ["quantity", "set", "mean", f"beside {found.labels[0]}", f"{found.confidence:.0%} interval"]
    return View(
        f"{len(found.labels)} sets of {len(found.seeds)} seeds",
        table=Table(headings, texts, [False, False, True, False, False], ""),
        sums=brief.of_sets(found),
        picture=_drawn(lambda folder: [save(sets_of_seeds(found), folder / "differences.svg")]),
        further=("found.quantities",),
    )


def _of_age_parameters(found: AgeParameters) -> View:
    return View(
        f"Age parameters of {found.network.title}",
        facts=[(key, str(value)) for key, value in found.settings.items()],
        table=table_of(found.worst, [Entry(str(name), str(name)) for name in found.worst], MOST_ROWS, "rows"),
        further=("found.dimensions", "found.queueing", "fs.run(experiment, set=found.settings)"),
    )


def _of_failures(found: WhatIf) -> View:
    """The worst failures beside the run without any; each message once."""
    table = found.failures
    labels = [failure_label(row) for row in table.to_dict("records")]
    columns = [entry for entry in _FAILURES if entry.name in table and table[entry.name].notna().any()]
    messages = [str(message) for message in table.get("message", pd.Series(dtype=str)).unique() if message]
    return View(
        f"Every single {found.each} fails, worst first",
        text=found.routes,
        facts=facts_of(flatten(found.without.manifest["summary"]), map(catalogue.key, _WITHOUT)),
        warnings=[*([found.before] if found.before else []), *messages[:MOST_MESSAGES]],
        table=table_of(table.assign(failure=labels), columns, MOST_ROWS, "failures"),
        further=("found.failures", "found.without"),
    )


def _drawn(draw: Callable[[Path], list[Path]]) -> Picture | None:
    """The first picture, if there is one."""
    with scratch() as folder:
        try:
            pictures = draw(Path(folder))
        except FabricsimError:
            return None
        return next(iter(embedded(pictures[:1])), None)


_VIEWS: dict[type, Callable[[Any], View]] = {
    Result: _of_run,
    SweepResult: _of_sweep,
    TuneResult: _of_study,
    Bound: _of_bound,
    Experiment: _of_experiment,
    Comparison: _of_comparison,
    RepeatedComparison: _of_sets,
    AgeParameters: _of_age_parameters,
    WhatIf: _of_failures,
}


def _html(view: View) -> str:
    say = escaped.escape
    parts = [f"<div><strong>{say(view.title)}</strong>"]
    if view.text:
        parts.append(f"<p>{say(view.text)}</p>")
    if view.facts:
        cells = "".join(
            f"<tr><th style='text-align:left'>{say(name)}</th><td>{say(value)}</td></tr>"
            for name, value in view.facts
        )
        parts.append(f"<table>{cells}</table>")
    parts += [f"<p>⚠ {say(text)}</p>" for text in view.warnings]
    if view.table is not None and view.table.rows:
        parts.append(_table(view.table))
    for section in view.sums:
        parts.append(f"<p>{say(section.title)}</p>")
        parts.append(f"<p>{say(section.text)}</p>" if section.table is None else _table(section.table))
    if view.picture is not None:
        parts.append(
            f'<img alt="{say(view.picture.name)}" style="max-width:560px" src="{view.picture.url}"/>'
        )
    if view.code:
        parts.append(f"<details><summary>as text</summary><pre>{say(view.code)}</pre></details>")
    if view.further:
        parts.append(
            "<p>Go on with " + ", ".join(f"<code>{say(line)}</code>" for line in view.further) + "</p>"
        )
    return "".join([*parts, "</div>"])


def _table(table: Table) -> str:
    say = escaped.escape
    head = "".join(f"<th>{say(heading)}</th>" for heading in table.headings)
    sides = ["right" if numeric else "left" for numeric in table.numeric]
    rows = "".join(
        "<tr>"
        + "".join(
            f"<td style='text-align:{side}'>{say(cell)}</td>" for side, cell in zip(sides, row, strict=True)
        )
        + "</tr>"
        for row in table.rows
    )
    note = f"<p>{say(table.note)}</p>" if table.note else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>{note}"
