"""Every algorithm of every collective gives the result of the plain computation, and the messages that are stated."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from collective_cases import COUNTS, FAST, OPS, check, choices, combined, operands

import fabricsim as fs
from fabricsim.mpi import MPI
from fabricsim.mpi.collectives.registry import ALGORITHMS


@pytest.mark.parametrize("algorithm", choices("barrier"))
def test_barrier(algorithm: str) -> None:
    for ranks in COUNTS:

        def program(ranks: int = ranks) -> float:
            comm = MPI.COMM_WORLD
            fs.compute(f"{(comm.rank * 7) % ranks} us")
            MPI.COMM_WORLD.Barrier()
            return MPI.Wtime()

        run = check(program, ranks, "barrier", algorithm)
        assert min(run.values) >= max((rank * 7) % ranks for rank in range(ranks)) * 1e-6


@pytest.mark.parametrize("algorithm", choices("bcast"))
def test_bcast(algorithm: str) -> None:
    for ranks in COUNTS:
        for root, count in {(0, 3000), (ranks - 1, 5), (ranks // 2, 1), (ranks // 3, 0)}:
            data = operands(1, count, "i")[0]

            def program(root: int = root, data: Any = data) -> bool:
                mine = data.copy() if MPI.COMM_WORLD.rank == root else np.full_like(data, -1)
                MPI.COMM_WORLD.Bcast(mine, root)
                return bool((mine == data).all())

            assert all(check(program, ranks, "bcast", algorithm).values), (ranks, root, count)


@pytest.mark.parametrize("algorithm", choices("reduce"))
def test_reduce(algorithm: str) -> None:
    for ranks in COUNTS:
        for root, count, dtype, name in (
            (0, 5000, "d", "SUM"),
            (ranks - 1, 7, "i", "MAX"),
            (ranks // 2, 1, "B", "BXOR"),
            (ranks // 3, 3, "i", "LAND"),
        ):
            given, (op, plain) = operands(ranks, count, dtype), OPS[name]

            def program(root: int = root, given: Any = given, op: Any = op) -> Any:
                comm = MPI.COMM_WORLD
                result = np.zeros_like(given[0])
                comm.Reduce(given[comm.rank].copy(), result if comm.rank == root else None, op, root)
                return result

            found = check(program, ranks, "reduce", algorithm).values[root]
            assert np.array_equal(found, combined(given, plain)), (ranks, root, count, name)


@pytest.mark.parametrize("algorithm", choices("allreduce"))
def test_allreduce(algorithm: str) -> None:
    for ranks in COUNTS:
        for count, dtype, name in (
            (4000, "i", "SUM"),
            (1, "d", "MIN"),
            (ranks + 1, "F", "PROD"),
            (3, "B", "BXOR"),
        ):
            given, (op, plain) = operands(ranks, count, dtype), OPS[name]
            expected = combined(given, plain)

            def program(given: Any = given, op: Any = op, expected: Any = expected) -> bool:
                comm = MPI.COMM_WORLD
                result = given[comm.rank].copy()
                comm.Allreduce(MPI.IN_PLACE, result, op)
                return bool(np.array_equal(result, expected))

            assert all(check(program, ranks, "allreduce", algorithm).values), (ranks, count, name)


@pytest.mark.parametrize("algorithm", choices("reduce_scatter"))
def test_reduce_scatter(algorithm: str) -> None:
    for ranks in COUNTS:
        counts = [(rank * 5) % 4 for rank in range(ranks)]
        given = operands(ranks, sum(counts), "i")
        expected = np.split(given.sum(0), np.cumsum(counts)[:-1])

        def program(given: Any = given, counts: Any = counts, expected: Any = expected) -> bool:
            comm = MPI.COMM_WORLD
            result = np.zeros(counts[comm.rank], "i")
            comm.Reduce_scatter(given[comm.rank].copy(), result, counts)
            return bool(np.array_equal(result, expected[comm.rank]))

        assert all(check(program, ranks, "reduce_scatter", algorithm).values), ranks


@pytest.mark.parametrize("algorithm", choices("reduce_scatter_block"))
def test_reduce_scatter_block(algorithm: str) -> None:
    for ranks in COUNTS:
        given = operands(ranks, 2 * ranks, "d")

        def program(given: Any = given) -> bool:
            comm = MPI.COMM_WORLD
            result = np.zeros(2)
            comm.Reduce_scatter_block(given[comm.rank].copy(), result)
            return bool(np.array_equal(result, given.sum(0)[2 * comm.rank : 2 * comm.rank + 2]))

        assert all(check(program, ranks, "reduce_scatter_block", algorithm).values), ranks


@pytest.mark.parametrize("algorithm", choices("allgather"))
def test_allgather(algorithm: str) -> None:
    for ranks in COUNTS:
        given = operands(ranks, 3, "i")
        counts = [(rank * 5) % 4 for rank in range(ranks)]
        parts = [operands(1, count, "i")[0] + rank for rank, count in enumerate(counts)]

        def program(given: Any = given, counts: Any = counts, parts: Any = parts) -> bool:
            comm = MPI.COMM_WORLD
            result = np.zeros_like(given)
            comm.Allgather(given[comm.rank].copy(), result)
            uneven = np.zeros(sum(counts), "i")
            comm.Allgatherv(parts[comm.rank].copy(), [uneven, counts])
            return bool(np.array_equal(result, given) and np.array_equal(uneven, np.concatenate(parts)))

        selected = {"allgather": algorithm, "allgatherv": algorithm}
        assert all(fs.mpi.run(program, ranks, FAST, collectives=selected).values), ranks


@pytest.mark.parametrize("algorithm", choices("gather"))
def test_gather(algorithm: str) -> None:
    for ranks in COUNTS:
        for root, count in ((0, 1), (ranks - 1, 400), (ranks // 2, 3)):
            given = operands(ranks, count, "i")

            def program(root: int = root, given: Any = given) -> Any:
                comm = MPI.COMM_WORLD
                result = np.zeros_like(given) if comm.rank == root else None
                comm.Gather(given[comm.rank].copy(), result, root)
                return result

            found = check(program, ranks, "gather", algorithm).values[root]
            assert np.array_equal(found, given), (ranks, root)


@pytest.mark.parametrize("algorithm", choices("scatter"))
def test_scatter(algorithm: str) -> None:
    for ranks in COUNTS:
        for root, count in ((0, 1), (ranks - 1, 40), (ranks // 2, 3)):
            given = operands(ranks, count, "i")

            def program(root: int = root, given: Any = given) -> bool:
                comm = MPI.COMM_WORLD
                result = np.zeros_like(given[0])
                comm.Scatter(given if comm.rank == root else None, result, root)
                return bool(np.array_equal(result, given[comm.rank]))

            assert all(check(program, ranks, "scatter", algorithm).values), (ranks, root)


@pytest.mark.parametrize("algorithm", choices("alltoall"))
def test_alltoall(algorithm: str) -> None:
    for ranks in COUNTS:
        given = np.arange(ranks * ranks * 2, dtype="i").reshape(ranks, ranks, 2)

        def program(given: Any = given) -> bool:
            comm = MPI.COMM_WORLD
            result = np.zeros_like(given[0])
            comm.Alltoall(given[comm.rank].copy(), result)
            return bool(np.array_equal(result, given[:, comm.rank]))

        assert all(check(program, ranks, "alltoall", algorithm).values), ranks


@pytest.mark.parametrize("algorithm", choices("alltoallv"))
def test_alltoallv(algorithm: str) -> None:
    for ranks in COUNTS:

        def program(ranks: int = ranks) -> bool:
            comm = MPI.COMM_WORLD
            sizes = [(comm.rank + other) % 3 for other in range(ranks)]
            sent = np.concatenate([np.full(size, comm.rank * 100 + k, "i") for k, size in enumerate(sizes)])
            result = np.zeros(sum(sizes), "i")
            comm.Alltoallv([sent, sizes], [result, sizes])
            expected = [np.full(size, k * 100 + comm.rank, "i") for k, size in enumerate(sizes)]
            return bool(np.array_equal(result, np.concatenate(expected)))

        assert all(check(program, ranks, "alltoallv", algorithm).values), ranks


@pytest.mark.parametrize("algorithm", choices("scan"))
def test_scan(algorithm: str) -> None:
    for ranks in COUNTS:
        given = operands(ranks, 3, "i")

        def program(given: Any = given) -> bool:
            comm = MPI.COMM_WORLD
            result, before = np.zeros(3, "i"), np.zeros(3, "i")
            comm.Scan(given[comm.rank].copy(), result)
            comm.Exscan(given[comm.rank].copy(), before)
            sums = given.cumsum(0)
            is_right = np.array_equal(result, sums[comm.rank])
            return bool(is_right and np.array_equal(before, sums[comm.rank - 1] if comm.rank else before * 0))

        selected = {"scan": algorithm, "exscan": algorithm}
        assert all(fs.mpi.run(program, ranks, FAST, collectives=selected).values), ranks


def affine(a: Any, b: Any, datatype: Any) -> None:
    """Composition of maps x -> p x + q modulo 2^32, which does not commute."""
    first, second = np.frombuffer(a, np.uint32).reshape(-1, 2), np.frombuffer(b, np.uint32).reshape(-1, 2)
    second[:, 1] = first[:, 1] + first[:, 0] * second[:, 1]
    second[:, 0] = first[:, 0] * second[:, 0]


def composed(given: Any) -> Any:
    result = given[0].copy()
    for one in given[1:]:
        result = np.stack([result[:, 0] * one[:, 0], result[:, 1] + result[:, 0] * one[:, 1]], axis=1)
    return result


@pytest.mark.parametrize("operation", ["reduce", "allreduce", "reduce_scatter_block", "scan"])
def test_operations_that_do_not_commute_are_in_rank_order(operation: str) -> None:
    """With every algorithm: one that needs commutative operations is not used for others."""
    for algorithm in ALGORITHMS[operation]:
        for ranks in (1, 2, 3, 5, 6, 8, 13, 16, 33):
            given = np.random.default_rng(ranks).integers(1, 99, (ranks, 4 * ranks, 2)).astype(np.uint32)

            def program(given: Any = given, ranks: int = ranks) -> bool:
                comm = MPI.COMM_WORLD
                pair = MPI.UNSIGNED.Create_contiguous(2).Commit()
                op = MPI.Op.Create(affine, commute=False)
                mine, result = given[comm.rank].copy(), np.zeros_like(given[0])
                everything = composed(given)
                if operation == "reduce":
                    root = ranks // 2
                    comm.Reduce([mine, pair], [result, pair], op, root)
                    return comm.rank != root or bool(np.array_equal(result, everything))
                if operation == "allreduce":
                    comm.Allreduce([mine, pair], [result, pair], op)
                    return bool(np.array_equal(result, everything))
                if operation == "scan":
                    comm.Scan([mine, pair], [result, pair], op)
                    return bool(np.array_equal(result, composed(given[: comm.rank + 1])))
                part = result[:4].copy()
                comm.Reduce_scatter_block([mine, pair], [part, pair], op)
                return bool(np.array_equal(part, everything[4 * comm.rank : 4 * comm.rank + 4]))

            assert all(check(program, ranks, operation, algorithm).values), (algorithm, ranks)


@pytest.mark.parametrize("decisions", ["openmpi", "mpich"])
def test_non_blocking_forms_give_the_same(decisions: str) -> None:
    for ranks in (1, 2, 3, 6, 13, 32):

        def program(ranks: int = ranks) -> bool:
            comm = MPI.COMM_WORLD
            total, everyone, prefix = np.zeros(3), np.zeros(ranks), np.zeros(1)
            number = np.full(2, comm.rank)
            requests = [
                comm.Iallreduce(np.full(3, comm.rank + 1.0), total),
                comm.Ibarrier(),
                comm.Iallgather(np.array([comm.rank * 2.0]), everyone),
                comm.Ibcast(number, ranks - 1),
                comm.Iscan(np.array([1.0]), prefix),
            ]
            fs.compute("5 us")
            MPI.Request.Waitall(requests[::-1])
            right = total == ranks * (ranks + 1) / 2, everyone == 2 * np.arange(ranks), number == ranks - 1
            return bool(all(one.all() for one in right) and prefix[0] == comm.rank + 1)

        assert all(fs.mpi.run(program, ranks, FAST, decisions=decisions).values), ranks


@pytest.mark.parametrize(("ranks", "messages"), [(2, 2), (6, 18), (8, 24), (4096, 49152), (4097, 53261)])
def test_messages_of_barriers(ranks: int, messages: int) -> None:
    """Section IV-B of the tutorial: n log2 n, and n ceil(log2 n) if n is no power of 2."""
    assert fs.mpi.run(MPI.COMM_WORLD.Barrier, ranks, FAST).messages == messages


@pytest.mark.parametrize(("ranks", "reduce", "allreduce"), [(6, 5, 12), (8, 7, 24)])
def test_messages_of_reductions(ranks: int, reduce: int, allreduce: int) -> None:
    """The tutorial's formula for allreduce, n log2 n' + 2 (n' - n), is another: Open MPI sends p log2 p + 2 (n - p)."""

    def program(call: str) -> None:
        one = np.ones(1)
        getattr(MPI.COMM_WORLD, call)(one, np.zeros(1))

    assert fs.mpi.run(program, ranks, FAST, args=("Reduce",)).messages == reduce
    assert fs.mpi.run(program, ranks, FAST, args=("Allreduce",)).messages == allreduce


def test_times_are_those_of_loggopsim() -> None:
    """L=1000 o=100 g=10 G=0, 16 ranks, 8 bytes: dissemination 4800 ns, linear all-to-all 3000 ns."""
    network = "loggp:L=1000,o=100,g=10,G=0"

    def barrier() -> None:
        MPI.COMM_WORLD.Barrier()

    def exchange() -> None:
        MPI.COMM_WORLD.Alltoall(np.zeros(16), np.zeros(16))

    chosen = {"barrier": "dissemination", "alltoall": "linear"}
    assert fs.mpi.run(barrier, 16, network, collectives=chosen).end_ns == 4800
    assert fs.mpi.run(exchange, 16, network, collectives=chosen).end_ns == 3000


PAIRS = {
    "SHORT_INT": ("h", MPI.SHORT_INT),
    "INT_INT": ("i", MPI.INT_INT),
    "LONG_INT": ("l", MPI.LONG_INT),
    "FLOAT_INT": ("f", MPI.FLOAT_INT),
    "DOUBLE_INT": ("d", MPI.DOUBLE_INT),
    "LONG_DOUBLE_INT": ("g", MPI.LONG_DOUBLE_INT),
}


@pytest.mark.parametrize("name", list(PAIRS))
@pytest.mark.parametrize("ranks", [2, 5])
def test_locations_of_pairs_of_every_type(name: str, ranks: int) -> None:
    """Also where a pair ends with padding, and the buffer ends with the last index."""
    code, kind = PAIRS[name]
    padded = np.dtype([("value", code), ("index", "i")], align=True)
    values = np.random.default_rng(ranks).integers(0, 3, (ranks, 3))

    def program() -> list[tuple[float, int]]:
        comm = MPI.COMM_WORLD
        mine = np.zeros(3, padded)
        mine["value"], mine["index"] = values[comm.rank], comm.rank
        last = mine[2:]["index"]
        end = last.ctypes.data + last.nbytes - mine.ctypes.data
        given, found = mine.tobytes()[:end], bytearray(end)
        comm.Allreduce([given, 3, kind], [found, 3, kind], MPI.MAXLOC)
        local = bytearray(given)
        MPI.MINLOC.Reduce_local([given, 3, kind], [local, 3, kind])
        assert local == given
        result = np.frombuffer(bytes(found).ljust(3 * padded.itemsize), padded)
        return [(float(one["value"]), int(one["index"])) for one in result]

    best = [(float(column.max()), int(column.argmax())) for column in values.T]
    assert fs.mpi.run(program, ranks, FAST).values == [best] * ranks
