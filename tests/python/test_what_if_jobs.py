"""Single failures of networks with jobs: how long these take, and whether they end."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from conftest import Command
from test_what_if import RING

import fabricsim as fs

pytestmark = pytest.mark.usefixtures("real")

TREE = """
title = "Four hosts exchange"

[topology.fat-tree]
arity = 2
levels = 2

[routing]
algorithm = "shortest-path"

[[jobs]]
name = "exchange"
hosts = ["*"]
program = { all-to-all = { algorithm = "pairwise", message = "8 KiB" } }

[run]
duration = "100 us"
"""
STAY = {"routing.algorithm": "up-down"}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    path = tmp_path / "tree.toml"
    path.write_text(TREE)
    return path


def test_jobs_take_longer_with_routes_around_a_failure(tree: Path, command: Command) -> None:
    found = fs.what_if(tree, jobs=1)
    before = found.without.manifest["summary"]["job_time_ns"]
    rows = found.failures
    assert rows["jobs_ended"].tolist() == [1] * 4
    assert (rows["job_time_ns"] > before).all()
    again = fs.run(
        tree, set={"faults.plan": [{"link": "L1S0-L2S0", "at": "1 ps"}], "faults.reroute_after": "1 ps"}
    )
    row: Any = rows.set_index("failure").loc["L1S0-L2S0"]
    assert row["job_time_ns"] == again.manifest["summary"]["job_time_ns"]
    said = command("what-if", tree, "--jobs", 1).out
    assert "all jobs" in said, "the column"
    assert "without a failure; " in said
    assert said.count("with one") == 1
    assert "from its end" not in said


def test_jobs_that_lose_messages_do_not_end(tree: Path, command: Command) -> None:
    rows = fs.what_if(tree, set=STAY, jobs=1).failures
    lost = rows["lost_packets"] > 0
    assert lost.any(), "the control"
    assert (rows["jobs_ended"] == 0).tolist() == lost.tolist()
    assert rows["job_time_ns"].isna().tolist() == lost.tolist()
    said = command("what-if", tree, "--jobs", 1, "--set", "routing.algorithm=up-down").out
    assert f"{lost.sum()} of 4 failures keep a job from its end" in said
    short = command("what-if", tree, "--jobs", 1, "--set", "run.duration=1 us").out
    assert "jobs do not end without a failure: run longer" in short


def test_without_jobs_there_is_nothing_about_them(tmp_path: Path, command: Command) -> None:
    (tmp_path / "ring.toml").write_text(RING)
    found = fs.what_if(tmp_path / "ring.toml", jobs=1)
    assert found.failures[["job_time_ns", "jobs_ended"]].isna().all(axis=None)
    said = command("what-if", tmp_path / "ring.toml", "--jobs", 1).out
    assert "jobs" not in said
    assert "worst flow" in said
