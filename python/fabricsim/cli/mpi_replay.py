"""`fabricsim mpi replay`."""

from __future__ import annotations

import importlib
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from fabricsim.cli.state import EXIT_CODES, Json, Set, output, show, tell
from fabricsim.errors import InputError
from fabricsim.spec import parse_assignment
from fabricsim.traces import FORMATS, Replay, Trace, play

LISTED = 20
"""Operations without a match that are printed; JSON has all."""


def replay(
    trace: Annotated[Path, typer.Argument(metavar="TRACE", help="A file of the trace.")],
    format: Annotated[str, typer.Option("--format", metavar="FORMAT", help=f"{', '.join(FORMATS)}.")],
    network: Annotated[
        str | None,
        typer.Option(
            "--network",
            metavar="loggp:L=..,o=..,g=..,G=..",
            help="Parameters of the LogGP network, in ns; also O (ns) and S (bytes).",
        ),
    ] = None,
    experiment: Annotated[
        Path | None,
        typer.Option("--experiment", metavar="FILE", help="Replay on this simulated fabric instead."),
    ] = None,
    set: Set = None,
    compute_scale: Annotated[
        float, typer.Option("--compute-scale", metavar="F", help="Factor of the durations of computations.")
    ] = 1.0,
    no_compute: Annotated[bool, typer.Option("--no-compute", help="Computations take no time.")] = False,
    flops: Annotated[
        float,
        typer.Option(
            "--flops", metavar="RATE", help="Flops of a processor in a second, for traces with flops."
        ),
    ] = 1e9,
    goal: Annotated[
        Path | None,
        typer.Option(
            "--goal", metavar="FILE", help="Write a GOAL schedule; binary if the name ends in .bin."
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that exists.")] = False,
    json: Json = False,
) -> None:
    """Replay a trace of an MPI program on a network. Exit code 3 if operations have no match."""
    if experiment is not None and network is not None:
        raise InputError("--network and --experiment exclude each other: give one of them")
    if no_compute and compute_scale != 1.0:
        raise InputError("--no-compute and --compute-scale exclude each other: give one of them")
    if goal is not None and goal.exists() and not force:
        raise InputError(f"{goal}: this exists; choose another file, or replace it with --force")
    read = Trace.read(trace, format, compute_scale=0.0 if no_compute else compute_scale, flops_per_s=flops)
    if goal is not None:
        read.write_goal(goal)
        tell(f"written: {goal}")
    found = read.replay(network or "loggp:") if experiment is None else _on_fabric(read, experiment, set)
    show(json, lambda: asdict(found), lambda: _print(found, output()))
    if not found.is_complete:
        raise typer.Exit(EXIT_CODES["deadlock"])


def _on_fabric(trace: Trace, experiment: Path, assignments: list[str] | None) -> Replay:
    """Replays on the fabric of an experiment."""
    overrides = dict(map(parse_assignment, assignments or []))
    try:
        fabric = importlib.import_module("fabricsim.mpi.networks.fabric")
    except ModuleNotFoundError:
        raise InputError(
            "--experiment: this version cannot run ranks on a fabric: use --network loggp:..."
        ) from None
    return play(trace, fabric.FabricNetwork(experiment, set=overrides), str(experiment))


def _print(found: Replay, console: Console) -> None:
    console.print(
        f"{found.ranks} ranks, {found.events} operations, end after {found.end_ns:.{_digits(found.end_ns)}f} ns"
    )
    for one in found.unmatched[:LISTED]:
        console.print(_unmatched(one))
    if len(found.unmatched) > LISTED:
        console.print(f"{len(found.unmatched) - LISTED} more operations without a match: --json has all")
    for one in found.unfinished[:LISTED]:
        console.print(
            f"rank {one['rank']} did not end: {one['done']} of {one['operations']} operations, "
            f"busy until {one['end_ns']} ns"
        )
    if len(found.unfinished) > LISTED:
        console.print(f"{len(found.unfinished) - LISTED} more ranks did not end: --json has all")


def _digits(time: float) -> int:
    return 0 if float(time).is_integer() else 3


def _unmatched(one: dict[str, Any]) -> str:
    peer, tag = ("any" if one[key] is None else one[key] for key in ("peer", "tag"))
    other = (
        f"to {peer} tag {tag} has no receive"
        if one["kind"] == "send"
        else f"from {peer} tag {tag} has no message"
    )
    operation = f"rank {one['rank']}, operation {one['operation']}: {one['kind']} of {one['bytes']} B"
    return f"{operation} {other}, since {one['time_ns']} ns"
