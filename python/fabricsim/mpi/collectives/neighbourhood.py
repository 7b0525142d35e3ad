"""Exchange with the neighbours of a topology."""

from __future__ import annotations

from collections.abc import Sequence

from fabricsim.mpi import constants
from fabricsim.mpi.collectives.channel import Channel
from fabricsim.mpi.operations import Schedule

Blocks = Sequence[memoryview]


def linear(
    c: Channel, sources: Sequence[int], received: Blocks, dests: Sequence[int], sent: Blocks, pairs: bool
) -> Schedule:
    """All messages at once.

    Args:
        c: the ranks.
        sources: ranks from which blocks come, by place; `PROC_NULL`: none.
        received: their blocks.
        dests: ranks to which blocks go.
        sent: their blocks.
        pairs: neighbours are those of a Cartesian topology, of which two of a dimension may be the same rank: then what
            goes to the lower one comes at the other from the upper one.
    """
    requests = [
        c.irecv(block, source)
        for source, block in zip(sources, received, strict=True)
        if source != constants.PROC_NULL
    ]
    order = [place ^ 1 for place in range(len(dests))] if pairs else list(range(len(dests)))
    real = [place for place in order if dests[place] != constants.PROC_NULL]
    yield requests + [c.isend(sent[place], dests[place]) for place in real]


ALGORITHMS = {"linear": linear}
