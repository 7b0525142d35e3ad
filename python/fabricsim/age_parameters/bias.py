"""Age bias: sections 2.3 and 3.1."""

from __future__ import annotations

from fractions import Fraction

from fabricsim.age_parameters import channel_load
from fabricsim.age_parameters.hops import nearest
from fabricsim.age_parameters.network import Network
from fabricsim.errors import InputError

LARGEST = 7
"""REQ_AGE_BIAS and RSP_AGE_BIAS have 3 bits (procedure 1)."""
DEFAULT = 1
"""Bias of every port as the machine starts (section 2.1); also of the processor's (footnote 5)."""


def load_ratios(network: Network) -> list[Fraction]:
    """Channel load of each dimension over that of the least loaded one: the rule of section 2.3 alone.

    In a torus of 16, 12, 8 the x links have twice the load of the z links; links of a mesh have twice that of a torus
    of the same radix. 0 for a dimension without links.
    """
    loads = [channel_load.printed(dimension) for dimension in network.dimensions]
    least = min(load for load in loads if load)
    return [load / least for load in loads]


def by_load(network: Network) -> list[int]:
    """Bias by section 2.3 alone: the load ratios as whole numbers; 2, 2, 1 for a torus of 16, 12, 8."""
    return [max(DEFAULT, min(nearest(ratio), LARGEST)) for ratio in load_ratios(network)]


def by_order(network: Network) -> list[int]:
    """Bias by section 3.1 alone: 1 for the last dimension, and 1 more for each before it; 3, 2, 1."""
    return _summed([int(ratio > 0) for ratio in load_ratios(network)])


def recommended(network: Network) -> list[int]:
    """A bias for each dimension, in the order of routing, as a start for simulation or measurement.

    Both rules at once: the bias falls from each dimension to the next (section 3.1), and in proportion to channel load
    (section 2.3). So the last dimension has its load ratio, rounded, and each before it exceeds the next by
    its own. In a torus of 11, 12, 16 that is 3, 2, 1. If the first exceeds 7, all are scaled down, kept apart by 1 as
    long as there are numbers left. Dimensions without links have the bias of the next.
    """
    return _summed([max(1, nearest(ratio)) if ratio else 0 for ratio in load_ratios(network)])


def _summed(steps: list[int]) -> list[int]:
    sums = [sum(steps[at:]) for at in range(len(steps))]
    return [total or DEFAULT for total in sums] if sums[0] <= LARGEST else _scaled(steps, sums)


def _scaled(steps: list[int], sums: list[int]) -> list[int]:
    """Fits sums of steps into 1 to 7: in proportion to the largest, at least 1 apart where there is a step."""
    found: list[int] = []
    later = 0
    ahead = sum(step > 0 for step in steps)
    for step, total in zip(reversed(steps), reversed(sums), strict=True):
        if step:
            ahead -= 1
            wanted = nearest(Fraction(total * LARGEST, sums[0]))
            # What is left has to do for the dimensions ahead, a step each.
            later = min(max(wanted, later + 1), max(LARGEST - ahead, later, 1), LARGEST)
        found.insert(0, max(later, DEFAULT))
    return found


def checked(network: Network, given: list[int]) -> list[int]:
    """A bias for each dimension as given.

    Raises:
        InputError: their number is not that of the dimensions, or one is out of range.
    """
    names = ",".join(dimension.name for dimension in network.dimensions)
    if len(given) != len(network.dimensions):
        raise InputError(f"bias: {len(given)} values are given: give one for each dimension, {names}")
    for dimension, value in zip(network.dimensions, given, strict=True):
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= LARGEST:
            raise InputError(
                f"bias: {value} for {dimension.name} is not allowed: it has 3 bits, give 0 to {LARGEST}"
            )
    return given
