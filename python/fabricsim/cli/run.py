"""`fabricsim run`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer

from fabricsim.checkpoint import folder_of
from fabricsim.cli.console import caution, output
from fabricsim.cli.interrupt import Interrupt
from fabricsim.cli.pictures import Drawing, FormatOption, LabelOption, StyleOption, WidthOption, drawing_if
from fabricsim.cli.progress import run_progress
from fabricsim.cli.state import (
    EXIT_CODES,
    ExperimentFile,
    Force,
    Json,
    Memory,
    Out,
    Seeds,
    Set,
    in_folder,
    show,
    tell_results,
    warn,
)
from fabricsim.cli.sums import By, SumsOf, check_by
from fabricsim.cli.swept import read_single
from fabricsim.cli.tables import print_result
from fabricsim.errors import FabricsimError, InputError
from fabricsim.hot_links import as_dicts
from fabricsim.results import Result
from fabricsim.run import NotStoredError
from fabricsim.run import run as run_experiment
from fabricsim.spec import Experiment
from fabricsim.spec.values import key_parts, parse_assignment
from fabricsim.team import Team, joined

Seed = Annotated[
    int | None,
    typer.Option("--seed", min=0, max=2**63 - 1, help="As --set seed=N: of all that is drawn."),
]
Threads = Annotated[
    int | None,
    typer.Option(
        "--threads", metavar="N", min=1, help="As --set run.threads=N: cores of one run, where it pays."
    ),
]

Checkpoint = Annotated[
    str | None,
    typer.Option(
        "--checkpoint",
        metavar="EVERY",
        help="Write the state of the run to FOLDER.checkpoint at multiples of a simulated time, such as '10 us'.",
    ),
]
Mpi = Annotated[
    bool,
    typer.Option(
        "--mpi",
        help="The processes that mpirun has started advance the run together: mpirun -n 4 fabricsim run FILE --mpi.",
    ),
]
Resume = Annotated[
    Path | None,
    typer.Option(
        "--resume", metavar="CHECKPOINT", help="Continue the run of the same experiment that wrote this file."
    ),
]


def _with_options(given: Sequence[str], options: Mapping[str, tuple[str, int | None]]) -> list[str]:
    """Settings and the options that stand for some, by key.

    Raises:
        InputError: an option and a setting of its key have different values.
    """
    values = {key: (option, value) for key, (option, value) in options.items() if value is not None}
    for assignment in given:
        key, text = parse_assignment(assignment)
        option, value = values.get(".".join(key_parts(key)), ("", None))
        if value is not None and text != str(value):
            raise InputError(
                f"{option} {value} and --set {assignment} have different values: give one of them"
            )
    return [*given, *(f"{key}={value}" for key, (_, value) in values.items())]


def run(
    file: ExperimentFile,
    set: Set = None,
    out: Out = None,
    json: Json = False,
    force: Force = False,
    memory: Memory = None,
    plot: Annotated[bool, typer.Option("--plot", help="Draw the pictures as well.")] = False,
    seeds: Seeds = None,
    seed: Seed = None,
    threads: Threads = None,
    bound: Annotated[
        bool,
        typer.Option(
            "--bound",
            help="Say what part of the largest possible throughput was reached; of jobs the least time.",
        ),
    ] = False,
    by: By = None,
    format: FormatOption = "png",
    style: StyleOption = "screen",
    width: WidthOption = None,
    label: LabelOption = None,
    checkpoint: Checkpoint = None,
    resume: Resume = None,
    mpi: Mpi = False,
) -> None:
    """Run an experiment, print a short table, write a run folder."""
    settings = _with_options(set or [], {"seed": ("--seed", seed), "run.threads": ("--threads", threads)})
    with joined(mpi) as team:
        if team is not None and team.rank > 0:
            run_experiment(read_single(file, settings), memory=memory, team=team)
            return
        pictures = drawing_if(plot, "--plot", style, width, label, format)
        experiment = read_single(file, settings)
        sums = check_by(by, experiment)
        warnings = warn(experiment)
        if seeds is not None:
            if checkpoint is not None or resume is not None or mpi:
                what = "processes advance" if mpi else "checkpoints are those of"
                raise InputError(f"--seeds: {what} one run: give --seed")
            from fabricsim.cli.repeated import run_repeated  # noqa: PLC0415 - most runs are single

            run_repeated(
                experiment,
                seeds,
                out=out,
                json=json,
                force=force,
                memory=memory,
                pictures=pictures,
                bound=bound,
                by=sums,
            )
            return
        place = folder_of(resume) if out is None and resume is not None else out
        result, failed = _run(
            experiment, place, force=force, memory=memory, checkpoint=checkpoint, resume=resume, team=team
        )
        found = SumsOf(result, sums)
        unreached = _print(experiment, result, warnings, found, bound=bound, json=json)
        if failed is not None:
            raise failed
        if unreached is not None:
            raise unreached
        _finish(experiment, result, json, pictures, found)
        if found.unknown is not None:
            raise found.unknown


def _run(
    experiment: Experiment,
    out: Path | None,
    *,
    force: bool,
    memory: str | None,
    checkpoint: str | None,
    resume: Path | None,
    team: Team | None,
) -> tuple[Result, NotStoredError | None]:
    """The results, and the reason if they are not in their folder."""
    with Interrupt() as interrupt, run_progress() as on_progress:

        def work(folder: Path) -> Result:
            return run_experiment(
                experiment,
                out=folder,
                force=force,
                memory=memory,
                on_progress=on_progress,
                stop=interrupt.asked,
                checkpoint=checkpoint,
                resume=resume,
                team=team,
            )

        try:
            return in_folder(out, experiment.name, work), None
        except NotStoredError as error:
            return error.result, error


def _print(
    experiment: Experiment, result: Result, warnings: list[str], sums: SumsOf, *, bound: bool, json: bool
) -> InputError | None:
    """Prints a run, and with `bound` what part of its bound it reached; returns the reason if that is not known.

    `warnings`: those of the experiment, which have been printed.
    """
    part, unknown = None, None
    if bound:
        from fabricsim.cli.bound import print_reached, reached  # noqa: PLC0415 - only with --bound

        try:
            part = reached(experiment, result)
        except InputError as error:
            unknown = error
    of_run = [text for text in result.manifest["summary"].get("warnings") or () if text not in warnings]
    if json:
        # The table for people has them among its lines.
        for text in of_run:
            caution(text)
    show(
        json,
        lambda: {
            **result.as_dict(),
            "hottest_links": as_dicts(result),
            "warnings": [*warnings, *of_run],
            **({} if part is None else {"bound": part}),
            **sums.as_dict(),
        },
        lambda: print_result(result, output(), said=warnings, sums=sums),
    )
    if part is not None and not json:
        print_reached(part, output())
    return unknown


def _finish(
    experiment: Experiment, result: Result, json: bool, pictures: Drawing | None, sums: SumsOf
) -> None:
    """`sums`: those of flows that are drawn."""
    assert result.folder is not None
    say = tell_results(result.folder, json)
    if (report := result.manifest.get("capture")) and not json:
        from fabricsim.cli.capture import notes  # noqa: PLC0415 - few runs have one

        say(f"capture: {result.folder / report['file']}")
        for line in notes(report, experiment):
            say(f"  {line}")
    if pictures is not None:
        from fabricsim.plots import save_plots, save_sum_plots  # noqa: PLC0415 - matplotlib takes long to import

        by = [name for name, table in sums.tables.items() if len(table)]
        with pictures.look():
            drawn = save_plots(result, result.folder, pictures.format)
            for picture in [*drawn, *save_sum_plots(result, result.folder, by, pictures.format)]:
                say(f"picture: {picture}")
    if defect := result.manifest["summary"].get("defect"):
        raise FabricsimError(f"a defect of the simulator, please report it: {defect}")
    if stopped := result.manifest.get("stopped"):
        raise FabricsimError(f"{stopped}; the results until then are kept")
    if code := EXIT_CODES.get(result.status, 1):
        raise typer.Exit(code)
