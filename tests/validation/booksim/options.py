"""Options with which a switch, a routing or a pattern does as the peer's: with and without them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .cases import Case

FOUR_STAGES = {"switch.router_delay": "3 ns", "switch.head_delay": "1 ns", "switch.speculative": False}
"""Route computation, for the head of a queue, lane allocation, crossbar allocation and traversal: a cycle each."""
FROM_ARRIVAL = {"switch.router_delay": "4 ns"}
ALL_PORTS = {"routing.algorithm": "up-down-adaptive"}
TWO_PORTS: dict[str, Any] = ALL_PORTS | {
    "routing.choices": 2,
    "routing.load": "credits",
    "routing.lookahead": True,
}
SILENT = {"traffic.0.pattern": "transpose"}
TO_ITSELF = SILENT | {"traffic.0.self_flows": "send"}
WEIGHTS: dict[str, Any] = {
    "routing.weights": [1, 2],
    "routing.load": "credits",
    "routing.via": "host",
    "routing.lookahead": True,
}
ROUTER: dict[str, Any] = {"routing.via": "router"}
"""The rule of Kim et al., over a router of another group."""
NEXT_GROUP = {"traffic.0.pattern": {"group-offset": 1}}


@dataclass(frozen=True)
class Option:
    """A section of the page: networks on which an option is compared."""

    mark: str
    cases: list[Case]
    keys: tuple[str, ...] = ()
    """Keys whose parts in the agreement are shown, each left out alone."""


def _dragonfly(title: str, peer: str, pattern: dict[str, Any], *, up_to: float = 1.0, **more: Any) -> Case:
    return Case(
        "dragonfly-1f",
        title,
        1,
        peer=f"dragonfly-1f-{peer}",
        settings=pattern | WEIGHTS,
        without=pattern | ROUTER,
        nodes=72,
        up_to=up_to,
        **more,
    )


OPTIONS = [
    Option(
        "head-delay",
        [
            Case(
                "mesh-1f",
                "8x8 mesh",
                1,
                peer="mesh-1f-4stage",
                settings=FOUR_STAGES,
                without=FROM_ARRIVAL,
                up_to=1.0,
            ),
            Case(
                "tree-1f",
                "4-ary 3-tree",
                1,
                peer="tree-1f-4stage",
                settings=FOUR_STAGES,
                without=FROM_ARRIVAL,
                up_to=1.0,
            ),
        ],
    ),
    Option(
        "self-flows",
        [
            Case(
                "mesh-1f",
                "8x8 mesh, transpose",
                1,
                peer="mesh-1f-transpose",
                settings=TO_ITSELF,
                without=SILENT,
                full_at=1 / 7,
                up_to=1.0,
            ),
        ],
    ),
    Option(
        "weights",
        [
            _dragonfly("uniform, virtual channels by place", "uniform-places", {}, settles_for=9_000),
            _dragonfly(
                "to the next group, virtual channels by place",
                "next-group-places",
                NEXT_GROUP,
                settles_for=9_000,
            ),
            _dragonfly("uniform, the peer's own virtual channels", "uniform", {}, saturates_alike=False),
            _dragonfly(
                "to the next group, the peer's own virtual channels",
                "next-group",
                NEXT_GROUP,
                saturates_alike=False,
                up_to=0.8,
            ),
        ],
        keys=("routing.weights", "routing.load", "routing.via", "routing.lookahead"),
    ),
    Option(
        "choices",
        [
            Case(
                "tree-1f",
                "uniform",
                1,
                peer="tree-1f-anca",
                settings=TWO_PORTS,
                without=ALL_PORTS,
                up_to=1.0,
            ),
            Case(
                "tree-1f",
                "transpose",
                1,
                peer="tree-1f-anca-transpose",
                settings=TWO_PORTS | TO_ITSELF,
                without=ALL_PORTS | TO_ITSELF,
                up_to=1.0,
            ),
        ],
        keys=("routing.choices", "routing.load", "routing.lookahead"),
    ),
]
