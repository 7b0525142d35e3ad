"""Rates at which dimensions can eject packets: equations 14 to 16."""

from __future__ import annotations

from fabricsim.age_parameters import channel_load
from fabricsim.age_parameters.network import Dimension, Network
from fabricsim.age_parameters.router import Router


def limits(network: Network, router: Router) -> list[float]:
    """`U` of each dimension in GB/s, in the order of routing.

    A dimension delivers the throughput of its channels, `B_c` over their load (`8 / k` for a torus, `4 / k` for a mesh,
    footnote 8), but no more than the one after it takes, the last one no more than the processor (`E_p`).
    """
    found: list[float] = []
    taken = router.ejection_gbytes_per_s
    for dimension in reversed(network.dimensions):
        taken = min(channel(dimension, router), taken)
        found.insert(0, taken)
    return found


def channel(dimension: Dimension, router: Router) -> float:
    """Throughput of a dimension's channels per node in GB/s: first term of equations 14 to 16."""
    load = channel_load.printed(dimension)
    return float(router.channel_gbytes_per_s / load) if load else float("inf")
