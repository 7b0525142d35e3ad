"""`fabricsim capture`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from rich import box
from rich.table import Table

from fabricsim.capture import Capture
from fabricsim.capture import capture as capture_links
from fabricsim.cli.console import output
from fabricsim.cli.files import ForceFile
from fabricsim.cli.interrupt import Interrupt
from fabricsim.cli.progress import run_progress
from fabricsim.cli.state import EXIT_CODES, ExperimentFile, Json, Memory, Set, show, warn
from fabricsim.cli.swept import read_single
from fabricsim.shown import number_of
from fabricsim.spec import Experiment

MOST_INTERFACES = 20
"""Interfaces that are listed."""


def capture(
    file: ExperimentFile,
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="Write to this file, F.pcapng.")],
    links: Annotated[
        list[str] | None,
        typer.Option(
            "--links",
            metavar="PATTERN",
            help="Links by name, or a pattern with *: 'SW11->SW12' is one direction, 'SW11-SW12' both. Repeatable; "
            "by default those of the experiment's \\[capture].",
        ),
    ] = None,
    start: Annotated[
        str | None, typer.Option("--from", metavar="TIME", help="Capture from this simulated time on: 10us.")
    ] = None,
    end: Annotated[
        str | None, typer.Option("--to", metavar="TIME", help="Capture, and run, until this simulated time.")
    ] = None,
    packets: Annotated[
        int | None, typer.Option("--packets", min=1, help="Most packets; the run ends with the last.")
    ] = None,
    set: Set = None,
    json: Json = False,
    force: ForceFile = False,
    memory: Memory = None,
) -> None:
    """Run an experiment and write what crosses chosen links as pcapng, for Wireshark."""
    experiment = read_single(file, set)
    given = {"links": links or None, "from": start, "to": end, "packets": packets}
    with Interrupt() as interrupt, run_progress() as on_progress:
        found = capture_links(
            experiment,
            out,
            links=links or None,
            start=start,
            end=end,
            packets=packets,
            force=force,
            memory=memory,
            on_progress=on_progress,
            stop=interrupt.asked,
        )
    experiment = experiment.with_values(
        {f"capture.{key}": value for key, value in given.items() if value is not None}
    )
    warn(experiment)
    show(json, found.as_dict, lambda: _print(found, experiment))
    if code := EXIT_CODES.get(found.status, 0):
        raise typer.Exit(code)


def _print(found: Capture, experiment: Experiment) -> None:
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("interface", overflow="fold")
    table.add_column("packets", justify="right")
    table.add_column("bytes", justify="right")
    interfaces = found.report["interfaces"]
    for interface in interfaces[:MOST_INTERFACES]:
        table.add_row(interface["name"], str(interface["packets"]), str(interface["bytes"]))
    if len(interfaces) > MOST_INTERFACES:
        table.caption = f"the first {MOST_INTERFACES} of {len(interfaces)}"
    output().print(table)
    for line in notes(found.report, experiment):
        output().print(line)
    output().print(f"capture: {found.file}")


def notes(report: Mapping[str, Any], experiment: Experiment) -> Iterator[str]:
    """What a capture has, and what it lacks. `experiment`: with the settings of the capture."""
    if not report["packets"]:
        settings = experiment.check()
        since, until = settings["capture"].get("from", "0 ns"), settings["capture"].get("to")
        end = f"the capture ends at {until}" if until else f"the run ends at {settings['run']['duration']}"
        yield f"no packet crossed these links from {since} on: {end}"
        return
    span = ""
    if report["first_ns"] is not None:
        span = f", from {report['first_ns']} ns to {report['last_ns']} ns"
    yield f"{number_of(report['packets'], 'packet')} with {number_of(report['bytes'], 'byte')}{span}"
    if report["limit_reached"]:
        missed = f", and {report['missed']:,} more crossed until the run ended" if report["missed"] else ""
        limit = number_of(report["packets"], "packet")
        yield f"the limit of {limit} was reached{missed}: raise capture.packets (--packets)"
    if report["cut"]:
        cut = number_of(report["cut"], "packet")
        yield f"cut, since smaller than InfiniBand's headers: {cut}"
