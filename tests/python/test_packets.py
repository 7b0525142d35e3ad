"""Packets recorded link by link: the table, `fabricsim packets`, traces for Perfetto."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

import fabricsim as fs
from fabricsim.cli.app import app
from fabricsim.packets import delays, sentences, write_trace

TWO = """
[topology]
single-switch = { hosts = 3 }
[links.all]
rate = "8 Gb/s"
latency = "10 ns"
[switch]
router_delay = "100 ns"
[[traffic]]
name = "one"
sources = ["H0", "H1"]
pattern = { to = "H2" }
injection = "constant"
load = 0.001
message = "100 B"
messages = 1
[run]
duration = "2 us"
drain = "empty"
[measure]
packets = ["* -> H2"]
"""
"""Two packets of 100 ns that reach the switch at the same time."""


@pytest.fixture
def run(tmp_path: Path) -> Path:
    file = tmp_path / "two.toml"
    file.write_text(TWO)
    folder = tmp_path / "run"
    fs.run(file, out=folder)
    return folder


def invoke(*arguments: object) -> str:
    done = CliRunner().invoke(app, ["packets", *map(str, arguments)])
    assert done.exit_code == 0, done.output
    return done.output


def test_where_packets_waited(run: Path) -> None:
    hops = fs.load(run).table("packet_hops")
    assert hops["waited_ns"].tolist() == [0.0, 0.0, 0.0, 100.0]
    first = str(hops["source"].iloc[2])
    found = delays(hops)
    assert found.to_dict("records") == [
        {"link": "S0->H2", "behind": f"{first} -> H2", "packets": 1, "waited_ns": 100.0, "longest_ns": 100.0}
    ]
    assert sentences(hops)[0] == "2 packets waited 50 ns each on average, 100 ns at most"
    late = hops.iloc[3]
    assert sentences(hops)[1] == (
        f"the slowest is --packet {late['packet']}, packet 0 of {late['source']} to H2: "
        f"100 ns for S0->H2, behind {first} -> H2"
    )
    of_all = f"100.0% of all waiting is for S0->H2, of 1 packet: all behind {first} -> H2"
    assert sentences(hops)[2:] == [of_all]
    early = hops[hops["source"] == first]
    assert sentences(early) == ["the packet waited 0 s"]
    assert sentences(hops[:0]) == ["none of the chosen packets crossed a link"]


def test_the_command_prints_the_way_of_a_packet(run: Path) -> None:
    hops = fs.load(run).table("packet_hops")
    late = int(hops["packet"].iloc[3])
    assert "S0->H2" in invoke(run)
    way = invoke(run, "--packet", late)
    assert f"H{late}->S0" in way
    assert "100 ns" in way
    # The packet is created at 0, its head may leave the switch 110 ns later, and it waits 100 ns.
    (switch,) = [line.split() for line in way.splitlines() if line.strip().startswith("S0->H2")]
    assert " ".join(switch[1:]).startswith("0 110 ns 210 ns 100 ns 100 ns 0 s H")
    found = json.loads(invoke(run, "--json"))
    assert found["delays"][0]["waited_ns"] == 100.0


def test_times_have_the_digits_of_a_picosecond(run: Path, tmp_path: Path) -> None:
    table = fs.load(run).table("packet_hops")
    table.assign(end_ns=table["end_ns"] + 0.1 + 0.2).to_parquet(run / "packet_hops.parquet")
    (run / "SHA256SUMS").unlink()
    invoke(run, "--csv", tmp_path / "hops.csv")
    digits = [value.partition(".")[2] for value in pd.read_csv(tmp_path / "hops.csv", dtype=str)["end_ns"]]
    assert max(map(len, digits)) <= 3


def test_files_hold_all_rows(run: Path, tmp_path: Path) -> None:
    csv, trace = tmp_path / "hops.csv", tmp_path / "hops.json"
    invoke(run, "--csv", csv, "--perfetto", trace)
    hops = fs.load(run).table("packet_hops")
    assert len(pd.read_csv(csv)) == len(hops) == 4
    events = json.loads(trace.read_text())["traceEvents"]
    slices = [one for one in events if one["ph"] == "X"]
    assert [(one["ts"], one["dur"]) for one in slices] == [(0, 0.1), (0, 0.1), (0.11, 0.1), (0.21, 0.1)]
    threads = {one["tid"]: one["args"]["name"] for one in events if one["name"] == "thread_name"}
    assert [threads[one["tid"]] for one in slices] == hops["link"].tolist()
    # An arrow for each packet, from its first link to its last.
    arrows = [(one["ph"], one["id"]) for one in events if one.get("cat") == "path"]
    assert sorted(arrows) == [(phase, f"packet {number}") for phase in "fs" for number in (0, 1)]
    again = CliRunner().invoke(app, ["packets", str(run), "--csv", str(csv)])
    assert again.exit_code != 0


def test_mistakes_have_one_message(run: Path, tmp_path: Path) -> None:
    for arguments, expected in (
        (("--packet", "7"), "--packet 7: the run has no such packet: give 0 to 1"),
        (("--csv", str(run / "manifest.json")), "this exists"),
    ):
        with pytest.raises(fs.InputError, match=expected):
            CliRunner().invoke(app, ["packets", str(run), *arguments], catch_exceptions=False)
    bare = tmp_path / "bare.toml"
    bare.write_text(TWO.replace('packets = ["* -> H2"]', ""))
    fs.run(bare, out=tmp_path / "bare")
    with pytest.raises(fs.InputError, match="the run has not recorded packets; run it with --set"):
        CliRunner().invoke(app, ["packets", str(tmp_path / "bare")], catch_exceptions=False)
    for choice, expected in (
        ("H0 to H2", "measure.packets.0: `H0 to H2` is no choice of packets"),
        ("H0 -> H9", "measure.packets.0: no host is named `H9`"),
    ):
        with pytest.raises(fs.InputError, match=expected):
            fs.run(bare, set={"measure.packets": [choice]})


def test_a_run_whose_chosen_packets_crossed_no_link(tmp_path: Path) -> None:
    """Such as packet 17 of a source of one: a sentence, and no table without rows."""
    file, folder = tmp_path / "none.toml", tmp_path / "none"
    file.write_text(TWO.replace('"* -> H2"', '"H0 -> H2 #17"'))
    fs.run(file, out=folder)
    assert invoke(folder) == "none of the chosen packets crossed a link\n"
    done = CliRunner().invoke(app, ["packets", str(folder), "--packet", "0"])
    assert isinstance(done.exception, fs.InputError)
    assert str(done.exception) == "--packet 0: the run has no such packet: none crossed a link"


def test_a_trace_replaces_no_file_unasked(run: Path, tmp_path: Path) -> None:
    hops = fs.load(run).table("packet_hops")
    target = tmp_path / "trace.json"
    write_trace(hops, target)
    with pytest.raises(fs.InputError, match="exists"):
        write_trace(hops, target)
    write_trace(hops, target, force=True)


def test_records_change_no_result(tmp_path: Path) -> None:
    file = tmp_path / "torus.toml"
    file.write_text(
        """
[topology]
torus = { dimensions = [4, 4] }
[switch]
virtual_lanes = 4
[[traffic]]
pattern = "uniform"
message = "2 KiB"
load = 0.5
[run]
duration = "20 us"
"""
    )
    plain = fs.run(file)
    with_packets = fs.run(file, set={"measure.packets": ["* -> *"]})
    assert plain.manifest["summary"]["fingerprint"] == with_packets.manifest["summary"]["fingerprint"]
    pd.testing.assert_frame_equal(plain.flows, with_packets.flows)
    assert "packet_hops" not in plain.frames
    assert len(with_packets.table("packet_hops")) > 1000
