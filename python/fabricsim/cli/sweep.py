"""The command `sweep`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from fabricsim import catalogue
from fabricsim.cli.console import complain, output, tell
from fabricsim.cli.interrupt import INTERRUPTED, Interrupt
from fabricsim.cli.pictures import Drawing, FormatOption, LabelOption, StyleOption, WidthOption, drawing
from fabricsim.cli.points import random_points, spelled_points, values_by_key
from fabricsim.cli.progress import count_progress
from fabricsim.cli.repeated import complain_of_failed
from fabricsim.cli.schedules import (
    Between,
    LatencyFactor,
    Load,
    MostSeeds,
    PerRound,
    PrecisionOption,
    Saturation,
    Tolerance,
    requested_precision,
    saturation_search,
)
from fabricsim.cli.state import (
    EXIT_CODES,
    Dask,
    ExperimentFile,
    Force,
    Jobs,
    Json,
    Memory,
    Out,
    Seeds,
    Set,
    Slurm,
    SlurmOptions,
    executor,
    in_folder,
    read,
    show,
    tell_results,
    warn,
)
from fabricsim.cli.sums import By, check_by
from fabricsim.cli.sweep_tables import print_sweep
from fabricsim.errors import InputError
from fabricsim.spec import Experiment
from fabricsim.sums import nearest_metric
from fabricsim.sweep import Executor, SweepResult
from fabricsim.sweep import sweep as run_sweep
from fabricsim.sweep.bounds import NO_BOUND
from fabricsim.sweep.names import require_names
from fabricsim.sweep.schedule import planned_points
from fabricsim.sweep.sums import NO_SUMS
from fabricsim.sweep.table import BOUND, LEAST_TIME, is_own

Vary = Annotated[
    list[str] | None,
    typer.Option("--vary", metavar="KEY=V1,V2,...", help="Values to run over. Repeatable: all combinations."),
]
Zip = Annotated[
    list[str] | None,
    typer.Option(
        "--zip", metavar="KEY=V1,V2,...", help="Values that vary together with those of other --zip."
    ),
]
Points = Annotated[
    list[str] | None,
    typer.Option("--point", metavar="KEY=VALUE,...", help="A point spelled out. Repeatable."),
]
Random = Annotated[
    list[str] | None,
    typer.Option(
        "--random",
        metavar="KEY=LOW..HIGH",
        help="Draw values from a range (LOW..HIGH, then perhaps ,log and ,integer) or from choices (V1,V2,...). "
        "Repeatable; needs --samples.",
    ),
]
Samples = Annotated[int | None, typer.Option("--samples", help="Number of points that are drawn.")]
RandomSeed = Annotated[int | None, typer.Option("--random-seed", help="Seed of the drawing; by default 0.")]
LatinHypercube = Annotated[
    bool, typer.Option("--latin-hypercube", help="Spread the drawn points evenly over each range.")
]
Bound = Annotated[
    bool,
    typer.Option(
        "--bound",
        help="Add what part of the largest possible throughput each point reached; of jobs the least time.",
    ),
]
Metrics = Annotated[
    list[str] | None,
    typer.Option("--plot", metavar="METRIC", help="Draw this column over the parameters. Repeatable."),
]


def sweep(
    file: ExperimentFile,
    set: Set = None,
    vary: Vary = None,
    zip: Zip = None,
    point: Points = None,
    random: Random = None,
    samples: Samples = None,
    random_seed: RandomSeed = None,
    latin_hypercube: LatinHypercube = False,
    seeds: Seeds = None,
    saturation: Saturation = False,
    load: Load = None,
    tolerance: Tolerance = None,
    between: Between = None,
    latency_factor: LatencyFactor = None,
    per_round: PerRound = None,
    precision: PrecisionOption = None,
    most_seeds: MostSeeds = None,
    jobs: Jobs = None,
    dask: Dask = None,
    slurm: Slurm = False,
    slurm_option: SlurmOptions = None,
    memory: Memory = None,
    bound: Bound = False,
    by: By = None,
    plot: Metrics = None,
    format: FormatOption = "png",
    style: StyleOption = "screen",
    width: WidthOption = None,
    label: LabelOption = None,
    out: Out = None,
    json: Json = False,
    force: Force = False,
) -> None:
    """Run an experiment at many points; a sweep that was stopped goes on in the same folder.

    With --saturation or --precision, results choose which points run.

    Exit code: 0 all points ran, 1 some failed, 3 none failed but some came to a deadlock, 130 interrupted.
    """
    pictures = drawing(style, width, label, format)
    experiment = read(file, set)
    varied = [*(vary or ()), *(zip or ()), *(random or ()), *(point or ())]
    _check_metrics(plot or (), [experiment.text, *varied], bound)
    points = {
        "vary": values_by_key(vary),
        "zip": values_by_key(zip) or None,
        "list": spelled_points(point),
        "random": random_points(experiment, random, samples, random_seed, latin_hypercube),
        "seeds": seeds,
        "saturation": saturation_search(saturation, load, tolerance, between, latency_factor, per_round),
        "precision": requested_precision(precision, most_seeds),
    }
    planned = planned_points(experiment, points)
    first = experiment.with_overrides([*planned.first.items()])
    warn(first)
    require_names(plot or (), experiment, planned, "--plot")
    of_metrics = [parts[0] for name in plot or () if (parts := catalogue.sum_parts(name))]
    sums = check_by([*(by or ()), *of_metrics], first)
    kept = {"memory": memory, "force": force, "bound": bound, "by": sums}
    result, stopped = _swept(experiment, points, executor(jobs, dask, slurm, slurm_option), out, kept)
    show(json, result.as_dict, lambda: print_sweep(result, output()))
    assert result.folder is not None
    _finish(result, result.folder, json, plot, pictures, stopped=bound and result.complete and stopped)


def _swept(
    experiment: Experiment,
    points: Mapping[str, Any],
    where: Executor,
    out: Path | None,
    kept: Mapping[str, Any],
) -> tuple[SweepResult, bool]:
    """The sweep, in its folder, and whether a stop was requested. `points` and `kept` are arguments of `fs.sweep`."""
    with Interrupt() as interrupt, count_progress("points") as on_point:
        result = in_folder(
            out,
            f"{experiment.name}-sweep",
            lambda folder: run_sweep(
                experiment,
                **points,
                **kept,
                executor=where,
                out=folder,
                on_point=on_point,
                say=tell,
                stop=interrupt.asked,
            ),
        )
    return result, interrupt.asked()


def _check_metrics(metrics: Sequence[str], given: Sequence[str], bound: bool) -> None:
    """Refuses metrics that no run has, before hours of runs. `given`: the file and options, which name the parameters.

    Raises:
        InputError: a metric is neither a number of results nor a parameter.
    """
    for name in metrics:
        if (name == BOUND or name.endswith(f".{LEAST_TIME}")) and not bound:
            raise InputError(f"--plot {name}: give --bound as well")
        if catalogue.is_known(name) or catalogue.sum_parts(name) or is_own(name):
            if catalogue.is_number(name):
                continue
            raise InputError(f"--plot {name}: no number: there is nothing to draw over the parameters")
        plain = re.sub(r"_(ns|gbps|bytes)$", "", name)  # a parameter's column of numbers
        if "." in name and any(plain in text for text in given):
            continue
        raise InputError(
            f"--plot {name}: no run has such a number; see docs/reference/results.md{nearest_metric(name)}"
        )


def _finish(
    result: SweepResult,
    folder: Path,
    json: bool,
    metrics: list[str] | None,
    pictures: Drawing,
    *,
    stopped: bool,
) -> None:
    """`stopped`: all points are done, and their bounds may not be."""
    say = tell_results(folder, json)
    complain_of_failed(result)
    if not result.complete or stopped:
        of = "" if result.schedule else f" of {result.manifest['size']}"
        done = f"{len(result.points)}{of} points are done"
        tell(f"{done}{', but not all of their bounds' if stopped else ''}; give --out {folder} to go on")
        raise typer.Exit(INTERRUPTED)
    failed, stuck = result.count("failed"), result.count("deadlock")
    lacking = [found for what in (NO_BOUND, NO_SUMS) if (found := _lacking(result, what))]
    if failed < len(result.points):
        from fabricsim.plots import save_sweep_plots  # noqa: PLC0415 - matplotlib takes long to import

        with pictures.look():
            for picture in save_sweep_plots(result, folder, pictures.format, metrics):
                say(f"picture: {picture}")
    if failed:
        complain(f"{failed} of {len(result.points)} points failed: see their messages in the table")
    for messages in lacking:
        complain(f"{len(messages)} of {len(result.points)} points have {messages[0]}")
    if failed or lacking:
        raise typer.Exit(1)
    if stuck:
        tell(f"{stuck} of {len(result.points)} points came to a deadlock")
        raise typer.Exit(EXIT_CODES["deadlock"])


def _lacking(result: SweepResult, what: str) -> list[str]:
    """Messages of points whose bound, or sums, could not be computed: those that begin with `what`."""
    return [str(text) for text in result.points["message"] if str(text).startswith(what)]
