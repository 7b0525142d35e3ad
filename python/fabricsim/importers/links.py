"""Rates, latencies and buffers of the model's links."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass
from typing import Any

from fabricsim.errors import InputError
from fabricsim.importers.model import CODING, Model, Port, whole_bytes

FLOW_CONTROL_PACKET = "8 B"
"""The model sends one between two data packets whenever credits must be announced."""


@dataclass(frozen=True)
class Link:
    """Parameters of a link, as an experiment has them."""

    rate: str
    latency: str
    buffer: str
    packet_overhead: str
    reads: int


@dataclass(frozen=True)
class Slots:
    """The slot at the head of a queue (`iswMode = 0`): how long it holds a credit."""

    credit_bytes: int
    delay_ns: float


def import_links(model: Model, slots: Slots | None) -> dict[str, Any]:
    """Section `links`: those of most links between switches, of most hosts, and of the rest.

    Raises:
        InputError: a value is missing, or the ends of a link differ.
    """
    own = {(cable["a"], cable["b"]): _link(model, cable, slots) for cable in model.cables}
    if not own:
        raise InputError(f"{model.ini.file}: the network has no links")
    of_hosts = {ends: link for ends, link in own.items() if not all(map(model.is_switch, ends))}
    of_switches = {ends: link for ends, link in own.items() if ends not in of_hosts}
    usual = _most_common(of_switches or of_hosts)
    result: dict[str, Any] = {"all": asdict(usual)}
    named = {ends: _differences(link, usual) for ends, link in of_switches.items()}
    if of_hosts:
        host = _most_common(of_hosts)
        result["hosts"] = _differences(host, usual)
        named = {ends: _differences(link, host) for ends, link in of_hosts.items()} | named
    if by_name := {f"{a}-{b}": values for (a, b), values in named.items() if values}:
        result["named"] = by_name
    return result


def host_gbps(model: Model, host: str) -> float:
    """Rate at which a host can send."""
    return _gbps(model, model.module(host))


def _link(model: Model, cable: dict[str, Any], slots: Slots | None) -> Link:
    ends = model.ends(cable)
    name = f"{cable['a']}-{cable['b']}"
    gbps = _same(model, name, "rate", [_gbps(model, end.path) for end in ends])
    for end in ends:
        _check_arbiter(model, end, gbps)
    at_switches = [end for end in ends if model.is_switch(end.node)]
    reads = [model.ini.whole(f"{end.path}.ibuf.maxBeingSent", 1) for end in at_switches]
    overhead = FLOW_CONTROL_PACKET
    if slots and len(at_switches) == len(ends):
        gbps, overhead = min(gbps, slots.credit_bytes * 8 / slots.delay_ns), "0 B"
    credits = _same(model, name, "buffer", [_credits(model, end.path) for end in ends])
    return Link(
        rate=f"{gbps:.9g} Gb/s",
        latency=str(cable["latency"]),
        buffer=whole_bytes(model.ini, f"link {name}: buffer", credits * model.credit_bytes()),
        packet_overhead=overhead,
        reads=int(_same(model, name, "maxBeingSent", reads or [1])),
    )


def _gbps(model: Model, port: str) -> float:
    width, speed = (model.ini.number(f"{port}.obuf.{key}") for key in ("width", "speed"))
    return width * speed * CODING


def _credits(model: Model, port: str) -> float:
    """Credits of a virtual lane: the static ones, which are for a width of 4 (the model has no others)."""
    path = f"{port}.ibuf"
    total = model.ini.number(f"{path}.totalBufferSize")
    scale = model.ini.number(f"{path}.width", 4) / 4
    lanes = [
        model.ini.number(f"{path}.maxStatic{lane}", total / model.lanes()) for lane in range(model.lanes())
    ]
    if len(set(lanes)) > 1:
        at = model.ini.at(f"{path}.maxStatic{model.lanes() - 1}")
        raise InputError(f"{at}: {path}.maxStatic differs between virtual lanes: {lanes}")
    if sum(lanes) > total:
        raise InputError(
            f"{model.ini.file}: {path}: maxStatic of all virtual lanes is {sum(lanes):g} credits in total, "
            f"totalBufferSize only {total:g}"
        )
    return int(lanes[0] * scale)


def _check_arbiter(model: Model, end: Port, gbps: float) -> None:
    """The model's arbiter passes 2 x width bytes in each cycle of its clock."""
    frequency = f"{end.path}.vlarb.coreFreq_MH"
    width = model.ini.number(f"{end.path}.vlarb.width", 4)
    if model.ini.entry(frequency) is None:
        return
    passes = 2 * width * model.ini.number(frequency) * 8e-3
    if passes < gbps:
        model.note(
            frequency, f"the arbiter passes {passes:g} Gb/s, less than a link's {gbps:g} Gb/s: not imported"
        )


def _same(model: Model, link: str, what: str, values: list[float] | list[int]) -> float:
    if len(set(values)) != 1:
        raise InputError(f"{model.ini.file}: link {link}: {what} differs between its ends: {values}")
    return values[0]


def _most_common(links: dict[tuple[str, str], Link]) -> Link:
    return Counter(links.values()).most_common(1)[0][0]


def _differences(link: Link, usual: Link) -> dict[str, Any]:
    other = asdict(usual)
    return {key: value for key, value in asdict(link).items() if value != other[key]}
