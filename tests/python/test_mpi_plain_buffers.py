"""Messages whose bytes lie together: they need few calls of Python, and are the same as all others."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from fabric_ranks import FDR as FABRIC

import fabricsim as fs
from fabricsim.mpi import MPI
from fabricsim.mpi.buffers import Block, data_of
from fabricsim.spec import Experiment

DOUBLES = np.arange(6.0).reshape(2, 3)


@pytest.mark.parametrize(
    ("message", "size"),
    [
        (DOUBLES, 48),
        (bytearray(5), 5),
        ([DOUBLES, MPI.DOUBLE], 48),
        ([DOUBLES, 4, MPI.DOUBLE], 32),
        ((DOUBLES, 0, MPI.BYTE), 0),
        ([DOUBLES, 2, MPI.DOUBLE.Create_contiguous(2).Commit()], 32),
    ],
)
def test_bytes_of_plain_buffers(message: Any, size: int) -> None:
    data = data_of(message, writable=True)
    assert isinstance(data, memoryview)
    assert (data.format, data.nbytes, data.readonly) == ("B", size, False)


@pytest.mark.parametrize(
    "message",
    [
        np.asfortranarray(DOUBLES),
        DOUBLES.astype(complex),
        [DOUBLES, (2, 1), MPI.DOUBLE],
        [DOUBLES, 1, MPI.DOUBLE.Create_vector(2, 1, 2).Commit()],
        [DOUBLES, "d"],
        [None, 0, MPI.BYTE],
    ],
)
def test_other_messages_are_blocks(message: Any) -> None:
    assert isinstance(data_of(message), Block)


@pytest.mark.parametrize(
    ("message", "error"),
    [
        (b"read only", BufferError),
        (np.zeros((4, 4))[:, ::2], BufferError),
        (np.zeros(2, ">i4"), BufferError),
        ([np.zeros(7, "B"), MPI.INT], ValueError),
        ([DOUBLES, -1, MPI.DOUBLE], ValueError),
        (3, TypeError),
    ],
)
def test_wrong_messages(message: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        data_of(message, writable=True)


def times(exchange: Callable[[Any, Any, int], None], **options: Any) -> list[float]:
    """Simulated times of both ranks after exchanges of each size."""

    def program() -> list[float]:
        comm, found = MPI.COMM_WORLD, []
        for size in (0, 8, 5000, 100_000):
            exchange(comm, np.zeros(size, "B"), 1 - comm.rank)
            found.append(MPI.Wtime())
        return found

    return [
        one for of in fs.mpi.run(program, 2, Experiment.from_text(FABRIC), **options).values for one in of
    ]


def blocking(comm: Any, data: Any, other: int) -> None:
    if comm.rank == 0:
        comm.Send(data, other)
        comm.Recv(data, other)
    else:
        comm.Recv(data, other)
        comm.Send(data, other)


def test_a_plain_buffer_takes_the_time_of_a_block() -> None:
    def by_displacement(comm: Any, data: Any, other: int) -> None:
        blocking(comm, [data, (len(data), 0), MPI.BYTE], other)

    assert times(blocking) == times(by_displacement)


def test_peers_and_tags_may_be_any_whole_numbers() -> None:
    def program() -> int:
        comm, data = MPI.COMM_WORLD, np.zeros(1, "B")
        ones: list[Any] = [1, True, np.int64(1), np.array(1)]
        tags: list[Any] = [np.array(tag) if tag % 3 else tag for tag in range(300)]
        if comm.rank == 1:
            for tag in range(300):
                comm.Recv(data, 0, tag)
            return int(data[0])
        for tag in range(300):
            data[:] = tag % 256
            comm.Send(data, ones[tag % 4], tags[tag])
        return 0

    for network in (None, Experiment.from_text(FABRIC)):
        assert fs.mpi.run(program, 2, network).values == [0, 299 % 256]


def test_a_record_does_not_change_times() -> None:
    assert times(blocking) == times(blocking, report=True)


def test_blocking_calls_progress_collectives() -> None:
    def program() -> bool:
        comm, data = MPI.COMM_WORLD, np.zeros(8, "B")
        request = comm.Ibarrier()
        for _ in range(20):
            blocking(comm, data, 1 - comm.rank)
        return bool(request._ref.is_done)

    for network in (None, Experiment.from_text(FABRIC)):
        assert fs.mpi.run(program, 2, network).values == [True, True]


@pytest.mark.parametrize(
    ("exchange", "most"),
    [
        (blocking, 50),
        (lambda comm, data, other: comm.Sendrecv(data, other, 0, data.copy(), other, 0), 110),
    ],
)
def test_calls_of_python(exchange: Callable[[Any, Any, int], None], most: int) -> None:
    """Functions of Python that both ranks call for an exchange."""
    calls = 0

    def count(_frame: Any, event: str, _arg: Any) -> None:
        nonlocal calls
        calls += event == "call"

    def program() -> None:
        comm, data = MPI.COMM_WORLD, np.zeros(8, "B")
        exchange(comm, data, 1 - comm.rank)
        sys.setprofile(count)
        for _ in range(100):
            exchange(comm, data, 1 - comm.rank)
        sys.setprofile(None)

    before = sys.getprofile()
    try:
        fs.mpi.run(program, 2, Experiment.from_text(FABRIC))
    finally:
        sys.setprofile(before)
    assert calls / 100 < most
