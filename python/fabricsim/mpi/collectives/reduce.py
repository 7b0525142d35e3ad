"""Reductions to one rank. `data` is the rank's operand, and at the root the result; elsewhere it is changed."""

from __future__ import annotations

from fabricsim.mpi.collectives import trees
from fabricsim.mpi.collectives.channel import Channel, Reduction, floor_power, parts, pieces, room
from fabricsim.mpi.operations import Schedule


def linear(c: Channel, data: memoryview, root: int, r: Reduction, segment: int) -> Schedule:
    """All send to the root, which combines in rank order."""
    if c.rank != root:
        yield [c.isend(data, root)]
        return
    others = {rank: room([data]) for rank in range(c.size) if rank != root}
    requests = {rank: c.irecv(buffer, rank) for rank, buffer in others.items()}
    own = memoryview(bytearray(data))
    result: memoryview | None = None
    for rank in reversed(range(c.size)):
        if rank != root:
            yield [requests[rank]]
        operand = own if rank == root else others[rank]
        if result is not None:
            r.combine(operand, result)
        else:
            result = operand
    assert result is not None
    data[:] = result


def _along(tree: trees.Tree, c: Channel, data: memoryview, root: int, r: Reduction, segment: int) -> Schedule:
    """Segments go up a tree. The order of operands is that of the tree, not of ranks."""
    parent, children = tree((c.rank - root) % c.size, c.size)
    sources = [(child + root) % c.size for child in children]
    sends = []
    segments = pieces(len(data), segment, r.unit)
    buffers = [room([data]) for _ in sources]
    requests = [
        [c.irecv(buffer[a:b], source) for a, b in segments]
        for buffer, source in zip(buffers, sources, strict=True)
    ]
    for number, (a, b) in enumerate(segments):
        for buffer, arriving in zip(buffers, requests, strict=True):
            yield [arriving[number]]
            r.after(data[a:b], buffer[a:b])
        if parent is not None:
            sends.append(c.isend(data[a:b], (parent + root) % c.size))
    yield sends


def binomial(c: Channel, data: memoryview, root: int, r: Reduction, segment: int) -> Schedule:
    """Along a binomial tree; in rank order by way of rank 0 if the operation does not commute."""
    if r.commutes or root == 0:
        yield from _along(trees.binomial, c, data, root, r, segment)
        return
    kept = bytes(data)
    yield from _along(trees.binomial, c, data, 0, r, segment)
    if c.rank == 0:
        yield [c.isend(data, root)]
        data[:] = kept
    elif c.rank == root:
        yield [c.irecv(data, 0)]


def pipeline(c: Channel, data: memoryview, root: int, r: Reduction, segment: int) -> Schedule:
    """Segments along a chain."""
    yield from _along(trees.chain, c, data, root, r, segment)


def binary(c: Channel, data: memoryview, root: int, r: Reduction, segment: int) -> Schedule:
    """Segments along a binary tree."""
    yield from _along(trees.binary, c, data, root, r, segment)


class _Halving:
    """Places of ranks in a reduction by halves: as many as the power of 2 below, and the parts of the message.

    Odd ranks among the first ones have none, as many as are left over.
    """

    def __init__(self, c: Channel, data: memoryview, r: Reduction) -> None:
        self.power = floor_power(c.size)
        self.extra = c.size - self.power
        self._data, self._ends = data, parts(len(data), self.power, r.unit)

    def is_left_out(self, rank: int) -> bool:
        return rank < 2 * self.extra and rank % 2 == 1

    def place_of(self, rank: int) -> int:
        return rank // 2 if rank < 2 * self.extra else rank - self.extra

    def rank_of(self, place: int) -> int:
        return 2 * place if place < self.extra else place + self.extra

    def bytes_of(self, first: int, width: int) -> memoryview:
        return self._data[self._ends[first][0] : self._ends[first + width - 1][1]]


def rabenseifner(c: Channel, data: memoryview, root: int, r: Reduction, segment: int) -> Schedule:
    """MPICH's for long messages: recursive halving, then a binomial tree to the root (Thakur et al. 2005)."""
    halving = _Halving(c, data, r)
    if halving.is_left_out(c.rank):
        yield [c.isend(data, c.rank - 1)]
    else:
        yield from _halve(c, data, r, halving)
    place, target = halving.place_of(c.rank), halving.place_of(root)
    stands_in = halving.is_left_out(root)
    if stands_in:
        # The root takes the place of rank 0.
        target = 0
        if c.rank == 0:
            yield [c.isend(halving.bytes_of(0, 1), root)]
        if c.rank == root:
            place = 0
            yield [c.irecv(halving.bytes_of(0, 1), 0)]
    if c.rank != root and (halving.is_left_out(c.rank) or (stands_in and c.rank == 0)):
        return
    width = 1
    while width < halving.power:
        other = place ^ width
        peer = root if stands_in and other == 0 else halving.rank_of(other)
        if (place ^ target) & width:
            yield [c.isend(halving.bytes_of(place // width * width, width), peer)]
            return
        yield [c.irecv(halving.bytes_of(other // width * width, width), peer)]
        width *= 2


def _halve(c: Channel, data: memoryview, r: Reduction, halving: _Halving) -> Schedule:
    """Each place keeps the result of a half of what it has, step by step."""
    if c.rank < 2 * halving.extra:
        buffer = room([data])
        yield [c.irecv(buffer, c.rank + 1)]
        r.combine(buffer, data)
    place, first, half = halving.place_of(c.rank), 0, halving.power // 2
    while half:
        keeps_low = place < first + half
        sent = halving.bytes_of(first + half if keeps_low else first, half)
        kept = halving.bytes_of(first if keeps_low else first + half, half)
        buffer = memoryview(bytearray(len(kept)))
        other = halving.rank_of(place + half if keeps_low else place - half)
        yield c.exchange(buffer, other, sent, other)
        r.combine(buffer, kept)
        first, half = (first if keeps_low else first + half), half // 2


ALGORITHMS = {
    "linear": linear,
    "binomial": binomial,
    "pipeline": pipeline,
    "binary": binary,
    "rabenseifner": rabenseifner,
}
IN_ORDER = ("linear", "binomial")
"""Algorithms for operations that do not commute."""
