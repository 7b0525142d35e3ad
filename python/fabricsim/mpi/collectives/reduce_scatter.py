"""Reductions whose result is spread. `blocks` are the rank's operands, by the rank of the result; the own one is it."""

from __future__ import annotations

from fabricsim.mpi.collectives import reduce
from fabricsim.mpi.collectives.channel import Channel, Reduction, floor_power, joined, room, spread
from fabricsim.mpi.collectives.decisions import choose
from fabricsim.mpi.operations import Schedule


def reduce_scatter(c: Channel, blocks: list[memoryview], r: Reduction, segment: int) -> Schedule:
    """A reduction to rank 0, which sends the parts (Open MPI: nonoverlapping)."""
    data = joined(blocks)
    name, size = choose("reduce", c.size, len(data), len(data) // (r.unit or 1), r.commutes)
    yield from reduce.ALGORITHMS[name](c, data, 0, r, size)
    if c.rank == 0:
        spread(data, blocks)
        yield [c.isend(blocks[rank], rank) for rank in range(1, c.size)]
    else:
        yield [c.irecv(blocks[c.rank], 0)]


def recursive_halving(c: Channel, blocks: list[memoryview], r: Reduction, segment: int) -> Schedule:
    """log2 n steps with half of the data each time. Even ranks among the first ones leave it to their neighbour."""
    power = floor_power(c.size)
    extra = c.size - power
    place = c.rank - extra
    if c.rank < 2 * extra:
        if c.rank % 2 == 0:
            yield [c.isend(joined(blocks), c.rank + 1)]
            yield [c.irecv(blocks[c.rank], c.rank + 1)]
            return
        buffer = room(blocks)
        yield [c.irecv(buffer, c.rank - 1)]
        _combine(buffer, blocks, r)
        place = c.rank // 2

    def blocks_of(first: int, width: int) -> list[memoryview]:
        def begin(one: int) -> int:
            return 2 * one if one <= extra else one + extra

        return blocks[begin(first) : begin(first + width)]

    first, width = 0, power
    while width > 1:
        half = width // 2
        keeps_low = place < first + half
        sent = blocks_of(first + half if keeps_low else first, half)
        kept = blocks_of(first if keeps_low else first + half, half)
        other = place + half if keeps_low else place - half
        partner = 2 * other + 1 if other < extra else other + extra
        buffer = room(kept)
        yield c.exchange(buffer, partner, joined(sent), partner)
        _combine(buffer, kept, r)
        first, width = (first if keeps_low else first + half), half
    if c.rank < 2 * extra:
        yield [c.isend(blocks[c.rank - 1], c.rank - 1)]


def ring(c: Channel, blocks: list[memoryview], r: Reduction, segment: int) -> Schedule:
    """In n - 1 steps: blocks are combined around a ring."""
    left, right = (c.rank - 1) % c.size, (c.rank + 1) % c.size
    for step in range(c.size - 1):
        sent, received = blocks[(c.rank - step - 1) % c.size], blocks[(c.rank - step - 2) % c.size]
        buffer = room([received])
        yield c.exchange(buffer, left, sent, right)
        r.combine(buffer, received)


def pairwise(c: Channel, blocks: list[memoryview], r: Reduction, segment: int) -> Schedule:
    """MPICH's for long messages, in n - 1 steps: in step k rank r sends its operand to r + k."""
    own = blocks[c.rank]
    for step in range(1, c.size):
        source, dest = (c.rank - step) % c.size, (c.rank + step) % c.size
        buffer = room([own])
        yield c.exchange(buffer, source, blocks[dest], dest)
        r.combine(buffer, own)


def _combine(buffer: memoryview, blocks: list[memoryview], r: Reduction) -> None:
    at = 0
    for block in blocks:
        r.combine(buffer[at : at + len(block)], block)
        at += len(block)


ALGORITHMS = {
    "reduce_scatter": reduce_scatter,
    "recursive_halving": recursive_halving,
    "ring": ring,
    "pairwise": pairwise,
}
IN_ORDER = ("reduce_scatter",)
"""Algorithms for operations that do not commute."""
