"""The command `reproduce`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from fabricsim.cli.interrupt import INTERRUPTED, Interrupt
from fabricsim.cli.progress import count_progress
from fabricsim.cli.state import Jobs, Json, complain, output, show, tell
from fabricsim.cli.tables import print_entries


def reproduce(
    seed: Annotated[str | None, typer.Argument(metavar="SEED", help="By default all.")] = None,
    figure: Annotated[str | None, typer.Argument(metavar="FIGURE", help="figure-4.1, table-4.9, ...")] = None,
    json: Json = False,
    jobs: Jobs = None,
    experiments: Annotated[
        Path | None, typer.Option("--experiments", help="The folder with the seeds' experiments.")
    ] = None,
    pages: Annotated[
        Path | None, typer.Option("--pages", metavar="DIR", help="Write Markdown pages and pictures there.")
    ] = None,
) -> None:
    """Run the published experiments and hold our numbers against those in print."""
    # Pictures and numbers of seeds bring matplotlib, which takes long to import.
    from fabricsim.reproduce import reproduce as reproduce_seeds  # noqa: PLC0415
    from fabricsim.reproduce import write_pages  # noqa: PLC0415

    with Interrupt() as interrupt, count_progress("runs") as on_run:
        outcome = reproduce_seeds(
            seed, figure, experiments=experiments, jobs=jobs, on_run=on_run, stop=interrupt.asked
        )
    entries: list[dict[str, Any]] = [entry.as_dict() for entry in outcome.entries]
    show(json, lambda: entries, lambda: print_entries(entries, output()))
    if pages is not None:
        for page in write_pages(outcome, pages):
            tell(f"page: {page}")
    for problem in outcome.problems:
        complain(problem)
    if not outcome.complete:
        raise typer.Exit(INTERRUPTED)
    if outcome.problems:
        raise typer.Exit(1)
