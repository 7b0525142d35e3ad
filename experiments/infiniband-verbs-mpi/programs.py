"""Rank programs of the tutorial's experiments. Each rank calls a function; its frame goes into the table `returned`."""

from __future__ import annotations

import numpy as np
import pandas as pd

import fabricsim
from fabricsim.mpi import MPI

WARM_UP = 200
"""Messages in each direction that are not measured: connections, registrations, the ring of eager RDMA."""


def pingpong(kind: str, messages: int, size: int = 8192) -> pd.DataFrame:
    """Durations of the sends of a ping-pong, as osu_latency with another send has them.

    Args:
        kind: `Isend`, `Send` or `Ssend`.
        messages: of both ranks, without those of the warm-up.
        size: of a message in bytes.

    Returns:
        `call_ns`, and of `Isend` `completion_ns`: from its end to that of `Wait`.
    """
    world, clock = MPI.COMM_WORLD, MPI.Wtime
    me, other = world.rank, 1 - world.rank
    data, into = np.zeros(size, np.uint8), np.zeros(size, np.uint8)
    count = messages // 2 + WARM_UP
    is_split = kind == "Isend"
    call = getattr(world, kind)
    times = np.zeros((count, 3))
    for turn in range(count):
        if me == 1:
            world.Recv(into, other, 1)
        begun = clock()
        request = call(data, other, 1)
        started = clock()
        if is_split:
            request.Wait()
        times[turn] = begun, started, clock()
        if me == 0:
            world.Recv(into, other, 1)
    durations = np.diff(times[WARM_UP:], axis=1) * 1e9
    names = ["call_ns", "completion_ns"]
    return pd.DataFrame(durations, columns=names)[names if is_split else names[:1]]


def half_trips(sizes: list[int]) -> pd.DataFrame:
    """Half of the time to and fro of messages of some sizes, as osu_latency prints it: `bytes`, `half_trip_ns`."""
    return pd.DataFrame({"bytes": sizes, "half_trip_ns": [_half_trip(size) for size in sizes]})


def _half_trip(size: int, messages: int = 100) -> float:
    world = MPI.COMM_WORLD
    me, other = world.rank, 1 - world.rank
    data, into = np.zeros(size, np.uint8), np.zeros(size, np.uint8)
    begun = 0.0
    for turn in range(messages + WARM_UP):
        if turn == WARM_UP:
            begun = MPI.Wtime()
        if me == 0:
            world.Send(data, other, 1)
        world.Recv(into, other, 1)
        if me == 1:
            world.Send(data, other, 1)
    return float((MPI.Wtime() - begun) / messages / 2 * 1e9)


def stream(messages: int, size: int = 8192, late: str = "2 ms") -> pd.DataFrame:
    """Durations of sends in one direction, to a rank that calls MPI only after a time."""
    world, clock = MPI.COMM_WORLD, MPI.Wtime
    data = np.zeros(size, np.uint8)
    warm = np.zeros(8, np.uint8)
    world.Sendrecv(warm, 1 - world.rank, 0, np.zeros_like(warm), 1 - world.rank, 0)
    if world.rank == 1:
        fabricsim.compute(late)
        for _ in range(messages):
            world.Recv(data, 0, 1)
        return pd.DataFrame()
    times = []
    for _ in range(messages):
        begun = clock()
        world.Send(data, 1, 1)
        times.append((clock() - begun) * 1e9)
    return pd.DataFrame({"message": range(1, messages + 1), "call_ns": times})


def passive(size: int, busy: str = "5 ms") -> pd.DataFrame:
    """Time in MPI of a rank that starts a send, computes, and waits: `in_mpi_ns`."""
    world, clock = MPI.COMM_WORLD, MPI.Wtime
    data = np.zeros(size, np.uint8)
    times = []
    for _ in range(2):  # the first one connects and registers
        world.Barrier()
        begun = clock()
        if world.rank == 1:
            world.Recv(data, 0, 1)
            continue
        request = world.Isend(data, 1, 1)
        inside = clock() - begun
        fabricsim.compute(busy)
        begun = clock()
        request.Wait()
        times.append((inside + clock() - begun) * 1e9)
    return pd.DataFrame({"in_mpi_ns": times[1:]})


def barrier() -> None:
    """One barrier."""
    MPI.COMM_WORLD.Barrier()


def reduce() -> None:
    """One reduction of 8 bytes: the product of a prime of each rank, as the tutorial's."""
    primes = (2, 3, 5, 7, 11, 13, 17, 19)
    into = np.zeros(1, np.int64)
    MPI.COMM_WORLD.Reduce(np.array([primes[MPI.COMM_WORLD.rank]], np.int64), into, MPI.PROD, 0)


def allreduce() -> None:
    """One allreduce of 8 bytes."""
    MPI.COMM_WORLD.Allreduce(np.ones(1, np.int64), np.zeros(1, np.int64))
