"""The sections of an experiment as typed values. Quantities are texts with units: `"32 Gb/s"`, `"40 ns"`, `"2 KiB"`.

These classes only carry values: defaults and checks are the engine's. A test compares them with the JSON Schema.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, ClassVar, Literal

from fabricsim.spec.topologies import Topology
from fabricsim.spec.transport import OrderingMode

__all__ = [
    "Age",
    "Bias",
    "GroupOffset",
    "Host",
    "HotSpot",
    "LinkOverride",
    "LinkParameters",
    "LinkRetry",
    "Links",
    "Measure",
    "Permutation",
    "Response",
    "Routing",
    "Run",
    "Sink",
    "Staging",
    "SteadyState",
    "Switch",
    "To",
    "Topology",
    "Traffic",
    "to_plain",
]


@dataclass(frozen=True)
class LinkParameters:
    """Parameters of a link."""

    rate: str | None = None
    latency: str | None = None
    buffer: str | None = None
    packet_overhead: str | None = None
    reads: int | None = None
    bit_error_rate: float | None = None


@dataclass(frozen=True)
class LinkOverride(LinkParameters):
    """A subset of a link's parameters."""


@dataclass(frozen=True)
class LinkRetry:
    """The link layer of links with errors: go-back-N."""

    data: str | None = None
    bits: int | None = None
    window: int | None = None
    delay: str | None = None


@dataclass(frozen=True)
class Links:
    """Parameters of all links, then of classes of links, then of single links."""

    all: LinkParameters | None = None
    hosts: LinkParameters | None = None
    dimension: Mapping[str, LinkParameters] | None = None
    level: Mapping[str, LinkParameters] | None = None
    kind: Mapping[str, LinkParameters] | None = None
    """Of a dragonfly or megafly: `local` and `global`."""
    named: Mapping[str, LinkParameters] | None = None
    failed: list[str] | None = None
    retry: LinkRetry | None = None


@dataclass(frozen=True)
class Staging:
    """Staging buffers of a switch that is input- and output-queued."""

    buffer: str | None = None
    rate: str | None = None
    delay: str | None = None


@dataclass(frozen=True)
class Bias:
    """Age bias of input ports: of all, then of classes of links, then of single links."""

    all: int | None = None
    hosts: int | None = None
    dimension: Mapping[str, int] | None = None
    level: Mapping[str, int] | None = None
    named: Mapping[str, int] | None = None


@dataclass(frozen=True)
class Age:
    """Aging of packets, for the arbiter `age-based`."""

    cycle: str | None = None
    period: int | None = None
    phase: Literal["common", "random"] | None = None
    bias: Bias | None = None
    response_bias: Bias | None = None
    rr_select: str | None = None


@dataclass(frozen=True)
class Switch:
    """Properties of every switch."""

    queueing: Literal["fifo", "voq", "cioq"] | None = None
    switching: Literal["cut-through", "store-and-forward"] | None = None
    router_delay: str | None = None
    head_delay: str | None = None
    unit_interval: str | None = None
    virtual_lanes: int | None = None
    service_classes: int | None = None
    priority_classes: list[int] | None = None
    flow_control_unit: str | None = None
    credit_return: Literal["block", "packet"] | None = None
    credit_delay: str | None = None
    arbiter: (
        Literal["round-robin", "strict-round-robin", "oldest-first", "random", "fixed-priority", "age-based"]
        | None
    ) = None
    allocation: Literal["maximal", "separable"] | None = None
    speculative: bool | None = None
    staging: Staging | None = None
    send_when: Literal["packet-fits", "largest-packet-fits"] | None = None
    age: Age | None = None


@dataclass(frozen=True)
class Sink:
    """The receiving side of a host."""

    rate: str | None = None
    pause_every: str | None = None
    pause_for: str | None = None


@dataclass(frozen=True)
class Host:
    """Sending and receiving at every host."""

    mtu: str | None = None
    open_messages: int | None = None
    sink: Sink | None = None
    response_queue: int | None = None


@dataclass(frozen=True)
class Routing:
    """Routing of packets."""

    algorithm: (
        Literal[
            "auto",
            "dimension-order",
            "look-up-tables",
            "up-down",
            "up-down-adaptive",
            "up-down-random",
            "shortest-path",
            "table",
            "minimal",
            "valiant",
            "ugal-l",
            "ugal-g",
            "piggyback",
            "par",
            "par-6/2",
            "dal",
        ]
        | None
    ) = None
    order: list[int] | None = None
    ties: Literal["balanced", "random"] | None = None
    tables: str | None = None
    lane_policy: Literal["all", "dateline", "hops", "legs", "slots"] | None = None
    partitions: list[int] | None = None
    via: Literal["group", "router"] | None = None
    threshold: float | None = None
    weights: list[int] | None = None
    choices: int | None = None
    load: Literal["waiting-and-credits", "credits", "credits-of-lane"] | None = None
    state_delay: str | None = None
    congested: float | None = None
    trigger: float | None = None
    ratio: float | None = None
    lane_selection: Literal["most-credits", "round-robin", "lowest", "by-flow"] | None = None


@dataclass(frozen=True)
class To:
    """All messages to one host."""

    kind: ClassVar[str] = "to"
    host: str


@dataclass(frozen=True)
class Permutation:
    """The i-th source sends to the i-th host of the list."""

    kind: ClassVar[str] = "permutation"
    hosts: list[str]


@dataclass(frozen=True)
class HotSpot:
    """Some hosts get a fraction of the messages, the rest are uniform."""

    kind: ClassVar[str] = "hot-spot"
    hosts: list[str]
    fraction: float


@dataclass(frozen=True)
class GroupOffset:
    """All to the group at this distance (dragonfly, megafly)."""

    kind: ClassVar[str] = "group-offset"
    offset: int


PatternName = Literal[
    "uniform",
    "uniform-with-self",
    "transpose",
    "bit-complement",
    "bit-reverse",
    "bit-shuffle",
    "tornado",
    "neighbour",
    "random-permutation",
]


@dataclass(frozen=True)
class Response:
    """Response that the receiver of a message sends."""

    message: str | Mapping[str, Any]
    """A size (`"8 B"`) or a distribution."""
    service_class: int | None = None
    delay: str | None = None


@dataclass(frozen=True)
class Traffic:
    """A stream of messages on each of the sources."""

    pattern: PatternName | To | Permutation | HotSpot | GroupOffset
    message: str | Mapping[str, Any]
    """A size (`"64 KiB"`) or a distribution (`{"uniform": {"min": "64 B", "max": "4 KiB"}}`)."""
    name: str | None = None
    sources: list[str] | None = None
    destinations: list[str] | None = None
    self_flows: Literal["skip", "send"] | None = None
    draw_per: Literal["message", "packet"] | None = None
    injection: Literal["bernoulli", "poisson", "constant", "saturating", "on-off", "window"] | None = None
    load: float | None = None
    rate: str | None = None
    slot: str | None = None
    on: str | None = None
    off: str | None = None
    service_class: int | None = None
    start: str | None = None
    stop: str | None = None
    messages: int | None = None
    window: int | None = None
    ordering: OrderingMode | None = None
    packet_load: float | None = None
    response: Response | None = None


@dataclass(frozen=True)
class SteadyState:
    """Steady-state detection by batch means."""

    precision: float | None = None
    confidence: float | None = None
    batch: str | None = None


@dataclass(frozen=True)
class Run:
    """Phases, end, execution."""

    duration: str
    warmup: str | None = None
    drain: Literal["none", "measured", "empty"] | None = None
    drain_limit: str | None = None
    steady_state: SteadyState | None = None
    partitions: int | None = None
    allow_deadlock: bool | None = None


@dataclass(frozen=True)
class Measure:
    """Selection of what is recorded."""

    bin: str | None = None
    flows: Literal["auto", "pairs", "sources"] | None = None
    link_series: bool | None = None
    congestion_fill: float | None = None
    congestion_interval: str | None = None
    router_counters: bool | None = None
    exchanges: int | None = None


def to_plain(value: Any) -> Any:
    """Sections as the mappings, lists and scalars of an experiment file; what is None is left out."""
    if isinstance(value, To):
        return {"to": value.host}
    if isinstance(value, GroupOffset):
        return {"group-offset": value.offset}
    if isinstance(value, Permutation):
        return {"permutation": list(value.hosts)}
    if is_dataclass(value) and not isinstance(value, type):
        plain = to_plain({field.name: getattr(value, field.name) for field in fields(value)})
        kind = getattr(value, "kind", None)
        return plain if kind is None else {kind: plain}
    if isinstance(value, Mapping):
        return {str(key): to_plain(item) for key, item in value.items() if item is not None}
    if isinstance(value, list | tuple):
        return [to_plain(item) for item in value]
    return value
