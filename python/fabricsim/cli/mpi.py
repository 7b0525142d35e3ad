"""Commands about MPI programs."""

from __future__ import annotations

import typer

from fabricsim.cli.mpi_replay import replay

mpi = typer.Typer(help="MPI programs of simulated ranks.", no_args_is_help=True)


@mpi.callback()
def _group() -> None:
    """MPI programs of simulated ranks."""


mpi.command()(replay)
