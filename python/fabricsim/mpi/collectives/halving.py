"""Recursive halving, with which long reductions begin (Thakur et al. 2005)."""

from __future__ import annotations

from fabricsim.mpi.collectives.channel import Channel, Reduction, floor_power, parts, room
from fabricsim.mpi.operations import Schedule


class Halving:
    """Places of ranks, as many as the power of 2 below, and the parts of a message, one for each place.

    Of the first ranks, twice as many as are left over, every second one has no place: its neighbour gets its data.

    Args:
        c: the ranks.
        data: the rank's operand.
        r: the operation.
        stays: 0 if of neighbours the even one has a place, 1 if the odd one has.
    """

    def __init__(self, c: Channel, data: memoryview, r: Reduction, stays: int) -> None:
        self.power = floor_power(c.size)
        self.extra = c.size - self.power
        self._channel, self._data, self._reduction, self._stays = c, data, r, stays
        self._ends = parts(len(data), self.power, r.unit)

    def is_left_out(self, rank: int) -> bool:
        """True if a rank has no place."""
        return rank < 2 * self.extra and rank % 2 != self._stays

    def place_of(self, rank: int) -> int:
        """Place of a rank, or of its neighbour."""
        return rank // 2 if rank < 2 * self.extra else rank - self.extra

    def rank_of(self, place: int) -> int:
        """Rank with a place."""
        return 2 * place + self._stays if place < self.extra else place + self.extra

    def bytes_of(self, first: int, width: int) -> memoryview:
        """Parts of the message, from that of a place on."""
        return self._data[self._ends[first][0] : self._ends[first + width - 1][1]]

    def halve(self) -> Schedule:
        """Each place keeps the result of a half of what it has, step by step: in the end that of its own part."""
        c, r = self._channel, self._reduction
        if c.rank < 2 * self.extra:
            buffer = room([self._data])
            yield [c.irecv(buffer, c.rank ^ 1)]
            r.combine(buffer, self._data)
        place, first, half = self.place_of(c.rank), 0, self.power // 2
        while half:
            keeps_low = place < first + half
            sent = self.bytes_of(first + half if keeps_low else first, half)
            kept = self.bytes_of(first if keeps_low else first + half, half)
            buffer = memoryview(bytearray(len(kept)))
            other = self.rank_of(place + half if keeps_low else place - half)
            yield c.exchange(buffer, other, sent, other)
            r.combine(buffer, kept)
            first, half = (first if keeps_low else first + half), half // 2
