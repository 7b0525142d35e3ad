"""`fabricsim mpi replay`."""

from __future__ import annotations

import re
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from fabricsim.cli.console import output, tell
from fabricsim.cli.mpi_report import Force, OutFolder, Paraver, Perfetto, Plot, Report, Requested
from fabricsim.cli.pictures import LabelOption, StyleOption, WidthOption, drawing_if
from fabricsim.cli.state import EXIT_CODES, Json, Set, read, show
from fabricsim.errors import FabricsimError, InputError
from fabricsim.mpi.run import DEFAULT_RATE, network_of
from fabricsim.native import bad_input, native
from fabricsim.ranks import RunLog, report_of
from fabricsim.shown import number_of
from fabricsim.spec import split_values
from fabricsim.traces import FORMATS, Jobs, Replay, Trace, play

_PS_IN_NS = 1000
LISTED = 20
"""Operations without a match that are printed; JSON has all."""


Traces = Annotated[
    list[Path],
    typer.Argument(
        metavar="TRACE...", help="A file of the trace; with --experiment several, as jobs beside each other."
    ),
]
Format = Annotated[str, typer.Option("--format", metavar="FORMAT", help=f"{', '.join(FORMATS)}.")]
Network = Annotated[
    str | None,
    typer.Option(
        "--network",
        metavar="loggp:L=..,o=..,g=..,G=..",
        help="Parameters of the LogGP network, in ns; also O (ns) and S (bytes).",
    ),
]
OnFabric = Annotated[
    Path | None,
    typer.Option("--experiment", metavar="FILE", help="Replay on this simulated fabric instead."),
]
Placement = Annotated[
    str | None, typer.Option("--placement", metavar="H0,H1,..", help="With --experiment: host of each rank.")
]
AsRun = Annotated[
    bool,
    typer.Option(
        "--as-run", help="On the LogGP network of `fabricsim mpi run`, not with LogGOPSim's properties."
    ),
]
Scale = Annotated[
    float, typer.Option("--compute-scale", metavar="F", help="Factor of the durations of computations.")
]
ComputeTime = Annotated[
    str | None,
    typer.Option(
        "--compute-time", metavar="TIME", help="Time of each computation, in place of the trace's: 3us."
    ),
]
Flops = Annotated[
    float | None,
    typer.Option(
        "--flops",
        metavar="RATE",
        help="Flops of a processor in a second, with --format ti. By default 1e9.",
    ),
]
Goal = Annotated[
    Path | None,
    typer.Option("--goal", metavar="FILE", help="Write a GOAL schedule; binary if the name ends in .bin."),
]


def replay(
    trace: Traces,
    format: Format,
    network: Network = None,
    experiment: OnFabric = None,
    set: Set = None,
    placement: Placement = None,
    compute_scale: Scale = 1.0,
    as_run: AsRun = False,
    compute_time: ComputeTime = None,
    no_compute: Annotated[bool, typer.Option("--no-compute", help="Computations take no time.")] = False,
    flops: Flops = None,
    goal: Goal = None,
    report: Report = False,
    out: OutFolder = None,
    plot: Plot = False,
    style: StyleOption = "screen",
    width: WidthOption = None,
    label: LabelOption = None,
    perfetto: Perfetto = None,
    paraver: Paraver = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Replay traces of MPI programs on a network.

    Exit code 3 if operations have no match, 1 if the run ends before them.
    """
    pictures = drawing_if(plot, "--plot", style, width, label)
    requested = Requested(report, out, pictures, None, perfetto, paraver, force)
    _check(experiment, network, as_run, bool(placement or set), requested, len(trace))
    options = {"no-compute": no_compute, "compute-scale": compute_scale != 1.0}
    options["compute-time"] = compute_time is not None
    if len(names := [f"--{name}" for name, is_given in options.items() if is_given]) > 1:
        raise InputError(f"{' and '.join(names)} exclude each other: give one of them")
    if goal is not None and len(trace) > 1:
        raise InputError(f"--goal {goal}: a schedule is of one trace, and {len(trace)} are given")
    if goal is not None and goal.exists() and not force:
        raise InputError(f"{goal}: this exists; choose another file, or replace it with --force")
    if flops is not None and format != "ti":
        raise InputError(f"--flops {flops:g}: only with --format ti: the computations of {format} are times")
    rate = DEFAULT_RATE if flops is None else flops
    scale = 0.0 if no_compute else compute_scale
    fixed = None if compute_time is None else _whole_ns(compute_time)
    read = [Trace.read(one, format, compute_scale=scale, flops_per_s=rate) for one in trace]
    if fixed is not None:
        read = [one.with_computation(fixed) for one in read]
    if goal is not None:
        read[0].write_goal(goal)
        tell(f"written: {goal}")
    if experiment is None and not as_run:
        found = read[0].replay(network or "loggp:")
        show(json, lambda: asdict(found), lambda: _print(found, output()))
    else:
        place = network_of(network) if experiment is None else _fabric(experiment, set, placement)
        found = _by_ranks(Jobs(read), place, str(experiment or network or "loggp:"), requested, json)
    if found.stopped is not None:
        raise FabricsimError(found.stopped)
    if not found.is_complete:
        raise typer.Exit(EXIT_CODES["deadlock"])


def _whole_ns(text: str) -> int:
    try:
        with bad_input():
            time_ps = native().parse_time(text)
    except InputError as error:
        raise InputError(f"--compute-time: {error}") from None
    if time_ps % _PS_IN_NS:
        raise InputError(f"--compute-time {text}: must be whole nanoseconds")
    return time_ps // _PS_IN_NS


def _check(
    experiment: Path | None, network: str | None, as_run: bool, fits: bool, requested: Requested, traces: int
) -> None:
    """Refuses options that do not go together. `fits`: there are options of a fabric."""
    if experiment is not None:
        if network is not None or as_run:
            raise InputError(
                f"--{'network' if network else 'as-run'} and --experiment exclude each other: give one of them"
            )
        return
    if network is not None and network.partition(":")[0] != "loggp":
        raise InputError(f"--network {network}: expected loggp:L=..,o=..,g=..,G=..")
    if fits:
        raise InputError("--placement and --set: only with --experiment")
    if as_run:
        return
    if traces > 1:
        raise InputError(f"{traces} traces: several are replayed only with --experiment or --as-run")
    if requested.needs_record:
        raise InputError("--report, --out, --perfetto and --paraver: only with --experiment or --as-run")


def _fabric(experiment: Path, assignments: list[str] | None, placement: str | None) -> Any:
    return network_of(read(experiment, assignments), placement=hosts_of(placement))


def hosts_of(placement: str | None) -> list[str] | None:
    """The hosts of `--placement`. Names have commas, too: H(0,0).0. Quotes around a name are no part of it."""
    if not placement:
        return None
    return [re.sub(r'^"(.*)"$', r"\1", name) for name in split_values(placement)]


def _by_ranks(jobs: Jobs, place: Any, name: str, requested: Requested, json: bool) -> Replay:
    """Replays on a network of ranks, and prints and writes what was requested."""
    log = RunLog(jobs.ranks) if requested.needs_record else None
    found = play(jobs, place, name, log)
    ends: list[dict[str, Any]] = [
        {"trace": str(one.path), "first_rank": first, "ranks": one.ranks, "end_ns": end}
        for one, first, end in zip(jobs.traces, jobs.first, jobs.ends_ns(found), strict=True)
    ]
    several = {"jobs": ends} if len(ends) > 1 else {}

    def print_all() -> None:
        _print(found, output())
        for one in several.get("jobs", ()):
            last = one["first_rank"] + one["ranks"] - 1
            output().print(
                f"{one['trace']}: ranks {one['first_rank']} to {last}, end after {one['end_ns']} ns"
            )

    show(json, lambda: {**asdict(found), **several}, print_all)
    if log is not None and found.is_complete:
        title = " and ".join(one.path.stem for one in jobs.traces)
        operations = place.log() if hasattr(place, "log") else None
        requested.finish(report_of(log, operations), getattr(place, "result", None), operations, title, json)
    return found


def _print(found: Replay, console: Console) -> None:
    console.print(
        f"{number_of(found.ranks, 'rank')}, {number_of(found.events, 'operation')}, "
        f"end after {found.end_ns:.{_digits(found.end_ns)}f} ns"
    )
    for one in found.unmatched[:LISTED]:
        console.print(_unmatched(one))
    if len(found.unmatched) > LISTED:
        more = number_of(len(found.unmatched) - LISTED, "more operation")
        console.print(f"{more} without a match: --json has all")
    for one in found.unfinished[:LISTED]:
        console.print(
            f"rank {one['rank']} did not end: {one['done']} of {one['operations']} operations, "
            f"busy until {one['end_ns']} ns"
        )
    if len(found.unfinished) > LISTED:
        more = number_of(len(found.unfinished) - LISTED, "more rank")
        console.print(f"{more} did not end: --json has all")


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
