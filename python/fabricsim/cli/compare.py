"""The command `compare`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from fabricsim.cli.numbers import fixed, missing, percent, shown
from fabricsim.cli.state import Json, output, show, tell
from fabricsim.compare import Comparison
from fabricsim.compare import compare as compare_runs
from fabricsim.compare.totals import FIRST, entry
from fabricsim.errors import InputError
from fabricsim.results import few_looks

MOST_FLOWS = 16
"""Flows that are printed; --json has all."""
FORMATS = (".png", ".svg", ".pdf")
_SHOWN = ("congestion.", "jobs.")
_OF_ROUTERS = (".queueing_cycles", ".stalled_per_packet")
"""Of the counters of routers; --json has all."""


def compare(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN RUN...", help="Two or more run folders.")],
    json: Json = False,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="PICTURE", help="Draw throughput over time there: .png, .svg or .pdf."),
    ] = None,
) -> None:
    """Put runs side by side: what their experiments differ in, and who gets which throughput in each."""
    if out is not None and out.suffix not in FORMATS:
        raise InputError(
            f"{out}: pictures are {', '.join(FORMATS)}: choose a name that ends with one of them"
        )
    found = compare_runs(runs)
    show(json, found.as_dict, lambda: print_comparison(found, output()))
    if out is not None:
        from fabricsim.plots import save  # noqa: PLC0415 - matplotlib takes long to import
        from fabricsim.plots.comparison import comparison  # noqa: PLC0415

        say = tell if json else output().print
        say(f"picture: {save(comparison(found), out)}")


def print_comparison(found: Comparison, console: Console) -> None:
    """Settings, flows and totals side by side."""
    marks = _marks(len(found.labels))
    for mark, label, run in zip(marks, found.labels, found.runs, strict=True):
        state = "" if run.status == "ok" else f", {run.status}"
        folder = f"  ({run.folder}{state})" if run.folder is not None else state
        console.print(f"{mark}: {label}{folder}", markup=False)
    if len(found.differences) > 1:
        console.print(_differences(found, marks))
    console.print(_flows(found, marks))
    for label, count in found.missing.items():
        mark = marks[found.labels.index(label)]
        console.print(f"{count:,} flows of {mark} are not in all of the others, and not shown")
    if len(found.totals):
        console.print(_totals(found, marks))
    for mark, run in zip(marks, found.runs, strict=True):
        if "congestion_flows" in run.frames and (note := few_looks(run)):
            console.print(f"{mark}: {note}", markup=False)


def _marks(count: int) -> list[str]:
    return [chr(ord("A") + number) for number in range(count)]


def _differences(found: Comparison, marks: list[str]) -> Table:
    table = Table(title="settings that differ")
    table.add_column("key")
    for mark in marks:
        table.add_column(mark)
    for key, values in found.differences.iterrows():
        table.add_row(str(key), *("-" if value is None else str(value) for value in values))
    return table


def _flows(found: Comparison, marks: list[str]) -> Table:
    flows = found.flows
    rows, note = flows, None
    if len(flows) > MOST_FLOWS:
        change = (found.quantity("ratio") - 1.0).abs().max(axis=1).fillna(0.0)
        rows = flows.loc[change.nlargest(MOST_FLOWS).index]
        note = f"the {MOST_FLOWS} of {len(flows):,} flows with the largest change; --json has all"
    what = "at end: of the destination's link, in the last tenth"
    table = Table(title=_title(found), caption=f"{what}; {note}" if note else what)
    table.add_column("source")
    table.add_column("destination")
    columns = [
        ("accepted_gbps", "\nGb/s", fixed),
        ("final_destination_share", "\nat end", percent),
        ("ratio", f"/{marks[0]}", _ratio),
    ]
    cells = []
    for quantity, heading, form in columns:
        for mark, label in zip(marks, found.labels, strict=True):
            if (quantity, label) in flows and not flows[quantity, label].isna().all():
                table.add_column(f"{mark}{heading}", justify="right")
                cells.append((quantity, label, form))
    for pair, row in rows.iterrows():
        assert isinstance(pair, tuple)
        table.add_row(*map(str, pair), *(form(row[quantity, label]) for quantity, label, form in cells))
    return table


def _title(found: Comparison) -> str:
    """The experiments' title, if they have one in common."""
    titles = {run.title for run in found.runs}
    return f"{titles.pop()}: accepted throughput" if len(titles) == 1 else "accepted throughput"


def _ratio(value: Any) -> str:
    return "-" if missing(value) else f"{value:.2f}"


def _totals(found: Comparison, marks: list[str]) -> Table:
    table = Table(title="totals that differ")
    table.add_column("")
    for mark in marks:
        table.add_column(mark, justify="right")
    for name, values in found.totals.iterrows():
        if name in FIRST or str(name).startswith(_SHOWN) or str(name).endswith(_OF_ROUTERS):
            of = entry(str(name))
            table.add_row(of.heading, *(shown(value, of) for value in values))
    return table
