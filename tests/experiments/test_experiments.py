"""Every experiment file is good, and runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import fabricsim as fs
from fabricsim.perftest import Test as Perftest
from fabricsim.perftest import perftest
from fabricsim.sweep import grid

ROOT = Path(__file__).resolve().parents[2]
FILES = sorted(p for p in (ROOT / "experiments").glob("*/*.toml") if p.name != "expected.toml")
NAMES = [str(p.relative_to(ROOT / "experiments")) for p in FILES]


MANY_HOSTS = 500


def short(experiment: fs.Experiment) -> dict[str, Any]:
    """Values that make a run short: all traffic from the start, half a millisecond at most, less of a large network."""
    checked = experiment.check()
    if checked.get("subnet_manager"):
        return {}  # A subnet comes up in tenths of a second, with few packets.
    starts = {f"traffic.{number}.start": "0 s" for number in range(len(checked["traffic"]))}
    values = {**starts, "run.warmup": "0 s", "run.duration": "500 us"}
    if any({"sequence", "training"} & set(job["program"]) for job in checked.get("jobs", [])):
        values["run.duration"] = "20 ms"  # Ranks compute for milliseconds before they send.
    if experiment.describe()["hosts"] >= MANY_HOSTS:
        values |= {"run.duration": "3 us", "run.drain": "none"}
    return values


def test_there_are_experiments() -> None:
    assert len(FILES) >= 15


@pytest.mark.parametrize("file", FILES, ids=NAMES)
def test_it_says_what_it_is_for(file: Path) -> None:
    checked = fs.Experiment.from_file(file).check()
    assert checked["title"]
    assert checked["description"] or file.read_text().startswith("# Transcribed from ")


@pytest.mark.parametrize("file", FILES, ids=NAMES)
def test_every_point_of_its_sweep_is_good(file: Path) -> None:
    experiment = fs.Experiment.from_file(file)
    for point in grid(experiment, None) if experiment.check()["sweep"] else [{}]:
        experiment.with_overrides(list(point.items())).check()


@pytest.mark.parametrize("file", FILES, ids=NAMES)
def test_it_runs_and_accounts_for_every_packet(file: Path) -> None:
    experiment = fs.Experiment.from_file(file)
    written = experiment.written()
    if not (written.get("traffic") or written.get("jobs")):
        if file.parent.name == "programs":
            # The fabric of rank programs, whose tests run them on it.
            assert experiment.describe()["hosts"] > 1
            return
        # One for `fabricsim perftest`, whose programs make the traffic.
        assert "adapter" in written
        assert perftest(Perftest("send_lat", iterations=2), experiment)["t_min_us"].iloc[0] > 0
        return
    run = fs.run(experiment, set=short(experiment))
    assert run.status in (("ok", "deadlock") if file.stem == "ring-deadlock" else ("ok",))
    counts = run.manifest["summary"]["invariants"]
    assert counts["delivered"] > 0
    assert counts["injected"] == counts["delivered"] + counts["in_flight"] + counts["dropped"]
    assert counts["dropped"] == sum(counts["lost"].values())
    text = file.read_text(encoding="utf-8")
    is_lossy = "loss = 0." in text or "[[faults.plan]]" in text
    assert is_lossy == (counts["dropped"] > 0)
    assert counts["packets_ok"]
    assert counts["credits_ok"]


@pytest.mark.parametrize("name", ["a", "b2"])
def test_a_run_of_the_thesis_leaves_little(experiments: Path, tmp_path: Path, name: str) -> None:
    run = fs.run(experiments / f"thesis/{name}.toml", out=tmp_path / name)
    assert run.folder is not None
    assert sum(p.stat().st_size for p in run.folder.rglob("*")) < 5_000_000
    assert run.manifest["summary"]["simulated_s"] == pytest.approx(0.7)
