"""`MPI.Group`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fabricsim.mpi import constants
from fabricsim.mpi.arguments import require_kind, whole_numbers
from fabricsim.mpi.errors import Exception
from fabricsim.mpi.handles import Handle, Null, Referent
from fabricsim.mpi.process import current


class Members(Referent):
    """World ranks, in order."""

    __slots__ = ("_places", "ranks")

    def __init__(self, ranks: Sequence[int]) -> None:
        self.ranks = ranks
        self._places: dict[int, int] | None = None

    def place(self, rank: int) -> int:
        """Place of a world rank, or UNDEFINED."""
        ranks = self.ranks
        if isinstance(ranks, range):
            return rank if 0 <= rank < len(ranks) else constants.UNDEFINED
        if self._places is None:
            self._places = {one: number for number, one in enumerate(ranks)}
        return self._places.get(rank, constants.UNDEFINED)


class Group(Handle):
    """Ranks in order."""

    NULL = Null("MPI_GROUP_NULL")

    def _members(self) -> Members:
        if self._ref is self.NULL:
            raise Exception(constants.ERR_GROUP, "the group is MPI.GROUP_NULL")
        found: Members = self._ref
        return found

    def Get_size(self) -> int:
        """Number of ranks."""
        return len(self._members().ranks)

    def Get_rank(self) -> int:
        """Place of the calling rank, or UNDEFINED."""
        return self._members().place(current().rank)

    size = property(Get_size)
    rank = property(Get_rank)

    def Translate_ranks(self, ranks: Sequence[int] | None = None, group: Any = None) -> list[int]:
        """Places in another group of ranks of this one."""
        mine = self._members().ranks
        wanted = range(len(mine)) if ranks is None else whole_numbers(ranks, "ranks", constants.ERR_RANK)
        theirs = current().world.members if group is None else _members_of(group)
        found = []
        for rank in wanted:
            if rank == constants.PROC_NULL:
                found.append(constants.PROC_NULL)
                continue
            _check_rank(rank, len(mine))
            found.append(theirs.place(mine[rank]))
        return found

    def Compare(self, group: Any) -> int:
        """IDENT: the same ranks in the same order; SIMILAR: in another one; UNEQUAL."""
        mine, theirs = list(self._members().ranks), list(_members_of(group).ranks)
        if mine == theirs:
            return constants.IDENT
        return constants.SIMILAR if sorted(mine) == sorted(theirs) else constants.UNEQUAL

    def Dup(self) -> Any:
        """The same ranks."""
        return _group(self._members().ranks)

    @classmethod
    def Union(cls, group1: Any, group2: Any) -> Any:
        """Ranks of the first, then those that only the second has."""
        first, second = _members_of(group1, "group1"), _members_of(group2, "group2")
        return _group(
            [*first.ranks, *(one for one in second.ranks if first.place(one) == constants.UNDEFINED)]
        )

    @classmethod
    def Intersection(cls, group1: Any, group2: Any) -> Any:
        """Ranks of the first that the second has as well."""
        first, second = _members_of(group1, "group1"), _members_of(group2, "group2")
        return _group([one for one in first.ranks if second.place(one) != constants.UNDEFINED])

    @classmethod
    def Difference(cls, group1: Any, group2: Any) -> Any:
        """Ranks of the first that the second has not."""
        first, second = _members_of(group1, "group1"), _members_of(group2, "group2")
        return _group([one for one in first.ranks if second.place(one) == constants.UNDEFINED])

    Intersect = Intersection

    def Incl(self, ranks: Sequence[int]) -> Any:
        """Some ranks, in the given order."""
        mine = self._members().ranks
        return _group([mine[rank] for rank in _distinct(ranks, len(mine))])

    def Excl(self, ranks: Sequence[int]) -> Any:
        """All ranks but some."""
        mine = self._members().ranks
        leave = set(_distinct(ranks, len(mine)))
        return _group([one for number, one in enumerate(mine) if number not in leave])

    def Range_incl(self, ranks: Sequence[tuple[int, int, int]]) -> Any:
        """Ranks of ranges: first, last, step."""
        return self.Incl(_expanded(ranks))

    def Range_excl(self, ranks: Sequence[tuple[int, int, int]]) -> Any:
        """All ranks but those of ranges."""
        return self.Excl(_expanded(ranks))

    def Free(self) -> None:
        """Forgets the group."""
        self._members()
        self._ref = self.NULL


def _expanded(ranges: Sequence[tuple[int, int, int]]) -> list[int]:
    found: list[int] = []
    for one in ranges:
        first, last, step = whole_numbers(one, "a range", constants.ERR_ARG)
        if step == 0:
            raise Exception(constants.ERR_ARG, f"range {first}, {last}, {step}: the step must not be 0")
        found.extend(range(first, last + (1 if step > 0 else -1), step))
    return found


def _check_rank(rank: int, size: int) -> None:
    if not 0 <= rank < size:
        raise Exception(constants.ERR_RANK, f"rank {rank}: must be 0 to {size - 1}")


def _distinct(ranks: Sequence[int], size: int) -> list[int]:
    found = whole_numbers(ranks, "ranks", constants.ERR_RANK)
    for rank in found:
        _check_rank(rank, size)
    if len(set(found)) != len(found):
        raise Exception(constants.ERR_RANK, "a rank is given twice")
    return found


def _members_of(group: Any, what: str = "group") -> Members:
    require_kind(group, Group, what, constants.ERR_GROUP)
    found: Members = group._members()
    return found


def _group(ranks: Sequence[int]) -> Any:
    return Group._of(Members(ranks)) if ranks else Group._of(_EMPTY)


_EMPTY = Members(())
GROUP_NULL = Group._constant(Group.NULL, "GROUP_NULL")
GROUP_EMPTY = Group._constant(_EMPTY, "GROUP_EMPTY")
