"""`fabricsim check` lists all mistakes of a file."""

from __future__ import annotations

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


def test_a_mistake_of_the_network_is_told_as_before(command: Command, tmp_path: Path) -> None:
    (tmp_path / "e.toml").write_text(SMALL)
    setting = ("--set", "traffic.0.pattern=transpose", "--set", "topology.mesh.dimensions=[2, 3]")
    one, other = command("check", "e.toml", *setting), command("describe", "e.toml", *setting)
    assert (one.code, one.err) == (other.code, other.err)
    assert one.code == 2


def test_sources_that_send_nothing_are_counted(command: Command, tmp_path: Path) -> None:
    text = """
[topology.mesh]
dimensions = [4, 4]
[[traffic]]
pattern = "{pattern}"
load = 0.1
message = "2 KiB"
[run]
duration = "50 us"
"""
    for pattern, told in (("transpose", True), ("uniform", False)):
        (tmp_path / "e.toml").write_text(text.format(pattern=pattern))
        ran = command("run", "e.toml", "--out", pattern)
        assert ran.code == 0
        assert ("4 sources send nothing: the only destination is the host itself" in ran.out) == told


def test_compare_has_no_nan_for_a_key_that_a_run_does_not_have(command: Command, tmp_path: Path) -> None:
    (tmp_path / "e.toml").write_text(SMALL)
    for name, interval in (("a", None), ("b", "1 ms"), ("c", "7 us")):
        setting = () if interval is None else ("--set", f"measure.congestion_interval={interval}")
        assert command("run", "e.toml", "--out", name, *setting).code == 0
    ran = command("compare", "a", "b", "c")
    assert "measure.congestion_interval" in ran.out
    assert "nan" not in ran.out
