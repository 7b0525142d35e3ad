"""The command `plot`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from fabricsim.cli.console import output, tell

StyleOption = Annotated[
    Literal["screen", "paper", "slides"],
    typer.Option("--style", help="Sizes of text, lines and figures: for a screen, a paper, or slides."),
]
WidthOption = Annotated[
    str | None,
    typer.Option(
        "--width",
        metavar="WIDTH",
        help="Width of the pictures: column (89 mm), page (183 mm), '120 mm', '3.5 in'.",
    ),
]
LabelOption = Annotated[
    list[str] | None,
    typer.Option(
        "--label", metavar="NAME=TEXT", help="Write TEXT for a flow, host, link, title or axis. Repeatable."
    ),
]
FormatOption = Annotated[
    Literal["png", "svg", "pdf"], typer.Option("--format", help="Format of the pictures.")
]


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
        typer.Option("--metric", help="Of a sweep: draw this column over the parameters. Repeatable."),
    ] = None,
    kind: Annotated[
        list[str] | None,
        typer.Option(
            "--kind", help="Of a run: draw this picture (throughput, heat-map, sequence, ...). Repeatable."
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
    from fabricsim.plots import Look, Part, label_of, look, plot_folder, width_of  # noqa: PLC0415 - matplotlib

    part = Part(begin, end, tuple(host or ()))
    chosen = Look(style, None if width is None else width_of(width), label_of(label or ()))
    with look(chosen):
        for picture in plot_folder(run, out, format, metric, kind, part, switches, say=tell):
            output().print(f"picture: {picture}", markup=False)
