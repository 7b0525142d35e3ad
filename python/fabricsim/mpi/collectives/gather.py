"""Gathering at, and scattering from, one rank."""

from __future__ import annotations

from collections.abc import Sequence

from fabricsim.mpi.collectives import trees
from fabricsim.mpi.collectives.channel import NOTHING, Channel, joined, room
from fabricsim.mpi.operations import Schedule

Blocks = Sequence[memoryview]


def linear(c: Channel, own: memoryview, blocks: Blocks, root: int, segment: int) -> Schedule:
    """All send to the root. `blocks` are those of all ranks, at the root."""
    if c.rank != root:
        yield [c.isend(own, root)]
        return
    yield [c.irecv(blocks[rank], rank) for rank in range(c.size) if rank != root]


def linear_sync(c: Channel, own: memoryview, blocks: Blocks, root: int, segment: int) -> Schedule:
    """The root lets one rank after the other send; a first segment shows that it has begun."""
    if c.rank != root:
        yield [c.irecv(NOTHING, root)]
        yield [c.isend(own[:segment], root), c.isend(own[segment:], root)]
        return
    rest = []
    for rank in range(c.size):
        if rank == root:
            continue
        first = c.irecv(blocks[rank][:segment], rank)
        rest += [c.irecv(blocks[rank][segment:], rank), c.isend(NOTHING, rank)]
        yield [first]
    yield rest


def binomial(c: Channel, own: memoryview, blocks: Blocks, root: int, segment: int) -> Schedule:
    """Along a binomial tree. All blocks have the size of the own one."""
    rank, size = (c.rank - root) % c.size, len(own)
    parent, children = trees.binomial(rank, c.size)
    width = c.size if rank == 0 else min(rank & -rank, c.size - rank)
    data = memoryview(bytearray(width * size))
    data[:size] = own
    for child in children:
        below = min(child - rank, c.size - child)
        at = (child - rank) * size
        yield [c.irecv(data[at : at + below * size], (child + root) % c.size)]
    if parent is not None:
        yield [c.isend(data, (parent + root) % c.size)]
        return
    for one in range(c.size):
        blocks[(one + root) % c.size][:size] = data[one * size : (one + 1) * size]


ALGORITHMS = {"linear": linear, "linear_sync": linear_sync, "binomial": binomial}


def scatter_linear(c: Channel, own: memoryview, blocks: Blocks, root: int, segment: int) -> Schedule:
    """The root sends to all."""
    if c.rank != root:
        yield [c.irecv(own, root)]
        return
    yield [c.isend(blocks[rank], rank) for rank in range(c.size) if rank != root]


def scatter_binomial(c: Channel, own: memoryview, blocks: Blocks, root: int, segment: int) -> Schedule:
    """Along a binomial tree. All blocks have the size of the own one."""
    rank, size = (c.rank - root) % c.size, len(own)
    parent, children = trees.binomial(rank, c.size)
    if parent is None:
        data = joined([blocks[(one + root) % c.size] for one in range(c.size)])
    else:
        data = room([own] * min(rank & -rank, c.size - rank))
        yield [c.irecv(data, (parent + root) % c.size)]
        own[:] = data[:size]
    sends = []
    for child in reversed(children):
        below, at = min(child - rank, c.size - child), (child - rank) * size
        sends.append(c.isend(data[at : at + below * size], (child + root) % c.size))
    yield sends


SCATTER = {"linear": scatter_linear, "binomial": scatter_binomial}
