"""Sweeps of an experiment that is invalid without what the points set."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from conftest import SMALL, Command

import fabricsim as fs
from fabricsim.sweep import load_sweep, plan

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


SWEPT = f'[sweep]\n"{LOAD}" = [0.1, 0.3]\nseed = [1, 2]\n'
FIRST = f"seed = 1, {LOAD} = 0.1"


def swept(small: Path, rest: str = SWEPT) -> Path:
    without_load(small, rest)
    return small


@pytest.mark.usefixtures("real")
def test_check_takes_the_points_of_a_file_that_is_invalid_alone(command: Command, small: Path) -> None:
    ran = command("check", swept(small))
    assert (ran.code, ran.err) == (0, "")
    assert "good, a sweep of 4 points; it is valid only with them\n" in ran.out
    plain = json.loads(command("check", small, "--json").out)
    assert plain["points"] == 4
    assert plain["first_point"] == {LOAD: "0.1", "seed": "1"}
    assert plain["traffic"][0]["load"] == 0.1


@pytest.mark.usefixtures("real")
def test_check_of_a_valid_file_does_not_speak_of_its_first_point(command: Command, small: Path) -> None:
    small.write_text(small.read_text() + SWEPT)
    assert command("check", small).out.endswith("good, a sweep of 4 points\n")
    assert "first_point" not in json.loads(command("check", small, "--json").out)


@pytest.mark.usefixtures("real")
def test_check_has_the_warnings_of_the_first_point(command: Command, small: Path) -> None:
    warned = f'[sweep]\n"{LOAD}" = [0.1]\n"routing.load" = ["credits"]\n'
    swept(small, warned)
    alone = command("check", small, "--set", f"{LOAD}=0.1", "--set", "routing.load=credits")
    assert "warning: " in alone.err
    assert command("check", small).err == alone.err


@pytest.mark.usefixtures("real")
@pytest.mark.parametrize("name", ["check", "sweep"])
def test_each_mistake_of_a_point_is_a_line_with_the_point(command: Command, small: Path, name: str) -> None:
    swept(small, f'[sweep]\n"{LOAD}" = [0.1, -3, 20]\nseed = [1, "x"]\n')
    ran = command(name, small)
    assert ran.code == 2
    lines = ran.err.splitlines()
    assert len(lines) == 3, ran.err
    for line, (problem, values) in zip(
        lines,
        [
            ('found the text "x"', f'seed = "x", {LOAD} = 0.1'),
            ("traffic.0.load: -3 is not allowed", f"seed = 1, {LOAD} = -3"),
            ("traffic.0.load: 20 is not allowed", f"seed = 1, {LOAD} = 20"),
        ],
        strict=True,
    ):
        assert problem in line
        assert line.endswith(f"(point {values})"), line


@pytest.mark.usefixtures("real")
def test_mistakes_of_the_file_itself_are_listed_once_and_without_a_point(
    command: Command, small: Path
) -> None:
    ran = command("check", swept(small), "--set", "switch.virtual_lanes=99")
    assert ran.code == 2
    assert ran.err.count("virtual_lanes: 99 is not allowed") == 1
    assert "point" not in ran.err


@pytest.mark.usefixtures("real")
def test_points_that_leave_out_the_load_are_named(command: Command, small: Path) -> None:
    swept(small, f'[sweep]\nlist = [{{"{LOAD}" = 0.1}}, {{seed = 2}}, {{seed = 3}}]\n')
    ran = command("check", small, "--set", "traffic.0.injection=poisson")
    assert ran.code == 2
    assert "`poisson` needs it: give `load`" in ran.err
    assert "(point seed = 2, and 1 more)" in ran.err


def test_more_than_twenty_mistakes_of_points_are_counted() -> None:
    text = f"{SMALL}[sweep]\nseed = {json.dumps([f'x{i}' for i in range(25)])}\n"
    experiment = fs.Experiment.from_text(text)
    with pytest.raises(fs.InputError) as found:
        plan(experiment).check(experiment)
    lines = str(found.value).splitlines()
    assert len(lines) == 21
    assert lines[-1] == "and 5 more mistakes"


@pytest.mark.usefixtures("real")
@pytest.mark.parametrize("arguments", [["describe"], ["bound"], ["export", "--format", "csv"]])
def test_commands_that_describe_take_the_first_point_and_say_so(
    command: Command, small: Path, arguments: list[str]
) -> None:
    name, *options = arguments
    ran = command(name, swept(small), *options)
    assert ran.code == 0, ran.err
    assert ran.err.endswith(f"valid only with its [sweep]; this is its first point: {FIRST}\n")
    at_point = command(name, small, *options, "--set", f"{LOAD}=0.1", "--set", "seed=1")
    assert (at_point.out, at_point.err) == (ran.out, "")


@pytest.mark.usefixtures("real")
@pytest.mark.parametrize("arguments", [["run"], ["what-if"], ["tune"], ["capture", "--out", "f.pcapng"]])
def test_commands_that_run_one_experiment_name_a_point_to_set(
    command: Command, small: Path, arguments: list[str]
) -> None:
    name, *options = arguments
    ran = command(name, swept(small), *options)
    assert ran.code == 2
    reason, way = ran.err.splitlines()
    assert "needs it: give `load`" in reason
    assert way.endswith(f"or set a point of it: --set seed=1 --set {LOAD}=0.1")
    assert command("run", small, "--set", f"{LOAD}=0.1", "--set", "seed=1").code == 0


@pytest.mark.usefixtures("real")
@pytest.mark.parametrize("name", ["run", "describe", "check"])
@pytest.mark.parametrize(
    ("rest", "message"),
    [
        (f'[sweep]\n"{LOAD}" = [-3]\n', "traffic.0.load: "),
        ("[sweep]\nseed = [1, 2]\n", "needs it: give `load`"),
        ("[sweep]\n", "needs it: give `load`"),
        ("[sweep]\nseed = 3\n", "sweep"),
    ],
)
def test_a_sweep_that_does_not_help_is_a_mistake_and_no_hint(
    command: Command, small: Path, name: str, rest: str, message: str
) -> None:
    ran = command(name, swept(small, rest))
    assert ran.code == 2
    assert message in ran.err
    assert "set a point" not in ran.err
    assert "first point" not in ran.err
