"""Wrong arguments of persistent requests: reported when the request is created, as the non-blocking call does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fabricsim as fs
from fabricsim.mpi import MPI

NETWORK = "loggp:L=1us,o=100ns,g=10ns,G=0.2"
RANKS = 2
SENDS = ("send", "ssend", "bsend", "rsend")
GAPS = MPI.DOUBLE.Create_vector(2, 1, 2).Commit()
"""A type that is not contiguous: two doubles of each four."""


def run(program: Callable[[], Any], ranks: int = RANKS) -> list[Any]:
    return list(fs.mpi.run(program, ranks, NETWORK).values)


def error_of(call: Callable[..., Any], *arguments: Any) -> tuple[str, int | None, str]:
    """Type, class of MPI and sentence of the error that a call raises."""
    try:
        call(*arguments)
    except MPI.Exception as error:
        return "MPI.Exception", error.Get_error_class(), str(error)
    except Exception as error:
        return type(error).__name__, None, str(error)
    raise AssertionError("no error")


def check(immediate: str, persistent: str, on: Callable[[], Any], arguments: tuple[Any, ...]) -> None:
    """Compares both calls' errors. Nothing was started: the run ends although only one rank calls."""

    def program() -> Any:
        comm = on()
        if comm.rank == 1:
            return None
        return [error_of(getattr(comm, name), *arguments) for name in (immediate, persistent)]

    found = run(program)[0]
    assert found[0] == found[1]


def world() -> Any:
    return MPI.COMM_WORLD


@pytest.mark.parametrize("kind", SENDS)
@pytest.mark.parametrize(
    "arguments",
    [
        (np.zeros(1), 2, 0),
        (np.zeros(1), -7, 0),
        (np.zeros(1), MPI.ANY_SOURCE, 0),
        (np.zeros(1), 0.5, 0),
        (np.zeros(1), 1, -1),
        (np.zeros(1), 1, MPI.ANY_TAG),
        (np.zeros(1), 1, "tag"),
        (np.zeros(1), MPI.PROC_NULL, -5),
        (3, 1, 0),
        ([1.5, 2.5], 1, 0),
        (np.zeros((4, 4))[:, 1], 1, 0),
        ([np.zeros(2), 3, MPI.DOUBLE], 1, 0),
        ([np.zeros(5), 2, GAPS], 1, 0),
        ([np.zeros(2), -1, MPI.DOUBLE], 1, 0),
        ([np.zeros(2), 2, MPI.DATATYPE_NULL], 1, 0),
        ([np.zeros(2), 2, "no type"], 1, 0),
    ],
    ids=str,
)
def test_sends(kind: str, arguments: tuple[Any, ...]) -> None:
    check(f"I{kind}", f"{kind.title()}_init", world, arguments)


@pytest.mark.parametrize(
    "arguments",
    [
        (np.zeros(1), 2, 0),
        (np.zeros(1), -7, 0),
        (np.zeros(1), None, 0),
        (np.zeros(1), 1, -3),
        (np.zeros(1), 1, 0.5),
        (np.zeros(1), MPI.PROC_NULL, -5),
        (bytes(8), 1, 0),
        (3, 1, 0),
        ([np.zeros(2), 3, MPI.DOUBLE], 1, 0),
        ([np.zeros(5), 2, GAPS], 1, 0),
        ([np.zeros(2), 2, MPI.DATATYPE_NULL], 1, 0),
    ],
    ids=str,
)
def test_receives(arguments: tuple[Any, ...]) -> None:
    check("Irecv", "Recv_init", world, arguments)


def collective(name: str, *arguments: Any) -> Any:
    return pytest.param(name, arguments, id=f"{name} {arguments}")


ONE, TWO, FOUR = np.zeros(1), np.zeros(2), np.zeros(4)
FEW = [np.zeros(2), 3, MPI.DOUBLE]
"""Count larger than the buffer."""
NULL = [np.zeros(2), 2, MPI.DATATYPE_NULL]
UNEQUAL = [np.zeros(3), [1, 1], [0, 9], MPI.DOUBLE]
"""The second block lies outside of the buffer."""
FREED = MPI.Op.Create(lambda a, b, _: None)
FREED.Free()
BAD = [
    *(collective("Bcast", ONE, root) for root in (2, -1, "root")),
    *(
        collective("Bcast", buffer, root)
        for buffer in (FEW, NULL, 3, [np.zeros(5), 2, GAPS])
        for root in (0, 1)
    ),
    collective("Bcast", bytes(8), 1),
    *(collective("Gather", ONE, TWO, root) for root in (2, -1, 0.5)),
    collective("Gather", TWO, TWO),
    collective("Gather", ONE, np.zeros(3)),
    collective("Gather", ONE, bytes(16)),
    collective("Gather", FEW, np.zeros(8)),
    collective("Gather", ONE, FEW),
    collective("Gather", FEW, None, 1),
    collective("Gatherv", ONE, [TWO, [1]]),
    collective("Gatherv", ONE, UNEQUAL),
    collective("Gatherv", TWO, [TWO, [1, 1]]),
    collective("Scatter", TWO, ONE, 2),
    collective("Scatter", FOUR, ONE),
    collective("Scatter", FEW, FOUR),
    collective("Scatter", TWO, NULL),
    collective("Scatter", None, FEW, 1),
    collective("Scatterv", UNEQUAL, FOUR),
    collective("Scatterv", [TWO, [2, 0]], ONE),
    collective("Allgather", TWO, TWO),
    collective("Allgather", FEW, np.zeros(8)),
    collective("Allgather", ONE, FEW),
    collective("Allgatherv", ONE, UNEQUAL),
    collective("Alltoall", np.zeros(3), TWO),
    collective("Alltoall", FOUR, TWO),
    collective("Alltoall", TWO, FEW),
    collective("Alltoallv", UNEQUAL, FOUR),
    collective("Alltoallw", [TWO, [1, 1], [0, 80], [MPI.DOUBLE] * 2], [TWO, [MPI.DOUBLE] * 2]),
    collective("Reduce", ONE, ONE, MPI.SUM, 2),
    collective("Reduce", ONE, TWO),
    collective("Reduce", ONE, ONE, "sum"),
    collective("Reduce", ONE, ONE, MPI.OP_NULL),
    collective("Reduce", ONE, ONE, FREED),
    collective("Reduce", ONE, ONE, MPI.BAND),
    collective("Reduce", FEW, None, MPI.SUM, 1),
    collective("Allreduce", FEW, [np.zeros(3), 3, MPI.DOUBLE]),
    collective("Allreduce", [np.zeros(3), 3, MPI.DOUBLE], FEW),
    collective("Allreduce", ONE, np.zeros(1, "i")),
    collective("Allreduce", ONE, ONE, MPI.MAXLOC),
    collective("Reduce_scatter_block", TWO, TWO),
    collective("Reduce_scatter_block", TWO, ONE, MPI.BXOR),
    collective("Reduce_scatter_block", [TWO, 2, MPI.DOUBLE], [TWO, 2, MPI.DOUBLE]),
    collective("Reduce_scatter", TWO, ONE, [1]),
    collective("Reduce_scatter", TWO, ONE, [2, 2]),
    collective("Reduce_scatter", TWO, [np.zeros(0), 1, MPI.DOUBLE], [1, 1]),
    collective("Scan", ONE, TWO),
    collective("Scan", FEW, np.zeros(3)),
    collective("Exscan", ONE, ONE, MPI.OP_NULL),
]


@pytest.mark.parametrize(("name", "arguments"), BAD)
def test_collectives(name: str, arguments: tuple[Any, ...]) -> None:
    check(f"I{name[0].lower()}{name[1:]}", f"{name}_init", world, arguments)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        collective("allgather", ONE, np.zeros(3)),
        collective("allgather", FEW, TWO),
        collective("allgatherv", ONE, UNEQUAL),
        collective("alltoall", np.zeros(3), TWO),
        collective("alltoall", TWO, FEW),
        collective("alltoallv", UNEQUAL, FOUR),
        collective("alltoallw", [TWO, [1, 1], [0, 80], [MPI.DOUBLE] * 2], [TWO, [MPI.DOUBLE] * 2]),
    ],
)
def test_exchanges_with_neighbours(name: str, arguments: tuple[Any, ...]) -> None:
    def ring() -> Any:
        return MPI.COMM_WORLD.Create_cart([RANKS], periods=[True])

    check(f"Ineighbor_{name}", f"Neighbor_{name}_init", ring, arguments)


def test_a_communicator_that_there_is_not() -> None:
    def program() -> None:
        none: Any = MPI.COMM_NULL
        freed: Any = MPI.COMM_WORLD.Dup()
        handle = MPI.Intracomm(freed)
        freed.Free()
        for comm in (none, handle):
            for call, arguments in (
                (comm.Send_init, (ONE, 1)),
                (comm.Recv_init, (ONE, 1)),
                (comm.Bcast_init, (ONE,)),
            ):
                assert error_of(call, *arguments)[:2] == ("MPI.Exception", MPI.ERR_COMM)

    run(program)


def test_buffers_are_not_written_before_a_start() -> None:
    """The checks copy nothing: the own block of a gathering arrives with the start."""

    def program() -> tuple[list[float], list[float]]:
        comm = MPI.COMM_WORLD
        sent, received = np.full(1, 5.0 + comm.rank), np.zeros(comm.size)
        request = comm.Allgather_init(sent, received)
        before = received.tolist()
        request.Start()
        request.Wait()
        return before, received.tolist()

    assert run(program) == [([0.0, 0.0], [5.0, 6.0])] * 2


def test_counts_are_those_of_the_call() -> None:
    """A program may change its list of counts once the request exists: MPI reads it in the call."""

    def program() -> list[float]:
        comm = MPI.COMM_WORLD
        counts, received = [1, 1], np.zeros(2)
        request = comm.Allgatherv_init(np.full(1, 1.0 + comm.rank), [received, counts])
        counts[:] = [7]
        request.Start()
        request.Wait()
        return received.tolist()

    assert run(program) == [[1.0, 2.0]] * 2


def test_a_buffered_send_needs_its_buffer_at_the_start() -> None:
    """MPI lets a program attach it after `Bsend_init`."""

    def program() -> float:
        comm = MPI.COMM_WORLD
        data = np.full(1, 4.0)
        if comm.rank == 1:
            comm.Recv(data, 0)
            return float(data[0])
        request = comm.Bsend_init(data, 1)
        with pytest.raises(MPI.Exception, match="no buffer is attached"):
            request.Start()
        MPI.Attach_buffer(bytearray(1000))
        request.Start()
        request.Wait()
        MPI.Detach_buffer()
        return 4.0

    assert run(program) == [4.0, 4.0]
