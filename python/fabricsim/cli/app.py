"""The commands."""

from __future__ import annotations

from typing import Annotated

import typer

from fabricsim.cli.age_parameters import age_parameters
from fabricsim.cli.bound import bound, print_reached, reached
from fabricsim.cli.capture import capture, notes
from fabricsim.cli.commands import Commands
from fabricsim.cli.compare import compare
from fabricsim.cli.dissect import dissect
from fabricsim.cli.files import ForceFile, OutFile, write
from fabricsim.cli.imports import import_
from fabricsim.cli.interrupt import Interrupt
from fabricsim.cli.mpi import mpi
from fabricsim.cli.ordering_options import ordering_demo
from fabricsim.cli.perftest import perftest
from fabricsim.cli.plot import plot
from fabricsim.cli.progress import run_progress
from fabricsim.cli.repeated import run_repeated
from fabricsim.cli.report import report
from fabricsim.cli.reproduce import reproduce
from fabricsim.cli.route import route
from fabricsim.cli.state import (
    EXIT_CODES,
    ExperimentFile,
    Force,
    Json,
    Memory,
    Out,
    Seeds,
    Set,
    caution,
    in_folder,
    output,
    print_json,
    read,
    settings,
    show,
    tell_results,
    warn,
)
from fabricsim.cli.sweep import sweep
from fabricsim.cli.tables import print_facts, print_result
from fabricsim.cli.tune import tune
from fabricsim.cli.what_if import what_if
from fabricsim.errors import FabricsimError
from fabricsim.hot_links import as_dicts
from fabricsim.native import schema as experiment_schema
from fabricsim.native import version as engine_version
from fabricsim.results import Result
from fabricsim.run import NotStoredError
from fabricsim.run import run as run_experiment
from fabricsim.subnets import WITHOUT_LMC, lmc_of, without_lmc
from fabricsim.sweep import plan

app = typer.Typer(
    name="fabricsim",
    cls=Commands,
    help="Packet-level simulation of lossless interconnects.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        output().print(f"fabricsim {engine_version()}")
        raise typer.Exit


@app.callback()
def options(
    debug: Annotated[
        bool, typer.Option("--debug", envvar="FABRICSIM_DEBUG", help="Show where an error comes from.")
    ] = False,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Packet-level simulation of lossless interconnects."""
    settings.debug = debug


@app.command()
def run(
    file: ExperimentFile,
    set: Set = None,
    out: Out = None,
    json: Json = False,
    force: Force = False,
    memory: Memory = None,
    plot: Annotated[bool, typer.Option("--plot", help="Draw the pictures as well.")] = False,
    seeds: Seeds = None,
    seed: Annotated[
        int | None, typer.Option("--seed", min=0, help="As --set seed=N: of all that is drawn.")
    ] = None,
    bound: Annotated[
        bool, typer.Option("--bound", help="Say what part of the largest possible throughput was reached.")
    ] = False,
) -> None:
    """Run an experiment, print a short table, write a run folder."""
    experiment = read(file, [*(set or []), *([] if seed is None else [f"seed={seed}"])])
    warnings = warn(experiment)
    if seeds is not None:
        run_repeated(
            experiment, seeds, out=out, json=json, force=force, memory=memory, plot=plot, bound=bound
        )
        return
    failed: NotStoredError | None = None
    with Interrupt() as interrupt:
        try:
            with run_progress() as on_progress:
                result = in_folder(
                    out,
                    experiment.name,
                    lambda folder: run_experiment(
                        experiment,
                        out=folder,
                        force=force,
                        memory=memory,
                        on_progress=on_progress,
                        stop=interrupt.asked,
                    ),
                )
        except NotStoredError as error:
            failed, result = error, error.result
    part = reached(experiment, result) if bound else None
    show(
        json,
        lambda: {
            **result.as_dict(),
            "hottest_links": as_dicts(result),
            "warnings": warnings,
            **({} if part is None else {"bound": part}),
        },
        lambda: print_result(result, output(), said=warnings),
    )
    if part is not None and not json:
        print_reached(part, output())
    if failed is not None:
        raise failed
    _finish(result, json, plot)


def _finish(result: Result, json: bool, plot: bool) -> None:
    assert result.folder is not None
    say = tell_results(result.folder, json)
    if (report := result.manifest.get("capture")) and not json:
        say(f"capture: {result.folder / report['file']}")
        for line in notes(report):
            say(f"  {line}")
    if plot:
        from fabricsim.plots import save_plots  # noqa: PLC0415 - matplotlib takes long to import

        for picture in save_plots(result, result.folder):
            say(f"picture: {picture}")
    if defect := result.manifest["summary"].get("defect"):
        raise FabricsimError(f"a defect of the simulator, please report it: {defect}")
    if stopped := result.manifest.get("stopped"):
        raise FabricsimError(f"{stopped}; the results until then are kept")
    if code := EXIT_CODES.get(result.status, 1):
        raise typer.Exit(code)


app.command()(compare)
app.command()(report)
app.command()(bound)
app.command("age-parameters")(age_parameters)
app.command("ordering-demo")(ordering_demo)
app.command()(capture)
app.command()(dissect)
app.command()(perftest)
app.add_typer(mpi, name="mpi")


@app.command()
def check(file: ExperimentFile, set: Set = None, json: Json = False) -> None:
    """Check an experiment file; --json prints it with all defaults filled in."""
    experiment = read(file, set)
    facts = experiment.check()
    swept = plan(experiment) if facts.get("sweep") else None
    if swept is not None:
        swept.check(experiment)
    warnings = warn(experiment)
    points = None if swept is None else len(swept.points())
    text = f"{file}: good" + (
        "" if points is None else f", a sweep of {points:,} point{'' if points == 1 else 's'}"
    )
    show(
        json,
        lambda: {**facts, "warnings": warnings, **({} if points is None else {"points": points})},
        lambda: output().print(text, markup=False),
    )


@app.command()
def describe(file: ExperimentFile, set: Set = None, json: Json = False) -> None:
    """Counts, diameter, bisection, zero-load latency and deadlock verdict of an experiment's network."""
    facts = read(file, set).describe()
    show(json, lambda: facts, lambda: print_facts(facts, output()))


@app.command()
def export(
    file: ExperimentFile,
    format: Annotated[
        str,
        typer.Option(
            "--format",
            help="toml, csv, graphml, ned, anynet, dot; fdbs, look-up-tables; opensm; "
            "ibnetdiscover, ibnetdiscover-ports, ibsim, opensm-subnet.",
        ),
    ],
    set: Set = None,
    out: OutFile = None,
    force: ForceFile = False,
) -> None:
    """Write an experiment's network, forwarding tables or congestion control in another program's format."""
    experiment = read(file, set)
    text = experiment.export(format)
    if format in WITHOUT_LMC and (lmc := lmc_of(experiment.export("ibnetdiscover"))):
        caution(without_lmc(format, lmc))
    write(text, out, force)


app.command("import")(import_)
app.command()(route)


@app.command()
def schema() -> None:
    """Print the JSON Schema of an experiment file, for editors."""
    print_json(experiment_schema())


app.command()(plot)
app.command()(sweep)
app.command()(tune)
app.command("what-if")(what_if)
app.command()(reproduce)
