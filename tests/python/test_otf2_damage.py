"""Damaged files of OTF2 archives: each is read, or is one message and no other output."""

from __future__ import annotations

import copy
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from otf2_cases import Archive, archive, otf2

from fabricsim.errors import FabricsimError, InputError
from fabricsim.traces import Trace
from fabricsim.traces import otf2 as reader

pytestmark = pytest.mark.usefixtures("real")

ALL = 2**32 - 1
"""Root of a collective without one."""
DAMAGES = 3
"""Random damages of each file of each archive."""


def messages(to: Archive) -> None:
    for at in range(0, 80, 10):
        here, there = at % 3, (at + 1) % 3
        to.call(here, "MPI_Send", at, at + 1, ("mpi_send", there, to.world, 7, 100 * at))
        to.call(there, "MPI_Recv", at, at + 5, ("mpi_recv", here, to.world, 7, 100 * at))


def requests(to: Archive) -> None:
    for rank in range(3):
        to.call(rank, "MPI_Irecv", 0, 1, ("mpi_irecv_request", 3), ("mpi_irecv_request", 9))
        to.call(rank, "MPI_Isend", 1, 2, ("mpi_isend", (rank + 1) % 3, to.world, 5, 5000, 4))
        received = ("mpi_irecv", (rank - 1) % 3, to.world, 5, 5000, 3)
        to.call(rank, "MPI_Waitall", 5, 50, ("mpi_isend_complete", 4), received, ("mpi_request_cancelled", 9))
        to.call(rank, "MPI_Mprobe", 51, 52, ("mpi_probe", 0, to.world, 9, 77))
        to.call(rank, "MPI_Mrecv", 52, 53, ("mpi_mrecv", 77, 640))


def collectives(to: Archive) -> None:
    for rank in range(3):
        for at, name in enumerate(("BARRIER", "BCAST", "REDUCE", "ALLREDUCE", "SCAN")):
            event = ("mpi_collective_end", getattr(otf2.CollectiveOp, name), to.world, 1, 48, 48)
            to.call(rank, f"MPI_{name}", 10 * at, 10 * at + 5, event)
        to.call(rank, "MPI_Ibarrier", 100, 101, ("non_blocking_collective_request", 7))
        end = (otf2.CollectiveOp.BARRIER, to.world, ALL, 0, 0, 7)
        to.call(rank, "MPI_Wait", 106, 109, ("non_blocking_collective_complete", *end))


def communicators(to: Archive) -> None:
    pair = to.communicator((to.locations[2], to.locations[1]))
    to.call(2, "MPI_Send", 0, 1, ("mpi_send", 1, pair, 5, 8))
    to.call(1, "MPI_Recv", 0, 1, ("mpi_recv", 0, pair, 5, 8))
    for rank in (2, 1):
        to.call(rank, "MPI_Barrier", 1, 2, ("mpi_collective_end", otf2.CollectiveOp.BARRIER, pair, ALL, 0, 0))
    alone = (otf2.CollectiveOp.ALLREDUCE, to.own, ALL, 8, 8)
    to.call(0, "MPI_Allreduce", 2, 3, ("mpi_collective_end", *alone))


KINDS = {of.__name__: of for of in (messages, requests, collectives, communicators)}
FILES = (
    "traces.otf2",
    "traces.def",
    *(f"traces/{rank}.{end}" for rank in range(3) for end in ("def", "evt")),
)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Folders of archives, by kind."""
    folder = tmp_path_factory.mktemp("whole")
    for kind, fill in KINDS.items():
        (folder / kind).mkdir()
        archive(folder / kind, 3, fill)
    return {kind: folder / kind / "archive" for kind in KINDS}


def outcome(anchor: Path, capfd: pytest.CaptureFixture[str]) -> str | None:
    """The message about an archive, or None. Nothing else is printed, also not by the C library."""
    message = None
    try:
        Trace.read(anchor, "otf2")
    except InputError as error:
        message = str(error)
        assert str(anchor) in message
        assert "\n" not in message
    assert capfd.readouterr() == ("", "")
    return message


def change(draw: random.Random, content: bytes) -> bytes:
    """Content with a byte changed, or some bytes replaced, removed or inserted."""
    at, count = draw.randrange(len(content)), draw.choice((1, 2, 4, 8))
    new = {
        "flip": bytes([content[at] ^ 1 << draw.randrange(8)]),
        "replace": bytes([draw.choice((0, 1, 2, 5, 127, 128, 254, 255))]),
        "ones": b"\xff" * count,
        "number": draw.choice((2**31, 2**32 - 1, 2**63 - 1, 2**63)).to_bytes(8, "little"),
        "remove": b"",
        "insert": bytes(draw.randrange(256) for _ in range(count)),
    }
    how = draw.choice(list(new))
    taken = {"remove": count, "insert": 0}.get(how, len(new[how]))
    return content[:at] + new[how] + content[at + taken :]


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("kind", KINDS)
def test_every_damage_is_read_or_one_message(
    whole: dict[str, Path], tmp_path: Path, capfd: pytest.CaptureFixture[str], kind: str, name: str
) -> None:
    folder = shutil.copytree(whole[kind], tmp_path / kind)
    draw = random.Random(f"{kind}/{name}")
    content = (folder / name).read_bytes()
    for _ in range(DAMAGES):
        (folder / name).write_bytes(change(draw, content))
        outcome(folder / "traces.otf2", capfd)


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_is_short_empty_or_absent_is_named(
    whole: dict[str, Path], tmp_path: Path, capfd: pytest.CaptureFixture[str], name: str
) -> None:
    folder = shutil.copytree(whole["messages"], tmp_path / "archive")
    path, anchor = folder / name, folder / "traces.otf2"
    content = path.read_bytes()
    shortened = [content[:length] for length in range(0, len(content) - 2, 1 + len(content) // 9)]
    for damaged in [*shortened, b"text\n" * 9]:
        path.write_bytes(damaged)
        message = outcome(anchor, capfd)
        assert message is not None
        assert "damaged" in message
        # A byte within a file may equal the mark of the end.
        assert name in message or damaged.rstrip(b"\0\1").endswith(b"\2")
    path.write_bytes((whole["messages"] / ("traces.def" if path == anchor else "traces.otf2")).read_bytes())
    message = outcome(anchor, capfd)
    assert message is not None
    assert "damaged" in message
    path.unlink()
    message = outcome(anchor, capfd)
    assert message is not None
    assert ("there is no such file" if path == anchor else f"damaged: {name} is missing") in message


def test_whole_archives_are_quiet(whole: dict[str, Path], capfd: pytest.CaptureFixture[str]) -> None:
    for folder in whole.values():
        assert outcome(folder / "traces.otf2", capfd) is None


def test_an_archive_may_lack_all_local_definitions(
    whole: dict[str, Path], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Other tools than Score-P may write none."""
    folder = shutil.copytree(whole["messages"], tmp_path / "archive")
    for path in (folder / "traces").glob("*.def"):
        path.unlink()
    assert outcome(folder / "traces.otf2", capfd) is None


def absent(of: Any) -> Any:
    """A definition that the archive lacks."""
    other = copy.copy(of)
    other._ref = 99
    return other


@pytest.mark.parametrize(
    "fill",
    [
        lambda to: to.call(0, "MPI_Send", 0, 1, ("mpi_send", 1, absent(to.world), 0, 8)),
        lambda to: to.writers[0].enter(0, absent(to.definitions.region("MPI_Init", paradigm=to.paradigm))),
        lambda to: to.call(
            0, "MPI_Barrier", 0, 1, ("mpi_collective_end", otf2.CollectiveOp(200), to.world, 0, 0, 0)
        ),
    ],
    ids=["communicator", "region", "operation"],
)
def test_events_without_their_definitions_are_one_message(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], fill: Callable[[Archive], None]
) -> None:
    message = outcome(archive(tmp_path, 2, fill), capfd)
    assert message is not None
    assert "damaged: a definition or an event has an invalid value or reference" in message


@pytest.mark.parametrize(
    ("code", "kind", "text"),
    [
        (
            "os.kill(os.getpid(), signal.SIGSEGV)",
            InputError,
            "damaged: the package otf2 crashes with SIGSEGV",
        ),
        ("os.abort()", InputError, "damaged: the package otf2 crashes with SIGABRT"),
        ("bytearray(1 << 40)", InputError, r"damaged: reading it takes more than \d+ MiB of memory"),
        (
            "while True: pass",
            InputError,
            "damaged: the package otf2 has not read it after 1 s of processor time",
        ),
        ("raise OSError('no library')", InputError, "cannot load the package otf2, .*: no library"),
        ("os.kill(os.getpid(), signal.SIGKILL)", FabricsimError, "was ended by SIGKILL"),
        ("os._exit(4)", FabricsimError, "ended with exit code 4"),
    ],
)
def test_the_end_of_the_process_that_reads_is_one_message(
    whole: dict[str, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    code: str,
    kind: type[FabricsimError],
    text: str,
) -> None:
    """A module in the place of the package does what a crash of its library would."""
    (tmp_path / "otf2.py").write_text(f"import os, signal\nprint('text')\n{code}\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(reader, "_LEAST_TIME_S", 1)
    with pytest.raises(FabricsimError, match=f"traces.otf2: .*{text}|{text}") as error:
        Trace.read(whole["messages"] / "traces.otf2", "otf2")
    assert type(error.value) is kind
    assert capfd.readouterr() == ("", "")
