"""The rank programs of `experiments/programs`: their results are right, and overlap shortens them."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from conftest import ROOT

import fabricsim as fs

PROGRAMS = ROOT / "experiments/programs"
NETWORK = "loggp:L=1us,o=100ns,g=10ns,G=0.2"


def run(name: str, ranks: int, capfd: pytest.CaptureFixture[str], *args: object) -> tuple[str, fs.mpi.MpiRun]:
    capfd.readouterr()
    found = fs.mpi.run_script(PROGRAMS / name, ranks, NETWORK, args=[str(arg) for arg in args], report=True)
    return capfd.readouterr().out, found


def number(text: str, before: str) -> float:
    """The number in front of a word."""
    match = re.search(rf"([-+.\de]+) {before}", text)
    assert match is not None, text
    return float(match[1])


def relaxed_as_a_whole(dims: tuple[int, int, int], cells: int, steps: int) -> float:
    """Sum of the grid of `halo3d.py`, computed as one array."""
    n = cells
    u = np.zeros([n * parts for parts in dims])
    for rank, place in enumerate(np.ndindex(*dims)):
        own = np.random.default_rng(rank).random((n + 2,) * 3)[1:-1, 1:-1, 1:-1]
        u[tuple(slice(n * at, n * (at + 1)) for at in place)] = own
    for _ in range(steps):
        u = np.sum([np.roll(u, way, axis) for axis in range(3) for way in (1, -1)], axis=0) / 6
    return float((u**2).sum())


@pytest.mark.parametrize(("ranks", "dims"), [(1, (1, 1, 1)), (8, (2, 2, 2)), (12, (3, 2, 2))])
@pytest.mark.parametrize("overlap", [(), ("overlap",)])
def test_the_grid_is_that_of_one_array(
    capfd: pytest.CaptureFixture[str], ranks: int, dims: tuple[int, int, int], overlap: tuple[str, ...]
) -> None:
    text, _ = run("halo3d.py", ranks, capfd, 4, 3, *overlap)
    squares = float(text.rpartition(" ")[2])
    assert squares == pytest.approx(relaxed_as_a_whole(dims, 4, 3), rel=1e-8)


@pytest.mark.parametrize("name", ["halo.py", "halo3d.py"])
def test_overlap_hides_transfers(capfd: pytest.CaptureFixture[str], name: str) -> None:
    plain, apart = run(name, 8, capfd, 24, 2)
    text, overlapped = run(name, 8, capfd, 24, 2, "overlap")
    assert number(text, "us for a step") < number(plain, "us for a step")
    assert apart.report is not None
    assert overlapped.report is not None
    # The same messages and computations: what is shorter is the waits.
    assert overlapped.bytes == apart.bytes
    waits = [found.tables["mpi_waits"]["time_ns"].sum() for found in (apart.report, overlapped.report)]
    assert waits[1] < waits[0]


@pytest.mark.parametrize(("ranks", "size"), [(1, 8), (2, 16), (5, 40), (8, 64)])
def test_the_transform_is_numpys(capfd: pytest.CaptureFixture[str], ranks: int, size: int) -> None:
    text, found = run("fft.py", ranks, capfd, size)
    assert number(text, "at most") < 1e-10
    # Two transposes: in each a rank sends a block of numbers of 16 B to each other one.
    assert found.report is not None
    calls = found.report.tables["mpi_calls"]
    blocks = calls[calls["call"] == "Alltoall"]["bytes"].sum()
    assert blocks == 2 * ranks * (ranks - 1) * 16 * (size // ranks) ** 2


def test_a_transform_without_its_transpose_differs(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    text = (
        (PROGRAMS / "fft.py").read_text().replace("world.Alltoall(blocks, received)", "received[:] = blocks")
    )
    (tmp_path / "wrong.py").write_text(text)
    fs.mpi.run_script(tmp_path / "wrong.py", 4, NETWORK, args=["16"])
    assert number(capfd.readouterr().out, "at most") > 0.1


def test_a_transform_of_a_size_that_does_not_divide_is_refused(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(fs.mpi.Abort):
        run("fft.py", 3, capfd, 16)
    assert "SIZE = 16: must be a multiple of the 3 ranks" in capfd.readouterr().err


@pytest.mark.parametrize("ranks", [1, 4, 6])
@pytest.mark.parametrize("bucket", [16, 48, 1000])
def test_training_sums_all_gradients(capfd: pytest.CaptureFixture[str], ranks: int, bucket: int) -> None:
    # The program checks its sums.
    plain, apart = run("training.py", ranks, capfd, 7, bucket)
    text, overlapped = run("training.py", ranks, capfd, 7, bucket, "overlap")
    assert apart.bytes == overlapped.bytes
    if ranks > 1 and bucket < 100:
        assert number(text, "us for a step") < number(plain, "us for a step")


def test_training_with_a_wrong_sum_fails(tmp_path: Path) -> None:
    text = (PROGRAMS / "training.py").read_text().replace("world.Allreduce(MPI.IN_PLACE, bucket)", "pass")
    (tmp_path / "wrong.py").write_text(text)
    with pytest.raises(fs.mpi.RankError, match="the sums of gradients are wrong"):
        fs.mpi.run_script(tmp_path / "wrong.py", 3, NETWORK)


def test_collectives_are_measured(capfd: pytest.CaptureFixture[str]) -> None:
    text, _ = run("collectives.py", 6, capfd, 10_000, 1)
    # At most the interface's rate: a byte in 0.2 ns.
    assert 2500 < number(text, "MB/s") < 5000
    assert number(text, r"us\b") > 2.4


def test_collectives_run_on_the_torus(real: None, capfd: pytest.CaptureFixture[str]) -> None:
    args, linear = ["2048", "1"], {"alltoall": "linear"}
    sizes = {"topology.torus.dimensions": [2, 2, 2]}
    found = fs.mpi.run_script(
        PROGRAMS / "collectives.py", 8, PROGRAMS / "seastar.toml", args=args, set=sizes, collectives=linear
    )
    # Connections stay in order, although the receivers are slower than the links.
    assert found.result.table("verbs_queue_pairs")["retransmitted"].sum() == 0
    assert found.ranks == 8
    text = capfd.readouterr().out
    # At most what the receiving processor takes: 16 Gb/s.
    assert 0 < number(text, "MB/s") < 2000
