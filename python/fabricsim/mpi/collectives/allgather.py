"""Gathering at all ranks. `blocks` are those of all ranks; the own one is filled."""

from __future__ import annotations

from fabricsim.mpi.collectives.channel import Channel, joined, room, spread
from fabricsim.mpi.operations import Schedule


def linear(c: Channel, blocks: list[memoryview]) -> Schedule:
    """Each rank sends to all."""
    others = [rank for rank in range(c.size) if rank != c.rank]
    receives = [c.irecv(blocks[rank], rank) for rank in others]
    yield receives + [c.isend(blocks[c.rank], rank) for rank in others]


def recursive_doubling(c: Channel, blocks: list[memoryview]) -> Schedule:
    """log2 n steps with twice the data each time. Of other numbers than powers of 2 it is Bruck's."""
    if c.size & (c.size - 1):
        yield from bruck(c, blocks)
        return
    distance = 1
    while distance < c.size:
        partner = c.rank ^ distance
        mine = c.rank // distance * distance
        theirs = partner // distance * distance
        wanted = blocks[theirs : theirs + distance]
        buffer = room(wanted)
        yield c.exchange(buffer, partner, joined(blocks[mine : mine + distance]), partner)
        spread(buffer, wanted)
        distance *= 2


def bruck(c: Channel, blocks: list[memoryview]) -> Schedule:
    """ceil(log2 n) steps: what a rank has goes to the rank that is 2^k before it (Bruck et al. 1997)."""
    distance = 1
    while distance < c.size:
        number = min(distance, c.size - distance)
        dest, source = (c.rank - distance) % c.size, (c.rank + distance) % c.size
        sent = [blocks[(c.rank + one) % c.size] for one in range(number)]
        wanted = [blocks[(source + one) % c.size] for one in range(number)]
        buffer = room(wanted)
        yield c.exchange(buffer, source, joined(sent), dest)
        spread(buffer, wanted)
        distance *= 2


def ring(c: Channel, blocks: list[memoryview]) -> Schedule:
    """In n - 1 steps around a ring."""
    left, right = (c.rank - 1) % c.size, (c.rank + 1) % c.size
    for step in range(c.size - 1):
        sent, received = blocks[(c.rank - step) % c.size], blocks[(c.rank - step - 1) % c.size]
        yield c.exchange(received, left, sent, right)


def neighbour_exchange(c: Channel, blocks: list[memoryview]) -> Schedule:
    """In n / 2 steps, alternately with both neighbours (Chen et al. 2005). Of odd numbers of ranks it is the ring."""
    if c.size % 2:
        yield from ring(c, blocks)
        return
    near, far = (c.rank + 1) % c.size, (c.rank - 1) % c.size
    offsets = [2, -2]
    if c.rank % 2:
        near, far, offsets = far, near, [-2, 2]
    neighbours = [near, far]
    yield c.exchange(blocks[near], near, blocks[c.rank], near)
    sent = c.rank // 2 * 2
    # The pair that came last from each neighbour: the next one from there is that of one more distance.
    last = [sent, sent]
    for step in range(1, c.size // 2):
        side = step % 2
        received = last[side] = (last[side] + offsets[side]) % c.size
        wanted = [blocks[received], blocks[received + 1]]
        buffer = room(wanted)
        neighbour = neighbours[side]
        yield c.exchange(buffer, neighbour, joined([blocks[sent], blocks[sent + 1]]), neighbour)
        spread(buffer, wanted)
        sent = received


ALGORITHMS = {
    "linear": linear,
    "recursive_doubling": recursive_doubling,
    "bruck": bruck,
    "ring": ring,
    "neighbour_exchange": neighbour_exchange,
}
