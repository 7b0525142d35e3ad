"""Age clock period: section 3.2, step by step."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from fabricsim.age_parameters import hops
from fabricsim.age_parameters.hops import nearest
from fabricsim.age_parameters.network import Network
from fabricsim.age_parameters.router import Router

MIDDLE = 128
"""Middle of the ages 0 to 255, at which they are centred (section 3)."""
LONGEST = 2**32
"""AGE_CLOCK_PERIOD has 32 bits, and 0 stands for 2^32."""


@dataclass(frozen=True)
class AgeClock:
    """The steps to the period, with the whole numbers that section 3.2 rounds to."""

    hops: tuple[int, ...]
    """Average hops in each dimension, in the order of routing."""
    bias: tuple[int, ...]
    """Bias of each dimension."""
    packets_in_input: int
    """Packets in a full input buffer."""
    packets_in_staging: int
    """Packets in a full staging buffer."""
    cycles_per_packet: int
    """Cycles in which one packet leaves an input queue: virtual channels take turns, a flit a cycle."""

    @property
    def total_hops(self) -> int:
        """Average hops of a packet."""
        return sum(self.hops)

    @property
    def t_bias(self) -> int:
        """Age that a packet gets from the bias on an average way, `T_bias`."""
        return sum(count * bias for count, bias in zip(self.hops, self.bias, strict=True))

    @property
    def left(self) -> int:
        """Ticks that are left to the middle of the ages; negative if the bias alone goes beyond it."""
        return MIDDLE - self.t_bias

    @property
    def ticks_per_hop(self) -> int:
        """Ticks of the age clock that a packet should wait at each hop; at least 1."""
        return max(1, nearest(Fraction(self.left, self.total_hops)))

    @property
    def packets_queued(self) -> int:
        """Packets before a packet at a hop if the network is full."""
        return self.packets_in_input + self.packets_in_staging

    @property
    def cycles_per_hop(self) -> int:
        """Cycles of the router that it then waits at each hop."""
        return self.packets_queued * self.cycles_per_packet

    @property
    def period(self) -> int:
        """AGE_CLOCK_PERIOD in cycles of the router."""
        return min(max(1, nearest(Fraction(self.cycles_per_hop, self.ticks_per_hop))), LONGEST - 1)

    @property
    def notes(self) -> tuple[str, ...]:
        """Warnings at the limits of the procedure."""
        if self.left >= self.total_hops:
            return ()
        return (
            f"the bias brings a packet to age {self.t_bias} on average, which leaves less than a tick for each hop "
            f"below {MIDDLE}; the period is that of one tick for each hop, and lower biases would be better",
        )


def age_clock(network: Network, router: Router, bias: list[int]) -> AgeClock:
    """Section 3.2 for a network and its bias, both in the order of routing."""
    return AgeClock(
        hops=tuple(hops.rounded(dimension) for dimension in network.dimensions),
        bias=tuple(bias),
        packets_in_input=router.input_buffer // router.packet,
        packets_in_staging=router.staging_buffer // router.packet,
        cycles_per_packet=router.virtual_channels * router.packet,
    )


def unrounded(network: Network, clock: AgeClock) -> float:
    """The period in cycles without rounding hops and ticks on the way; not a number if the bias leaves no ticks."""
    counts = [hops.exact(dimension) for dimension in network.dimensions]
    spent = sum((count * bias for count, bias in zip(counts, clock.bias, strict=True)), Fraction(0))
    left = MIDDLE - spent
    return float(clock.cycles_per_hop * sum(counts) / left) if left > 0 else float("nan")
