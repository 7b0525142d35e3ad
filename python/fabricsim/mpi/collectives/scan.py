"""Prefix reductions. `data` is the operand and then the result: of an exclusive one of rank 0 it stays."""

from __future__ import annotations

from fabricsim.mpi.collectives.channel import Channel, Reduction, room
from fabricsim.mpi.operations import Schedule


def linear(c: Channel, data: memoryview, r: Reduction, exclusive: bool) -> Schedule:
    """Each rank waits for the one before it."""
    own = memoryview(bytearray(data))
    if c.rank:
        buffer = room([data])
        yield [c.irecv(buffer, c.rank - 1)]
        data[:] = buffer
        r.combine(buffer, own)
        if not exclusive:
            data[:] = own
    if c.rank + 1 < c.size:
        yield [c.isend(own, c.rank + 1)]


def recursive_doubling(c: Channel, data: memoryview, r: Reduction, exclusive: bool) -> Schedule:
    """log2 n steps: MPICH's."""
    partial = memoryview(bytearray(data))
    has_result = not exclusive
    distance = 1
    while distance < c.size:
        partner = c.rank ^ distance
        if partner < c.size:
            buffer = room([data])
            yield c.exchange(buffer, partner, memoryview(bytes(partial)), partner)
            if partner < c.rank:
                if has_result:
                    r.combine(buffer, data)
                else:
                    data[:] = buffer
                    has_result = True
                r.combine(buffer, partial)
            else:
                r.after(partial, buffer)
        distance *= 2


ALGORITHMS = {"linear": linear, "recursive_doubling": recursive_doubling}
