"""The gallery shows what its page says."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType

import gallery_ranks
import pytest

import fabricsim as fs

PAGE = Path(__file__).resolve().parents[2] / "docs/gallery.md"
CURE = {"routing.algorithm": "dimension-order", "switch.virtual_lanes": 2}


def test_the_page_shows_every_file(experiments: Path) -> None:
    page = PAGE.read_text(encoding="utf-8")
    files = sorted((experiments / "gallery").glob("*.toml"))
    assert len(files) == 21
    for file in files:
        assert f"experiments/gallery/{file.name}" in page
    pictures = re.findall(r"\]\((gallery/[^)]+)\)", page)
    assert len(pictures) == len(files)
    assert all((PAGE.parent / picture).is_file() for picture in pictures)


QUICK = [
    "mesh-patterns",
    "ring-deadlock",
    "parking-lot-fairness",
    "torus-link-fails",
    "subnet-link-fails",
    "rc-incast",
    "lossless-ethernet",
    "engines-tree",
    "engines-torus",
    "training-step",
]
"""Experiments whose runs take a few seconds together. The others have larger tables of the same make."""


@pytest.mark.parametrize(
    "file", sorted((PAGE.parents[1] / "experiments/gallery").glob("*.toml")), ids=lambda path: path.stem
)
def test_a_file_to_begin_with_has_no_warnings(file: Path) -> None:
    assert fs.Experiment.from_file(file).warnings() == []


@pytest.mark.parametrize("name", QUICK)
def test_the_page_has_the_numbers_of_its_experiments(experiments: Path, name: str) -> None:
    shown = _gallery().GALLERY[name](experiments / f"gallery/{name}.toml")
    page = PAGE.read_text(encoding="utf-8")
    assert shown.table in page
    assert shown.reading.strip() in page


@pytest.mark.parametrize(
    ("engine", "paths", "arbiter", "column"),
    [("dfsssp", "hashed", "round-robin", 0), ("dfsssp", "in-turn", "oldest-first", 1)],
)
def test_the_rank_program_has_the_times_of_the_page(
    experiments: Path, engine: str, paths: str, arbiter: str, column: int
) -> None:
    file = experiments / "gallery/mpi-fft.toml"
    found = gallery_ranks.measured(file, (engine, paths, "none", arbiter, "near"))
    rows = [
        line for line in PAGE.read_text("utf-8").splitlines() if line.startswith(f"| {engine}, {paths}, near")
    ]
    assert rows[0].split(" | ")[1 + column].strip(" |") == f"{found.time_us:.0f} µs"
    # Connections over one path stay in order; packets that overtake are dropped, and retransmitted.
    assert (found.retransmitted > 0) == (paths == "in-turn")


def _gallery() -> ModuleType:
    spec = importlib.util.spec_from_file_location("gallery", PAGE.parents[1] / "scripts/gallery.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_ring_stops_and_says_why(experiments: Path, seed: int) -> None:
    run = fs.run(experiments / "gallery/ring-deadlock.toml", set={"seed": seed})
    assert run.status == "deadlock"
    cycle = run.manifest["summary"]["deadlock"]
    assert len(cycle) == 8
    assert all(re.search(r"S\(\d\) port \d lane 0: packet \d+ of \S+ to \S+ waits", line) for line in cycle)


def test_the_ring_is_refused_without_leave(experiments: Path) -> None:
    with pytest.raises(fs.InputError, match="allow_deadlock"):
        fs.run(experiments / "gallery/ring-deadlock.toml", set={"run.allow_deadlock": False})


def test_a_second_lane_cures_the_ring(experiments: Path) -> None:
    cured = {**CURE, "run.allow_deadlock": False}
    run = fs.run(experiments / "gallery/ring-deadlock.toml", set=cured)
    assert run.status == "ok"
    assert run.summary["accepted_load"] == pytest.approx(0.2, rel=0.03)


def test_round_robin_halves_along_the_parking_lot(experiments: Path) -> None:
    flows = fs.run(experiments / "gallery/parking-lot-fairness.toml").flows.set_index("source")
    for switch in range(1, 8):
        # A packet more or less of the 190 that the smallest share has in 2 ms.
        assert flows["accepted_gbps"][f"H({switch}).0"] == pytest.approx(100 / 2 ** (8 - switch), rel=0.01)


def test_oldest_first_makes_latency_alike(experiments: Path) -> None:
    file = experiments / "gallery/parking-lot-fairness.toml"
    spread = {}
    for arbiter in ("round-robin", "oldest-first"):
        latency = fs.run(file, set={"switch.arbiter": arbiter}).flows["latency_mean_ns"]
        spread[arbiter] = latency.max() / latency.min()
    assert spread["oldest-first"] < 1.2
    assert spread["round-robin"] > 100


def test_adaptive_routing_finds_ways_over_other_groups(experiments: Path) -> None:
    file = experiments / "gallery/dragonfly-routing.toml"
    load = {"traffic.0.load": 0.4}
    minimal, adaptive = (
        fs.run(file, set={**load, "routing.algorithm": name}).summary["accepted_load"]
        for name in ("minimal", "par-6/2")
    )
    assert minimal == pytest.approx(1 / 8, rel=0.02)
    assert adaptive == pytest.approx(0.4, rel=0.02)


def test_adaptive_routing_carries_more(experiments: Path) -> None:
    file = experiments / "gallery/fat-tree-routing.toml"
    accepted = [
        fs.run(file, set={"routing.algorithm": name, "traffic.0.load": 1.0}).summary["accepted_load"]
        for name in ("up-down", "up-down-adaptive")
    ]
    assert accepted[1] > 1.2 * accepted[0]


def test_order_at_the_target_takes_no_time(experiments: Path) -> None:
    file = experiments / "gallery/ordered-transfers.toml"
    runs = {
        mode: fs.run(file, set={"transport.mode": mode}).summary
        for mode in ("unordered", "ordered", "source-ordered", "go-back-n")
    }
    times = {mode: run["transport.completion_ns.mean"] for mode, run in runs.items()}
    assert times["ordered"] == pytest.approx(times["unordered"], rel=0.05)
    assert runs["ordered"]["transport.reordered_share"] > 0.5
    assert runs["ordered"]["transport.dropped_share"] < 0.001
    for mode in ("source-ordered", "go-back-n"):
        assert runs[mode]["accepted_load"] < 0.3 * runs["ordered"]["accepted_load"]
    assert runs["go-back-n"]["transport.dropped_share"] > 0.5
