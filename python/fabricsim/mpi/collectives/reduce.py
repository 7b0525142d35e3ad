"""Reductions to one rank. `data` is the rank's operand, and at the root the result; elsewhere it is changed."""

from __future__ import annotations

from fabricsim.mpi.collectives import trees
from fabricsim.mpi.collectives.channel import Channel, Reduction, pieces, room
from fabricsim.mpi.collectives.halving import Halving
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
    halving = Halving(c, data, r, stays=0)
    if halving.is_left_out(c.rank):
        yield [c.isend(data, c.rank - 1)]
    else:
        yield from halving.halve()
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


ALGORITHMS = {
    "linear": linear,
    "binomial": binomial,
    "pipeline": pipeline,
    "binary": binary,
    "rabenseifner": rabenseifner,
}
IN_ORDER = ("linear", "binomial")
"""Algorithms for operations that do not commute."""
