"""Persistent collectives: each start takes the buffers as they are then."""

from __future__ import annotations

import numpy as np
import pytest

import fabricsim as fs
from fabricsim.mpi import MPI
from fabricsim.mpi.errors import DeadlockError

ROUNDS = 4


def two_at_once() -> list[float]:
    """An allreduce and an all-to-all in progress together, started again with other contents."""
    comm = MPI.COMM_WORLD
    rank, size = comm.rank, comm.size
    part, total = np.zeros(300), np.zeros(300)
    sent, received = np.zeros(size, "i"), np.zeros(size, "i")
    requests = [
        comm.Allreduce_init(part, total, MPI.MAX),
        comm.Alltoall_init(sent, received, info=MPI.INFO_NULL),
    ]
    found = []
    for step in range(ROUNDS):
        part[:], sent[:] = step * 10 + rank, 100 * rank + np.arange(size) + step
        MPI.Prequest.Startall(requests)
        assert not requests[0].Test() or size == 1
        MPI.Request.Waitall(requests)
        assert list(received) == [100 * other + rank + step for other in range(size)]
        found.append(float(total[0]))
    for request in requests:
        request.Free()
        assert request == MPI.REQUEST_NULL
    return found


@pytest.mark.parametrize("ranks", [1, 2, 5, 8])
def test_a_collective_is_started_again(ranks: int) -> None:
    run = fs.mpi.run(two_at_once, ranks)
    assert run.values == [[step * 10.0 + ranks - 1 for step in range(ROUNDS)]] * ranks


def test_a_rank_that_does_not_start_one_is_named() -> None:
    def program() -> None:
        request = MPI.COMM_WORLD.Barrier_init()
        if MPI.COMM_WORLD.rank != 1:
            request.Start()
            request.Wait()

    with pytest.raises(DeadlockError, match="rank 0 waits in Wait of Barrier"):
        fs.mpi.run(program, 2)


def test_an_active_request_is_not_started_again() -> None:
    def program() -> bool:
        request = MPI.COMM_WORLD.Bcast_init(np.zeros(1), 0)
        request.Wait()
        request.Start()
        with pytest.raises(MPI.Exception, match="active"):
            request.Start()
        request.Wait()
        return True

    assert fs.mpi.run(program, 3).values == [True] * 3
