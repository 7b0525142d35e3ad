"""Sweeps of an experiment that is invalid without what the points set."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from conftest import Command

from fabricsim.sweep import load_sweep

LOAD = "traffic.0.load"


def without_load(small: Path, rest: str = "") -> list[Any]:
    """The experiment with an entry that needs a load and has none."""
    small.write_text(re.sub(r"(?m)^load = .*\n", "", small.read_text()) + rest)
    assert "load" not in small.read_text().partition("[sweep")[0]
    return ["sweep", small, "--set", "traffic.0.injection=poisson", "--jobs", "1", "--out", "out"]


@pytest.mark.usefixtures("real")
@pytest.mark.parametrize(
    "arguments",
    [
        ["--vary", f"{LOAD}=0.1,0.3"],
        ["--zip", f"{LOAD}=0.1,0.3", "--zip", "seed=5,6"],
        ["--random", f"{LOAD}=0.1..0.3", "--samples", "2"],
        ["--vary", f"{LOAD}=0.3", "--seeds", "2"],
        ["--saturation", "--load", LOAD, "--between", "0.1..0.3", "--tolerance", "0.1"],
        ["--precision", "accepted_load=90%", "--most-seeds", "5", "--vary", f"{LOAD}=0.1"],
    ],
)
def test_only_the_points_must_be_valid(
    command: Command, small: Path, tmp_path: Path, arguments: list[str]
) -> None:
    ran = command(*without_load(small), *arguments)
    assert ran.code == 0, ran.err
    points = load_sweep(tmp_path / "out").points
    assert set(points["status"]) == {"ok"}
    assert points[LOAD].between(0.1, 0.3).all()


@pytest.mark.usefixtures("real")
def test_points_that_leave_a_key_show_the_experiments_own_value(
    command: Command, small: Path, tmp_path: Path
) -> None:
    rest = f'[sweep]\nlist = [{{"{LOAD}" = 0.1, title = "a", seed = 7}}, {{"{LOAD}" = 0.3, title = "b"}}]\n'
    assert command(*without_load(small, rest)).code == 0
    assert list(load_sweep(tmp_path / "out").points["seed"]) == [7, 1]


@pytest.mark.usefixtures("real")
@pytest.mark.parametrize(
    ("arguments", "rest", "message"),
    [
        (["--vary", f"{LOAD}=0.1,30"], "", "traffic.0.load: 30 is not allowed"),
        (["--vary", f"{LOAD}=30,0.1"], "", "traffic.0.load: 30 is not allowed"),
        (["--vary", "seed=1,2"], "", "`poisson` needs it: give `load`"),
        ([], "", "`poisson` needs it: give `load`"),
        (["--vary", f"{LOAD}=0.1"], "[sweep]\nzip = 3\n", "sweep.zip: expected a table"),
        (["--saturation"], "", "--load traffic.0.load"),
    ],
)
def test_points_of_an_invalid_experiment_are_one_clear_message(
    command: Command, small: Path, tmp_path: Path, arguments: list[str], rest: str, message: str
) -> None:
    ran = command(*without_load(small, rest), *arguments)
    assert ran.code == 2, ran.err
    assert message in ran.err
    assert len(ran.err.strip().splitlines()) == 1
    assert not (tmp_path / "out").exists()
