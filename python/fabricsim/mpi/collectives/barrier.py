"""Barriers."""

from __future__ import annotations

from fabricsim.mpi.collectives.channel import NOTHING, Channel, floor_power
from fabricsim.mpi.operations import Schedule


def dissemination(c: Channel) -> Schedule:
    """With n ceil(log2 n) messages: in round k rank r sends to r + 2^k (Han and Finkel; Open MPI calls it bruck)."""
    distance = 1
    while distance < c.size:
        source, dest = (c.rank - distance) % c.size, (c.rank + distance) % c.size
        yield c.exchange(NOTHING, source, NOTHING, dest)
        distance *= 2


def recursive_doubling(c: Channel) -> Schedule:
    """With n log2 n messages for powers of 2 (Brooks). Ranks beyond one tell a partner, which tells them the end."""
    power = floor_power(c.size)
    if c.rank >= power:
        yield c.exchange(NOTHING, c.rank - power, NOTHING, c.rank - power)
        return
    if c.rank + power < c.size:
        yield [c.irecv(NOTHING, c.rank + power)]
    distance = 1
    while distance < power:
        yield c.exchange(NOTHING, c.rank ^ distance, NOTHING, c.rank ^ distance)
        distance *= 2
    if c.rank + power < c.size:
        yield [c.isend(NOTHING, c.rank + power)]


def pairwise(c: Channel) -> Schedule:
    """Two ranks exchange a message."""
    yield from recursive_doubling(c)


def linear(c: Channel) -> Schedule:
    """All tell rank 0, which tells all."""
    if c.rank:
        yield [c.isend(NOTHING, 0)]
        yield [c.irecv(NOTHING, 0)]
        return
    yield [c.irecv(NOTHING, rank) for rank in range(1, c.size)]
    yield [c.isend(NOTHING, rank) for rank in range(1, c.size)]


ALGORITHMS = {
    "dissemination": dissemination,
    "recursive_doubling": recursive_doubling,
    "pairwise": pairwise,
    "linear": linear,
}
