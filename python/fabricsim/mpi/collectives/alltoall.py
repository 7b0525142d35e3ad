"""Exchange of all ranks with all. `sent` and `received` are the blocks of each rank; the own one is not copied here."""

from __future__ import annotations

from collections.abc import Sequence

from fabricsim.mpi.collectives.channel import Channel, joined, room, spread
from fabricsim.mpi.operations import Schedule

Blocks = Sequence[memoryview]


def linear(c: Channel, sent: Blocks, received: Blocks) -> Schedule:
    """All messages at once; a rank sends first to the one behind it."""
    others = [(c.rank + step) % c.size for step in range(1, c.size)]
    receives = [c.irecv(received[rank], rank) for rank in others]
    yield receives + [c.isend(sent[rank], rank) for rank in others]


def pairwise(c: Channel, sent: Blocks, received: Blocks) -> Schedule:
    """In n - 1 steps: in step k rank r sends to r + k."""
    for step in range(1, c.size):
        source, dest = (c.rank - step) % c.size, (c.rank + step) % c.size
        yield c.exchange(received[source], source, sent[dest], dest)


def bruck(c: Channel, sent: Blocks, received: Blocks) -> Schedule:
    """ceil(log2 n) steps with half of all blocks each time (Bruck et al. 1997). All blocks have one size."""
    held = [memoryview(bytearray(sent[(c.rank + one) % c.size])) for one in range(c.size)]
    distance = 1
    while distance < c.size:
        moved = [held[one] for one in range(c.size) if one & distance]
        buffer = room(moved)
        source, dest = (c.rank - distance) % c.size, (c.rank + distance) % c.size
        yield c.exchange(buffer, source, joined(moved), dest)
        spread(buffer, moved)
        distance *= 2
    for one in range(1, c.size):
        received[(c.rank - one) % c.size][:] = held[one]


ALGORITHMS = {"linear": linear, "pairwise": pairwise, "bruck": bruck}
EQUAL = ("bruck",)
"""Algorithms for blocks of one size."""
