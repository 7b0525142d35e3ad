"""What the front end shows of a transport: printed totals, comparison, report, metrics."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import Command

import fabricsim as fs
from fabricsim.report.page import html
from fabricsim.tune.metrics import Measured, Which, measure

pytestmark = pytest.mark.usefixtures("real")

ORDERED = """
[topology.dragonfly]
p = 1
a = 2
h = 1
[links.all]
rate = "64 Gb/s"
[links.kind.local]
latency = "200 ns"
[switch]
virtual_lanes = 3
[routing]
algorithm = "valiant"
[host]
mtu = "256 B"
[transport]
mode = "ordered"
loss = 0.01
timeout = "20 us"
lifetime = "10 us"
[[traffic]]
name = "long"
pattern = "uniform"
load = 0.2
message = "4 KiB"
[[traffic]]
name = "short"
pattern = "uniform"
load = 0.05
message = "512 B"
[run]
duration = "200 us"
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "ordered.toml"
    path.write_text(ORDERED)
    return path


@pytest.fixture
def result(file: Path) -> fs.Result:
    return fs.run(file)


def test_tables_by_name(result: fs.Result) -> None:
    assert result.messages["entry"].tolist() == ["long", "short"]
    assert result.transport["delivered"].sum() == result.summary["transport.delivered"]
    assert result.transport_series["reorder_buffer_max"].max() == result.summary["transport.most_reordering"]
    assert result.columns("messages").loc["completion_p99_ns", "unit"] == "ns"
    with pytest.raises(fs.InputError, match="no table 'exchanges'"):
        _ = result.exchanges


def test_run_prints_a_short_section(file: Path, command: Command) -> None:
    out = command("run", file).out
    assert "p99.9" in out
    lines = [" ".join(line.split()) for line in out.splitlines()]
    (line,) = [line for line in lines if line.startswith("messages ") and "complete: mean" in line]
    (line,) = [line for line in lines if line.startswith("transport reordered ")]
    assert "in a reorder buffer" in line
    assert "requests: requests retransmitted" in " ".join(lines)
    (heading,) = [line for line in lines if line.startswith("messages of ")]
    assert heading.count("completion") == 5
    rows = [line for line in lines[lines.index(heading) :] if line.startswith(("long ", "short "))]
    assert [line.split()[0] for line in rows] == ["long", "short"]
    assert (
        "transport"
        not in command("run", file, "--set", "transport.mode=none", "--set", "transport.loss=0").out
    )


def test_a_sweep_prints_completion_times(file: Path, command: Command) -> None:
    ran = command("sweep", file, "--vary", "transport.mode=ordered,go-back-n", "--jobs", "1")
    assert ran.code == 0
    assert "completion" in ran.out


def test_compare_and_report(result: fs.Result, file: Path) -> None:
    other = fs.run(file, set={"transport.mode": "go-back-n"})
    totals = fs.compare([result, other]).totals
    dropped = list(totals.loc["transport.dropped_share"])
    assert dropped[0] < dropped[1]
    assert "transport.completion_ns.p99" in totals.index
    page = html(result)
    assert ">Transport</h2>" in page
    assert "p99.9" in page
    assert "operations reordered" in page


def test_compare_prints_names_and_shares(file: Path, command: Command) -> None:
    for mode in ("ordered", "go-back-n"):
        command("run", file, "--set", f"transport.mode={mode}", "--out", mode)
    out = command("compare", "ordered", "go-back-n").out
    (line,) = [line for line in out.splitlines() if "requests dropped" in line]
    assert line.count("%") == 2
    assert "p99.9 completion" in out


def test_metrics(result: fs.Result, file: Path) -> None:
    run = Measured(result, fs.Experiment.from_file(file))
    found = {name: measure(run, Which(f"completion_{name}")) for name in ("mean", "p99", "p999")}
    for name, value in found.items():
        assert value == result.summary[f"transport.completion_ns.{name}"]
    table = result.messages.set_index("entry")
    for name in ("mean", "p99", "p999"):
        own = measure(run, Which(f"completion_{name}", ("short",)))
        assert own == table.loc["short", f"completion_{name}_ns"]
        assert own < found[name]
    assert measure(run, Which("completion_mean", ("long", "short"))) == pytest.approx(found["mean"])
    assert measure(run, Which("completion_p99", ("long", "short"))) == table["completion_p99_ns"].max()
    for name in ("reordered_share", "dropped_share"):
        assert measure(run, Which(name)) == result.summary[f"transport.{name}"]
    assert measure(run, Which("reordered_share")) > 0.0


def test_metrics_say_what_is_missing(result: fs.Result, file: Path) -> None:
    run = Measured(result, fs.Experiment.from_file(file))
    with pytest.raises(fs.InputError, match="there is no 'shot'; there are: long, short"):
        measure(run, Which("completion_p99", ("shot",)))
    with pytest.raises(fs.InputError, match="has no `flows`"):
        measure(run, Which("reordered_share", ("short",)))
    without = fs.run(file, set={"transport.mode": "none", "transport.loss": 0.0})
    with pytest.raises(
        fs.InputError,
        match=r"completion_p99 is of messages of a transport: give the experiment a \[transport\]",
    ):
        measure(Measured(without, fs.Experiment.from_file(file)), Which("completion_p99"))


def test_losses_are_shown_with_their_cause(result: fs.Result, command: Command, file: Path) -> None:
    found = result.manifest["summary"]["invariants"]
    lost = found["lost"]["transport_loss"]
    assert lost == result.manifest["summary"]["transport"]["lost"] > 0
    assert found["dropped"] == lost
    assert found["injected"] == found["delivered"] + found["in_flight"] + lost
    assert found["packets_ok"]
    assert result.summary["invariants.lost.transport_loss"] == lost
    assert "lost by the draw of transport.loss" in html(result)
    out = command("run", file).out
    (line,) = [line for line in out.splitlines() if line.lstrip().startswith("packets")]
    assert f"lost {lost:,} (transport loss {lost:,})" in line
