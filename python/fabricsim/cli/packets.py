"""The command `packets`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from fabricsim.absent_columns import absent_columns_named
from fabricsim.cli.console import output, tell
from fabricsim.cli.files import write
from fabricsim.cli.layout import narrow
from fabricsim.cli.numbers import nanoseconds
from fabricsim.cli.state import Json, print_json
from fabricsim.errors import InputError
from fabricsim.lazy import pandas as pd
from fabricsim.packets import delays, sentences, write_trace
from fabricsim.results import Result
from fabricsim.run import load

LISTED = 12
"""Rows on the screen."""


def packets(
    run: Annotated[
        Path, typer.Argument(metavar="RUN", help="A run folder with packets recorded link by link.")
    ],
    number: Annotated[
        int | None,
        typer.Option(
            "--packet", metavar="N", help="The path of one packet: its number in the table packet_hops."
        ),
    ] = None,
    csv: Annotated[Path | None, typer.Option("--csv", metavar="FILE", help="Write the table as CSV.")] = None,
    perfetto: Annotated[
        Path | None,
        typer.Option("--perfetto", metavar="FILE.json", help="Write a trace for Perfetto and Chrome."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace files that exist.")] = False,
    json: Json = False,
) -> None:
    """Where the recorded packets of a run waited, and behind which others.

    A run records the packets that its experiment names: --set 'measure.packets=["H0 -> H5"]'.
    """
    result = load(run)
    with absent_columns_named([result]):
        hops = _hops(result, run)
        if number is not None:
            hops = _of_packet(hops, number)
        for file in (csv, perfetto):
            if file is not None and file.exists() and not force:
                raise InputError(f"{file}: this exists; choose another name, or replace it with --force")
        if csv is not None:
            write(hops.to_csv(index=False), csv, force=force)
        if perfetto is not None:
            write_trace(hops, perfetto, force=force)
        if json:
            print_json({"sentences": sentences(hops), "delays": delays(hops).to_dict("records")})
            return
        for line in sentences(hops):
            output().print(line, markup=False, highlight=False)
        if len(hops):
            output().print(_path(hops) if number is not None else _delays(hops))
        for file in filter(None, (csv, perfetto)):
            tell(f"written: {file}")


def _hops(result: Result, folder: Path) -> pd.DataFrame:
    if "packet_hops" not in result.frames:
        raise InputError(
            f"{folder}: the run has not recorded packets; "
            "run it with --set 'measure.packets=[\"SOURCE -> DESTINATION\"]'"
        )
    # Times are multiples of a picosecond.
    return result.table("packet_hops").round(3)


def _of_packet(hops: pd.DataFrame, number: int) -> pd.DataFrame:
    found = hops[hops["packet"] == number]
    if found.empty:
        known = "none crossed a link" if hops.empty else f"give 0 to {int(hops['packet'].max())}"
        raise InputError(f"--packet {number}: the run has no such packet: {known}")
    return found


def _delays(hops: pd.DataFrame) -> Table:
    found = delays(hops)
    left = len(found) > LISTED
    table = narrow(
        caption=f"the first {LISTED} of {len(found):,}; --json has all" if left else None,
        texts=("link", "behind packets of"),
        numbers=("packets", "waited", "longest"),
    )
    for row in found.head(LISTED).to_dict("records"):
        times: list[Any] = [row["waited_ns"], row["longest_ns"]]
        table.add_row(row["link"], row["behind"] or "-", f"{row['packets']:,}", *map(nanoseconds, times))
    return table


def _path(hops: pd.DataFrame) -> Table:
    begin = float(hops["ready_ns"].min())
    table = narrow(caption=f"ready and start: since {begin / 1000:,.3f} µs of the run")
    table.add_column("link")
    for title in ("lane", "ready", "start", "waited", "link\nbusy", "input\nbusy"):
        table.add_column(title, justify="right")
    table.add_column("behind packets of")
    for row in hops.to_dict("records"):
        times: list[Any] = [
            row["ready_ns"] - begin,
            row["start_ns"] - begin,
            row["waited_ns"],
            row["busy_ns"],
            row["input_ns"],
        ]
        table.add_row(row["link"], str(row["lane"]), *map(nanoseconds, times), row["behind"] or "-")
    return table
