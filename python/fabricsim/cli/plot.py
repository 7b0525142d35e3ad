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
    kind: Annotated[
        list[str] | None,
        typer.Option("--kind", help="Of a run: draw this picture (throughput, sequence, ...). Repeatable."),
    ] = None,
    begin: Annotated[
        str | None,
        typer.Option("--from", metavar="TIME", help="For --kind sequence: from here on, such as '2 us'."),
    ] = None,
    end: Annotated[
        str | None, typer.Option("--to", metavar="TIME", help="For --kind sequence: until here.")
    ] = None,
    host: Annotated[
        list[str] | None,
        typer.Option("--host", help="For --kind sequence: packets among these hosts. Repeatable."),
    ] = None,
) -> None:
    """Draw the pictures of a run or a sweep."""
    from fabricsim.plots import Part, plot_folder  # noqa: PLC0415 - matplotlib takes long to import

    part = Part(begin, end, tuple(host or ()))
    for picture in plot_folder(run, out, format, metric, kind, part):
        output().print(f"picture: {picture}", markup=False)
