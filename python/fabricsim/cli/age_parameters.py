"""`fabricsim age-parameters`."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from fabricsim.age_parameters import AgeParameters, Router
from fabricsim.age_parameters import age_parameters as parameters_of
from fabricsim.age_parameters.clock import MIDDLE, unrounded
from fabricsim.age_parameters.network import is_file
from fabricsim.cli.console import output, tell
from fabricsim.cli.layout import narrow
from fabricsim.cli.numbers import fixed, nanoseconds, percent, plain
from fabricsim.cli.state import Json, Set, show
from fabricsim.errors import InputError
from fabricsim.spec import Experiment, parse_assignment, toml_value

_SEASTAR = Router()
_OPTIONS = {
    "channel_gbytes_per_s": "--channel",
    "ejection_gbytes_per_s": "--ejection",
    "clock_mhz": "--clock",
    "delay_ns": "--router-delay",
}
"""Options whose names are not those of the router's values."""

Topology = Annotated[
    str,
    typer.Argument(
        metavar="TOPOLOGY",
        help="Radices in the order of routing: 11x12x16 is a torus, 11x12x16:mesh a mesh. A letter makes one "
        "dimension a torus (t) or a mesh (m): 16tx12tx8m, or 16x12x8m for short. Or an experiment file (.toml) with "
        "a mesh, torus, grid, ring or hypercube, whose routing.order is used.",
    ),
]
Bias = Annotated[
    str | None,
    typer.Option(
        "--bias", metavar="B,B,...", help="Use this age bias for the dimensions, not the recommended one."
    ),
]
InputBuffer = Annotated[
    int, typer.Option("--input-buffer", metavar="FLITS", help="Input buffer of a virtual channel.")
]
StagingBuffer = Annotated[
    int,
    typer.Option(
        "--staging-buffer", metavar="FLITS", help="Buffer at an output for each input and channel; 0: none."
    ),
]
Packet = Annotated[int, typer.Option("--packet", metavar="FLITS", help="Packet of full size.")]
VirtualChannels = Annotated[
    int,
    typer.Option("--virtual-channels", metavar="N", help="Virtual channels of a class, which take turns."),
]
Channel = Annotated[float, typer.Option("--channel", metavar="GB/S", help="Bandwidth of a channel.")]
Ejection = Annotated[float, typer.Option("--ejection", metavar="GB/S", help="Bandwidth to the processor.")]
Clock = Annotated[float, typer.Option("--clock", metavar="MHZ", help="Clock of the router.")]
Delay = Annotated[float, typer.Option("--router-delay", metavar="NS", help="Delay of a router.")]


def age_parameters(
    topology: Topology,
    set: Set = None,
    bias: Bias = None,
    input_buffer: InputBuffer = _SEASTAR.input_buffer,
    staging_buffer: StagingBuffer = _SEASTAR.staging_buffer,
    packet: Packet = _SEASTAR.packet,
    virtual_channels: VirtualChannels = _SEASTAR.virtual_channels,
    channel: Channel = _SEASTAR.channel_gbytes_per_s,
    ejection: Ejection = _SEASTAR.ejection_gbytes_per_s,
    clock: Clock = _SEASTAR.clock_mhz,
    router_delay: Delay = _SEASTAR.delay_ns,
    json: Json = False,
) -> None:
    """Age bias and age clock period for a mesh or torus, with the equations behind them. Runs nothing."""
    router = _router(
        {
            "input_buffer": input_buffer,
            "staging_buffer": staging_buffer,
            "packet": packet,
            "virtual_channels": virtual_channels,
            "channel_gbytes_per_s": channel,
            "ejection_gbytes_per_s": ejection,
            "clock_mhz": clock,
            "delay_ns": router_delay,
        }
    )
    found = parameters_of(_subject(topology, set), bias=_bias(bias), router=router)
    for note in found.notes:
        tell(f"note: {note}")
    show(json, found.as_dict, lambda: print_parameters(found, output()))


def _router(values: dict[str, Any]) -> Router:
    try:
        return Router(**values)
    except InputError as error:
        name, _, rest = str(error).partition(": ")
        raise InputError(f"{_OPTIONS.get(name, '--' + name.replace('_', '-'))}: {rest}") from None


def _subject(topology: str, assignments: list[str] | None) -> str | Experiment:
    if assignments and not is_file(topology):
        raise InputError("--set replaces values of an experiment file; this topology is none")
    if not is_file(topology):
        return topology
    return Experiment.from_file(topology).with_overrides(
        [parse_assignment(text) for text in assignments or []]
    )


def _bias(text: str | None) -> list[int] | None:
    if text is None:
        return None
    parts = [part.strip() for part in text.split(",")]
    for part in parts:
        if not (part.isascii() and part.isdigit() and len(part) < 10):
            raise InputError(f"--bias: {part!r} is not a whole number; write one for each dimension: 3,2,1")
    return [int(part) for part in parts]


def print_parameters(found: AgeParameters, console: Console) -> None:
    """All tables, then the resulting settings."""
    _print_dimensions(found, console)
    _print_outputs(found, console)
    _print_worst(found, console)
    _print_queueing(found, console)
    _print_steps(found, console)


def _print_dimensions(found: AgeParameters, console: Console) -> None:
    headings = [
        *("hops\n(4-7)", "hops\nexact", "channel\nload\n(8, 9)", "load\nexact", "ejected\nhere\n(10-12)"),
        *("of a\nport\n(13)", "limit\nGB/s\n(14-16)", "by\nload\n(2.3)", "by\norder\n(3.1)", "bias"),
    ]
    title = f"{found.network.title}, {found.network.nodes:,} nodes, uniform traffic"
    table = narrow(title, texts=["dimension"], numbers=headings)
    for row in found.dimensions.to_dict("records"):
        table.add_row(
            f"{row['dimension']} {row['kind']} {row['radix']}",
            fixed(row["hops"]),
            fixed(row["hops_exact"]),
            fixed(row["channel_load"]),
            fixed(row["channel_load_exact"]),
            _probability(row["ejection_probability"]),
            _probability(row["ejection_probability_per_port"]),
            fixed(row["utilisation_gbytes_per_s"]),
            str(row["bias_by_load"]),
            str(row["bias_by_order"]),
            str(row["bias"]),
        )
    console.print(table)
    totals = found.totals
    grid = Table.grid(padding=(0, 2))
    exact = f"{fixed(totals['hops_exact'])} exact, {plain(totals['hops_largest'])} at most"
    grid.add_row("hops in all", f"{fixed(totals['hops'])}; {exact}")
    grid.add_row("packets that move in every dimension", percent(totals["through_all"]))
    empty, full = nanoseconds(totals["latency_empty_ns"]), nanoseconds(totals["latency_full_ns"])
    grid.add_row(
        "latency (1)", f"{empty} without queueing, {full} with the queueing of a full network, below"
    )
    console.print(grid)


def _print_outputs(found: AgeParameters, console: Console) -> None:
    texts = ["output port", "input ports that compete for it"]
    table = narrow("dimension order (table 3)", texts=texts, numbers=["inputs"])
    for row in found.outputs.to_dict("records"):
        table.add_row(str(row["output"]), str(row["inputs"]), str(row["count"]))
    console.print(table)


def _print_worst(found: AgeParameters, console: Console) -> None:
    headings = ["hops", "share 1/(2n)^H", "latency of a packet", "share by table 3", "latency of a packet"]
    table = narrow("worst case with round robin (3, corrected)", texts=["path"], numbers=headings)
    for row in found.worst.to_dict("records"):
        table.add_row(
            str(row["way"]),
            str(row["hops"]),
            f"{row['share']:.3g}",
            nanoseconds(row["latency_ns"]),
            f"{row['share_table_3']:.3g}",
            nanoseconds(row["latency_table_3_ns"]),
        )
    console.print(table)


def _print_queueing(found: AgeParameters, console: Console) -> None:
    headings = ["load", "as printed: M/M/1", "M/D/1 wait", "M/D/1 with service", "M/D/1 wait, cycles"]
    title = f"queueing delay in packet times of {found.router.packet} cycles (2)"
    table = narrow(title, numbers=headings)
    for row in found.queueing.to_dict("records"):
        texts = [fixed(row[name]) for name in ("printed", "md1_wait", "md1_system")]
        table.add_row(fixed(row["load"], 2), *texts, fixed(row["md1_wait_cycles"], 1))
    console.print(table)


def _print_steps(found: AgeParameters, console: Console) -> None:
    clock, router = found.clock, found.router
    each = " + ".join(f"{hops} x {bias}" for hops, bias in zip(clock.hops, clock.bias, strict=True))
    buffers = (
        f"{clock.packets_in_input} in the input buffer + {clock.packets_in_staging} in the staging buffer"
    )
    packet = f"{router.virtual_channels} virtual channels x {router.packet} flits"
    tick = nanoseconds(found.totals["tick_ns"])
    rows = {
        "bias": f"{', '.join(map(str, clock.bias))} for {', '.join(found.bias)}",
        "hops": f"{' + '.join(map(str, clock.hops))} = {clock.total_hops}",
        "T_bias": f"{each} = {clock.t_bias}",
        f"left to {MIDDLE}": f"{MIDDLE} - {clock.t_bias} = {clock.left}",
        "ticks per hop": _quotient(clock.left, clock.total_hops, clock.ticks_per_hop),
        "packets queued": f"{buffers} = {clock.packets_queued}",
        "cycles per packet": f"{packet} = {clock.cycles_per_packet}",
        "queueing per hop": f"{clock.packets_queued} x {clock.cycles_per_packet} = {clock.cycles_per_hop} cycles",
        "age clock period": f"{_quotient(clock.cycles_per_hop, clock.ticks_per_hop, clock.period)} cycles, {tick}",
        "without rounding": f"{fixed(unrounded(found.network, clock), 2)} cycles",
    }
    steps = Table.grid(padding=(0, 2))
    for name, text in rows.items():
        steps.add_row(name, text)
    console.print("age clock period, step by step (section 3.2)")
    console.print(steps)
    console.print("in an experiment:")
    for key, value in found.settings.items():
        console.print(f"  {key} = {toml_value(value)}")


def _quotient(above: int, below: int, used: int) -> str:
    """A division, and the whole number that is used in its place."""
    text = f"{above} / {below} = "
    return f"{text}{used}" if above == below * used else f"{text}{above / below:.2f}, taken as {used}"


def _probability(value: object) -> str:
    return f"{float(str(value)):.5f}"
