"""The command `reproduce`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fabricsim.cli.console import complain, output, tell
from fabricsim.cli.entries import print_entries
from fabricsim.cli.interrupt import INTERRUPTED, Interrupt
from fabricsim.cli.progress import count_progress
from fabricsim.cli.state import Jobs, Json, show

if TYPE_CHECKING:
    from fabricsim.reproduce import Outcome


Controls = Annotated[
    bool,
    typer.Option(
        "--controls", help="Also run each judged row with its feature off, under which it must not hold."
    ),
]
Keep = Annotated[
    Path | None,
    typer.Option(
        "--keep",
        metavar="DIR",
        help="Keep the runs of experiments there: what was interrupted continues, and nothing is run twice.",
    ),
]


def reproduce(
    seed: Annotated[str | None, typer.Argument(metavar="SEED", help="By default all.")] = None,
    figure: Annotated[str | None, typer.Argument(metavar="FIGURE", help="figure-4.1, table-4.9, ...")] = None,
    json: Json = False,
    jobs: Jobs = None,
    controls: Controls = False,
    experiments: Annotated[
        Path | None, typer.Option("--experiments", help="The folder with the seeds' experiments.")
    ] = None,
    keep: Keep = None,
    pages: Annotated[
        Path | None, typer.Option("--pages", metavar="DIR", help="Write Markdown pages and pictures there.")
    ] = None,
    rejudge: Annotated[
        Path | None,
        typer.Option(
            "--rejudge",
            metavar="DIR",
            help="Run nothing: judge the numbers of the pages there by the present rows.",
        ),
    ] = None,
    check: Annotated[
        Path | None,
        typer.Option(
            "--check", metavar="DIR", help="Compare with the numbers of the pages there, value by value."
        ),
    ] = None,
) -> None:
    """Run the published experiments and compare our numbers with those in print."""
    # Pictures and numbers of seeds bring matplotlib, which takes long to import.
    from fabricsim.reproduce import reproduce as reproduce_seeds  # noqa: PLC0415
    from fabricsim.reproduce import write_pages  # noqa: PLC0415
    from fabricsim.reproduce.page import rejudge_pages  # noqa: PLC0415

    if rejudge is not None:
        for page in rejudge_pages(rejudge, seed, figure, experiments=experiments):
            tell(f"page: {page}")
        return
    with Interrupt() as interrupt, count_progress("runs") as on_run:
        outcome = reproduce_seeds(
            seed,
            figure,
            experiments=experiments,
            controls=controls,
            jobs=jobs,
            keep=keep,
            on_run=on_run,
            stop=interrupt.asked,
        )
    listed = [entry for entry in outcome.entries if entry.listed]
    entries: list[dict[str, Any]] = [_without_listed(entry.as_dict()) for entry in listed]
    show(json, lambda: entries, lambda: print_entries(listed, output()))
    moved = _moved(outcome, check) if check is not None else []
    if pages is not None:
        target = _target(pages, check) if moved else pages
        for page in write_pages(outcome, target):
            tell(f"page: {page}")
        if target != pages:
            tell(
                f"{pages} is unchanged; the new results are in {target}: copy them to accept the new numbers"
            )
    for problem in outcome.problems:
        complain(problem)
    if not outcome.complete:
        raise typer.Exit(INTERRUPTED)
    if outcome.problems or moved:
        raise typer.Exit(1)


def _without_listed(entry: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in entry.items() if key != "listed"}


def _target(pages: Path, check: Path | None) -> Path:
    """The folder for pages whose numbers have moved: another one if `pages` has the numbers they are compared with."""
    same = check is not None and pages.resolve() == check.resolve()
    return Path("runs", pages.resolve().name) if same else pages


def _moved(outcome: Outcome, pages: Path) -> list[str]:
    """Differences from the numbers of the pages; prints them."""
    from fabricsim.reproduce.record import differences  # noqa: PLC0415

    moved = []
    for item, found, _ in outcome.figures:
        own = [e for e in outcome.entries if (e.seed, e.figure) == (item.name, found.name)]
        moved += differences(pages, item, found, own)
    for line in moved:
        complain(line)
    tell(f"{len(moved)} differences from the pages in {pages}" if moved else f"as on the pages in {pages}")
    return moved
