"""Bandwidth shares of distant packets that merge with round-robin arbitration: table 3 and equation 3."""

from __future__ import annotations

import math

from fabricsim.age_parameters.network import Network

PROCESSOR = "proc"


def competitors(network: Network) -> dict[str, list[str]]:
    """Input ports that compete for each output port with dimension-order routing (table 3).

    An output of a dimension gets packets of the processor, of all ports of dimensions before it, and of the port
    opposite, through which come packets that go straight on.
    """
    found: dict[str, list[str]] = {}
    before: list[str] = []
    for dimension in network.dimensions:
        if dimension.radix == 1:
            continue
        plus, minus = f"+{dimension.name}", f"-{dimension.name}"
        found[plus] = [PROCESSOR, *before, minus]
        found[minus] = [PROCESSOR, *before, plus]
        before += [plus, minus]
    found[PROCESSOR] = before
    return found


def share_printed(network: Network, hops: float) -> float:
    """Share of bandwidth of a packet over `hops` hops that merges with `2n` ports at each: equation 3 with `L = 1`.

    The paper prints `L / (2n)^H` as the worst-case latency, but it falls as hops are added: it is the share of the
    bandwidth at the last hop.
    """
    return math.exp(-hops * math.log(2 * _count(network)))


def latency_corrected(network: Network, hops: float, packets: int = 1) -> float:
    """Worst-case latency of a message of `packets` packets, in times of a packet on a channel: `L (2n)^H`.

    The inverse of the share, as equation 3 should be for a latency.
    """
    return packets * _power(hops * math.log(2 * _count(network)))


def share_by_table_3(network: Network, hops: list[int]) -> float:
    """The same share with the inputs that dimension order leaves: at each hop those of table 3, at the end of the way
    those of the processor. `hops` has those of each dimension, in the order of routing.
    """
    return math.exp(-_exponent(network, hops))


def latency_by_table_3(network: Network, hops: list[int]) -> float:
    """The inverse: the worst-case latency of one packet, in times of a packet on a channel."""
    return _power(_exponent(network, hops))


def _exponent(network: Network, hops: list[int]) -> float:
    inputs = competitors(network)
    each = [
        count * math.log(len(inputs[f"+{dimension.name}"]))
        for dimension, count in zip(network.dimensions, hops, strict=True)
        if count
    ]
    return sum(each) + math.log(len(inputs[PROCESSOR]))


def _power(exponent: float) -> float:
    try:
        return math.exp(exponent)
    except OverflowError:
        return math.inf


def _count(network: Network) -> int:
    """Dimensions with links, n."""
    return sum(dimension.radix > 1 for dimension in network.dimensions)
