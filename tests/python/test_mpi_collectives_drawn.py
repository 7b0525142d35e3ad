"""Collectives of any operation, type, root, sizes and algorithm, and the messages of MPICH's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from collective_cases import COUNTS, FAST, OPS, check, choices, combined, operands

import fabricsim as fs
from fabricsim.mpi import MPI
from fabricsim.mpi.collectives.registry import ALGORITHMS


@pytest.mark.parametrize("seed", range(8))
def test_reductions_drawn_at_random(seed: int) -> None:
    """Of any operation, type, root, number of elements and of ranks, with any algorithm, or the one that is chosen."""
    draw = np.random.default_rng(seed)
    for _ in range(40):
        ranks, count, root_at = (int(draw.integers(*of)) for of in ((1, 34), (0, 300), (0, 1 << 20)))
        name, dtype = str(draw.choice(sorted(OPS))), str(draw.choice(["i", "B", "d", "F"]))
        if dtype in "dF" and name not in ("SUM", "PROD") + (("MAX", "MIN") if dtype == "d" else ()):
            dtype = "i"
        selected: dict[str, Any] = {"decisions": str(draw.choice(["openmpi", "mpich"]))}
        if draw.random() < 0.7:
            of = ("reduce", "allreduce", "reduce_scatter_block", "scan")
            selected["collectives"] = {one: str(draw.choice(list(ALGORITHMS[one]))) for one in of}
        given, (op, plain) = operands(ranks, count * ranks, dtype), OPS[name]
        root, expected = root_at % ranks, combined(given, plain)

        def program(given: Any = given, op: Any = op, root: int = root, count: int = count) -> list[Any]:
            comm = MPI.COMM_WORLD
            results = [np.zeros_like(given[0]) for _ in range(3)] + [np.zeros(count, given.dtype)]
            comm.Reduce(given[comm.rank].copy(), results[0] if comm.rank == root else None, op, root)
            comm.Allreduce(given[comm.rank].copy(), results[1], op)
            comm.Scan(given[comm.rank].copy(), results[2], op)
            comm.Reduce_scatter_block(given[comm.rank].copy(), results[3], op)
            return results

        what = (ranks, count, root, name, dtype, selected)
        for rank, found in enumerate(fs.mpi.run(program, ranks, FAST, **selected).values):
            assert rank != root or np.array_equal(found[0], expected), what
            assert np.array_equal(found[1], expected), what
            assert np.array_equal(found[2], combined(given[: rank + 1], plain)), what
            assert np.array_equal(found[3], expected[rank * count : (rank + 1) * count]), what


def test_every_root() -> None:
    """Of 1 to 13 ranks, with every algorithm of the collectives that have one."""
    for ranks in range(1, 14):
        given = operands(ranks, 20, "i")
        total = given.sum(0)

        def program(given: Any = given, ranks: int = ranks, total: Any = total) -> bool:
            comm, is_right = MPI.COMM_WORLD, True
            for root in range(ranks):
                mine, result = given[comm.rank].copy(), np.zeros(20, "i")
                comm.Reduce(given[comm.rank].copy(), result if comm.rank == root else None, MPI.SUM, root)
                comm.Bcast(mine, root)
                gathered: Any = np.zeros_like(given) if comm.rank == root else None
                comm.Gather(given[comm.rank].copy(), gathered, root)
                part = np.zeros(20, "i")
                comm.Scatter(given if comm.rank == root else None, part, root)
                if comm.rank == root:
                    is_right &= np.array_equal(result, total) and np.array_equal(gathered, given)
                is_right &= np.array_equal(mine, given[root]) and np.array_equal(part, given[comm.rank])
            return bool(is_right)

        names = {one: list(ALGORITHMS[one]) for one in ("reduce", "bcast", "gather", "scatter")}
        for number in range(max(map(len, names.values()))):
            selected = {one: of[number % len(of)] for one, of in names.items()}
            assert all(fs.mpi.run(program, ranks, FAST, collectives=selected).values), (ranks, selected)


@pytest.mark.parametrize("algorithm", choices("alltoallw"))
def test_vectors_at_random(algorithm: str) -> None:
    """Gatherv, Scatterv, Alltoallw and Neighbor_alltoallv with blocks of any sizes, some of them empty."""
    for ranks in COUNTS:
        sizes = np.random.default_rng(ranks).integers(0, 4, (ranks, ranks))
        root = ranks // 3

        def program(sizes: Any = sizes, root: int = root, ranks: int = ranks) -> bool:
            comm = MPI.COMM_WORLD
            rank, counts = comm.rank, sizes[root]
            whole = np.arange(counts.sum(), dtype="i")
            starts = np.concatenate([[0], np.cumsum(counts)])
            mine = np.zeros(counts[rank], "i")
            comm.Scatterv([whole, counts.tolist()] if rank == root else None, mine, root)
            back: Any = np.zeros_like(whole) if rank == root else None
            comm.Gatherv(mine, [back, counts.tolist()] if rank == root else None, root)
            is_right = np.array_equal(mine, whole[starts[rank] : starts[rank + 1]])
            is_right &= rank != root or np.array_equal(back, whole)
            sent = np.concatenate(
                [np.full(size, rank * ranks + k, "i") for k, size in enumerate(sizes[rank])]
            )
            expected = np.concatenate([np.full(sizes[k, rank], k * ranks + rank, "i") for k in range(ranks)])
            for graph in (None, comm.Create_dist_graph_adjacent(list(range(ranks)), list(range(ranks)))):
                result = np.zeros_like(expected)
                out, into = sizes[rank].tolist(), sizes[:, rank].tolist()
                if graph is not None:
                    graph.Neighbor_alltoallv([sent, out], [result, into])
                else:
                    at = [4 * int(sum(out[:k])) for k in range(ranks)]
                    to = [4 * int(sum(into[:k])) for k in range(ranks)]
                    types = [MPI.INT] * ranks
                    comm.Alltoallw([sent, (out, at), types], [result, (into, to), types])
                is_right &= np.array_equal(result, expected)
            return bool(is_right)

        assert all(check(program, ranks, "alltoallw", algorithm).values), ranks


@pytest.mark.parametrize(
    ("call", "count", "messages"),
    [
        # Recursive halving, and a binomial tree to the root: 3 * 8 + 7; up to 2048 B the tree alone.
        ("Reduce", 1 << 17, 31),
        ("Reduce", 256, 7),
        # Parts down a binomial tree, then recursive doubling; from 512 KiB a ring.
        ("Bcast", 1 << 13, 7 + 24),
        ("Bcast", 1 << 17, 7 + 56),
        # Recursive halving; from 512 KiB pairs.
        ("Reduce_scatter_block", 1 << 12, 24),
        ("Reduce_scatter_block", 1 << 17, 56),
    ],
)
def test_messages_of_mpich(call: str, count: int, messages: int) -> None:
    """Of 8 ranks, with doubles: MPICH 3.2 changes the algorithm with the size."""

    def program() -> None:
        comm = MPI.COMM_WORLD
        if call == "Bcast":
            comm.Bcast(np.ones(count))
        else:
            getattr(comm, call)(np.ones(count), np.zeros(count if call == "Reduce" else count // 8))

    assert fs.mpi.run(program, 8, FAST, decisions="mpich").messages == messages
