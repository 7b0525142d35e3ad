"""Commands about MPI programs."""

from __future__ import annotations

import contextlib
import json as json_module
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from fabricsim.cli.commands import Commands
from fabricsim.cli.console import caution, complain, tell
from fabricsim.cli.files import write
from fabricsim.cli.mpi_replay import hosts_of, replay
from fabricsim.cli.mpi_report import Force, Goal, OutFolder, Paraver, Perfetto, Plot, Report, Requested
from fabricsim.cli.numbers import nanoseconds
from fabricsim.cli.pictures import FormatOption, LabelOption, StyleOption, WidthOption, drawing_if
from fabricsim.cli.state import Json, Memory, Set, print_json, read
from fabricsim.errors import InputError
from fabricsim.mpi.collectives.decisions import SETS
from fabricsim.mpi.collectives.registry import ALGORITHMS
from fabricsim.mpi.run import DEFAULT_RATE, Abort, MpiRun, network_of
from fabricsim.mpi.script import run_script
from fabricsim.shown import number_of

mpi = typer.Typer(cls=Commands, help="MPI programs of simulated ranks.", no_args_is_help=True)


@mpi.callback()
def _group() -> None:
    """MPI programs of simulated ranks."""


mpi.command()(replay)


Network = Annotated[
    str | None,
    typer.Option(
        "--network",
        metavar="loggp:L=..,o=..,g=..,G=..",
        help="A LogGP network instead of a fabric: latency, overhead, gap, gap of a byte; ns without a unit.",
    ),
]
Collective = Annotated[
    list[str] | None,
    typer.Option(
        "--collective",
        metavar="OPERATION=ALGORITHM",
        help=f"Algorithm of a collective: allreduce=ring. Operations: {', '.join(ALGORITHMS)}. Repeatable.",
    ),
]
Flops = Annotated[
    float, typer.Option("--flops", metavar="RATE", help="Operations per second of compute(flops=...).")
]
Compute = Annotated[
    Literal["given", "measured"],
    typer.Option(
        "--compute",
        help="Time of computations: what fabricsim.compute gives, or also the program's processor time.",
    ),
]
ComputeScale = Annotated[
    float,
    typer.Option(
        "--compute-scale", metavar="F", help="Factor of measured times: 0.5 for twice as fast a processor."
    ),
]
Packets = Annotated[
    bool,
    typer.Option(
        "--packets", help="Record packets link by link, for the links in --report, --perfetto and --out."
    ),
]
CaptureFile = Annotated[
    Path | None,
    typer.Option("--capture", metavar="FILE.pcapng", help="Write what crosses links, for Wireshark."),
]
OwnModules = Annotated[
    list[Path] | None,
    typer.Option(
        "--own-modules", metavar="DIR", help="Each rank has modules of this folder for itself. Repeatable."
    ),
]


@mpi.command(context_settings={"allow_interspersed_args": False, "ignore_unknown_options": True})
def run(
    program: Annotated[Path, typer.Argument(metavar="PROGRAM.py", help="A script that uses mpi4py.")],
    args: Annotated[
        list[str] | None, typer.Argument(metavar="[ARGS]...", help="Arguments of the script.")
    ] = None,
    ranks: Annotated[int, typer.Option("--ranks", "-n", min=1, help="Number of ranks.")] = 1,
    experiment: Annotated[
        Path | None,
        typer.Option("--experiment", metavar="FILE", help="The simulated fabric on which the ranks run."),
    ] = None,
    network: Network = None,
    set: Set = None,
    placement: Annotated[
        str | None, typer.Option("--placement", metavar="H0,H1,..", help="Host of each rank.")
    ] = None,
    collective: Collective = None,
    collectives: Annotated[
        str, typer.Option("--collectives", metavar="SET", help=f"Decisions of the others: {', '.join(SETS)}.")
    ] = "openmpi",
    own_modules: OwnModules = None,
    flops: Flops = DEFAULT_RATE,
    compute: Compute = "given",
    compute_scale: ComputeScale = 1.0,
    packets: Packets = False,
    capture: CaptureFile = None,
    verbs_log: Annotated[
        Path | None,
        typer.Option("--verbs-log", metavar="FILE", help="Write each operation of verbs as a line of JSON."),
    ] = None,
    report: Report = False,
    out: OutFolder = None,
    plot: Plot = False,
    format: FormatOption = "png",
    style: StyleOption = "screen",
    width: WidthOption = None,
    label: LabelOption = None,
    goal: Goal = None,
    perfetto: Perfetto = None,
    paraver: Paraver = None,
    force: Force = False,
    memory: Memory = None,
    json: Json = False,
) -> None:
    """Run a script in each of several ranks. In it `from mpi4py import MPI` is Fabricsim's."""
    pictures = drawing_if(plot, "--plot", style, width, label, format)
    if compute_scale != 1.0 and compute != "measured":
        raise InputError("--compute-scale: only with --compute measured")
    requested = Requested(report, out, pictures, goal, perfetto, paraver, force)
    on_fabric = {
        "packets": packets,
        "capture": capture,
        "force": force,
        "log": verbs_log is not None,
        "memory": memory,
        "placement": hosts_of(placement),
        "set": set,
    }
    place = _network(experiment, network, on_fabric)
    options: dict[str, Any] = {"args": args or (), "own_modules": own_modules or ()}
    options |= {"report": requested.needs_record, "collectives": _selected(collective)}
    options |= {"decisions": collectives, "flops_per_second": flops}
    options |= {"compute": compute, "compute_scale": compute_scale}
    found = _started(json, lambda: run_script(program, ranks, place, **options))
    if verbs_log is not None:
        write("".join(json_module.dumps(line) + "\n" for line in place.log()), verbs_log, force=True)
    _report(found, json)
    if found.report is not None:
        operations = None if experiment is None else place.log()
        requested.finish(found.report, found.result, operations, program.stem, json)


def _started(json: bool, work: Callable[[], MpiRun]) -> MpiRun:
    """Runs a script. With --json standard output has one object: what the program prints is on standard error."""
    with contextlib.redirect_stdout(sys.stderr) if json else contextlib.nullcontext():
        try:
            return work()
        except Abort as abort:
            complain(f"fabricsim: rank {abort.rank} ended the run with exit code {abort.code}")
            raise typer.Exit(abort.code & 0xFF) from None


def _report(found: MpiRun, json: bool) -> None:
    if json:
        print_json(found.as_dict())
        return
    tell(
        f"{number_of(found.ranks, 'rank')}, {nanoseconds(found.end_ns)} simulated, "
        f"{number_of(found.messages, 'message')}, {number_of(found.bytes, 'byte')}; "
        "--json has the times of calls"
    )
    for warning in [] if found.result is None else found.result.manifest["summary"].get("warnings") or []:
        caution(warning)
    if not found.repeatable:
        tell("not repeatable: computations take measured processor time")


def _network(experiment: Path | None, network: str | None, on_fabric: dict[str, Any]) -> Any:
    """The network of a command line; `on_fabric`: options that only a fabric has."""
    if experiment is not None and network is not None:
        raise InputError("--experiment and --network exclude each other: give one of them")
    if experiment is None:
        for name in ("set", "placement", "memory", "packets", "capture"):
            if on_fabric[name]:
                raise InputError(f"--{name}: only with --experiment")
        if on_fabric["log"]:
            raise InputError("--verbs-log: only with --experiment: a LogGP network has no verbs")
        if network is not None and network.partition(":")[0] != "loggp":
            raise InputError(f"--network {network}: must be loggp:L=..,o=..,g=..,G=..")
        return network_of(network)
    return network_of(read(experiment, on_fabric.pop("set")), **on_fabric)


def _selected(collective: list[str] | None) -> dict[str, str]:
    found = {}
    for text in collective or []:
        operation, separator, algorithm = text.partition("=")
        if not separator:
            raise InputError(f"--collective {text!r}: must be OPERATION=ALGORITHM, such as allreduce=ring")
        found[operation] = algorithm
    return found
