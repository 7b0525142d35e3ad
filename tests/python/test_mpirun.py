"""Runs in several processes: `mpirun -n N fabricsim run ... --mpi`."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT

import fabricsim as fs
from fabricsim import team
from fabricsim.errors import InputError
from fabricsim.scaling import Scaling

LONGEST_S = 300.0
"""Seconds for a run, also on a machine with much else to do."""
MPIRUN = shutil.which("mpirun")
DRAGONFLY = """
[topology.dragonfly]
p = 2
a = 4
h = 2
[switch]
virtual_lanes = 4
[[traffic]]
pattern = "uniform"
load = 0.4
message = "2 KiB"
[run]
warmup = "5 us"
duration = "20 us"
[measure]
link_series = true
"""


def mpirun(count: int, *arguments: str) -> subprocess.CompletedProcess[str]:
    if MPIRUN is None:
        pytest.skip("mpirun is not installed: `scripts/setup test` installs openmpi-bin")
    pytest.importorskip("mpi4py", reason="mpi4py is not installed")
    # More processes than cores, also as root, as in a container.
    allowed = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    options = ["--oversubscribe"] if "Open MPI" in version() else []
    return subprocess.run(
        [MPIRUN, *options, "-n", str(count), sys.executable, "-m", "fabricsim", *arguments],
        capture_output=True,
        text=True,
        timeout=LONGEST_S,
        check=False,
        env={**os.environ, **allowed},
    )


def version() -> str:
    assert MPIRUN is not None
    return subprocess.run([MPIRUN, "--version"], capture_output=True, text=True, check=True).stdout


@pytest.fixture
def dragonfly(tmp_path: Path) -> Path:
    file = tmp_path / "dragonfly.toml"
    file.write_text(DRAGONFLY)
    return file


def contents(folder: Path) -> dict[str, bytes]:
    """All files of a run folder but its manifest, which has times and the division, and the sums over all files."""
    others = [path for path in folder.iterdir() if path.name not in ("manifest.json", "SHA256SUMS")]
    return {path.name: path.read_bytes() for path in others}


def test_processes_write_the_same_folder_as_one(dragonfly: Path, tmp_path: Path) -> None:
    alone = fs.run(dragonfly, out=tmp_path / "alone")
    for count in (2, 4):
        folder = tmp_path / f"of-{count}"
        done = mpirun(count, "run", str(dragonfly), "--mpi", "--out", str(folder))
        assert done.returncode == 0, done.stderr
        assert done.stdout.count("fingerprint") == 1, "one process prints"
        found = fs.load(folder)
        assert found.manifest["fingerprint"] == alone.manifest["fingerprint"]
        assert contents(folder) == contents(tmp_path / "alone")
        scaling = Scaling.of(found.manifest)
        assert scaling.processes == count
        assert scaling.partitions == count
        assert scaling.exchanges > 10
        assert scaling.letter_bytes > 0
        sentence = scaling.sentence()
        assert sentence is not None
        assert sentence in " ".join(done.stdout.split())


def test_a_mistake_is_said_once(dragonfly: Path) -> None:
    done = mpirun(2, "run", str(dragonfly), "--mpi", "--set", "traffic.0.load=2")
    assert done.returncode != 0
    assert done.stderr.count("traffic[0].load") + done.stderr.count("traffic.0.load") == 1, done.stderr


def test_what_cannot_be_divided_is_said(tmp_path: Path) -> None:
    file = tmp_path / "managed.toml"
    file.write_text(DRAGONFLY + '[capture]\nlinks = ["* -> H*"]\n')
    done = mpirun(2, "run", str(file), "--mpi", "--out", str(tmp_path / "out"))
    assert done.returncode != 0
    assert "a capture (`capture`)" in done.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--seeds", "2"], "--seeds: processes advance one run"),
        (["--threads", "2"], "run.threads: with --mpi each process has one thread"),
        (["--checkpoint", "5 us"], "--mpi: checkpoints are those of one process"),
    ],
)
def test_options_that_exclude_each_other(
    dragonfly: Path, tmp_path: Path, more: list[str], message: str
) -> None:
    done = mpirun(2, "run", str(dragonfly), "--mpi", "--out", str(tmp_path / "out"), *more)
    assert done.returncode != 0
    assert done.stderr.count(message) == 1, done.stderr


class World:
    """One process, as mpi4py has it."""

    calls = 0

    def Get_rank(self) -> int:
        return 0

    def Get_size(self) -> int:
        return 1

    def Alltoall(self, told: Sequence[int], known: Any) -> None:
        known[:] = told

    def Alltoallv(self, sent: Any, received: Any) -> None:
        self.calls += 1
        assert list(sent[1]) == list(received[1])
        received[0][:] = sent[0]


class Mpi:
    BYTE = "byte"
    COMM_WORLD = World()


def test_long_messages_go_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(team, "PART", 10)
    monkeypatch.setattr(Mpi, "COMM_WORLD", World())
    members = team.Team(Mpi)
    for length, calls in ((0, 0), (9, 1), (10, 2), (25, 5)):
        assert members.exchange([bytes(range(length))]) == [bytes(range(length))]
        assert Mpi.COMM_WORLD.calls == calls


def test_mpi4py_is_named_where_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mpi4py", None)
    with pytest.raises(InputError, match=r"--mpi: mpi4py cannot be used .*fabricsim\[mpi\]"):
        fs.run(ROOT / "experiments/thesis/a.toml", team=team.team())
