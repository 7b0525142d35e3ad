"""Warnings: what is allowed and probably not meant, on standard error and in JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest import SMALL, Command
from tune_cases import FAIR, SEARCH, TWO_FLOWS

import fabricsim as fs

FALLING = """
[congestion_control]
algorithm = "infiniband"
[congestion_control.infiniband]
cct = { entries = ["0:0", "0:4", "0:2"] }
"""


@pytest.mark.usefixtures("fake")
@pytest.mark.parametrize("name", ["run", "check", "sweep"])
def test_a_warning_goes_to_standard_error(command: Command, small: Path, name: str) -> None:
    small.write_text('title = "odd"\n' + SMALL)
    more = ("--vary", "seed=1,2", "--jobs", "1") if name == "sweep" else ()
    ran = command(name, small, *more)
    assert ran.code == 0, ran
    assert f"warning: {small}: this is odd\n" in ran.err
    assert "odd\n" not in ran.out


@pytest.mark.usefixtures("fake")
@pytest.mark.parametrize("name", ["run", "check"])
@pytest.mark.parametrize(("title", "warnings"), [("odd", ["this is odd"]), ("even", [])])
def test_warnings_are_a_key_of_the_json(
    command: Command, small: Path, name: str, title: str, warnings: list[str]
) -> None:
    small.write_text(f'title = "{title}"\n' + SMALL)
    assert json.loads(command(name, small, "--json").out)["warnings"] == warnings


@pytest.mark.usefixtures("real")
def test_a_congestion_control_table_that_falls(small: Path) -> None:
    small.write_text(SMALL + FALLING)
    (warning,) = fs.Experiment.from_file(small).warnings()
    assert "congestion_control.infiniband.cct" in warning
    assert "the delay at index 2 (2 packet times) is less than that at index 1 (4)" in warning
    small.write_text(SMALL)
    assert fs.Experiment.from_file(small).warnings() == []


@pytest.mark.usefixtures("real")
def test_a_time_out_below_the_round_trip(small: Path) -> None:
    small.write_text(SMALL + "[transport]\nmode = 'ordered'\ntimeout = '1 ns'\n")
    (warning,) = fs.Experiment.from_file(small).warnings()
    assert (
        "transport.timeout: 1 ns is less than the round trip of a packet that meets no other, up to"
        in warning
    )
    small.write_text(SMALL + "[transport]\nmode = 'ordered'\n")
    assert fs.Experiment.from_file(small).warnings() == []


@pytest.mark.usefixtures("real")
def test_warnings_of_a_wrong_experiment_name_the_error(small: Path) -> None:
    small.write_text(SMALL + "[swich]\n")
    with pytest.raises(fs.InputError, match="unknown field `swich`"):
        fs.Experiment.from_file(small).warnings()


@pytest.mark.usefixtures("real")
def test_a_study_warns_too(command: Command, small: Path) -> None:
    small.write_text(TWO_FLOWS + FALLING + SEARCH + FAIR)
    ran = command("tune", small, "--trials", "1", "--jobs", "1", "--json")
    assert ran.code == 0, ran
    assert f"warning: {small}: congestion_control.infiniband.cct: the delay at index 2" in ran.err
    json.loads(ran.out)


@pytest.mark.usefixtures("real")
def test_the_network_is_built_for_a_transport_only(small: Path) -> None:
    """As the stub says: a file of the graph that is absent is not noticed without a transport."""
    absent = SMALL.replace("[topology.mesh]\ndimensions = [3, 3]", '[topology.file]\npath = "absent.toml"')
    assert absent != SMALL
    small.write_text(absent)
    assert fs.Experiment.from_file(small).warnings() == []
    small.write_text(absent + "[transport]\nmode = 'ordered'\n")
    with pytest.raises(fs.InputError, match=r"absent\.toml"):
        fs.Experiment.from_file(small).warnings()


@pytest.mark.usefixtures("real")
def test_settings_without_effect_are_in_the_results(command: Command, small: Path) -> None:
    small.write_text(SMALL)
    changes = {"routing.load": "credits", "traffic.0.start": "1 s", "transport.timeout": "7 us"}
    texts = ["routing.load has no effect", "sends nothing: it starts at 1 s", "transport has no effect"]
    for text in texts:
        assert any(text in found for found in fs.Experiment.from_file(small, changes).warnings())
        assert any(text in found for found in fs.run(small, set=changes).manifest["summary"]["warnings"])
    options = [part for key, value in changes.items() for part in ("--set", f"{key}='{value}'")]
    ran = command("run", small, *options)
    for text in texts:
        assert (ran.err.count(text), ran.out.count(text)) == (1, 0), ran
    assert fs.run(small).manifest["summary"]["warnings"] == []


@pytest.mark.usefixtures("real")
def test_the_json_has_the_warnings_of_the_experiment_and_of_the_run(command: Command, small: Path) -> None:
    small.write_text(
        """
topology.single-switch = { hosts = 3 }
routing.load = "credits"
[[traffic]]
pattern = { to = "H0" }
injection = "saturating"
message = "64 KiB"
[run]
duration = "10 us"
drain = "measured"
drain_limit = "1 us"
"""
    )
    ran = command("run", small, "--json", "--out", "kept")
    assert ran.code == 0, ran
    found = json.loads(ran.out)["warnings"]
    assert len(found) == 2, found
    assert "routing.load has no effect" in found[0]
    assert "the drain ended at its limit with 32 packets in flight" in found[1]
    assert sorted(found) == sorted(fs.load(Path("kept")).manifest["summary"]["warnings"])
    for text in found:
        assert ran.err.count(text) == 1, ran.err
