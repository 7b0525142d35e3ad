"""Messages of one collective operation, apart from all others of its communicator."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

from fabricsim.mpi.endpoint import STANDARD, Fields

NOTHING = memoryview(bytearray())
TAGS = 1 << 20
"""Tags of collectives of one communicator: the number of the collective modulo this."""


class Channel:
    """The ranks of a collective.

    Args:
        process: this rank.
        comm: the communicator.
        call: description for the report of a deadlock.
    """

    __slots__ = (
        *("_call", "_context", "_process", "_ranks", "_tag", "_waits"),
        *("partners", "rank", "size", "too_long"),
    )

    def __init__(self, process: Any, comm: Any, call: str) -> None:
        self._process, self._ranks, self._call = process, comm.ranks, call
        self.rank: int = comm.rank
        self.size: int = comm.size
        self._context, self._tag = 2 * comm.number + 1, comm.collectives % TAGS
        self._waits: bool = process.is_blocked
        self.partners: dict[int, int] = {}
        """World ranks from which messages come, by request."""
        self.too_long: Fields | None = None
        """A message of an exchange that has ended, if it was longer than its buffer."""

    def isend(self, data: memoryview, dest: int) -> int:
        """Starts a send to a rank."""
        process = self._process
        process.messages += 1
        process.bytes += len(data)
        number: int = process.endpoint.isend(
            data, self._ranks[dest], self._tag, self._context, STANDARD, self._call
        )
        return number

    def irecv(self, buffer: memoryview, source: int) -> int:
        """Starts a receive from a rank."""
        world = self._ranks[source]
        number: int = self._process.endpoint.irecv(buffer, world, self._tag, self._context, self._call)
        self.partners[number] = world
        return number

    def exchange(self, buffer: memoryview, source: int, data: memoryview, dest: int) -> list[int]:
        """Starts a receive from a rank and a send to one. Returns the requests for which the schedule has to wait.

        There are none if both have ended, as they have where this rank waits for nothing else.
        """
        process, ranks = self._process, self._ranks
        process.messages += 1
        process.bytes += len(data)
        world = ranks[source]
        requests: list[int]
        requests, arrivals = process.endpoint.exchange(
            (buffer, world), (data, ranks[dest]), self._tag, self._context, self._call, self._waits
        )
        if requests:
            self.partners[requests[0]] = world
        elif arrivals[0][3]:
            self.too_long = arrivals[0]
        return requests

    def awaited(self, requests: Sequence[int]) -> Sequence[int]:
        """World ranks whose messages of some requests are missing."""
        partners, is_complete = self.partners, self._process.endpoint.is_complete
        return [partners[one] for one in requests if one in partners and not is_complete(one)]


class Reduction:
    """What a reduction does with elements.

    Args:
        unit: bytes of an element.
        combine: sets its second argument to first op second.
        commutes: whether the order of operands does not matter.
    """

    __slots__ = ("combine", "commutes", "unit")

    def __init__(self, unit: int, combine: Callable[[memoryview, memoryview], None], commutes: bool) -> None:
        self.unit, self.combine, self.commutes = unit, combine, commutes

    def after(self, own: memoryview, other: memoryview) -> None:
        """Sets `own` to own op other. `other` is changed."""
        self.combine(own, other)
        own[:] = other


def pieces(length: int, segment: int, unit: int = 1) -> list[tuple[int, int]]:
    """Begin and end of segments, which are whole elements. A segment of 0: all at once. There is at least one."""
    step = max(segment // unit, 1) * unit if segment else max(length, 1)
    return [(at, min(at + step, length)) for at in range(0, max(length, 1), step)]


def parts(length: int, number: int, unit: int) -> list[tuple[int, int]]:
    """Begin and end of parts of nearly the same number of elements; the first ones have one more."""
    share, more = divmod(length // unit, number)
    ends = [unit * (share * part + min(part, more)) for part in range(number + 1)]
    return list(pairwise(ends))


def joined(blocks: Sequence[memoryview]) -> memoryview:
    """Blocks as one message, which is a copy."""
    return memoryview(bytearray().join(blocks))


def spread(data: memoryview, blocks: Sequence[memoryview]) -> None:
    """Writes a message of blocks into them."""
    at = 0
    for block in blocks:
        block[:] = data[at : at + len(block)]
        at += len(block)


def room(blocks: Sequence[memoryview]) -> memoryview:
    """Memory for a message of blocks."""
    return memoryview(bytearray(sum(len(block) for block in blocks)))


def floor_power(number: int) -> int:
    """Largest power of 2 that is not larger."""
    return 1 << (number.bit_length() - 1)
