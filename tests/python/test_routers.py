"""Performance counters of routers, from the experiment to the tables, the screen and the folder."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from conftest import Command
from rich.console import Console

import fabricsim as fs
from fabricsim.cli.compare import print_comparison
from fabricsim.report.page import html

pytestmark = pytest.mark.usefixtures("real")

SEASTAR = """
title = "routers like the SeaStar"
[topology.torus]
dimensions = [4, 4]
[links.all]
rate = "32 Gb/s"
buffer = "256 B"
[switch]
queueing = "cioq"
staging = { buffer = "128 B" }
virtual_lanes = 2
flow_control_unit = "8 B"
arbiter = "age-based"
age = { period = 8 }
[host]
mtu = "72 B"
[[traffic]]
pattern = "uniform"
injection = "saturating"
message = "72 B"
[run]
warmup = "5 us"
duration = "20 us"
[measure]
router_counters = true
"""
DIRECTIONS = ["+x", "-x", "+y", "-y", "host"]
AGES = ["age_0_63", "age_64_127", "age_128_191", "age_192_255"]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "seastar.toml"
    path.write_text(SEASTAR)
    return path


def test_ports_add_up_to_directions(file: Path) -> None:
    run = fs.run(file)
    ports, directions = run.router_ports, run.router_dimensions.set_index("direction")
    assert list(directions.index) == DIRECTIONS
    assert len(ports.drop_duplicates(["router", "port"])) == 16 * 5
    sums = ports.groupby("direction")[
        ["packets", "flits", "granted", "stalled_cycles", "blocked_cycles", *AGES]
    ].sum()
    for column in sums:
        assert directions[column].to_dict() == pytest.approx(sums[column].to_dict())
    assert (ports["flits"] == 9 * ports["packets"]).all()
    assert (ports[AGES].sum(axis=1) == ports["granted"]).all()
    # What routers receive from links is what the table of links has of them.
    sent = run.links[run.links["class"] != "host"]["packets"].sum()
    assert directions["packets"].drop("host").sum() == sent


def test_equation_17(file: Path) -> None:
    run = fs.run(file)
    links = run.links[run.links["link"].str.startswith("S") & run.links["link"].str.contains("->H")]
    host = run.router_dimensions.set_index("direction").loc["host"]
    assert host["stalled_per_packet"] == pytest.approx(host["stalled_cycles"] / links["packets"].sum())
    assert run.summary["routers.host.stalled_per_packet"] == pytest.approx(host["stalled_per_packet"])
    assert run.summary["routers.+x.queueing_cycles"] > 0


def test_cycles_are_those_of_the_clock(file: Path) -> None:
    fast, slow = (
        fs.run(file, set={"switch.arbiter": "round-robin", "switch.age.cycle": c}) for c in ("2 ns", "4 ns")
    )
    for column in ("stalled_cycles", "blocked_cycles", "queueing_cycles"):
        assert fast.router_dimensions[column].tolist() == pytest.approx(2 * slow.router_dimensions[column])


def test_columns_name_the_registers(file: Path) -> None:
    text = " ".join(fs.run(file).columns("router_ports")["description"])
    for register in ("VCv_BLOCKED", "STALLED", "VCv_PKTS", "VCv_FLITS"):
        assert f"RTR_PERF_{register}" in text
    assert "RTR_AGE_GROUP0" in text
    assert "RTR_AGE_GROUP1" in text


def test_a_run_shows_and_keeps_them(file: Path, command: Command, tmp_path: Path) -> None:
    ran = command("run", file, "--out", tmp_path / "kept", "--plot")
    assert ran.code == 0, ran.err
    assert "routers, in cycles of their clock" in ran.out
    for direction in DIRECTIONS:
        assert f"\n {direction} " in ran.out
    kept = fs.load(tmp_path / "kept")
    assert list(kept.router_dimensions["direction"]) == DIRECTIONS
    assert kept.columns("router_ports").loc["stalled_cycles", "unit"] == "cycles"
    assert (tmp_path / "kept" / "routers.png").exists()
    told = json.loads(command("run", file, "--json").out)
    assert set(told["routers"]) == set(DIRECTIONS)


def test_they_are_only_where_they_were_asked_for(file: Path, command: Command) -> None:
    off = {"measure.router_counters": False}
    run = fs.run(file, set=off)
    assert not [name for name in run.frames if name.startswith("router")]
    with pytest.raises(fs.InputError, match="no table 'router_ports'"):
        _ = run.router_ports
    assert run.manifest["fingerprint"] == fs.run(file).manifest["fingerprint"]
    assert "cycles of their clock" not in command("run", file, "--set", "measure.router_counters=false").out


def test_counters_are_compared_and_reported(file: Path) -> None:
    aged, fair = fs.run(file), fs.run(file, set={"switch.arbiter": "round-robin"})
    text = io.StringIO()
    print_comparison(fs.compare([aged, fair]), Console(width=200, file=text))
    assert "queueing delay, +x (cycles)" in text.getvalue()
    assert "mean age" in html(aged, bound=False)
    page = html(fair, bound=False)
    assert "queueing delay" in page
    assert "mean age" not in page
