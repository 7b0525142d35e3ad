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


def rabenseifner(c: Channel, data: memoryview, root: int, r: Reduction, segment: int) -> Schedule:
    """MPICH's for long messages: recursive halving, then a binomial tree to the root (Thakur et al. 2005)."""
    power = floor_power(c.size)
    extra = c.size - power
    left_out = root < 2 * extra and root % 2 == 1
    place = c.rank - extra
    if c.rank < 2 * extra:
        # Odd ranks leave their data to their neighbour.
        if c.rank % 2:
            yield [c.isend(data, c.rank - 1)]
        else:
            buffer = room([data])
            yield [c.irecv(buffer, c.rank + 1)]
            r.combine(buffer, data)
        place = c.rank // 2 if c.rank % 2 == 0 else -1
    ends = parts(len(data), power, r.unit)

    def rank_of(other: int) -> int:
        return 2 * other if other < extra else other + extra

    def bytes_of(first: int, width: int) -> memoryview:
        return data[ends[first][0] : ends[first + width - 1][1]]

    first, half = 0, power // 2 if place >= 0 else 0
    while half:
        keeps_low = place < first + half
        sent = bytes_of(first + half if keeps_low else first, half)
        kept = bytes_of(first if keeps_low else first + half, half)
        buffer = memoryview(bytearray(len(kept)))
        other = rank_of(place + half if keeps_low else place - half)
        yield c.exchange(buffer, other, sent, other)
        r.combine(buffer, kept)
        first, half = (first if keeps_low else first + half), half // 2
    if left_out and c.rank == 0:
        # The root takes its place.
        yield [c.isend(bytes_of(0, 1), root)]
        return
    if left_out and c.rank == root:
        place = 0
        yield [c.irecv(bytes_of(0, 1), 0)]
    if place < 0:
        return
    target = 0 if left_out else (root // 2 if root < 2 * extra else root - extra)
    width = 1
    while width < power:
        other = place ^ width
        peer = root if left_out and other == 0 else rank_of(other)
        if (place ^ target) & width:
            yield [c.isend(bytes_of(place // width * width, width), peer)]
            return
        yield [c.irecv(bytes_of(other // width * width, width), peer)]
        width *= 2


ALGORITHMS = {
    "linear": linear,
    "binomial": binomial,
    "pipeline": pipeline,
    "binary": binary,
    "rabenseifner": rabenseifner,
}
IN_ORDER = ("linear", "binomial")
"""Algorithms for operations that do not commute."""
