"""Names of mpi4py's module besides its messages: infos, descriptions of datatypes, and what is not simulated."""

from __future__ import annotations

import json
import pickle
from typing import Any

import pytest

import fabricsim as fs
from fabricsim.mpi import MPI

ANYTHING: Any = MPI
"""The module without its types: it has names that they do not list."""
DERIVED = [
    ("CONTIGUOUS", {"count": 3}),
    ("VECTOR", {"count": 2, "blocklength": 1, "stride": 3}),
    ("HVECTOR", {"count": 2, "blocklength": 1, "stride": 24}),
    ("INDEXED", {"blocklengths": [2, 0, 1], "displacements": [5, 0, 1]}),
    ("HINDEXED", {"blocklengths": [2, 1], "displacements": [40, 8]}),
    ("INDEXED_BLOCK", {"blocklength": 2, "displacements": [5, 0, 3]}),
    ("HINDEXED_BLOCK", {"blocklength": 2, "displacements": [40, 8]}),
    ("SUBARRAY", {"sizes": [4, 5], "subsizes": [2, 3], "starts": [1, 2], "order": MPI.ORDER_FORTRAN}),
    ("RESIZED", {"lb": -8, "extent": 32}),
    ("DUP", {}),
]


@pytest.mark.parametrize(("combiner", "arguments"), DERIVED)
def test_a_derived_type_is_described_and_pickled(combiner: str, arguments: dict[str, Any]) -> None:
    made = getattr(MPI.DOUBLE, f"Create_{combiner.lower()}")(**arguments)
    assert made.decode() == (MPI.DOUBLE, combiner, arguments)
    again = pickle.loads(pickle.dumps(made))
    assert again.decode() == made.decode()
    assert again._ref.segments == made._ref.segments
    assert again.Get_extent() == made.Get_extent()


def test_a_struct_is_described_with_its_types() -> None:
    inner = MPI.INT.Create_vector(2, 1, 2)
    made = MPI.Datatype.Create_struct([1, 2], [0, 16], [MPI.CHAR, inner])
    base, combiner, arguments = made.decode()
    assert (base, combiner) == (MPI.DATATYPE_NULL, "STRUCT")
    assert arguments == {"blocklengths": [1, 2], "displacements": [0, 16], "datatypes": [MPI.CHAR, inner]}
    assert pickle.loads(pickle.dumps(made))._ref.segments == made._ref.segments
    assert MPI.INT.decode() == (MPI.INT, "NAMED", {})


@pytest.mark.parametrize("made", [MPI.INT.Create_contiguous(2), MPI.INT.Create_vector(2, 1, 3)])
def test_messages_need_a_committed_type(made: Any) -> None:
    def program() -> Any:
        comm, space = MPI.COMM_SELF, bytearray(64)
        calls = (
            lambda: comm.Isend([space, 1, made], 0),
            lambda: comm.Irecv([space, 1, made], 0),
            lambda: comm.Allgather([space, 1, made], space),
            lambda: made.Pack(space, bytearray(64), 0, comm),
        )
        for call in calls:
            with pytest.raises(MPI.Exception, match="is not committed") as caught:
                call()
            assert caught.value.Get_error_class() == MPI.ERR_TYPE
        again = made.Dup()
        again.Commit()
        comm.Sendrecv([space, 1, again.Dup()], 0, 0, [bytearray(64), 1, again], 0, 0)
        return again.Get_size()

    assert fs.mpi.run(program, 1, "loggp:L=10,o=1").values == [8]


def test_an_info_is_a_mapping() -> None:
    info = MPI.Info.Create({"a": "1"})
    info.update({"b": "2"}, c="3")
    info.update([("d", "4")])
    assert info.values() == ["1", "2", "3", "4"]
    assert info.pop("a") == "1"
    assert info.pop("a", None) is None
    assert info.popitem() == ("d", "4")
    again = pickle.loads(pickle.dumps(info))
    copied = info.copy()
    info.clear()
    assert (len(info), copied.items(), again.items()) == (
        0,
        [("b", "2"), ("c", "3")],
        [("b", "2"), ("c", "3")],
    )
    with pytest.raises(KeyError):
        info.popitem()


def test_the_null_info_has_no_keys() -> None:
    null = MPI.INFO_NULL
    assert (null.values(), null.pop("a", "x"), null.copy()) == ([], "x", null)
    null.clear()
    for call in (lambda: null["a"], null.update, null.popitem):
        with pytest.raises(KeyError):
            call()


def test_infos_that_are_not_there() -> None:
    assert pickle.loads(pickle.dumps(MPI.INFO_ENV)) == MPI.INFO_ENV
    with pytest.raises(MPI.Exception, match="n = 1: there are 1 keys") as caught:
        MPI.Info.Create({"a": "1"}).Get_nthkey(1)
    assert repr(caught.value) == f"MPI.Exception({MPI.ERR_ARG})"
    with pytest.raises(MPI.Exception, match="INFO_NULL"):
        MPI.Info().Free()


def test_no_memory_has_the_address_0() -> None:
    assert (MPI.Get_address(ANYTHING.BOTTOM), MPI.Get_address(None)) == (0, 0)


def test_a_generalized_request_is_freed_when_it_ends() -> None:
    def program() -> list[str]:
        calls: list[str] = []
        request = MPI.Grequest.Start(None, lambda: calls.append("free"), None)
        request.Complete()
        request.Wait()
        request.Wait()
        return calls

    assert fs.mpi.run(program, 1, "loggp:L=10,o=1").values == [["free"]]


@pytest.mark.parametrize("name", ["File", "Session", "Open_port", "Add_error_class"])
def test_a_name_that_is_not_simulated_can_be_tested(name: str) -> None:
    assert not hasattr(MPI, name)
    with pytest.raises(NotImplementedError, match=f"{name} is not simulated"):
        getattr(ANYTHING, name)
    with pytest.raises(NotImplementedError, match="Pack_external is not simulated"):
        ANYTHING.INT.Pack_external("external32", b"", bytearray(), 0)


def test_each_rank_has_a_conversion_of_objects_of_its_own() -> None:
    def program() -> tuple[bytes, int | None, int, Any]:
        comm = MPI.COMM_WORLD
        if comm.rank == 1:
            ANYTHING.pickle.__init__(
                lambda obj: json.dumps(obj).encode(), lambda data: json.loads(bytes(data))
            )
        elif comm.rank == 2:
            MPI.pickle.PROTOCOL, MPI.pickle.THRESHOLD = 2, 5
        comm.barrier()
        found = comm.sendrecv({"rank": comm.rank}, dest=comm.rank, source=comm.rank)
        return MPI.pickle.dumps([1]), MPI.pickle.PROTOCOL, MPI.pickle.THRESHOLD, found

    usual = pickle.HIGHEST_PROTOCOL
    assert isinstance(MPI.pickle, MPI.Pickle)
    for _ in range(2):  # nothing of a run is left in the next one
        assert fs.mpi.run(program, 3, "loggp:L=1000,o=100,g=10,G=1").values == [
            (pickle.dumps([1], usual), usual, 1 << 18, {"rank": 0}),
            (b"[1]", None, 1 << 18, {"rank": 1}),
            (pickle.dumps([1], 2), 2, 5, {"rank": 2}),
        ]
    assert MPI.pickle.loads(MPI.pickle.dumps([1])) == [1]
    assert MPI.pickle.loads_oob(*MPI.pickle.dumps_oob([1])) == [1]
