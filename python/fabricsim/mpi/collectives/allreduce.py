"""Reductions to all ranks. `data` is the rank's operand and then the result."""

from __future__ import annotations

from fabricsim.mpi.collectives import bcast, reduce
from fabricsim.mpi.collectives.channel import Channel, Reduction, floor_power, parts, room
from fabricsim.mpi.collectives.decisions import choose
from fabricsim.mpi.collectives.halving import Halving
from fabricsim.mpi.operations import Schedule


def recursive_doubling(c: Channel, data: memoryview, r: Reduction, segment: int) -> Schedule:
    """With p log2 p + 2 (n - p) messages, p = 2^floor(log2 n). Of the first 2 (n - p) ranks the odd ones take part."""
    power = floor_power(c.size)
    extra = c.size - power
    buffer = room([data])
    place = c.rank - extra
    if c.rank < 2 * extra:
        if c.rank % 2 == 0:
            yield [c.isend(data, c.rank + 1)]
            yield [c.irecv(data, c.rank + 1)]
            return
        yield [c.irecv(buffer, c.rank - 1)]
        r.combine(buffer, data)
        place = c.rank // 2
    distance = 1
    while distance < power:
        other = place ^ distance
        partner = 2 * other + 1 if other < extra else other + extra
        yield c.exchange(buffer, partner, memoryview(bytes(data)), partner)
        if c.rank < partner:
            r.after(data, buffer)
        else:
            r.combine(buffer, data)
        distance *= 2
    if c.rank < 2 * extra:
        yield [c.isend(data, c.rank - 1)]


def ring(c: Channel, data: memoryview, r: Reduction, segment: int) -> Schedule:
    """2 (n - 1) steps: parts are combined around a ring, then go around once more."""
    ends = parts(len(data), c.size, r.unit)
    yield from _ring(c, data, [[one] for one in ends], r)


def segmented_ring(c: Channel, data: memoryview, r: Reduction, segment: int) -> Schedule:
    """The ring, with parts that are combined in segments."""
    ends = parts(len(data), c.size, r.unit)
    step = max(segment // r.unit, 1) * r.unit
    phases = max(-(-(b - a) // step) for a, b in ends) or 1
    split = [[(min(a + k * step, b), min(a + (k + 1) * step, b)) for k in range(phases)] for a, b in ends]
    yield from _ring(c, data, split, r)


def _ring(c: Channel, data: memoryview, split: list[list[tuple[int, int]]], r: Reduction) -> Schedule:
    left, right = (c.rank - 1) % c.size, (c.rank + 1) % c.size
    for phase in range(len(split[0])):
        for step in range(c.size - 1):
            a, b = split[(c.rank - step) % c.size][phase]
            e, f = split[(c.rank - step - 1) % c.size][phase]
            buffer = memoryview(bytearray(f - e))
            yield c.exchange(buffer, left, data[a:b], right)
            r.combine(buffer, data[e:f])
    for step in range(c.size - 1):
        sent, received = split[(c.rank + 1 - step) % c.size], split[(c.rank - step) % c.size]
        yield c.exchange(data[received[0][0] : received[-1][1]], left, data[sent[0][0] : sent[-1][1]], right)


def reduce_bcast(c: Channel, data: memoryview, r: Reduction, segment: int) -> Schedule:
    """A reduction to rank 0 and a broadcast, each as it is chosen for itself (Open MPI: nonoverlapping)."""
    name, size = choose("reduce", c.size, len(data), len(data) // (r.unit or 1), r.commutes)
    yield from reduce.ALGORITHMS[name](c, data, 0, r, size)
    name, size = choose("bcast", c.size, len(data), len(data) // (r.unit or 1), True)
    yield from bcast.ALGORITHMS[name](c, data, 0, size)


def rabenseifner(c: Channel, data: memoryview, r: Reduction, segment: int) -> Schedule:
    """MPICH's for long messages: recursive halving, then recursive doubling (Thakur et al. 2005)."""
    halving = Halving(c, data, r, stays=1)
    if halving.is_left_out(c.rank):
        yield [c.isend(data, c.rank + 1)]
        yield [c.irecv(data, c.rank + 1)]
        return
    yield from halving.halve()
    place = halving.place_of(c.rank)
    width = 1
    while width < halving.power:
        first, other = place // width * width, halving.rank_of(place ^ width)
        theirs = halving.bytes_of(first ^ width, width)
        yield c.exchange(theirs, other, halving.bytes_of(first, width), other)
        width *= 2
    if c.rank < 2 * halving.extra:
        yield [c.isend(data, c.rank - 1)]


ALGORITHMS = {
    "recursive_doubling": recursive_doubling,
    "ring": ring,
    "segmented_ring": segmented_ring,
    "reduce_bcast": reduce_bcast,
    "rabenseifner": rabenseifner,
}
IN_ORDER = ("recursive_doubling", "reduce_bcast")
"""Algorithms for operations that do not commute."""
