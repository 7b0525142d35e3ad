"""Runs of rank programs: times, errors, deadlocks, scripts, and the command."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import ROOT, Command

import fabricsim as fs
from fabricsim.mpi import MPI

NETWORK = "loggp:L=1000,o=100,g=10,G=1"
"""A message of s bytes takes 1200 + s - 1 ns."""


def run(program: Callable[..., Any], ranks: int = 2, **options: Any) -> fs.mpi.MpiRun:
    return fs.mpi.run(program, ranks, NETWORK, **options)


def test_a_message_takes_the_time_of_loggp() -> None:
    def program() -> float:
        comm, data = MPI.COMM_WORLD, np.zeros(101, "B")
        if comm.rank == 0:
            comm.Send(data, 1)
        else:
            comm.Recv(data, 0)
        return MPI.Wtime() * 1e9

    found = run(program)
    assert found.values == pytest.approx([100, 100 + 1000 + 100 + 100])
    assert (found.messages, found.bytes, found.end_ns) == (1, 101, 1300)
    assert found.calls["name"].tolist() == ["Recv", "Send"]
    assert found.calls["total_ns"].tolist() == [1300, 100]


def test_a_synchronous_send_waits_for_the_receive() -> None:
    def program() -> float:
        comm = MPI.COMM_WORLD
        if comm.rank == 0:
            comm.Ssend(b"x", 1)
        else:
            fs.compute("50 us")
            comm.Recv(bytearray(1), 0)
        return MPI.Wtime() * 1e9

    # The receive matches at 50 us, costs 100 ns, and its acknowledgement takes 1000 ns.
    assert run(program).values == pytest.approx([51100, 50100])


def test_collectives_go_on_only_inside_mpi() -> None:
    def program(tests: bool) -> float:
        comm = MPI.COMM_WORLD
        request = comm.Ibarrier()
        for _ in range(100):
            fs.compute("1 us")
            if tests:
                request.Get_status()
        begun = MPI.Wtime()
        request.Wait()
        return (MPI.Wtime() - begun) * 1e9

    assert min(run(program, 8, args=(False,)).values) > 1000
    assert max(run(program, 8, args=(True,)).values) == 0


def test_messages_of_a_source_do_not_overtake() -> None:
    def program() -> Any:
        comm = MPI.COMM_WORLD
        if comm.rank:
            requests = [comm.isend((comm.rank, number), 0, tag=number % 3) for number in range(20)]
            MPI.Request.waitall(requests)
            return None
        return [comm.recv(source=MPI.ANY_SOURCE, tag=MPI.ANY_TAG) for _ in range(40)]

    found = run(program, 3).values[0]
    for source in (1, 2):
        assert [number for rank, number in found if rank == source] == list(range(20))


def test_derived_datatypes_take_the_right_bytes() -> None:
    def program() -> Any:
        comm = MPI.COMM_WORLD
        matrix = np.arange(20.0).reshape(4, 5)
        column = MPI.DOUBLE.Create_vector(4, 1, 5).Commit()
        struct = MPI.Datatype.Create_struct([1, 2], [0, 8], [MPI.INT, MPI.DOUBLE]).Commit()
        inner = MPI.DOUBLE.Create_subarray([4, 5], [2, 3], [1, 1]).Commit()
        assert (struct.Get_size(), struct.Get_extent()) == (20, (0, 24))
        records = np.zeros(2, np.dtype([("a", "i"), ("b", "d", 2)], align=True))
        if comm.rank == 0:
            comm.Send([matrix.ravel()[2:], 1, column], 1)
            records["a"], records["b"] = [1, 2], [[3, 4], [5, 6]]
            comm.Send([records, 2, struct], 1)
            comm.Send([matrix, 1, inner], 1)
            return None
        taken, status = np.zeros(4), MPI.Status()
        comm.Recv(taken, 0, status=status)
        comm.Recv([records, 2, struct], 0)
        part = np.zeros((2, 3))
        comm.Recv(part, 0)
        return taken.tolist(), status.Get_count(MPI.DOUBLE), records["b"].tolist(), part.tolist()

    assert run(program).values[1] == (
        [2, 7, 12, 17],
        4,
        [[3, 4], [5, 6]],
        [[6, 7, 8], [11, 12, 13]],
    )


def test_a_buffer_that_is_too_small_is_an_error() -> None:
    def program() -> Any:
        comm = MPI.COMM_WORLD
        if comm.rank == 0:
            comm.Send(np.arange(4), 1)
            return None
        small = np.zeros(2, "l")
        with pytest.raises(MPI.Exception, match=r"a message of 32 bytes, a buffer of 16") as caught:
            comm.Recv(small, 0)
        assert caught.value.Get_error_class() == MPI.ERR_TRUNCATE
        return small.tolist()

    assert run(program).values[1] == [0, 1]


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda c: c.Send(b"", 2), "ERR_RANK", "dest = 2: must be 0 to 1"),
        (lambda c: c.Recv(bytearray(1), -7), "ERR_RANK", "source = -7"),
        (lambda c: c.Send(b"", 1, -5), "ERR_TAG", "tag = -5"),
        (lambda c: c.Bcast(bytearray(1), 9), "ERR_ROOT", "root = 9: must be 0 to 1"),
        (lambda c: c.Send(b"", 1.5), "ERR_RANK", r"dest = 1\.5: must be a whole number"),
        (lambda c: c.send(None, 1.0), "ERR_RANK", r"dest = 1\.0: must be a whole number"),
        (lambda c: c.isend(None, None), "ERR_RANK", "dest = None: must be a whole number"),
        (lambda c: c.send(None, "1"), "ERR_RANK", "dest = '1': must be a whole number"),
        (lambda c: c.Recv(bytearray(1), 0.5), "ERR_RANK", r"source = 0\.5: must be a whole number"),
        (lambda c: c.recv(source=0, tag=1.5), "ERR_TAG", r"tag = 1\.5: must be a whole number"),
        (lambda c: c.Probe(0.5), "ERR_RANK", r"source = 0\.5: must be a whole number"),
        (lambda c: c.bcast(1, 0.5), "ERR_ROOT", r"root = 0\.5: must be a whole number"),
        (lambda c: c.Bsend(b"x", 1), "ERR_BUFFER", "no buffer is attached"),
        (
            lambda c: c.Send([np.zeros(2), 3, MPI.DOUBLE], 1),
            "ERR_BUFFER",
            "bytes 0 to 24 of a buffer of 16 bytes",
        ),
        (
            lambda c: c.Allreduce(np.zeros(1), np.zeros(1), MPI.BXOR),
            "ERR_OP",
            "MPI.BXOR is not defined for MPI_DOUBLE",
        ),
        (lambda c: MPI.COMM_NULL.Barrier(), "ERR_COMM", "MPI.COMM_NULL"),
        (lambda c: c.Create_cart([3]), "ERR_ARG", "has 3 ranks, there are 2"),
    ],
)
def test_wrong_arguments(call: Callable[[Any], Any], error: str, text: str) -> None:
    def program() -> None:
        with pytest.raises(MPI.Exception, match=text) as caught:
            call(MPI.COMM_WORLD)
        assert caught.value.Get_error_class() == getattr(MPI, error)

    run(program)


def test_a_deadlock_names_the_ranks_and_their_lines() -> None:
    def program() -> None:
        comm = MPI.COMM_WORLD
        if comm.rank < 3:
            comm.Recv(bytearray(1), (comm.rank + 1) % 3, tag=7)

    with pytest.raises(fs.mpi.DeadlockError) as caught:
        run(program, 4)
    assert caught.value.cycle == [0, 1, 2]
    assert "rank 0 waits in Recv(source=1, tag=7) at test_mpi.py:" in str(caught.value)
    assert "rank 0 -> rank 1 -> rank 2 -> rank 0" in str(caught.value)
    assert set(caught.value.waits) == {"rank 0", "rank 1", "rank 2"}


def test_ranks_that_differ_in_their_collectives_are_reported() -> None:
    def differ() -> None:
        comm = MPI.COMM_WORLD
        comm.Bcast(np.zeros(1), 0) if comm.rank == 1 else comm.Barrier()

    with pytest.raises(
        fs.mpi.RankError, match=r"ranks differ in collective 1 .* rank 1 calls Bcast\(root=0\)"
    ) as one:
        run(differ, 3)
    assert one.value.rank == 1

    def lack() -> None:
        if MPI.COMM_WORLD.rank:
            MPI.COMM_WORLD.Barrier()

    with pytest.raises(fs.mpi.DeadlockError, match=r"Barrier\(\), called by rank 1 .* by 2 of 3 ranks"):
        run(lack, 3)


def test_communicators_have_messages_of_their_own() -> None:
    def program() -> Any:
        world = MPI.COMM_WORLD
        other = world.Dup()
        if world.rank == 0:
            world.send("world", 1)
            other.send("other", 1)
            return None
        return other.recv(source=0), world.recv(source=0)

    assert run(program).values[1] == ("other", "world")

    def split() -> Any:
        world = MPI.COMM_WORLD
        half = world.Split(world.rank % 2, -world.rank)
        return half.rank, half.allgather(world.rank)

    assert run(split, 6).values == [
        (2, [4, 2, 0]),
        (2, [5, 3, 1]),
        (1, [4, 2, 0]),
        (1, [5, 3, 1]),
        (0, [4, 2, 0]),
        (0, [5, 3, 1]),
    ]


def test_runs_are_the_same_each_time() -> None:
    def program() -> Any:
        comm = MPI.COMM_WORLD
        fs.compute(flops=1000 * comm.rank)
        found = comm.allreduce(comm.rank)
        comm.Barrier()
        return found, MPI.Wtime()

    first, second = run(program, 17), run(program, 17)
    assert first.values == second.values
    assert first.calls.equals(second.calls)


def script(folder: Path, text: str, name: str = "program.py") -> Path:
    (folder / name).write_text(text)
    return folder / name


def test_each_rank_has_the_modules_of_the_scripts_folder_for_itself(tmp_path: Path, command: Command) -> None:
    script(tmp_path, "values = []\n", "helper.py")
    main = script(
        tmp_path,
        "import sys, helper\nfrom mpi4py import MPI\ncomm = MPI.COMM_WORLD\nhelper.values.append(comm.rank)\n"
        "comm.Barrier()\nimport helper as again\nassert again.values == [comm.rank], again.values\n"
        "class Thing:\n    pass\nthing = comm.bcast(Thing())\nassert type(thing) is Thing\n"
        "assert sys.modules['__main__'].Thing is Thing\nprint(comm.rank, sys.argv[1:])\n",
    )
    ran = command("mpi", "run", "-n", "3", str(main), "-x", "y")
    assert ran.code == 0, ran.err
    assert sorted(ran.out.splitlines()) == [f"{rank} ['-x', 'y']" for rank in range(3)]


def test_command_prints_json(tmp_path: Path, command: Command) -> None:
    main = script(tmp_path, "from mpi4py import MPI\nprint('text')\nMPI.COMM_WORLD.Barrier()\n")
    ran = command("mpi", "run", "-n", "8", "--network", NETWORK, "--json", str(main))
    found = json.loads(ran.out)
    assert ran.code == 0
    assert ran.err.count("text") == 8
    assert (found["ranks"], found["messages"], found["bytes"], found["end_ns"]) == (8, 24, 0, 3600)
    assert found["calls"] == [
        {"name": "Barrier", "count": 8, "min_ns": 3600, "p50_ns": 3600, "max_ns": 3600, "total_ns": 28800}
    ]


@pytest.mark.parametrize(
    ("text", "code", "message"),
    [
        ("raise ValueError('no')", 1, r"rank 0 at 0 s at program.py:3 (<module>): ValueError: no"),
        ("MPI.COMM_WORLD.Abort(7)", 7, "rank 0 ended the run with exit code 7"),
        ("import sys; sys.exit(4)", 4, "rank 0 ended the run with exit code 4"),
        ("MPI.COMM_WORLD.recv()", 3, "rank 0 waits in recv(source=any, tag=any) at program.py:3 (<module>)"),
        ("1 +", 2, "program.py, line 3: invalid syntax"),
    ],
)
def test_exit_codes(text: str, code: int, message: str, tmp_path: Path, command: Command) -> None:
    main = script(tmp_path, f"from mpi4py import MPI\n\n{text}\n")
    ran = command("mpi", "run", "-n", "2", str(main))
    assert (ran.code, message in ran.err) == (code, True), ran.err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--network", "loggp:Q=1"], "'Q=1' is no parameter: use L, o, g, G"),
        (["--network", "loggp:L=-1"], "L = -1: must be a time of 0 or more"),
        (["--network", "torus"], "--network torus: must be loggp:"),
        (["--collective", "allreduce=rng"], "did you mean 'ring'?"),
        (["--collective", "allreduce"], "must be OPERATION=ALGORITHM"),
        (["--collectives", "intel"], "must be one of openmpi, mpich"),
        (["--verbs-log", "f"], "--verbs-log: only with --experiment"),
    ],
)
def test_wrong_options(options: list[str], message: str, tmp_path: Path, command: Command) -> None:
    main = script(tmp_path, "")
    ran = command("mpi", "run", *options, str(main))
    assert (ran.code, message in ran.err) == (2, True), ran.err


def test_halo_exchange_is_that_of_the_whole_grid(command: Command) -> None:
    """Periodic means keep the sum, and the time with overlap is shorter."""
    program = str(ROOT / "experiments/programs/halo.py")
    one = command("mpi", "run", "-n", "6", program, "64", "5").out
    other = command("mpi", "run", "-n", "6", program, "64", "5", "overlap").out
    total = sum(np.random.default_rng(rank).random((66, 66))[1:-1, 1:-1].sum() for rank in range(6))
    assert one.split()[-1] == other.split()[-1] == f"{total:.6f}"
    assert float(one.split("cells: ")[1].split()[0]) > float(other.split("cells: ")[1].split()[0])


def test_ranks_of_numpy_are_whole_numbers() -> None:
    def program() -> list[int]:
        comm, got = MPI.COMM_WORLD, np.zeros(1, "l")
        other: Any = np.int64(1 - comm.Get_rank())
        tag: Any = np.int32(3)
        root: Any = np.int16(0)
        comm.Sendrecv(np.full(1, 7, "l"), other, tag, got, other, tag)
        found = comm.bcast(int(got[0]), root)
        return [int(got[0]), found]

    assert run(program).values == [[7, 7], [7, 7]]
