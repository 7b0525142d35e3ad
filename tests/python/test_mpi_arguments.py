"""Arguments of wrong types: an error of MPI names the argument, its value, and what is allowed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fabricsim as fs
from fabricsim.mpi import MPI

ANYTHING: Any = MPI
"""The module without its types, which refuse these arguments."""
NUMBERS = np.zeros(4)
TYPES = [MPI.DOUBLE, MPI.DOUBLE]
NETWORK = "loggp:L=1us,o=100ns,g=10ns,G=0.2"


def run(program: Callable[[], Any], ranks: int = 2) -> list[Any]:
    return list(fs.mpi.run(program, ranks, NETWORK).values)


def grid(comm: Any) -> Any:
    return comm.Create_cart([2])


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (
            lambda c: c.Alltoallv([NUMBERS, [1, -1]], NUMBERS),
            "ERR_COUNT",
            r"counts\[1\] = -1: must be 0 or more",
        ),
        (
            lambda c: c.Alltoallw((NUMBERS, [-2, 0], [0, 0], TYPES), (NUMBERS, [0, 0], [0, 0], TYPES)),
            "ERR_COUNT",
            r"counts\[0\] = -2: must be 0 or more",
        ),
        (lambda c: c.Split(0.5), "ERR_ARG", r"color = 0\.5: must be a whole number"),
        (lambda c: c.Split("a"), "ERR_ARG", "color = 'a': must be a whole number"),
        (lambda c: c.Split(0, None), "ERR_ARG", "key = None: must be a whole number"),
        (lambda c: c.Split(2**31), "ERR_ARG", "color = 2147483648: must be -2147483648 to 2147483647"),
        (lambda c: c.Split_type("shared"), "ERR_ARG", "split_type = 'shared': must be a whole number"),
        (lambda c: c.Create(3), "ERR_GROUP", "group = 3: must be of the type MPI.Group"),
        (lambda c: c.Create_group(None), "ERR_GROUP", "group = None: must be of the type MPI.Group"),
        (lambda c: c.Create_group(c.group, 1.5), "ERR_TAG", r"tag = 1\.5: must be a whole number"),
        (lambda c: c.Compare(1), "ERR_COMM", "comm = 1: must be of the type MPI.Comm"),
        (lambda c: c.Dup("info"), "ERR_INFO", "info = 'info': must be of the type MPI.Info"),
        (lambda c: c.Set_info(1), "ERR_INFO", "info = 1: must be of the type MPI.Info"),
        (lambda c: c.Set_name(1), "ERR_ARG", "name = 1: must be a text"),
        (lambda c: c.Get_attr("x"), "ERR_KEYVAL", "keyval = 'x': must be a whole number"),
        (lambda c: c.Set_attr([1], 1), "ERR_KEYVAL", r"keyval = \[1\]: must be a whole number"),
        (lambda c: c.Abort("now"), "ERR_ARG", "errorcode = 'now': must be a whole number"),
        (lambda c: c.Create_cart(2), "ERR_ARG", "dims = 2: must be a list of whole numbers"),
        (lambda c: c.Create_cart([1.5]), "ERR_ARG", r"an element of dims = 1\.5: must be a whole number"),
        (lambda c: c.Create_graph([1], 0.5), "ERR_ARG", r"edges = 0\.5: must be a list"),
        (lambda c: grid(c).Get_coords(0.5), "ERR_RANK", r"rank = 0\.5: must be a whole number"),
        (lambda c: grid(c).Shift(0.5, 1), "ERR_ARG", r"direction = 0\.5: must be a whole number"),
        (lambda c: grid(c).Shift(0, "1"), "ERR_ARG", "disp = '1': must be a whole number"),
        (lambda c: grid(c).Sub(True), "ERR_ARG", "remain_dims = True: must be a list"),
        (lambda c: ANYTHING.Compute_dims(4.0, 2), "ERR_ARG", r"nnodes = 4\.0: must be a whole number"),
        (lambda c: c.group.Incl([0.5]), "ERR_RANK", r"an element of ranks = 0\.5: must be a whole number"),
        (lambda c: c.group.Excl(1), "ERR_RANK", "ranks = 1: must be a list of whole numbers"),
        (lambda c: c.group.Range_incl([(0, 1, 0.5)]), "ERR_ARG", r"a range = 0\.5: must be a whole number"),
        (
            lambda c: c.group.Compare(c),
            "ERR_GROUP",
            "group = <MPI.Intracomm COMM_WORLD>: must be of the type",
        ),
        (lambda c: MPI.Group.Union(c.group, 1), "ERR_GROUP", "group2 = 1: must be of the type MPI.Group"),
        (lambda c: c.Allreduce(np.zeros(1), np.zeros(1), "sum"), "ERR_OP", "op = 'sum': must be of the type"),
        (lambda c: c.Recv(bytearray(1), 0, 0, 3), "ERR_ARG", "status = 3: must be of the type MPI.Status"),
        (lambda c: c.Iprobe(status=3), "ERR_ARG", "status = 3: must be of the type MPI.Status"),
        (lambda c: c.Irecv(bytearray(1)).Test(3), "ERR_ARG", "status = 3: must be of the type MPI.Status"),
        (
            lambda c: ANYTHING.Request.Waitall([1]),
            "ERR_REQUEST",
            "request = 1: must be of the type MPI.Request",
        ),
    ],
)
def test_arguments_of_a_wrong_type(call: Callable[[Any], Any], error: str, text: str) -> None:
    def program() -> None:
        with pytest.raises(MPI.Exception, match=text) as caught:
            call(MPI.COMM_WORLD)
        assert caught.value.Get_error_class() == getattr(MPI, error)

    run(program)


@pytest.mark.parametrize(
    ("program", "changes", "text"),
    [
        (5, {}, "program: 5 is not a function"),
        (lambda: (yield), {}, "makes a generator: a program is an ordinary function"),
        (print, {"flops_per_second": 0}, "flops_per_second = 0: must be above 0"),
        (print, {"flops_per_second": float("nan")}, "flops_per_second = nan: must be above 0"),
    ],
)
def test_arguments_of_a_run(program: Any, changes: dict[str, Any], text: str) -> None:
    with pytest.raises(fs.InputError, match=text):
        fs.mpi.run(program, 2, **changes)


def test_whole_numbers_of_numpy_are_numbers() -> None:
    def program() -> tuple[Any, ...]:
        comm: Any = MPI.COMM_WORLD
        part = comm.Split(np.int64(comm.rank // 2), np.int32(-comm.rank))
        cart = comm.Create_cart(np.array([4]), periods=[True])
        low, high = cart.Shift(np.int8(0), np.uint8(1))
        return part.size, part.rank, comm.group.Incl(np.array([3, 1])).Get_size(), low, high

    assert run(program, 4)[0] == (2, 1, 2, 3, 1)


@pytest.mark.parametrize("size", [np.int64(4096), 4096])
def test_objects_are_received_in_a_given_buffer(size: Any) -> None:
    """`irecv` takes a number of bytes, or a buffer; arrays have `__index__` as well."""

    def program() -> Any:
        comm = MPI.COMM_WORLD
        if comm.rank == 0:
            for tag in range(2):
                comm.send({"a": 1}, 1, tag)
            return None
        return [comm.irecv(buf, 0, tag).wait() for tag, buf in enumerate((size, np.zeros(512)))]

    assert run(program)[1] == [{"a": 1}, {"a": 1}]
