"""Reports of ranks: times, causes of waits, matrix and critical path, on a network whose times are known."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import Command
from hypothesis import given, settings
from hypothesis import strategies as st

import fabricsim as fs
from fabricsim.mpi import MPI
from fabricsim.plots import draw
from fabricsim.ranks import RankReport
from fabricsim.ranks.causes import parts
from fabricsim.ranks.critical import critical_path

NETWORK = "loggp:L=1000,o=100,g=10,G=1"
"""A message of s bytes is at its receiver 1100 + s - 1 ns after its start; a receive takes 100 ns."""


def report(program: Callable[..., Any], ranks: int = 2, **options: Any) -> RankReport:
    found = fs.mpi.run(program, ranks, NETWORK, report=True, **options).report
    assert found is not None
    return found


def late_sender() -> None:
    comm, data = MPI.COMM_WORLD, np.zeros(101, "B")
    if comm.rank == 0:
        fs.compute("5 us")
        comm.Send(data, 1)
    else:
        comm.Recv(data, 0)


def late_receiver() -> None:
    comm, data = MPI.COMM_WORLD, np.zeros(1, "B")
    if comm.rank == 0:
        comm.Ssend(data, 1)
    else:
        fs.compute("9 us")
        comm.Recv(data, 0)


def early_message() -> None:
    comm, data = MPI.COMM_WORLD, np.zeros(1, "B")
    if comm.rank == 0:
        comm.Send(data, 1)
    else:
        fs.compute("9 us")
        comm.Recv(data, 0)


def time_of(found: RankReport, rank: int, column: str) -> float:
    """A time of a rank in the table of times, ns."""
    return float(found.tables["mpi_times"][column].tolist()[rank])


def rows(table: Any, *columns: str) -> list[tuple[Any, ...]]:
    return list(table[list(columns)].itertuples(index=False, name=None))


@pytest.mark.parametrize(
    ("program", "waits", "path"),
    [
        # The send starts at 5000, its last byte is there 1100 + 100 ns later, the receive takes 100.
        (
            late_sender,
            [(1, 0, "late sender", 5000.0), (1, 0, "transfer", 1200.0)],
            [
                ("computation", 0, 0.0, 5000.0),
                ("calls", 0, 5000.0, 5100.0),
                ("messages", 0, 5100.0, 6200.0),
                ("calls", 1, 6200.0, 6300.0),
            ],
        ),
        # The receive is posted at 9000, and its acknowledgement takes 100 + 1000 ns. The send itself took 100.
        (
            late_receiver,
            [(0, 1, "late receiver", 8900.0), (0, 1, "transfer", 1100.0)],
            [("computation", 1, 0.0, 9000.0), ("messages", 0, 9000.0, 10100.0)],
        ),
        # The message is there long before the receive: no rank waits, and the sender is not on the path.
        (early_message, [], [("computation", 1, 0.0, 9000.0), ("calls", 1, 9000.0, 9100.0)]),
    ],
)
def test_waits_and_path_of_one_message(
    program: Callable[[], None], waits: list[tuple[Any, ...]], path: list[tuple[Any, ...]]
) -> None:
    found = report(program)
    assert rows(found.tables["mpi_waits"], "rank", "peer", "cause", "time_ns") == waits
    assert rows(found.tables["mpi_path"], "cause", "rank", "start_ns", "end_ns") == path


def test_a_chain_of_ranks_is_the_path() -> None:
    def program() -> None:
        comm, data = MPI.COMM_WORLD, np.zeros(1, "B")
        if comm.rank:
            comm.Recv(data, comm.rank - 1)
        fs.compute(f"{comm.rank + 1} us")
        if comm.rank + 1 < comm.size:
            comm.Send(data, comm.rank + 1)

    found = report(program, 4)
    # Computations of 1, 2, 3 and 4 us; three messages of 100 (send), 1000, and 100 ns (receive).
    assert found.path == {"computation": 10000.0, "calls": 600.0, "messages": 3000.0}
    assert found.end_ns == 13600.0
    waits = found.tables["mpi_calls"].set_index(["rank", "call"])["late_sender_ns"]
    # A rank sends 1200 ns after the one before it and its own computation: at 1000, 4200 and 8400.
    assert [waits[rank, "Recv"] for rank in (1, 2, 3)] == [1000.0, 4200.0, 8400.0]


def test_a_barrier_waits_for_the_last_rank() -> None:
    def program() -> None:
        fs.compute(f"{10 * (MPI.COMM_WORLD.rank == 3) + 1} us")
        MPI.COMM_WORLD.Barrier()

    found = report(program, 4)
    path = found.tables["mpi_path"]
    assert rows(path.head(1), "cause", "rank", "start_ns", "end_ns") == [("computation", 3, 0.0, 11000.0)]
    waits = found.tables["mpi_waits"]
    assert set(waits[waits["cause"] == "late sender"]["peer"]) >= {3}
    assert set(waits["call"]) == {"Barrier"}


def test_polls_in_vain_are_polling() -> None:
    def program() -> None:
        comm = MPI.COMM_WORLD
        if comm.rank == 0:
            fs.compute("5 us")
            comm.send(None, 1)
        else:
            while not comm.Iprobe(0):
                pass
            comm.recv(source=0)

    found = report(program)
    assert time_of(found, 1, "polling_ns") > 4000
    assert time_of(found, 0, "polling_ns") == 0


def exchange(size: int, _: random.Random, right: int, left: int) -> None:
    MPI.COMM_WORLD.Sendrecv(np.zeros(size, "B"), right, 1, np.zeros(size, "B"), left, 1)


def reduction(size: int, _: random.Random, right: int, left: int) -> None:
    MPI.COMM_WORLD.Allreduce(np.ones(size), np.zeros(size))


def transpose(size: int, _: random.Random, right: int, left: int) -> None:
    comm = MPI.COMM_WORLD
    comm.Alltoall(np.zeros(size * comm.size, "B"), np.zeros(size * comm.size, "B"))


def objects(size: int, _: random.Random, right: int, left: int) -> None:
    comm = MPI.COMM_WORLD
    sent = comm.isend({"rank": comm.rank}, right, 3)
    assert comm.recv(source=left, tag=3) == {"rank": left}
    sent.wait()


def overlapped(size: int, own: random.Random, right: int, left: int) -> None:
    comm = MPI.COMM_WORLD
    requests = [comm.Irecv(np.zeros(size, "B"), MPI.ANY_SOURCE, 2)]
    fs.compute(own.randint(0, 3000))
    requests.append(comm.Isend(np.zeros(size, "B"), right, 2))
    MPI.Request.Waitall(requests)


def divided(size: int, _: random.Random, right: int, left: int) -> None:
    comm = MPI.COMM_WORLD
    comm.Split(comm.rank % 2, comm.rank).Barrier()


def broadcast(size: int, _: random.Random, right: int, left: int) -> None:
    MPI.COMM_WORLD.bcast(list(range(size % 100)), root=size % MPI.COMM_WORLD.size)


def synchronous(size: int, own: random.Random, right: int, left: int) -> None:
    comm = MPI.COMM_WORLD
    request = comm.Issend(np.zeros(size, "B"), right, 4)
    fs.compute(own.randint(0, 3000))
    comm.Recv(np.zeros(size, "B"), left, 4)
    request.Wait()


def polled(size: int, own: random.Random, right: int, left: int) -> None:
    request = MPI.COMM_WORLD.Ibarrier()
    while not request.Test():
        fs.compute(own.randint(0, 500))


Step = Callable[[int, random.Random, int, int], None]
UNPOLLED: tuple[Step, ...] = (exchange, reduction, transpose, objects, overlapped, divided, broadcast)
STEPS = (*UNPOLLED, synchronous, polled)


def mixed(seed: int, steps: tuple[Step, ...] = STEPS) -> Callable[[], None]:
    """A program of random steps, the same in all ranks but for the times of computations."""

    def program() -> None:
        comm, choose = MPI.COMM_WORLD, random.Random(seed)
        own = random.Random(seed * 1000 + comm.rank)
        for _ in range(choose.randint(1, 8)):
            fs.compute(own.randint(0, 5000))
            step, size = choose.choice(steps), choose.randint(0, 3000)
            step(size, own, (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size)

    return program


@settings(max_examples=40)
@given(st.integers(0, 10_000), st.integers(1, 9))
def test_everything_adds_up(seed: int, ranks: int) -> None:
    run = fs.mpi.run(mixed(seed), ranks, NETWORK, report=True)
    found = run.report
    assert found is not None
    assert run.end_ns == fs.mpi.run(mixed(seed), ranks, NETWORK).end_ns
    for rank in found.log.ranks:
        inside = sum(call.end - call.begin - call.computing for call in rank.calls)
        assert inside + sum(one.end - one.begin for one in rank.computations) == rank.end
        assert all(a.end <= b.begin for a, b in zip(rank.calls, rank.calls[1:], strict=False))
        assert all(a.end <= b.begin for a, b in zip(rank.waits, rank.waits[1:], strict=False))
    path = critical_path(found.log)
    assert sum(one.end - one.begin for one in path) == found.log.end
    assert [one.begin for one in path] == [0, *(one.end for one in path)][:-1]
    assert all(one.end > one.begin for one in path)
    calls, matrix = found.tables["mpi_calls"], found.tables["mpi_matrix"]
    assert matrix["bytes"].sum() == run.bytes == calls["bytes"].sum()
    assert matrix["messages"].sum() == run.messages == len(found.tables["mpi_messages"])
    sent = calls[calls["messages"] > 0].groupby("rank")["bytes"].sum()
    assert sent.to_dict() == matrix.groupby("source")["bytes"].sum().to_dict()
    waited = calls[["late_sender_ns", "late_receiver_ns", "transfer_ns", "polling_ns"]].sum(axis=1)
    assert (waited <= calls["time_ns"] + 1e-6).all()
    assert waited.sum() == pytest.approx(sum(part.time for part in parts(found.log)) / 1000)
    for send in (send for rank in found.log.ranks for send in rank.sends):
        receive = send.receive
        assert receive is not None
        assert (receive.rank, receive.source, receive.tag, receive.bytes) == (
            send.dest,
            send.rank,
            send.tag,
            send.bytes,
        )
        assert receive.done is None or receive.done > send.begin


def test_computation_inside_a_reduction_is_no_time_of_the_call() -> None:
    def add(a: Any, b: Any, _: Any) -> None:
        fs.compute("7 us")
        np.frombuffer(b, "d")[:] += np.frombuffer(a, "d")

    def program() -> None:
        MPI.COMM_WORLD.Reduce(np.ones(1), np.zeros(1), op=MPI.Op.Create(add), root=0)

    found = report(program)
    assert time_of(found, 0, "computation_ns") == 7000
    assert time_of(found, 0, "calls_ns") == time_of(found, 0, "end_ns") - 7000
    assert found.path["computation"] == 7000


def test_tables_have_units(tmp_path: Path) -> None:
    found = report(mixed(3), 4)
    stored = found.store(tmp_path / "run", name="mixed")
    loaded = fs.load(tmp_path / "run")
    assert loaded.title == "mixed"
    for name, table in found.tables.items():
        notes = loaded.columns(name)
        assert list(notes.index) == list(table.columns)
        assert all(notes["description"])
        assert all(
            (unit == "ns") == column.endswith("_ns")
            for column, unit in zip(notes.index, notes["unit"], strict=True)
        )
        assert len(loaded.table(name)) == len(table)
    assert draw(stored, "timeline").axes
    assert draw(loaded, "matrix").axes


def test_a_run_without_messages_has_empty_tables(tmp_path: Path) -> None:
    found = report(lambda: fs.compute("1 us"), 1)
    assert found.path == {"computation": 1000.0, "calls": 0.0, "messages": 0.0}
    assert found.tables["mpi_matrix"].empty
    found.store(tmp_path / "run")
    assert draw(fs.load(tmp_path / "run"), "timeline").axes
    with pytest.raises(fs.InputError, match="no rank sent a byte"):
        draw(fs.load(tmp_path / "run"), "matrix")


SCRIPT = """
from mpi4py import MPI
import fabricsim
comm = MPI.COMM_WORLD
fabricsim.compute(f"{1 + comm.rank} us")
comm.Barrier()
print("done")
"""


def test_the_command_prints_and_writes_the_report(command: Command, tmp_path: Path) -> None:
    (tmp_path / "p.py").write_text(SCRIPT)
    ran = command("mpi", "run", "-n", 4, "--report", "--out", "run", "--plot", "p.py")
    assert ran.code == 0, ran.err
    assert "Barrier" in ran.out
    assert re.search(r"critical path of [0-9.]+ µs: ", ran.out)
    assert re.search(r"rank \d waited [0-9.]+ µs in Barrier", ran.out)
    assert re.search(r"4 ranks, [0-9.]+ µs simulated", ran.err)
    assert {path.name for path in (tmp_path / "run").glob("*.png")} == {"timeline.png"}
    again = command("mpi", "run", "-n", 4, "--out", "run", "p.py")
    assert again.code == 2
    assert "run: this exists" in again.err
    assert command("plot", "run", "--kind", "timeline").code == 0


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--plot"], "--plot: only with --out"),
        (["--paraver", "x.txt"], "must end in .prv"),
        (["--goal", "p.py"], "p.py: this exists"),
    ],
)
def test_wrong_options(command: Command, tmp_path: Path, arguments: list[str], problem: str) -> None:
    (tmp_path / "p.py").write_text(SCRIPT)
    ran = command("mpi", "run", "-n", 2, *arguments, "p.py")
    assert ran.code == 2
    assert problem in ran.err
