"""The command `what-if`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from rich.console import Console

from fabricsim.cli.compare import FORMATS
from fabricsim.cli.console import output, tell
from fabricsim.cli.interrupt import INTERRUPTED, Interrupt
from fabricsim.cli.layout import narrow
from fabricsim.cli.numbers import nanoseconds, rate
from fabricsim.cli.pictures import LabelOption, StyleOption, WidthOption, drawing_if
from fabricsim.cli.progress import count_progress
from fabricsim.cli.state import (
    Dask,
    ExperimentFile,
    Jobs,
    Json,
    Memory,
    Set,
    Slurm,
    SlurmOptions,
    executor,
    show,
    warn,
)
from fabricsim.cli.swept import read_single
from fabricsim.errors import InputError
from fabricsim.frames import missing
from fabricsim.lazy import pandas as pd
from fabricsim.shown import number_of
from fabricsim.what_if import AT, SEPARATED, WhatIf
from fabricsim.what_if import what_if as run_what_if
from fabricsim.what_if_columns import FEWEST_PACKETS, failure_label

MOST_MESSAGES = 2
"""Messages that are printed: those of failures differ in names."""
MOST_SEPARATED = 3
"""Failures whose hosts without a path are named."""


def what_if(
    file: ExperimentFile,
    each: Annotated[
        Literal["link", "switch"],
        typer.Option("--each", help="Each link between switches fails, or each switch."),
    ] = "link",
    at: Annotated[
        str,
        typer.Option(
            "--at",
            metavar="TIME",
            help="Time of the failure; all runs begin as copies of the state before it.",
        ),
    ] = AT,
    top: Annotated[
        int,
        typer.Option(
            "--top", min=1, metavar="N", help="Failures that are printed and drawn; --json has all."
        ),
    ] = 20,
    set: Set = None,
    jobs: Jobs = None,
    dask: Dask = None,
    slurm: Slurm = False,
    slurm_option: SlurmOptions = None,
    memory: Memory = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="PICTURE", help="Draw the worst there: .png, .svg or .pdf."),
    ] = None,
    style: StyleOption = "screen",
    width: WidthOption = None,
    label: LabelOption = None,
    json: Json = False,
) -> None:
    """Run an experiment with each single failure of a link or switch: a table, worst first.

    Exit code: 0 all ran, 1 some failed, 130 interrupted.
    """
    if out is not None and out.suffix not in FORMATS:
        raise InputError(
            f"{out}: pictures are {', '.join(FORMATS)}: choose a name that ends with one of them"
        )
    pictures = drawing_if(out is not None, "--out", style, width, label)
    experiment = read_single(file, set)
    warn(experiment)
    where = executor(jobs, dask, slurm, slurm_option)
    with Interrupt() as interrupt, count_progress("failures") as on_point:
        found = run_what_if(
            experiment, each, at=at, executor=where, memory=memory, on_point=on_point, stop=interrupt.asked
        )
    show(json, found.as_dict, lambda: print_what_if(found, top, output()))
    if out is not None and pictures is not None and len(found.failures):
        from fabricsim.plots import save  # noqa: PLC0415 - matplotlib takes long to import
        from fabricsim.plots.failures import failures  # noqa: PLC0415

        say = tell if json else output().print
        with pictures.look():
            say(f"picture: {save(failures(found, top), out)}")
    if not found.complete:
        tell(f"interrupted after {number_of(len(found.failures), 'failure')}")
        raise typer.Exit(INTERRUPTED)
    if (found.failures["status"] == "failed").any():
        raise typer.Exit(1)


def print_what_if(found: WhatIf, top: int, console: Console) -> None:
    """The worst failures, and the run without any."""
    summary = found.without.manifest["summary"]
    rows = found.failures.head(top).to_dict("records")
    left = len(found.failures) - len(rows)
    table = narrow(
        f"{found.without.title}: each {found.each} fails", f"{left:,} more, which cost less" if left else None
    )
    table.add_column("failure")
    headings = ("accepted\nGb/s", "change", "mean\nlatency", "flows\nworse", "cut\noff", "packets\nlost")
    for heading in headings:
        table.add_column(heading, justify="right")
    jobs = bool(summary.get("jobs"))
    if jobs:  # their flows are much alike
        table.add_column("time of\nall jobs", justify="right")
    else:
        table.add_column("worst flow")
    latency = (summary.get("latency_ns") or {}).get("mean")
    last = nanoseconds(summary.get("job_time_ns")) if jobs else ""
    table.add_row("none", rate(summary.get("accepted_gbps")), "", nanoseconds(latency), "", "", "", last)
    table.add_section()
    for row in rows:
        table.add_row(*_cells(row, jobs))
    console.print(table)
    console.print(found.routes, markup=False)
    for line in _sentences(found):
        console.print(line, markup=False)
    told: dict[str, list[str]] = {}
    for row in rows:
        if message := str(row["message"]):
            # their hosts are named above
            same = SEPARATED if message.startswith(SEPARATED) else message
            told.setdefault(same, []).append(str(row["failure"]))
    for message, names in list(told.items())[:MOST_MESSAGES]:
        more = f" and {len(names) - 1} more" if len(names) > 1 else ""
        console.print(f"{names[0]}{more}: {message}", style="yellow", markup=False)
    if (others := len(told) - MOST_MESSAGES) > 0:
        console.print(f"{number_of(others, 'more message')}: see --json", style="yellow", markup=False)


def _cells(row: dict[Any, Any], jobs: bool) -> list[str]:
    status = "" if row["status"] == "ok" else f" ({row['status']})"
    counts = [_count(row[name]) for name in ("flows_worse", "flows_cut_off", "lost_packets")]
    return [
        f"{failure_label(row)}{status}",
        rate(row["accepted_gbps"]),
        "-" if missing(row["change"]) else f"{row['change']:+.1%}",
        nanoseconds(row["latency_mean_ns"]),
        *counts,
        nanoseconds(row["job_time_ns"])
        if jobs
        else ""
        if missing(row["worst_flow"])
        else str(row["worst_flow"]).replace("->", "→"),
    ]


def _count(value: Any) -> str:
    try:
        return f"{int(value):,}"
    except (TypeError, ValueError):
        return "-"


def _change(fraction: Any) -> str:
    """A change with its sign; a dash for none."""
    return "-" if missing(fraction) else f"{float(fraction):+.1%}"


def _sentences(found: WhatIf) -> list[str]:
    """The answer in words."""
    table = found.failures
    ran = table[table["status"] != "failed"]
    if ran.empty:
        return []
    worst = ran.iloc[0]
    lines = [f"the worst: {worst['failure']}, {_change(worst['change'])} of accepted throughput"]
    if found.before:
        lines.append(found.before)
    if separated := _separated(ran):
        lines.append(separated)
    lines += _of_jobs(found, ran)
    flows, counted = len(found.without.flows), found.counted_flows
    few = f"{FEWEST_PACKETS} packets in the measurement"
    if counted == 0:
        return [*lines, f"whether flows are worse or cut off is not known: none has {few}; run longer"]
    cutting = int((ran["flows_cut_off"] > 0).sum())
    harmless = int((ran["flows_worse"] == 0).sum())
    lines.append(f"{cutting:,} of {len(ran):,} failures cut flows off; {harmless:,} make no flow worse")
    if counted < flows:
        lines.append(f"flows are {counted:,} of {flows:,}: the others have less than {few}")
    return lines


def _of_jobs(found: WhatIf, ran: pd.DataFrame) -> list[str]:
    """The effect of failures on jobs; nothing if there are none."""
    summary = found.without.manifest["summary"]
    number, before = len(summary.get("jobs") or ()), summary.get("job_time_ns")
    if not number:
        return []
    if before is None:
        return ["jobs do not end without a failure: run longer"]
    times = ran["job_time_ns"].dropna()
    most = f"{nanoseconds(times.max())} at most" if len(times) else ""
    late = int((ran["jobs_ended"] < number).sum())
    parts = [f"{late:,} of {len(ran):,} failures keep a job from its end"] if late else []
    parts += [f"{most} with the others" if late else f"{most} with one"] if most else []
    return ["; ".join([f"jobs take {nanoseconds(before)} without a failure", *parts])]


def _separated(ran: pd.DataFrame) -> str:
    """Failures that leave hosts without a path to the others, with their names; empty if none does."""
    rows = ran[ran["hosts_cut_off"] > 0].to_dict("records")
    if not rows:
        return ""
    named = "; ".join(f"{row['failure']}: {row['names_cut_off']}" for row in rows[:MOST_SEPARATED])
    more = f"; {len(rows) - MOST_SEPARATED:,} more" if len(rows) > MOST_SEPARATED else ""
    return f"{len(rows):,} of {len(ran):,} failures leave hosts without a path to the others ({named}{more})"
