"""Numbers of new communicators, which keep their messages apart."""

from __future__ import annotations

from typing import Any

from fabricsim.mpi.begin import begin
from fabricsim.mpi.collectives.allreduce import recursive_doubling
from fabricsim.mpi.collectives.channel import Channel, Reduction
from fabricsim.mpi.communicator import Communicator
from fabricsim.mpi.operations import CollectiveOperation
from fabricsim.mpi.process import current


def agree(comm: Communicator, name: str, made: Communicator) -> CollectiveOperation:
    """Gives a new communicator a number that none of the ranks uses: the maximum of what each one proposes."""
    process = current()
    number = memoryview(bytearray(process.next_context.to_bytes(8, "little")))

    def larger(a: memoryview, b: memoryview) -> None:
        if int.from_bytes(a, "little") > int.from_bytes(b, "little"):
            b[:] = a

    def finish() -> None:
        made.number = int.from_bytes(number, "little")
        process.next_context = max(process.next_context, made.number + 1)

    reduction = Reduction(8, larger, commutes=True)

    def schedule(c: Channel) -> Any:
        return recursive_doubling(c, number, reduction, 0) if c.size > 1 else iter(())

    return begin(comm, name, "", schedule, finish)
