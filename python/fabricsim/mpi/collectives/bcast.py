"""Broadcasts. `data` is the message: of the root, or to be written."""

from __future__ import annotations

from fabricsim.mpi.collectives import trees
from fabricsim.mpi.collectives.channel import Channel, floor_power, parts, pieces
from fabricsim.mpi.operations import Schedule


def _along(tree: trees.Tree, c: Channel, data: memoryview, root: int, segment: int) -> Schedule:
    """Segments go down a tree, each as soon as it is there."""
    parent, children = tree((c.rank - root) % c.size, c.size)
    dests = [(child + root) % c.size for child in children]
    segments = pieces(len(data), segment)
    receives = []
    if parent is not None:
        receives = [c.irecv(data[a:b], (parent + root) % c.size) for a, b in segments]
    sends: list[int] = []
    for number, (a, b) in enumerate(segments):
        if receives:
            yield [receives[number]]
        sends += [c.isend(data[a:b], dest) for dest in dests]
    yield sends


def linear(c: Channel, data: memoryview, root: int, segment: int) -> Schedule:
    """The root sends to all."""
    yield from _along(trees.linear, c, data, root, segment)


def binomial(c: Channel, data: memoryview, root: int, segment: int) -> Schedule:
    """Along a binomial tree, the farthest child first."""

    def farthest_first(rank: int, size: int) -> tuple[int | None, list[int]]:
        parent, children = trees.binomial(rank, size)
        return parent, children[::-1]

    yield from _along(farthest_first, c, data, root, segment)


def pipeline(c: Channel, data: memoryview, root: int, segment: int) -> Schedule:
    """Segments along a chain."""
    yield from _along(trees.chain, c, data, root, segment)


def binary(c: Channel, data: memoryview, root: int, segment: int) -> Schedule:
    """Segments along a binary tree."""
    yield from _along(trees.binary, c, data, root, segment)


def split_binary(c: Channel, data: memoryview, root: int, segment: int) -> Schedule:
    """One half of the message goes down each half of a binary tree; then pairs exchange their halves."""
    rank = (c.rank - root) % c.size
    middle = (len(data) + 1) // 2
    halves = data[:middle], data[middle:]

    def real(one: int) -> int:
        return (one + root) % c.size

    parent, children = trees.binary(rank, c.size)
    mine = halves[(rank + 1) % 2]
    segments = pieces(len(mine), segment)
    if rank == 0:
        sends = []
        steps = max(len(pieces(len(half), segment)) for half in halves)
        for number in range(steps):
            for child in children:
                half = halves[(child + 1) % 2]
                for a, b in pieces(len(half), segment)[number : number + 1]:
                    sends.append(c.isend(half[a:b], real(child)))
        if c.size % 2 == 0:
            sends.append(c.isend(halves[1], real(c.size - 1)))
        yield sends
        return
    assert parent is not None
    receives = [c.irecv(mine[a:b], real(parent)) for a, b in segments]
    sends = []
    for number, (a, b) in enumerate(segments):
        yield [receives[number]]
        sends += [c.isend(mine[a:b], real(child)) for child in children]
    yield sends
    if rank == c.size - 1 and rank % 2:
        yield [c.irecv(halves[1], root)]
        return
    partner = rank + 1 if rank % 2 else rank - 1
    yield c.exchange(halves[rank % 2], real(partner), mine, real(partner))


def scatter_allgather(c: Channel, data: memoryview, root: int, segment: int) -> Schedule:
    """MPICH's for long messages: parts go down a binomial tree, then around a ring."""
    yield from _scattered(c, data, root, doubles=False)


def scatter_doubling(c: Channel, data: memoryview, root: int, segment: int) -> Schedule:
    """MPICH's for messages in between: parts go down a binomial tree, then pairs exchange what they have.

    Their distances are 1, 2, 4, .. With a number of ranks that is no power of 2: `scatter_allgather`.
    """
    yield from _scattered(c, data, root, doubles=c.size == floor_power(c.size))


def _scattered(c: Channel, data: memoryview, root: int, doubles: bool) -> Schedule:
    rank, size = (c.rank - root) % c.size, c.size
    ends = parts(len(data), size, 1)

    def real(one: int) -> int:
        return (one + root) % size

    def subtree(first: int, width: int) -> memoryview:
        return data[ends[first][0] : ends[min(first + width, size) - 1][1]]

    parent, children = trees.binomial(rank, size)
    if parent is not None:
        yield [c.irecv(subtree(rank, rank & -rank), real(parent))]
    yield [c.isend(subtree(child, child - rank), real(child)) for child in children[::-1]]
    width = 1
    while doubles and width < size:
        first, other = rank // width * width, rank ^ width
        theirs = subtree(first ^ width, width)
        yield c.exchange(theirs, real(other), subtree(first, width), real(other))
        width *= 2
    if doubles:
        return
    for step in range(size - 1):
        a, b = ends[(rank - step) % size]
        e, f = ends[(rank - step - 1) % size]
        yield c.exchange(data[e:f], real(rank - 1), data[a:b], real(rank + 1))


ALGORITHMS = {
    "linear": linear,
    "binomial": binomial,
    "pipeline": pipeline,
    "binary": binary,
    "split_binary": split_binary,
    "scatter_allgather": scatter_allgather,
    "scatter_doubling": scatter_doubling,
}
