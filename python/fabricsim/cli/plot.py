"""The command `plot`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fabricsim.cli.console import output, tell
from fabricsim.cli.pictures import FormatOption, LabelOption, StyleOption, WidthOption, drawing
from fabricsim.errors import InputError
from fabricsim.sums import SUMMED_BY


def plot(
    run: Annotated[
        Path, typer.Argument(metavar="RUN", help="A run folder, the folder of a sweep, or a capture file.")
    ],
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", help="By default the folder itself, or that of the file."),
    ] = None,
    format: FormatOption = "png",
    metric: Annotated[
        list[str] | None,
        typer.Option(
            "--metric",
            metavar="COLUMN",
            help="Of a sweep: draw this column, with --by of sums, over the parameters. Repeatable.",
        ),
    ] = None,
    kind: Annotated[
        list[str] | None,
        typer.Option(
            "--kind",
            metavar="NAME",
            help="Of a run: draw this picture: entries, throughput, links, heat-map, latency, congestion, routers, "
            "transport, completion, sequence, jobs, timeline, matrix. Repeatable.",
        ),
    ] = None,
    by: Annotated[
        list[str] | None,
        typer.Option(
            "--by",
            metavar=f"<{'|'.join(SUMMED_BY)}>",
            help="Draw sums of flows: of a run throughput and latency of each, of a sweep over its parameters. "
            "Repeatable.",
        ),
    ] = None,
    begin: Annotated[
        str | None,
        typer.Option(
            "--from", metavar="TIME", help="For --kind sequence and captures: from here on, such as '2 us'."
        ),
    ] = None,
    end: Annotated[
        str | None, typer.Option("--to", metavar="TIME", help="For --kind sequence and captures: until here.")
    ] = None,
    host: Annotated[
        list[str] | None,
        typer.Option(
            "--host", help="For --kind sequence and captures: packets among these hosts. Repeatable."
        ),
    ] = None,
    switches: Annotated[
        bool, typer.Option("--switches", help="Of a capture: a column for each switch.")
    ] = False,
    style: StyleOption = "screen",
    width: WidthOption = None,
    label: LabelOption = None,
) -> None:
    """Draw the pictures of a run or a sweep, or the packets of a capture one by one."""
    from fabricsim.plots import Part, plot_folder  # noqa: PLC0415 - matplotlib takes long to import

    part = Part(begin, end, tuple(host or ()))
    with drawing(style, width, label).look():
        pictures = plot_folder(run, out, format, metric, kind, part, switches, by, say=tell)
        for picture in pictures:
            output().print(f"picture: {picture}", markup=False)
    if not pictures:
        raise InputError(f"{run}: there is nothing to draw")
