"""`fabricsim perftest`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from fabricsim.cli.console import output
from fabricsim.cli.state import Json, Set, read, show
from fabricsim.errors import InputError
from fabricsim.lazy import pandas as pd
from fabricsim.perftest import ALL_SIZES, FABRIC, TESTS, Test
from fabricsim.perftest import perftest as run_tests
from fabricsim.spec import Experiment, parse_assignment

_LATENCY = {
    "bytes": ("#bytes", 0),
    "iterations": ("#iterations", 0),
    "t_min_us": ("t_min µs", 3),
    "t_max_us": ("t_max µs", 3),
    "t_typical_us": ("t_typical µs", 3),
    "t_avg_us": ("t_avg µs", 3),
    "t_stdev_us": ("t_stdev µs", 3),
    "p99_us": ("99 % µs", 3),
    "p999_us": ("99.9 % µs", 3),
    "expected": ("closed form µs", 3),
}
_BANDWIDTH = {
    "bytes": ("#bytes", 0),
    "iterations": ("#iterations", 0),
    "bw_peak_mib_s": ("BW peak MiB/s", 2),
    "bw_average_mib_s": ("BW average MiB/s", 2),
    "msg_rate_mpps": ("MsgRate Mpps", 6),
    "expected": ("closed form MiB/s", 2),
}


def perftest(
    context: typer.Context,
    test: Annotated[str, typer.Argument(metavar="TEST", help=f"{', '.join(TESTS)}.")],
    size: Annotated[
        int | None,
        typer.Option("--size", "-s", min=1, help="Bytes of a message; by default 2 for latency, 65536."),
    ] = None,
    all_sizes: Annotated[bool, typer.Option("--all", "-a", help="Sizes from 2 to 2^23 bytes.")] = False,
    iters: Annotated[
        int | None,
        typer.Option("--iters", "-n", min=2, help="Messages; by default 1000, fewer if they are long."),
    ] = None,
    experiment: Annotated[
        Path | None,
        typer.Option(
            "--experiment",
            metavar="FILE",
            help="An experiment without traffic; by default two ConnectX-3 FDR adapters at a switch.",
        ),
    ] = None,
    set: Set = None,
    client: Annotated[str | None, typer.Option(metavar="HOST", help="By default the first.")] = None,
    server: Annotated[
        str | None, typer.Option("--server", metavar="HOST", help="By default the second.")
    ] = None,
    connection: Annotated[
        str, typer.Option("--connection", "-c", metavar="RC|UC|UD", help="Transport service.")
    ] = "RC",
    mtu: Annotated[int, typer.Option("--mtu", "-m", help="Path MTU in bytes.")] = 2048,
    tx_depth: Annotated[int, typer.Option("--tx-depth", "-t", help="Messages outstanding (bw).")] = 128,
    rx_depth: Annotated[int, typer.Option("--rx-depth", "-r", help="Receive requests (send).")] = 512,
    cq_mod: Annotated[int, typer.Option("--cq-mod", "-Q", help="Messages for each completion (bw).")] = 100,
    inline_size: Annotated[
        int | None,
        typer.Option(
            "--inline_size", "-I", min=0, help="Largest inline payload; by default 220 (lat), 0 (bw)."
        ),
    ] = None,
    outs: Annotated[int, typer.Option("--outs", "-o", help="READs outstanding.")] = 16,
    qp: Annotated[int, typer.Option("--qp", "-q", help="Queue pairs (bw).")] = 1,
    offset: Annotated[
        int, typer.Option("--offset", help="Messages begin this many bytes behind a multiple of 64.")
    ] = 0,
    use_event: Annotated[
        bool, typer.Option("--use-event", "-e", help="Sleep until a completion instead of polling.")
    ] = False,
    json: Json = False,
) -> None:
    """Latency or bandwidth of SEND, RDMA WRITE or RDMA READ between two adapters, with perftest's options."""
    if all_sizes and size is not None:
        raise InputError("--all and --size exclude each other: give one of them")
    one = Test(
        test,
        iterations=iters,
        tx_depth=tx_depth,
        rx_depth=rx_depth,
        cq_mod=cq_mod,
        inline_size=inline_size,
        outs=outs,
        mtu=mtu,
        qp=qp,
        offset=offset,
        connection=connection.upper(),
        use_event=use_event,
    )
    _refuse_without_effect(context, one)
    tests = [replace(one, size=bytes) for bytes in _sizes(one, size, all_sizes)]
    found = run_tests(tests, _fabric(experiment, set), client=client, server=server)
    show(json, lambda: _rows(found), lambda: _print(found, one, output()))


def _refuse_without_effect(context: typer.Context, test: Test) -> None:
    """Refuses options that were given and change nothing in this test."""
    operation = test.name.partition("_")[0]
    effects = {
        "tx_depth": (not test.is_latency, "bandwidth tests"),
        "cq_mod": (not test.is_latency and test.qp == 1, "bandwidth tests with one queue pair"),
        "qp": (not test.is_latency, "bandwidth tests"),
        "rx_depth": (operation == "send" and not test.is_latency, "send_bw"),
        "outs": (operation == "read" and not test.is_latency, "read_bw"),
        "inline_size": (operation != "read", "send and write tests"),
        "use_event": (
            (operation, test.is_latency) != ("write", True),
            "tests with completions, not write_lat",
        ),
    }
    for parameter in context.command.params:
        has_effect, where = effects.get(parameter.name or "", (True, ""))
        source = context.get_parameter_source(parameter.name or "")
        if not has_effect and source is not None and source.name == "COMMANDLINE":
            raise InputError(f"{parameter.opts[0]} has no effect in {test.name}: it is that of {where}")


def _sizes(test: Test, size: int | None, all_sizes: bool) -> tuple[int, ...]:
    # Datagrams are no longer than the MTU.
    every = tuple(bytes for bytes in ALL_SIZES if test.connection != "UD" or bytes <= test.mtu)
    return every if all_sizes else (size or (2 if test.is_latency else min(65536, every[-1])),)


def _fabric(experiment: Path | None, set: list[str] | None) -> Experiment:
    if experiment is not None:
        return read(experiment, set)
    assignments = [parse_assignment(text) for text in set or []]
    return replace(Experiment.from_text(FABRIC), file="perftest.toml").with_overrides(assignments)


def _rows(found: pd.DataFrame) -> dict[str, Any]:
    return {"test": found["test"].iloc[0], "rows": found.drop(columns="test").to_dict("records")}


def _print(found: pd.DataFrame, test: Test, console: Console) -> None:
    columns = _LATENCY if test.is_latency else _BANDWIDTH
    table = Table(box=None, pad_edge=False)
    for name, _ in columns.values():
        table.add_column(name, justify="right")
    for _, row in found.iterrows():
        table.add_row(
            *("-" if pd.isna(row[key]) else f"{row[key]:.{digits}f}" for key, (_, digits) in columns.items())
        )
    console.print(table)
    if len(found) == 1:
        parts = found["parts"].iloc[0]
        title = (
            "stages, µs" if test.is_latency else "time of each stage for a message, µs; the longest counts"
        )
        console.print(f"{title}: " + ", ".join(f"{name} {time:.3f}" for name, time in parts.items() if time))
