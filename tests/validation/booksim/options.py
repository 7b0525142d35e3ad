"""Options with which a switch, a routing or a pattern does as the peer's: with and without them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .cases import Case

FOUR_STAGES = {"switch.router_delay": "3 ns", "switch.head_delay": "1 ns", "switch.speculative": False}
"""Route computation, for the head of a queue, lane allocation, crossbar allocation and traversal: a cycle each."""
FROM_ARRIVAL = {"switch.router_delay": "4 ns"}
ALL_PORTS = {"routing.algorithm": "up-down-adaptive"}
TWO_PORTS: dict[str, Any] = ALL_PORTS | {"routing.choices": 2, "routing.load": "credits"}
SILENT = {"traffic.0.pattern": "transpose"}
TO_ITSELF = SILENT | {"traffic.0.self_flows": "send"}
WEIGHTS = {"routing.weights": [1, 2], "routing.load": "credits"}
NEXT_GROUP = {"traffic.0.pattern": {"group-offset": 1}}


@dataclass(frozen=True)
class Option:
    """A section of the page: networks on which an option is compared."""

    mark: str
    cases: list[Case]


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
            ),
            Case(
                "tree-1f",
                "4-ary 3-tree",
                1,
                peer="tree-1f-4stage",
                settings=FOUR_STAGES,
                without=FROM_ARRIVAL,
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
            ),
        ],
    ),
    Option(
        "weights",
        [
            Case(
                "dragonfly-1f",
                "uniform",
                1,
                peer="dragonfly-1f-uniform",
                settings=WEIGHTS,
                without={},
                binding=False,
                nodes=72,
            ),
            Case(
                "dragonfly-1f",
                "to the next group",
                1,
                peer="dragonfly-1f-next-group",
                settings=NEXT_GROUP | WEIGHTS,
                without=NEXT_GROUP,
                binding=False,
                nodes=72,
            ),
        ],
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
                binding=False,
            ),
            Case(
                "tree-1f",
                "transpose",
                1,
                peer="tree-1f-anca-transpose",
                settings=TWO_PORTS | TO_ITSELF,
                without=ALL_PORTS | TO_ITSELF,
                binding=False,
            ),
        ],
    ),
]
