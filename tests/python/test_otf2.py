"""OTF2 archives: written by the package `otf2`, read and replayed."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import Command
from otf2_cases import NETWORK, Archive, archive, as_goal, otf2, replayed

from fabricsim.errors import InputError
from fabricsim.traces import Trace
from fabricsim.traces.otf2 import read_otf2
from fabricsim.traces.otf2_events import _block

pytestmark = pytest.mark.usefixtures("real")


def test_messages_and_the_computation_between_calls(tmp_path: Path) -> None:
    """Computation is the time between the return of a call and the entry of the next one."""

    def fill(to: Archive) -> None:
        to.call(0, "MPI_Init", 0, 10)
        to.call(1, "MPI_Init", 0, 20)
        to.call(0, "MPI_Send", 13, 14, ("mpi_send", 1, to.world, 7, 100))
        to.call(1, "MPI_Recv", 20, 30, ("mpi_recv", 0, to.world, 7, 100))
        to.call(1, "MPI_Send", 35, 36, ("mpi_send", 0, to.world, 8, 5000))
        to.call(0, "MPI_Recv", 14, 60, ("mpi_recv", 1, to.world, 8, 5000))

    goal = """num_ranks 2
rank 0 {
a: calc 3000
b: send 100b to 1 tag 7
c: recv 5000b from 1 tag 8
b requires a
c requires b
}
rank 1 {
a: recv 100b from 0 tag 7
b: calc 5000
c: send 5000b to 0 tag 8
b requires a
c requires b
}
"""
    path = archive(tmp_path, 2, fill)
    assert replayed(path) == as_goal(tmp_path, goal)
    scaled = Trace.read(path, "otf2", compute_scale=0.0).replay(NETWORK)
    assert scaled.end_ns == replayed(path)[0] - 8000


def test_requests_come_again_and_end_together(tmp_path: Path) -> None:
    """Receives have their place where they begin, and what is in a call that waits for both is one wait."""

    def fill(to: Archive) -> None:
        for rank in range(2):
            peer = 1 - rank
            for begin in (0, 100):
                to.call(rank, "MPI_Irecv", begin, begin + 1, ("mpi_irecv_request", 3))
                send = ("mpi_isend", peer, to.world, begin, 5000, 4)
                to.call(rank, "MPI_Isend", begin + 1, begin + 2, send)
                received = ("mpi_irecv", peer, to.world, begin, 5000, 3)
                to.call(rank, "MPI_Waitall", begin + 5, begin + 50, ("mpi_isend_complete", 4), received)

    goal = "num_ranks 2\n"
    for rank in range(2):
        peer = 1 - rank
        lines = [f"rank {rank} {{"]
        for number, tag in enumerate((0, 100)):
            lines += [
                f"r{number}: recv 5000b from {peer} tag {tag}",
                f"s{number}: send 5000b to {peer} tag {tag}",
            ]
            # A computation of 3 us goes beside the transfers.
            lines += [
                f"c{number}: calc 3000",
                f"c{number} irequires r{number}",
                f"c{number} irequires s{number}",
            ]
            lines += [f"s{number} irequires r{number}"]
        lines += ["w: calc 50000", "w requires c0", "w requires r0", "w requires s0", "r1 requires w", "}"]
        goal += "\n".join(lines) + "\n"
    assert replayed(archive(tmp_path, 2, fill)) == as_goal(tmp_path, goal)


def test_an_exchange_is_no_deadlock(tmp_path: Path) -> None:
    """Each rank sends beyond the eager limit in the call in which it receives."""

    def fill(to: Archive) -> None:
        for rank in range(5):
            events = (
                ("mpi_send", (rank + 1) % 5, to.world, 0, 100_000),
                ("mpi_recv", (rank - 1) % 5, to.world, 0, 100_000),
            )
            to.call(rank, "MPI_Sendrecv", 0, 10, *events)

    assert len(set(replayed(archive(tmp_path, 5, fill)))) == 1


@pytest.mark.parametrize("count", [2, 5, 8])
def test_collectives_have_the_sizes_that_score_p_states(tmp_path: Path, count: int) -> None:
    """The same calls as a time-independent trace, with sizes in bytes, take the same time."""
    size = 300
    calls = [
        ("BARRIER", 0, 0, "barrier"),
        ("BCAST", "bcast", 0, f"bcast {size} 1"),
        ("REDUCE", "reduce", 0, f"reduce {size} 0 1"),
        ("ALLREDUCE", count * size, count * size, f"allreduce {size} 0"),
        ("ALLGATHER", count * size, count * size, f"allgather {size} {size}"),
        ("ALLTOALL", count * size, count * size, f"alltoall {size} {size}"),
        ("GATHER", "reduce", 0, f"gather {size} {size} 1"),
        ("SCATTER", "bcast", 0, f"scatter {size} {size} 1"),
    ]

    def sizes(rule: Any, received: int, rank: int) -> tuple[int, int]:
        """Of one to all and all to one: the root counts for all."""
        if rule == "bcast":
            return (count * size, size) if rank == 1 else (0, size)
        if rule == "reduce":
            return (size, count * size) if rank == 1 else (size, 0)
        return rule, received

    def fill(to: Archive) -> None:
        for rank in range(count):
            for at, (name, rule, received, _) in enumerate(calls):
                operation = getattr(otf2.CollectiveOp, name)
                event = (operation, to.world, 1 if isinstance(rule, str) else 2**32 - 1)
                both = sizes(rule, received, rank)
                begun = ("mpi_collective_begin",)
                end = ("mpi_collective_end", *event, *both)
                to.call(rank, f"MPI_{name}", 10 * at, 10 * at + 10, begun, end)

    lines = [f"{rank} {text}" for rank in range(count) for text in ("init", *(call[3] for call in calls))]
    path = tmp_path / "same.ti"
    path.write_text("\n".join(lines) + "\n")
    assert replayed(archive(tmp_path, count, fill)) == Trace.read(path, "ti").replay(NETWORK).ends_ns


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 7])
def test_blocks_of_collectives(ranks: int) -> None:
    """`scorep_mpi_coll_bytes_*`: what Score-P states, for a block of 24 bytes, in place or not."""
    block = 24
    for rank in range(ranks):
        root = rank == 0
        whole, most = ranks * block, (ranks - 1) * block
        assert _block("BCAST", whole if root else 0, block, ranks, root) == (0 if root else block)
        assert _block("GATHER", block, whole if root else 0, ranks, root) == block
        for operation in ("ALLREDUCE", "ALLGATHERV", "ALLTOALL", "REDUCE_SCATTER_BLOCK"):
            assert _block(operation, whole, whole, ranks, False) == block
        assert _block("REDUCE_SCATTER", 7, whole, ranks, False) == block
        assert _block("SCAN", (ranks - rank) * block, (rank + 1) * block, ranks, False) == block
        assert _block("EXSCAN", (ranks - rank - 1) * block, rank * block, ranks, False) == (
            block if ranks > 1 else 0
        )
        if ranks > 2 and most % ranks:
            for operation in ("ALLREDUCE", "ALLTOALL"):
                assert _block(operation, most, most, ranks, False) == block


def test_communicators_have_ranks_of_their_own(tmp_path: Path) -> None:
    """Ranks 3 and 1 exchange messages as ranks 0 and 1 of a communicator; messages to oneself need no other."""

    def fill(to: Archive) -> None:
        pair = to.communicator((to.locations[3], to.locations[1]))
        to.call(3, "MPI_Send", 0, 1, ("mpi_send", 1, pair, 5, 8))
        to.call(1, "MPI_Recv", 0, 1, ("mpi_recv", 0, pair, 5, 8))
        for rank in (3, 1):
            barrier = (otf2.CollectiveOp.BARRIER, pair, 2**32 - 1, 0, 0)
            to.call(rank, "MPI_Barrier", 1, 2, ("mpi_collective_end", *barrier))
            alone = (otf2.CollectiveOp.ALLREDUCE, to.own, 2**32 - 1, 8, 8)
            to.call(rank, "MPI_Allreduce", 2, 3, ("mpi_collective_end", *alone))
        to.call(0, "MPI_Irecv", 0, 1, ("mpi_irecv_request", 1))
        to.call(0, "MPI_Send", 1, 2, ("mpi_send", 0, to.own, 5, 8))
        to.call(0, "MPI_Wait", 2, 3, ("mpi_irecv", 0, to.own, 5, 8, 1))

    path = archive(tmp_path, 4, fill)
    calls = read_otf2(path)
    assert calls.groups == {1: [3, 1]}
    operations, *_ = Trace.read(path, "otf2").operations(3)
    assert [(kind, peer) for kind, peer, _, _ in operations if kind == 1] == [(1, 1), (1, 1)]
    assert replayed(path)[2] == 0.0


def test_what_never_ended_is_left_out(tmp_path: Path) -> None:
    """Cancelled receives, and those that the trace does not see the end of, are no receives; probes find nothing."""

    def fill(to: Archive) -> None:
        to.call(0, "MPI_Irecv", 0, 1, ("mpi_irecv_request", 1), ("mpi_irecv_request", 2))
        to.call(0, "MPI_Cancel", 1, 2, ("mpi_request_cancelled", 1))
        to.call(0, "MPI_Test", 2, 3, ("mpi_request_test", 2))
        to.call(0, "MPI_Mprobe", 3, 4, ("mpi_probe", 1, to.world, 9, 77))
        to.call(0, "MPI_Mrecv", 4, 5, ("mpi_mrecv", 77, 640))
        to.call(1, "MPI_Send", 0, 1, ("mpi_send", 0, to.world, 9, 640))

    operations, *_ = Trace.read(archive(tmp_path, 2, fill), "otf2").operations(0)
    assert [operation for operation in operations if operation[0] == 2] == [(2, 1, 9, 640)]


def test_random_exchanges_arrive_as_they_were_recorded(tmp_path: Path) -> None:
    """Messages of random programs that do not block: each rank gets what the others send it."""
    draw = random.Random(4)
    for case in range(20):
        count = draw.randint(2, 6)
        messages = [
            (*draw.sample(range(count), 2), draw.randint(0, 3), draw.randint(1, 4000))
            for _ in range(draw.randint(1, 25))
        ]

        def fill(to: Archive, messages: list[tuple[int, ...]] = messages, count: int = count) -> None:
            ends: list[list[tuple[Any, ...]]] = [[] for _ in range(count)]
            for number, (source, destination, tag, size) in enumerate(messages):
                to.call(destination, "MPI_Irecv", number, number, ("mpi_irecv_request", number))
                ends[destination].append(("mpi_irecv", source, to.world, tag, size, number))
                sent = ("mpi_isend", destination, to.world, tag, size, number + 1000)
                to.call(source, "MPI_Isend", number, number, sent)
                ends[source].append(("mpi_isend_complete", number + 1000))
            for rank in range(count):
                draw.shuffle(ends[rank])
                to.call(rank, "MPI_Waitall", 1000, 1001, *ends[rank])

        folder = tmp_path / str(case)
        folder.mkdir()
        path = archive(folder, count, fill)
        trace = Trace.read(path, "otf2")
        assert trace.replay(NETWORK).is_complete
        for rank in range(count):
            operations, *_ = trace.operations(rank)
            received = [(peer, tag, size) for kind, peer, tag, size in operations if kind == 2]
            assert received == [(a, tag, size) for a, b, tag, size in messages if b == rank]


@pytest.mark.parametrize(
    ("fill", "paradigm", "text"),
    [
        (lambda to: None, "MPI", "the archive has no calls of MPI"),
        (lambda to: to.call(0, "MPI_Barrier", 0, 1), "USER", "the archive has no calls of MPI"),
        (
            lambda to: to.call(
                0, "MPI_Put", 0, 1, ("rma_put", to.definitions.rma_win("w", to.world), 0, 8, 1)
            ),
            "MPI",
            "rank 0: RmaPut: one-sided communication is not replayed",
        ),
        (
            lambda to: to.call(0, "MPI_Send", 0, 1, ("mpi_send", 9, to.world, 0, 8)),
            "MPI",
            "rank 0: peer 9 of a message: must be 0 to 1",
        ),
        (
            lambda to: to.call(
                0,
                "MPI_Barrier",
                0,
                1,
                ("mpi_collective_end", otf2.CollectiveOp.BARRIER, to.communicator(to.locations[1:]), 0, 0, 0),
            ),
            "MPI",
            "rank 0 is no member of communicator",
        ),
    ],
)
def test_what_is_not_replayed_is_one_message(
    tmp_path: Path, fill: Callable[[Archive], None], paradigm: str, text: str
) -> None:
    path = archive(tmp_path, 2, fill, paradigm)
    with pytest.raises(InputError, match=r"traces\.otf2: ") as error:
        Trace.read(path, "otf2").replay(NETWORK)
    assert text in str(error.value)


def test_damaged_archives_are_one_message(tmp_path: Path) -> None:
    path = archive(tmp_path, 1, lambda to: to.call(0, "MPI_Init", 0, 1))
    whole = path.read_bytes()
    with pytest.raises(InputError, match="there is no such file"):
        Trace.read(tmp_path / "absent.otf2", "otf2")
    for damage in (b"", b"no archive\n", whole[: len(whole) // 2]):
        path.write_bytes(damage)
        with pytest.raises(InputError, match="no OTF2 archive, or damaged"):
            Trace.read(path, "otf2")


def test_the_command_replays_archives(command: Command, tmp_path: Path) -> None:
    def fill(to: Archive) -> None:
        for rank in range(2):
            to.call(rank, "MPI_Init", 0, 1)

    path = archive(tmp_path, 2, fill)
    done = command("mpi", "replay", path, "--format", "otf2", "--network", NETWORK, "--json")
    assert done.code == 0, done.err
    wrong = command("mpi", "replay", path, "--format", "otf3", "--network", NETWORK)
    assert 'did you mean "otf2"?' in wrong.err
