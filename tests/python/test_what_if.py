"""All single failures: what is found, in which order, and what cannot fail."""

from __future__ import annotations

import json
import re
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from conftest import Command

import fabricsim as fs
from fabricsim import plots, warm
from fabricsim.cli.console import output
from fabricsim.cli.what_if import print_what_if
from fabricsim.memory import Allowance
from fabricsim.what_if import SEPARATED
from fabricsim.what_if_columns import COLUMNS

what_if = sys.modules["fabricsim.what_if"]

pytestmark = pytest.mark.usefixtures("real")

RING = """
title = "Ring of four"

[topology.ring]
switches = 4

[links.all]
rate = "8 Gb/s"
latency = "10 ns"

[switch]
virtual_lanes = 2

[routing]
algorithm = "shortest-path"

[host]
mtu = "500 B"

[[traffic]]
name = "neighbour"
sources = ["H(0).0"]
pattern = { to = "H(1).0" }
load = 0.5
message = "500 B"

[run]
duration = "100 us"
allow_deadlock = true
"""


@pytest.fixture
def ring(tmp_path: Path) -> Path:
    path = tmp_path / "ring.toml"
    path.write_text(RING)
    return path


def test_routes_around_a_link_save_the_flow(ring: Path) -> None:
    found = fs.what_if(ring, jobs=1)
    assert list(found.failures.columns) == list(COLUMNS)
    table: Any = found.failures.set_index("failure")
    assert sorted(table.index) == ["S(0)-S(1)", "S(1)-S(2)", "S(2)-S(3)", "S(3)-S(0)"]
    assert (table["flows_cut_off"] == 0).all()
    assert table["change"].abs().max() < 0.02
    # The long way round: two links of 10 ns and two switches of 100 ns more.
    more = table.loc["S(0)-S(1)", "latency_mean_ns"] - table.loc["S(2)-S(3)", "latency_mean_ns"]
    assert more == pytest.approx(220.0)
    assert "routes around" in found.routes


def test_routes_that_stay_lose_the_flow(ring: Path) -> None:
    """The control: with dimension order the same link costs everything."""
    found = fs.what_if(ring, set={"routing.algorithm": "dimension-order"}, jobs=1)
    worst: Any = found.failures.iloc[0]
    assert (worst["failure"], worst["worst_flow"]) == ("S(0)-S(1)", "H(0).0->H(1).0")
    assert (worst["flows_cut_off"], worst["accepted_gbps"]) == (1, 0.0)
    assert worst["lost_packets"] > 50
    assert found.failures["flows_cut_off"].tolist() == [1, 0, 0, 0]
    assert "stay as they are" in found.routes


def test_a_failure_is_that_of_the_fault_plan(ring: Path) -> None:
    table: Any = fs.what_if(ring, "switch", jobs=1).failures.set_index("failure")
    assert list(table[table["flows_cut_off"] == 1].index) == ["S(0)", "S(1)"]
    changes = {"faults.plan": [{"switch": "S(1)", "at": "1 ps"}], "faults.reroute_after": "1 ps"}
    run = fs.run(ring, set=changes)
    lost = [run.summary[f"invariants.lost.{what}_failed"] for what in ("switch", "link")]
    assert table.loc["S(1)", "lost_packets"] == sum(lost) > 0


def test_the_command_prints_the_worst_and_draws_them(ring: Path, tmp_path: Path, command: Command) -> None:
    ran = command("what-if", ring, "--each", "switch", "--top", 2, "--jobs", 1, "--out", "worst.png")
    assert ran.code == 0
    assert "2 more, which cost less" in ran.out
    assert "2 of 4 failures cut flows off" in ran.out
    assert (tmp_path / "worst.png").exists()
    told = json.loads(command("what-if", ring, "--jobs", 1, "--json").out)
    assert len(told["failures"]) == 4
    assert told["failures"][0]["accepted_gbps"] == min(row["accepted_gbps"] for row in told["failures"])


def test_flows_of_few_packets_are_not_called_unharmed(ring: Path, command: Command) -> None:
    """The flow of the ring has six packets in this time, and a failure that cuts it off."""
    ran = command("what-if", ring, "--each", "switch", "--jobs", 1, "--set", "run.duration=6 us")
    assert "not known: none has 10 packets in the measurement; run longer" in ran.out
    assert "make no flow worse" not in ran.out
    table: Any = fs.what_if(ring, "switch", set={"run.duration": "6 us"}, jobs=1).failures
    assert table["flows_worse"].isna().all()
    for changes, has_texts in (({"run.duration": "6 us"}, False), ({}, True)):
        (axes,) = plots.failures(fs.what_if(ring, "switch", set=changes, jobs=1)).axes
        assert any("cut off" in text.get_text() for text in axes.texts) == has_texts
    assert table["flows_cut_off"].isna().all()


def test_the_number_of_flows_that_count_is_said(ring: Path, command: Command) -> None:
    rare = """
[[traffic]]
name = "rare"
sources = ["H(2).0"]
pattern = { to = "H(3).0" }
load = 0.01
message = "500 B"

[run]"""
    ring.write_text(RING.replace("[run]", rare))
    assert (
        "flows are 1 of 2: the others have less than 10 packets" in command("what-if", ring, "--jobs", 1).out
    )


TABLES = {"routing.algorithm": "look-up-tables", "topology": {"mesh": {"dimensions": [4, 1]}}}
HOSTS = {"traffic.0.sources": ["H(0,0).0"], "traffic.0.pattern": {"to": "H(3,0).0"}}


def test_failures_that_separate_hosts_are_rows_with_their_names(ring: Path, command: Command) -> None:
    """Look-up tables refuse to route around them: the table has them none the less, worst first."""
    found = fs.what_if(ring, set={**TABLES, **HOSTS}, jobs=1)
    table: Any = found.failures.set_index("failure")
    assert (table["status"] == "ok").all()
    assert table.loc["S(0,0)-S(1,0)", "names_cut_off"] == "H(0,0).0"
    assert table.loc["S(2,0)-S(3,0)", "names_cut_off"] == "H(3,0).0"
    assert table.loc["S(1,0)-S(2,0)", "hosts_cut_off"] == 2
    assert set(table["message"].str.partition(":")[0]) == {SEPARATED}
    assert found.failures["accepted_gbps"].is_monotonic_increasing
    options = [
        part
        for key, value in {**TABLES, **HOSTS}.items()
        for part in ("--set", f"{key}={fs.spec.toml_value(value)}")
    ]
    out = command("what-if", ring, "--jobs", 1, *options).out
    said = " ".join(out.split())
    assert "3 of 3 failures leave hosts without a path to the others (S(" in said
    assert "S(0,0)-S(1,0): H(0,0).0" in said
    assert said.endswith("and 2 more: routes stay as they are, since hosts are cut off")


def test_failures_with_a_way_around_separate_none(ring: Path, command: Command) -> None:
    assert (fs.what_if(ring, jobs=1).failures["hosts_cut_off"] == 0).all()
    assert "without a path" not in command("what-if", ring, "--jobs", 1).out
    of_switches: Any = fs.what_if(ring, "switch", jobs=1).failures.set_index("failure")
    assert of_switches.loc["S(2)", "names_cut_off"] == "H(2).0"


def test_what_has_failed_in_all_runs_counts(ring: Path) -> None:
    table: Any = fs.what_if(ring, set={"links.failed": ["S(3)-S(0)"]}, jobs=1).failures.set_index("failure")
    assert table.loc["S(0)-S(1)", "names_cut_off"] == "H(0).0"
    assert table.loc["S(1)-S(2)", "hosts_cut_off"] == 2


def test_other_reasons_stay_messages(ring: Path, command: Command) -> None:
    """Dimension order finds no routes around anything: one message for all."""
    same = command("what-if", ring, "--jobs", 1, "--set", "routing.algorithm=dimension-order")
    assert same.out.count("routes stay as they are:") == 1
    said = " ".join(same.out.split())
    assert (
        "routes stay as they are: the routing algorithm does not find routes around failed links: set" in said
    )
    assert "set on top of the file" not in said, "the user set nothing"


def test_messages_that_differ_in_names_are_not_all_printed(
    ring: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = fs.what_if(ring, jobs=1)
    each = replace(found, failures=found.failures.assign(message=[f"no {n}" for n in range(4)]))
    print_what_if(each, 20, output())
    out = capsys.readouterr().out
    assert out.count(": no ") == 2
    assert "2 more messages: see --json" in out


def test_names_of_hosts_are_cut_short(ring: Path, command: Command) -> None:
    changes = {"topology": {"ring": {"switches": 4, "hosts_per_switch": 12}}}
    table: Any = fs.what_if(ring, "switch", set=changes, jobs=1).failures.set_index("failure")
    assert table.loc["S(1)", "hosts_cut_off"] == 12
    assert table.loc["S(1)", "names_cut_off"].endswith("H(1).7 and 4 more")


def test_the_picture_names_the_failures(ring: Path) -> None:
    found = fs.what_if(ring, "switch", jobs=1)
    axes = plots.failures(found, 3).axes[0]
    names = [text.get_text() for text in axes.get_yticklabels()]
    assert names == found.failures["failure"].head(3).tolist()


def test_several_processes_find_the_same(ring: Path) -> None:
    assert fs.what_if(ring, jobs=2).failures.equals(fs.what_if(ring, jobs=1).failures)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        (
            {
                "topology": {"single-switch": {"hosts": 4}},
                "traffic.0.sources": ["*"],
                "traffic.0.pattern": "uniform",
            },
            "no link",
        ),
        ({"switch.allocation": "separable"}, "separable"),
    ],
)
def test_networks_in_which_nothing_can_fail(ring: Path, changes: dict[str, object], expected: str) -> None:
    with pytest.raises(fs.InputError, match=expected):
        fs.what_if(ring, set=changes, jobs=1)


def test_what_can_fail_is_a_link_or_a_switch(ring: Path) -> None:
    with pytest.raises(fs.InputError, match="must be link or switch"):
        fs.what_if(ring, "host", jobs=1)  # type: ignore[arg-type]


TORUS = """
topology.torus = { dimensions = [3, 3], hosts_per_switch = 2 }
links.all = { rate = "16 Gb/s", latency = "20 ns", buffer = "8 KiB" }
switch.virtual_lanes = 8
routing = { algorithm = "opensm", engine = "dfsssp" }
host.mtu = "512 B"
run = { warmup = "20 us", duration = "30 us", drain = "measured", drain_limit = "20 us" }

[[traffic]]
pattern = "uniform"
injection = "poisson"
load = 0.3
message = "1 KiB"
"""
TREE = """
topology.fat-tree = { arity = 2, levels = 3 }
links.all = { rate = "16 Gb/s", latency = "20 ns", buffer = "64 KiB" }
routing.algorithm = "up-down-adaptive"
host.mtu = "512 B"
run = { warmup = "20 us", duration = "30 us", drain_limit = "20 us" }

[[traffic]]
pattern = { hot-spot = { hosts = ["H0"], fraction = 0.4 } }
injection = "poisson"
load = 0.5
message = "2 KiB"
"""
SETTINGS: dict[str, dict[str, Any]] = {
    "plain": {},
    "congestion control": {"congestion_control.algorithm": "infiniband"},
    "ordering": {"transport.mode": "ordered", "transport.timeout": "5 us"},
    "pauses": {"switch.flow_control": "pause", "links.all.buffer": "64 KiB"},
    "own plan": {"faults.plan": [{"switch": "SWITCH", "at": "5 us", "until": "9 us"}]},
}


@pytest.mark.parametrize("partitions", [1, 3])
@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.parametrize(("network", "switch"), [(TORUS, "S(2,2)"), (TREE, "L3S1")], ids=["torus", "tree"])
def test_failures_after_a_warm_up_are_those_of_runs_from_the_beginning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, network: str, switch: str, name: str, partitions: int
) -> None:
    """All that each run finds, to the bit."""
    path = tmp_path / "network.toml"
    path.write_text(network)
    setting = json.loads(json.dumps(SETTINGS[name]).replace("SWITCH", switch))
    setting["run.partitions"] = partitions
    compared = []

    def both(beginning: Any, experiment: fs.Experiment, **options: Any) -> fs.Result:
        try:
            result = warm.run_from(beginning, experiment, **{**options, "only": None})
        except fs.InputError as error:
            with pytest.raises(fs.InputError, match=re.escape(str(error))):
                fs.run(experiment)
            raise
        expected = fs.run(experiment)
        assert str({**result.manifest, "wall_s": 0.0}) == str({**expected.manifest, "wall_s": 0.0})
        assert list(result.frames) == list(expected.frames)
        for table, frame in result.frames.items():
            pd.testing.assert_frame_equal(frame, expected.frames[table])
        compared.append(result.manifest["fingerprint"])
        return result

    monkeypatch.setattr(what_if, "run_from", both)
    each: Any = "link" if partitions == 1 else "switch"
    found = fs.what_if(path, each, at="25 us", set=setting, jobs=1)
    assert (found.failures["status"] == "ok").all()
    assert len(compared) == len(found.failures) > 5
    # Some switches of the tree carry nothing.
    assert len({found.without.manifest["fingerprint"], *compared}) > 0.8 * len(compared)


def test_the_time_before_the_failure_is_simulated_once(ring: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun = []
    begin = warm._CopyWatch._begin

    def counted(self: Any) -> Any:
        begun.append(self)
        return begin(self)

    monkeypatch.setattr(warm._CopyWatch, "_begin", counted)
    found = fs.what_if(ring, at="30 us", jobs=1)
    assert (len(found.failures), len(begun)) == (4, 1)
    assert warm._Kept.session is None
    assert found.failures.equals(fs.what_if(ring, at=30_000.0, jobs=2).failures)
    assert not found.failures.equals(fs.what_if(ring, jobs=1).failures)
    # Without routes around failures: the state is that of runs that keep theirs.
    begun.clear()
    found = fs.what_if(ring, at="30 us", set={"routing.algorithm": "dimension-order"}, jobs=1)
    assert (len(found.failures), "stay as they are" in found.routes) == (4, True)
    assert 0 < found.failures["accepted_gbps"].min() < found.without.summary["accepted_gbps"]


def test_the_time_of_the_failure_is_in_the_run(ring: Path, command: Command) -> None:
    ran = command("what-if", ring, "--at", "100 us", "--jobs", 1)
    assert ran.code == 2
    assert "at = 100 µs: the run without a failure ends at 100 µs: give an earlier time" in ran.err
    assert "at = 0 ps: must be 1 ps or later" in command("what-if", ring, "--at", "0 ns").err
    assert "at: " in command("what-if", ring, "--at", "soon").err
    ran = command("what-if", ring, "--at", "50 us", "--jobs", 1, "--set", "run.warmup=50 us")
    assert ran.code == 0, ran.err
    assert "routes around the failure 1 ps after it" in ran.out


def test_a_stop_ends_the_warm_up(ring: Path) -> None:
    """And keeps nothing of it: the next call begins anew."""
    calls: list[None] = []

    def stop() -> bool:
        calls.append(None)
        return len(calls) > 1

    found = fs.what_if(ring, at="50 us", set={"run.duration": "100 us"}, jobs=1, stop=stop)
    assert not found.complete
    assert warm._Kept.session is None
    assert len(fs.what_if(ring, at="50 us", jobs=1).failures) == 4


def test_the_state_is_freed_without_waiting_for_a_build() -> None:
    """A stop does not wait for the build that it interrupts, which holds the state."""
    with warm._Kept.lock:
        warm.forget()


def test_the_state_is_freed_after_a_while(ring: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers of a cluster go on living."""
    monkeypatch.setattr(warm, "KEPT_S", 0.05)
    experiment = fs.Experiment.from_file(ring)
    fault = experiment.with_values({"faults.plan": [{"link": "S(0)-S(1)", "at": "50 us"}]})
    beginning = warm.Beginning("a test", 49_000_000)
    result = warm.run_from(beginning, fault, memory=Allowance(), only=["flows"])
    assert (result.manifest["fingerprint"], list(result.frames)) == (
        fs.run(fault).manifest["fingerprint"],
        ["flows"],
    )
    limit = time.monotonic() + 60.0
    while warm._Kept.session is not None:
        assert time.monotonic() < limit
        time.sleep(0.02)


def test_the_run_without_a_failure_has_the_routes_that_the_others_have(tmp_path: Path) -> None:
    """The ring's own failure cuts the direct path: with the routes around it, as all have them, it harms none."""
    file = tmp_path / "ring.toml"
    file.write_text(RING + '[[faults.plan]]\nlink = "S(0)-S(1)"\nat = "20 us"\n')
    found = fs.what_if(file, "switch", jobs=1)
    assert found.without.manifest["summary"]["invariants"]["lost"].get("link_failed", 0) <= 1
    assert found.failures["change"].max() <= 0.01
