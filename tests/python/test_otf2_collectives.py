"""Non-blocking collectives of OTF2 archives."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from otf2_cases import Archive, archive, as_goal, otf2, replayed

from fabricsim.traces.otf2 import read_otf2

pytestmark = pytest.mark.usefixtures("real")

COMPUTE, WAIT, BARRIER, ALLREDUCE = 0, 3, 4, 7
"""Kinds of records."""


def records(path: Path, rank: int) -> list[list[int]]:
    """Kind, bytes or ns, and request of each record of a rank."""
    numbers = memoryview(read_otf2(path).ranks[rank]).cast("q").tolist()
    return [[numbers[at], numbers[at + 3], numbers[at + 5]] for at in range(0, len(numbers), 6)]


def begun(request: int) -> tuple[Any, ...]:
    return ("non_blocking_collective_request", request)


def ended(operation: Any, communicator: Any, size: int, request: int) -> tuple[Any, ...]:
    return ("non_blocking_collective_complete", operation, communicator, 2**32 - 1, size, size, request)


def test_a_collective_begins_where_its_request_began(tmp_path: Path) -> None:
    def fill(to: Archive) -> None:
        for rank in range(2):
            to.call(rank, "MPI_Iallreduce", 0, 1, begun(7))
            end = ended(otf2.CollectiveOp.ALLREDUCE, to.world, 16, 7)
            to.call(rank, "MPI_Wait", 6, 9, end)
            to.call(rank, "MPI_Finalize", 9, 10)

    path = archive(tmp_path, 2, fill)
    assert records(path, 0) == [[ALLREDUCE, 8, 0], [COMPUTE, 5000, -1], [WAIT, 0, 0]]


def test_what_follows_overlaps(tmp_path: Path) -> None:
    """The messages go while the ranks compute."""

    def fill(to: Archive) -> None:
        for rank in range(2):
            to.call(rank, "MPI_Iallreduce", 0, 1, begun(7))
            end = ended(otf2.CollectiveOp.ALLREDUCE, to.world, 16, 7)
            to.call(rank, "MPI_Wait", 6, 9, end)

    part = """r: recv 8b from {0} tag 1
s: send 8b to {0} tag 1
c: calc 5000
d: calc 0
c irequires r
c irequires s
d requires c
d requires r
d requires s
}}
"""
    goal = "num_ranks 2\n" + "".join(f"rank {rank} {{\n" + part.format(1 - rank) for rank in range(2))
    assert replayed(archive(tmp_path, 2, fill)) == as_goal(tmp_path, goal)


def test_collectives_may_end_in_any_order(tmp_path: Path) -> None:
    """Ranks begin them in the same order, which is that of the records."""

    def fill(to: Archive) -> None:
        for rank in range(3):
            to.call(rank, "MPI_Iallreduce", 0, 1, begun(7))
            to.call(rank, "MPI_Ibarrier", 1, 2, begun(8))
            ends = [
                ended(otf2.CollectiveOp.ALLREDUCE, to.world, 24, 7),
                ended(otf2.CollectiveOp.BARRIER, to.world, 0, 8),
            ]
            to.call(rank, "MPI_Waitall", 2, 3, *(reversed(ends) if rank == 1 else ends))

    path = archive(tmp_path, 3, fill)
    assert [kind for kind, _, _ in records(path, 0)] == [ALLREDUCE, BARRIER, WAIT, WAIT]
    assert [number for _, _, number in records(path, 1)] == [0, 1, 1, 0]
    assert len(replayed(path)) == 3


def test_collectives_without_an_end_or_a_begin(tmp_path: Path) -> None:
    """Without an end it is left out; one that began before the trace blocks; alone it has no messages."""

    def fill(to: Archive) -> None:
        for rank in range(2):
            to.call(rank, "MPI_Wait", 0, 1, ended(otf2.CollectiveOp.BARRIER, to.world, 0, 5))
            to.call(rank, "MPI_Ibarrier", 1, 2, begun(6))
            to.call(rank, "MPI_Iallreduce", 2, 3, begun(7))
            to.call(rank, "MPI_Wait", 3, 4, ended(otf2.CollectiveOp.ALLREDUCE, to.own, 8, 7))

    path = archive(tmp_path, 2, fill)
    assert [kind for kind, _, _ in records(path, 0)] == [BARRIER, COMPUTE, COMPUTE]
    assert [size for kind, size, _ in records(path, 0) if kind == COMPUTE] == [0, 0]
    assert replayed(path)[0] > 0
