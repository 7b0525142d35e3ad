"""The command `report`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fabricsim.cli.console import output, tell
from fabricsim.cli.pictures import LabelOption, StyleOption, WidthOption, drawing
from fabricsim.report import report as write_report


def report(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run folder, or the folder of a sweep.")],
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE.html", help="By default report.html in the folder.")
    ] = None,
    bound: Annotated[
        bool,
        typer.Option(
            "--bound/--no-bound", help="Say what part of the largest possible throughput was reached."
        ),
    ] = True,
    view: Annotated[
        bool,
        typer.Option(
            "--view", help="Also write the viewer, view.html in the folder of a run; the page links to it."
        ),
    ] = False,
    style: StyleOption = "screen",
    width: WidthOption = None,
    label: LabelOption = None,
) -> None:
    """Write a run or a sweep as one HTML page with everything in it."""
    pictures = drawing(style, width, label)
    if view:
        from fabricsim.viewer import view as write_view  # noqa: PLC0415 - only with --view

        output().print(f"viewer: {write_view(run, say=tell)}", markup=False)
    with pictures.look():
        output().print(f"page: {write_report(run, out, bound=bound)}", markup=False)
