"""`fabricsim ordering-demo`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from fabricsim.cli.state import Json, output, show
from fabricsim.errors import FabricsimError
from fabricsim.ordering_demo import DemoResult, Mode
from fabricsim.ordering_demo import ordering_demo as transfer

DROP_HELP = "Probability that a datagram is dropped, 0 to 1."


def ordering_demo(
    mode: Annotated[Mode, typer.Option("--mode", help="How packets are ordered.")] = "ordered",
    size: Annotated[int, typer.Option("--bytes", min=1, help="Random bytes to be sent.")] = 8_000_000,
    file: Annotated[Path | None, typer.Option("--file", help="Send this file instead.")] = None,
    exactly_once: Annotated[
        bool, typer.Option("--exactly-once", help="Each packet adds to a counter; the result comes back.")
    ] = False,
    streams: Annotated[int, typer.Option("--streams", min=1, max=1024, help="Ordered streams.")] = 4,
    packet: Annotated[int, typer.Option("--packet", min=1, max=1400, help="Bytes of a packet.")] = 1024,
    outstanding: Annotated[
        int, typer.Option("--outstanding", min=1, max=8192, help="Maximum packets of a stream in flight.")
    ] = 128,
    reorder_buffer: Annotated[
        int, typer.Option("--reorder-buffer", min=1, max=32767, help="Packets that it holds.")
    ] = 512,
    connections: Annotated[
        int, typer.Option("--connections", min=1, max=65536, help="Connections at the target.")
    ] = 16,
    delay: Annotated[int, typer.Option("--delay", metavar="US", min=0, help="Least delay.")] = 500,
    jitter: Annotated[int, typer.Option("--jitter", metavar="US", min=0, help="Up to this more.")] = 2000,
    loss: Annotated[float, typer.Option("--loss", help=DROP_HELP)] = 0.01,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Of delays, losses and bytes.")] = 1,
    port: Annotated[
        int, typer.Option("--port", min=0, max=65535, help="UDP port of the network; 0: any that is free.")
    ] = 0,
    deadline: Annotated[int, typer.Option("--deadline", metavar="S", min=1, help="Give up then.")] = 120,
    json: Json = False,
) -> None:
    """Transfer bytes between two processes over UDP, through a network that delays, reorders and drops."""
    result = transfer(
        size=size,
        file=file,
        mode=mode,
        exactly_once=exactly_once,
        streams=streams,
        packet_bytes=packet,
        outstanding=outstanding,
        reorder_buffer=reorder_buffer,
        connections=connections,
        delay_us=delay,
        jitter_us=jitter,
        loss=loss,
        seed=seed,
        port=port,
        deadline_s=deadline,
    )
    show(json, result.as_dict, lambda: output().print(_table(result)))
    if not result.intact and mode not in ("unordered", "selective"):
        raise FabricsimError("what came out is not what went in: this is a defect, please report it")


def _table(result: DemoResult) -> Table:
    table = Table(
        title=f"{result.mode}: {result.bytes / 1e6:.3g} MB in {result.seconds:.3g} s", show_header=False
    )
    rows = [
        ("throughput", f"{result.mbytes_per_s:.3g} MB/s"),
        ("arrived out of order", f"{result.out_of_order_share:.1%}"),
        ("waited in the reorder buffer", f"{result.reordered_share:.1%}"),
        ("most in the reorder buffer", f"{result.target['most_reordered']} packets"),
        ("dropped by the network", f"{result.network['dropped']} datagrams"),
        ("retransmitted", f"{result.source['resent']} of {result.source['sent']} packets"),
        ("sent in slow mode", f"{result.source['slow']} packets"),
        ("delivered out of order", f"{result.order_violations} packets"),
        ("bytes that came out", "those that went in" if result.intact else "in another order"),
    ]
    for name, value in rows:
        table.add_row(name, value)
    return table
