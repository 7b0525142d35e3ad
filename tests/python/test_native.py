"""The package on top of the real engine: what users meet, end to end."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest
from conftest import SMALL, Command

import fabricsim as fs
from fabricsim import plots

pytestmark = pytest.mark.usefixtures("real")

CYCLIC = """
[topology.ring]
switches = 4

[links.all]
buffer = "2 KiB"

[routing]
algorithm = "shortest-path"

[[traffic]]
pattern = "tornado"
injection = "saturating"
message = "2 KiB"

[run]
duration = "1 ms"
allow_deadlock = true
"""


def test_json_has_the_promised_shape(command: Command, small: Path) -> None:
    ran = command("run", small, "--json")
    assert ran.code == 0, ran.err
    told = json.loads(ran.out)
    assert {
        "experiment",
        "seed",
        "simulated_s",
        "wall_s",
        "packet_hops",
        "fingerprint",
        "status",
        "offered_load",
        "accepted_load",
        "latency_ns",
        "flows",
        "invariants",
    } <= set(told)
    assert {"mean", "p50", "p99", "p999", "max"} <= set(told["latency_ns"])
    assert {"source", "destination", "offered_gbps", "accepted_gbps", "latency_ns"} <= set(told["flows"][0])
    invariants = told["invariants"]
    assert {"injected", "delivered", "in_flight", "dropped", "credits_ok"} <= set(invariants)
    kept = invariants["delivered"] + invariants["in_flight"] + invariants["dropped"]
    assert invariants["injected"] == kept
    assert invariants["dropped"] == sum(invariants["lost"].values()) == 0
    assert invariants["packets_ok"] is True
    assert invariants["credits_ok"] is True
    assert told["status"] == "ok"
    assert told["simulated_s"] == pytest.approx(100e-6)
    assert told["experiment"] == "small"


def test_same_seed_same_results(small: Path) -> None:
    first, second, other = fs.run(small), fs.run(small), fs.run(small, set={"seed": 2})
    assert first.manifest["fingerprint"] == second.manifest["fingerprint"]
    assert first.manifest["fingerprint"] != other.manifest["fingerprint"]
    assert first.manifest["summary"] == second.manifest["summary"]
    for name, frame in first.frames.items():
        pd.testing.assert_frame_equal(frame, second.table(name))


def test_tables_have_notes_and_pictures_are_drawn(small: Path, tmp_path: Path) -> None:
    run = fs.run(small, out=tmp_path / "out")
    for name, frame in run.frames.items():
        notes = run.columns(name)
        assert list(notes.index) == list(frame.columns)
        assert notes["description"].str.len().gt(0).all(), name
    assert len(plots.save_plots(fs.load(tmp_path / "out"), tmp_path / "out")) == 3
    assert sum(f.stat().st_size for f in (tmp_path / "out").glob("*.parquet")) < 5e6


def test_flows_add_up_to_the_accepted_load(small: Path) -> None:
    run = fs.run(small)
    rate = run.hosts["link_gbps"].sum()
    # Both count the bytes delivered in the window; they differ by rounding only.
    assert run.flows["accepted_gbps"].sum() / rate == pytest.approx(run.summary["accepted_load"], rel=1e-12)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("load =", "laod =", "did you mean `load`"),
        ("0.3", "-0.3", "load"),
        ('"100 us"', '"100 Gb/s"', "run.duration"),
        ("[3, 3]", "[0, 3]", "dimensions"),
        ("[3, 3]", "[100000, 10000]", ""),
        ('"uniform"', '{ to = "H(9,9).0" }', "H(9,9).0"),
        ('message = "2 KiB"', 'message = "1 MiB"\n[host]\nmtu = "1 MiB"', "buffer"),
    ],
)
def test_bad_experiments(command: Command, small: Path, old: str, new: str, message: str) -> None:
    small.write_text(SMALL.replace(old, new, 1))
    for name in ("check", "run"):
        ran = command(name, small)
        assert ran.code == 2, ran
        assert message in ran.err
        assert ran.err.startswith(f"fabricsim: {small}")
        assert len(ran.err.strip().splitlines()) == 1
        assert ran.out == ""


def test_a_cyclic_configuration_is_refused_named_and_stopped(command: Command, tmp_path: Path) -> None:
    path = tmp_path / "ring.toml"
    path.write_text(CYCLIC.replace("allow_deadlock = true\n", ""))
    ran = command("run", path)
    assert ran.code == 2
    assert "allow_deadlock" in ran.err
    verdict = json.loads(command("describe", path, "--json").out)["deadlock"]
    assert verdict["free"] is False
    assert len(verdict["cycle"]) >= 3


def test_a_deadlock_ends_the_run_and_keeps_results(command: Command, tmp_path: Path) -> None:
    path = tmp_path / "ring.toml"
    path.write_text(CYCLIC)
    # Every host floods the one opposite, all in the same direction on one lane: the channels fill in a cycle.
    hosts = fs.run(path, set={"run.duration": "1 us"}).hosts["host"].tolist()
    around = [hosts[(n + 2) % 4] for n in range(4)]
    ran = command("run", path, "--set", f"traffic.0.pattern={{permutation = {json.dumps(around)}}}")
    assert ran.code == 3, ran
    assert "deadlock: cyclic dependency" in ran.out
    assert fs.load(tmp_path / "runs/ring").status == "deadlock"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_to_the_process_keeps_results(small: Path, tmp_path: Path, number: signal.Signals) -> None:
    arguments = [sys.executable, "-m", "fabricsim", "run", str(small), "--set", "run.duration=1000 s"]
    process = subprocess.Popen(
        [*arguments, "--out", "out", "--json"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        # The tests may run below `nohup`, which ignores SIGHUP, and so would what they start.
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),  # noqa: PLW1509 - the test has no threads
    )
    try:
        deadline = time.monotonic() + 60
        while not any(tmp_path.glob(".out.*")) and time.monotonic() < deadline:
            time.sleep(0.05)
        time.sleep(1.0)
        os.kill(process.pid, number)
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 130, err
    assert json.loads(out)["status"] == "interrupted"
    assert fs.load(tmp_path / "out").status == "interrupted"
    assert "Traceback" not in err.decode()


def test_sweep_in_processes_is_the_same_as_in_one(small: Path) -> None:
    vary: dict[str, list[float]] = {"traffic.0.load": [0.1, 0.3], "seed": [1, 2]}
    alone, spread = (fs.sweep(small, vary=vary, jobs=jobs).points for jobs in (1, 2))
    pd.testing.assert_frame_equal(alone.drop(columns="wall_s"), spread.drop(columns="wall_s"))


@pytest.mark.parametrize("format", ["ned", "dot", "anynet", "toml", "fdbs"])
def test_exports(command: Command, small: Path, format: str) -> None:
    small.write_text(SMALL.replace("[3, 3]", '[3, 3]\nnaming = "thesis"\nhosts_per_switch = 2'))
    ran = command("export", small, "--format", format)
    assert ran.code == 0, ran.err
    assert len(ran.out.splitlines()) >= 9


@pytest.mark.parametrize("format", ["ibnetdiscover", "ibnetdiscover-ports", "ibsim", "opensm-subnet"])
def test_a_fabric_comes_back_from_an_exported_subnet(
    command: Command, small: Path, tmp_path: Path, format: str
) -> None:
    exported = command("export", small, "--format", format)
    assert exported.code == 0, exported.err
    (tmp_path / "subnet.txt").write_text(exported.out)
    before = small.read_text()
    begin, end = before.index("[topology"), before.index("\n[", before.index("[topology") + 1)
    after = before[:begin] + '[topology.file]\npath = "subnet.txt"\n' + before[end:]
    (tmp_path / "again.toml").write_text(after)
    first, again = (fs.Experiment.from_file(path).describe() for path in (small, tmp_path / "again.toml"))
    for key in ("hosts", "switches", "diameter", "mean_hops"):
        assert first[key] == again[key], key


def test_schema_is_the_committed_one(command: Command) -> None:
    root = Path(__file__).resolve().parents[2]
    committed = json.loads((root / "schema/experiment.schema.json").read_text())
    assert json.loads(command("schema").out) == committed


def test_version_is_that_of_the_package() -> None:
    root = Path(__file__).resolve().parents[2]
    assert f'version = "{fs.version()}"' in (root / "Cargo.toml").read_text()
