"""Repetitions of one experiment: `run --seeds`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import typer

from fabricsim.cli.console import complain, output, tell
from fabricsim.cli.interrupt import INTERRUPTED, Interrupt
from fabricsim.cli.pictures import Drawing
from fabricsim.cli.progress import count_progress
from fabricsim.cli.repeated_tables import print_repeated
from fabricsim.cli.state import EXIT_CODES, in_folder, show, tell_results
from fabricsim.errors import InputError
from fabricsim.spec import Experiment
from fabricsim.sweep import SweepResult
from fabricsim.sweep import sweep as run_sweep
from fabricsim.sweep.sums import NO_SUMS

MOST_MESSAGES = 5
"""Messages of failed points that are reported."""


def run_repeated(
    experiment: Experiment,
    seeds: int,
    *,
    out: Path | None,
    json: bool,
    force: bool,
    memory: str | None,
    pictures: Drawing | None,
    bound: bool,
    by: Sequence[str] = (),
) -> None:
    """Runs an experiment with several seeds, prints means with confidence intervals, writes the folder of a sweep.

    `pictures`: how its pictures are drawn; None: not at all. `by`: sums of flows.
    """
    result = repeat(experiment, seeds, out=out, force=force, memory=memory, bound=bound, by=by)
    assert result.folder is not None
    show(json, result.as_dict, lambda: print_repeated(result, output()))
    say = tell_results(result.folder, json)
    if not result.complete:
        tell(f"{len(result.points)} of {seeds} runs are done; give --out {result.folder} to go on")
        raise typer.Exit(INTERRUPTED)
    complain_of_failed(result)
    if pictures is not None and result.count("failed") < len(result.points):
        from fabricsim.plots import save_sweep_plots  # noqa: PLC0415 - matplotlib takes long to import

        with pictures.look():
            for picture in save_sweep_plots(result, result.folder, pictures.format):
                say(f"picture: {picture}")
    lacking = [str(text) for text in result.points["message"] if str(text).startswith(NO_SUMS)]
    if lacking:
        complain(f"{len(lacking)} of {len(result.points)} runs have {lacking[0]}")
    if result.count("failed") or lacking:
        raise typer.Exit(1)
    if result.count("deadlock"):
        tell(f"{result.count('deadlock')} of {seeds} runs came to a deadlock")
        raise typer.Exit(EXIT_CODES["deadlock"])


def complain_of_failed(result: SweepResult) -> None:
    """Reports why points failed: each message once, with the first point that has it and the number of the others."""
    told: dict[str, list[str]] = {}
    for row in result.points[result.points["status"] == "failed"].to_dict("records"):
        what = ", ".join(f"{key} {row[key]}" for key in result.parameters)
        told.setdefault(str(row["message"]), []).append(what)
    for message, points in list(told.items())[:MOST_MESSAGES]:
        more = f" and {len(points) - 1:,} more" if len(points) > 1 else ""
        complain(f"failed: {points[0]}{more}: {message}")


def repeat(
    experiment: Experiment,
    seeds: int,
    *,
    out: Path | None,
    force: bool,
    memory: str | None,
    bound: bool = False,
    by: Sequence[str] = (),
) -> SweepResult:
    """The runs, with a bar of progress.

    Raises:
        InputError: the number of seeds is out of range, or the file has a sweep of its own.
    """
    if experiment.check().get("sweep"):
        raise InputError(
            f"{experiment.file}: the file has a [sweep]: give --seeds to `fabricsim sweep`, not to `run`"
        )
    with Interrupt() as interrupt, count_progress("runs") as on_point:
        return in_folder(
            out,
            f"{experiment.name}-seeds",
            lambda folder: run_sweep(
                experiment,
                seeds=seeds,
                memory=memory,
                out=folder,
                force=force,
                bound=bound,
                by=by,
                on_point=on_point,
                say=tell,
                stop=interrupt.asked,
            ),
        )
