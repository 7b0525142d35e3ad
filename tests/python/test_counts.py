"""Counts in sentences have their noun in the right number."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import SMALL, Command

from fabricsim.shown import number_of


@pytest.mark.parametrize(
    ("count", "expected"), [(0, "0 packets"), (1, "1 packet"), (2, "2 packets"), (1114, "1,114 packets")]
)
def test_only_one_is_singular(count: int, expected: str) -> None:
    assert number_of(count, "packet") == expected
    assert number_of(count, "entry", "entries") == f"{count:,} {'entry' if count == 1 else 'entries'}"


@pytest.mark.usefixtures("real")
def test_a_job_of_one_iteration_and_a_capture_of_one_packet(tmp_path: Path, command: Command) -> None:
    head = SMALL.partition("[[traffic]]")[0]
    job = '[[jobs]]\nhosts = ["*"]\niterations = 1\nprogram = { all-to-all = { message = "1 MiB" } }\n'
    (tmp_path / "job.toml").write_text(f'{head}{job}[run]\nduration = "2 us"\n')
    ran = command("run", "job.toml", "--out", "job")
    assert "is not done: 0 of 1 iteration" in ran.out
    assert "0 of 1 iterations" not in ran.out
    ran = command("capture", "job.toml", "--links", "*", "--packets", "1", "--out", "one.pcapng")
    assert ran.code == 0, ran.err
    assert "1 packet with " in ran.out
    assert "1 packets" not in ran.out


@pytest.mark.usefixtures("real")
def test_a_single_sample_of_congestion_trees(tmp_path: Path, command: Command) -> None:
    (tmp_path / "few.toml").write_text(SMALL.replace("100 us", "10 us"))
    for name, seed in (("a", 1), ("b", 2)):
        settings = ("--set", "measure.congestion_interval=11 us", "--seed", str(seed))
        assert command("run", "few.toml", *settings, "--out", name).code == 0
    assert "A: 1 sample of congestion trees" in command("compare", "a", "b").out
