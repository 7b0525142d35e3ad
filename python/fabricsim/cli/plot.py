"""The command `plot`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from fabricsim.cli.state import output

FormatOption = Annotated[
    Literal["png", "svg", "pdf"], typer.Option("--format", help="Format of the pictures.")
]


def plot(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run folder, or the folder of a sweep.")],
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="By default the folder itself.")
    ] = None,
    format: FormatOption = "png",
    metric: Annotated[
        list[str] | None,
        typer.Option("--metric", help="Of a sweep: draw this column over the parameters. Repeatable."),
    ] = None,
) -> None:
    """Draw the pictures of a run or a sweep."""
    from fabricsim.plots import plot_folder  # noqa: PLC0415 - matplotlib takes long to import

    for picture in plot_folder(run, out, format, metric):
        output().print(f"picture: {picture}", markup=False)
