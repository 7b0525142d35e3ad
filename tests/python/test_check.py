"""`fabricsim check` lists all mistakes of a file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest import SMALL, Command

import fabricsim as fs

WRONG = """
[topology.mesh]
dimensions = [3, 3]
[links.all]
rate = "8 furlongs"
[switch]
virtual_lanes = 99
[[traffic]]
pattern = "uniform"
laod = 0.1
message = "2 KiB"
[run]
duration = "1 ms"
"""

pytestmark = pytest.mark.usefixtures("real")


def test_a_line_for_each_mistake(command: Command, tmp_path: Path) -> None:
    (tmp_path / "e.toml").write_text(WRONG)
    ran = command("check", "e.toml")
    assert (ran.code, ran.out) == (2, "")
    places = [part for part in ran.err.split() if part.startswith("e.toml:")]
    assert places == ["e.toml:5:", "e.toml:7:", "e.toml:10:"]
    assert "did you mean `load`?" in ran.err


def test_in_python_the_error_has_all() -> None:
    with pytest.raises(fs.InputError) as found:
        fs.Experiment.from_text(WRONG).check()
    assert str(found.value).count("experiment:") == 3


def test_mistakes_on_the_command_line_count(command: Command, tmp_path: Path) -> None:
    (tmp_path / "e.toml").write_text(SMALL)
    ran = command("check", "e.toml", "--set", "run.duration=soon", "--set", "switch.virtual_lanes=99")
    assert ran.code == 2
    assert ran.err.count("set on top of the file") == 2


def test_mistakes_that_only_the_network_shows_are_told_at_once(command: Command, tmp_path: Path) -> None:
    (tmp_path / "e.toml").write_text(SMALL)
    setting = ("--set", 'traffic.0.sources=["H9"]', "--set", 'groups.victims=["H8"]')
    routing = ("--set", "routing.algorithm=par-6/2")
    ran = command("check", "e.toml", *setting, *routing)
    lines = ran.err.strip().splitlines()
    assert (ran.code, len(lines)) == (2, 3), ran.err
    for part in ("routing.algorithm", "groups.victims: ", "traffic.0.sources: "):
        assert part in ran.err
    assert ran.err.count('hosts have names like "H(0,0).0"') == 2


def test_mistakes_of_failures_records_and_captures_are_told_beside_those_of_the_traffic(
    command: Command, tmp_path: Path
) -> None:
    (tmp_path / "e.toml").write_text(SMALL)
    recorded = (
        *("--set", 'measure.packets=["H(0,0).0 -> H9"]'),
        *("--set", 'capture.links=["H9 -> *"]'),
    )
    others = (
        *("--set", 'traffic.0.sources=["H9"]'),
        *("--set", 'faults.plan=[{link="S(0,0)-S(9,9)", at="1 us"}]'),
    )
    ran = command("check", "e.toml", *others, *recorded)
    lines = ran.err.strip().splitlines()
    assert (ran.code, len(lines)) == (2, 4), ran.err
    for part in ("traffic.0.sources: ", "faults.plan.0.link: ", "measure.packets.0: ", "capture.links"):
        assert part in ran.err
    ran = command("check", "e.toml", *recorded)
    lines = ran.err.strip().splitlines()
    assert (ran.code, len(lines)) == (2, 2), ran.err


def test_a_mistake_of_the_network_is_told_as_before(command: Command, tmp_path: Path) -> None:
    (tmp_path / "e.toml").write_text(SMALL)
    setting = ("--set", "traffic.0.pattern=transpose", "--set", "topology.mesh.dimensions=[2, 3]")
    one, other = command("check", "e.toml", *setting), command("describe", "e.toml", *setting)
    assert (one.code, one.err) == (other.code, other.err)
    assert one.code == 2


TUNE = """
[tune]
trials = 7
[tune.parameters]
"traffic.0.load" = { low = 0.1, high = 0.3 }
[[tune.objectives]]
metric = "accepted_load"
goal = "maximize"
"""


def test_a_study_is_checked_too(command: Command, tmp_path: Path) -> None:
    (tmp_path / "e.toml").write_text(SMALL + TUNE)
    assert command("check", "e.toml").out == "e.toml: good, a study of 7 trials\n"
    assert json.loads(command("check", "e.toml", "--json").out)["trials"] == 7


@pytest.mark.parametrize(
    ("right", "wrong", "problem"),
    [
        ("traffic.0.load", "traffic.0.laod", "unknown field `laod`"),
        ("accepted_load", "accepted_laod", "no run measures 'accepted_laod'"),
    ],
)
def test_mistakes_of_a_study_are_those_of_tune(
    command: Command, tmp_path: Path, right: str, wrong: str, problem: str
) -> None:
    (tmp_path / "e.toml").write_text(SMALL + TUNE.replace(right, wrong))
    checked, tuned = command("check", "e.toml"), command("tune", "e.toml", "--out", "study")
    assert problem in checked.err
    assert (checked.code, checked.out, checked.err) == (2, "", tuned.err)
