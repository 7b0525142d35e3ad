"""The command line: which commands there are, and which module has each."""

from __future__ import annotations

from typing import Annotated, ClassVar

import typer

from fabricsim.cli.commands import Commands, Later
from fabricsim.cli.console import settings
from fabricsim.native import build
from fabricsim.native import version as engine_version

COMMANDS = [
    Later("run", "run", "Run an experiment, print a short table, write a run folder."),
    Later(
        "compare",
        "compare",
        "Put runs side by side: what their experiments differ in, and who gets which throughput in each.",
    ),
    Later("report", "report", "Write a run or a sweep as one HTML page with everything in it."),
    Later(
        "view",
        "view",
        "Write runs as one page for a browser: the network in its own coordinates, links coloured over time.",
    ),
    Later(
        "bound",
        "bound",
        "Bounds: fair rates, the largest total throughput, the limiting links; least times of jobs. Runs nothing.",
    ),
    Later(
        "age-parameters",
        "age_parameters",
        "Age bias and age clock period for a mesh or torus, with the equations behind them. Runs nothing.",
    ),
    Later(
        "ordering-demo",
        "ordering_options",
        "Transfer bytes between two processes over UDP, through a network that delays, reorders and drops.",
    ),
    Later(
        "capture",
        "capture",
        "Run an experiment and write what crosses chosen links as pcapng, for Wireshark.",
    ),
    Later(
        "dissect",
        "dissect",
        "List the InfiniBand and RoCE packets of a capture file, and whether their checksums are right.",
    ),
    Later(
        "perftest",
        "perftest",
        "Latency or bandwidth of SEND, RDMA WRITE or RDMA READ between two adapters, with perftest's options.",
    ),
    Later("packets", "packets", "Where the recorded packets of a run waited, and behind which others."),
    Later("mpi", "mpi", "MPI programs of simulated ranks."),
    Later("check", "experiment", "Check an experiment file; --json prints it with all defaults filled in."),
    Later(
        "describe",
        "experiment",
        "Counts, diameter, bisection, zero-load latency and deadlock verdict of an experiment's network.",
    ),
    Later(
        "export",
        "experiment",
        "Write an experiment's network, forwarding tables or congestion control in another program's format.",
    ),
    Later(
        "import",
        "imports",
        "Make an experiment of another program's files, to which it refers, and report what is odd about them.",
    ),
    Later(
        "route",
        "route",
        "Forwarding tables of a subnet as OpenSM computes them, or given ones: reach, balance, deadlock verdict.",
    ),
    Later("schema", "experiment", "Print the JSON Schema of an experiment file, for editors."),
    Later("plot", "plot", "Draw the pictures of a run or a sweep, or the packets of a capture one by one."),
    Later(
        "sweep",
        "sweep",
        "Run an experiment at many points; a sweep that was stopped goes on in the same folder.",
    ),
    Later(
        "tune",
        "tune",
        "Find the best values of some keys, by what the experiment's \\[tune] asks for; a study that was stopped goes "
        "on in the same folder.",
    ),
    Later(
        "what-if",
        "what_if",
        "Run an experiment with each single failure of a link or switch: a table, worst first.",
    ),
    Later(
        "reproduce",
        "reproduce",
        "Run the published experiments and compare our numbers with those in print.",
    ),
]


class _All(Commands):
    later: ClassVar = {one.name: one for one in COMMANDS}


app = typer.Typer(
    name="fabricsim",
    cls=_All,
    help="Packet-level simulation of lossless interconnects.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        import platform  # noqa: PLC0415 - for this only

        built = f"build {found}, " if (found := build()) else ""
        machine = f"{platform.system()} {platform.machine()}"
        typer.echo(f"fabricsim {engine_version()} ({built}Python {platform.python_version()}, {machine})")
        raise typer.Exit


@app.callback()
def options(
    debug: Annotated[
        bool, typer.Option("--debug", envvar="FABRICSIM_DEBUG", help="Show where an error comes from.")
    ] = False,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Print version and build."),
    ] = False,
) -> None:
    """Packet-level simulation of lossless interconnects."""
    settings.debug = debug
