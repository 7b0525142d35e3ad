"""Options of `fabricsim mpi` for reports of ranks and for traces of other tools, and what the commands do for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from fabricsim.cli.console import output, tell
from fabricsim.cli.pictures import Drawing
from fabricsim.cli.state import tell_results
from fabricsim.errors import InputError
from fabricsim.ranks import RankReport, write_goal, write_paraver, write_perfetto
from fabricsim.results import Result

Report = Annotated[
    bool, typer.Option("--report", help="Print calls, waits and their causes, and the critical path.")
]
OutFolder = Annotated[
    Path | None,
    typer.Option("--out", metavar="DIR", help="Write the report's tables as a folder of results."),
]
Plot = Annotated[bool, typer.Option("--plot", help="With --out: draw the pictures as well.")]
Goal = Annotated[
    Path | None, typer.Option("--goal", metavar="FILE", help="Write the run as a GOAL schedule.")
]
Perfetto = Annotated[
    Path | None,
    typer.Option("--perfetto", metavar="FILE.json", help="Write a trace for Perfetto and Chrome."),
]
Paraver = Annotated[
    Path | None,
    typer.Option("--paraver", metavar="FILE.prv", help="Write a trace for Paraver: .prv, .pcf and .row."),
]
Force = Annotated[bool, typer.Option("--force", help="Replace files, and a folder of results, that exist.")]


@dataclass(frozen=True)
class Requested:
    """What a user requested of a run of ranks besides its times."""

    report: bool = False
    out: Path | None = None
    pictures: Drawing | None = None
    """How its pictures are drawn; None: not at all."""
    goal: Path | None = None
    perfetto: Path | None = None
    paraver: Path | None = None
    force: bool = False

    def __post_init__(self) -> None:
        if self.pictures is not None and self.out is None:
            raise InputError("--plot: only with --out")
        if self.paraver is not None and self.paraver.suffix != ".prv":
            raise InputError(f"--paraver {self.paraver}: the name must end in .prv")
        files = [self.out, self.goal, self.perfetto, self.paraver]
        for file in () if self.force else files:
            if file is not None and file.exists():
                raise InputError(f"{file}: this exists; choose another name, or replace it with --force")

    @property
    def needs_record(self) -> bool:
        """True if the run must keep a record."""
        return self.report or any((self.out, self.goal, self.perfetto, self.paraver))

    def finish(
        self,
        report: RankReport,
        fabric: Result | None,
        operations: Sequence[Mapping[str, Any]] | None,
        name: str,
        json: bool,
    ) -> None:
        """Prints and writes what was requested.

        Args:
            report: that of the run.
            fabric: result of the fabric, if there is one.
            operations: operations of verbs on a fabric.
            name: title of the run.
            json: True if standard output is for an object.
        """
        if self.report and not json:
            for line in report.lines():
                output().print(line, markup=False, highlight=False)
        if self.goal is not None:
            write_goal(report.log, self.goal, force=self.force)
            tell(f"written: {self.goal}")
        hops = None if fabric is None else fabric.frames.get("packet_hops")
        if self.perfetto is not None:
            write_perfetto(
                report.log, self.perfetto, operations, waits=report.waits, hops=hops, force=self.force
            )
            tell(f"written: {self.perfetto}")
        if self.paraver is not None:
            for file in write_paraver(report.log, self.paraver, operations, hops=hops, force=self.force):
                tell(f"written: {file}")
        if self.out is not None:
            stored = report.store(self.out, fabric, name=name, force=self.force)
            say = tell_results(self.out, json)
            if self.pictures is not None:
                from fabricsim.plots import save_plots  # noqa: PLC0415 - matplotlib takes long to import

                with self.pictures.look():
                    for picture in save_plots(stored, self.out, self.pictures.format):
                        say(f"picture: {picture}")
