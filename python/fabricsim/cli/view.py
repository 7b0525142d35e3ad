"""The command `view`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fabricsim.cli.console import output, tell
from fabricsim.viewer import view as write_view


def view(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN", help="A run folder, or several side by side.")],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="FILE.html",
            help="By default view.html in the folder; of several runs view-OTHERS.html in the first one's.",
        ),
    ] = None,
) -> None:
    """Write runs as one page for a browser: the network in its own coordinates, links coloured over time.

    The page needs no network and no server: open the file. Standard error lists the parts that a run did not record.
    """
    output().print(f"viewer: {write_view(list(runs), out, say=tell)}", markup=False)
