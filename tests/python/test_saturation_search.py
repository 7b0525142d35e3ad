"""The search for the saturation point: the grid's answer with fewer runs, whatever the processes and interruptions."""

from __future__ import annotations

import json
import math
import tomllib
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from conftest import ROOT, Command
from hypothesis import given
from hypothesis import strategies as st

import fabricsim as fs
from fabricsim import plots
from fabricsim.sweep.bisection import BisectionSchedule, SaturationSearch, bracket
from fabricsim.sweep.schedule import Due

CELL = """
[topology.single-switch]
hosts = 4

[[traffic]]
name = "few"
sources = ["H0", "H1"]
pattern = "uniform"
load = 0.2
message = "1 KiB"

[[traffic]]
name = "many"
sources = ["H2", "H3"]
pattern = "uniform"
load = 0.4
message = "1 KiB"

[run]
warmup = "5 us"
duration = "60 us"
"""


@pytest.fixture
def cell(tmp_path: Path, real: None) -> Path:
    path = tmp_path / "cell.toml"
    path.write_text(CELL)
    return path


def only(result: fs.SweepResult) -> dict[Any, Any]:
    (row,) = result.saturation().to_dict("records")
    return row


def searched(last: int, per_round: int, first: int) -> tuple[int, int | None, int]:
    """Ends of a search over loads of which those from `first` on are saturated, and the number of loads that ran."""
    verdicts: dict[int, bool] = {}
    while (found := bracket(last, per_round, verdicts.get)).due:
        assert not set(found.due) & set(verdicts), "a load ran twice"
        verdicts |= {at: at >= first for at in found.due}
    return found.low, found.high, len(verdicts)


@given(st.integers(1, 400), st.integers(1, 9), st.integers(0, 500))
def test_the_answer_is_that_of_the_grid(last: int, per_round: int, first: int) -> None:
    low, high, runs = searched(last, per_round, first)
    assert (low, high) == ((last, None) if first > last else (first - 1, first))
    assert runs <= 2 + per_round * math.ceil(math.log(last + 1, per_round + 1) + 1)


def test_bisection_takes_the_logarithm_of_the_grid() -> None:
    assert searched(950, 1, 400)[2] <= 2 + 10
    assert searched(950, 1, 951)[2] == 3
    assert searched(950, 1, 0)[2] == 3


def test_the_first_saturated_load_counts_if_a_later_one_is_not() -> None:
    saturated = {3, 8}
    verdicts: dict[int, bool] = {}
    while (found := bracket(9, 8, verdicts.get)).due:
        verdicts |= {at: at in saturated for at in found.due}
    assert (found.low, found.high) == (2, 3)


@pytest.mark.usefixtures("fake")
def test_the_stand_in_saturates_where_it_says(small: Path) -> None:
    """It accepts up to 0.6: 0.98 of the offered load up to 0.612."""
    by_load = SaturationSearch(tolerance=0.001, latency_factor=math.inf)
    found = only(fs.sweep(small, saturation=by_load, jobs=1))
    assert (found["load"], found["saturated_load"], found["reason"]) == (0.612, 0.613, "accepted")
    assert (found["accepted"], found["throughput"], found["zero_load_ns"]) == pytest.approx(
        (0.6, 0.6, 545), rel=1e-2
    )
    assert (found["grid_runs"], found["message"]) == (951, "")
    assert found["runs"] <= 13
    # 500 / (1.001 - load / 0.6) is three times its value at 0.05 from this load on:
    least = 0.6 * (1.001 - (1.001 - 0.05 / 0.6) / 3)
    found = only(fs.sweep(small, saturation=SaturationSearch(tolerance=0.001), jobs=1))
    assert found["load"] == pytest.approx(math.floor(least * 1000) / 1000)
    assert found["reason"] == "latency"


@pytest.mark.usefixtures("fake")
def test_a_network_that_is_never_or_always_saturated(small: Path) -> None:
    never = only(fs.sweep(small, saturation=SaturationSearch(high=0.3), jobs=1))
    assert (never["load"], never["reached"], never["reason"]) == (0.3, False, "")
    assert math.isnan(never["saturated_load"])
    always = only(fs.sweep(small, saturation=SaturationSearch(low=0.7), jobs=1))
    assert (always["load"], always["reached"], always["saturated_load"]) == (0.0, True, 0.7)


@pytest.mark.usefixtures("fake")
def test_a_deadlock_is_saturation(small: Path) -> None:
    small.write_text(small.read_text().replace("[topology", 'title = "deadlock"\n[topology', 1))
    assert only(fs.sweep(small, saturation=True, jobs=1))["reason"] == "deadlock"


@pytest.mark.usefixtures("fake")
def test_a_failed_run_ends_its_search_alone(small: Path, tmp_path: Path, command: Command) -> None:
    sweep = fs.sweep(small, vary={"title": ["panic", "good"]}, saturation=True, jobs=1)
    rows: Any = sweep.saturation().set_index("title")
    assert "load 0.05: internal error: PanicException" in rows.loc["panic", "message"]
    assert rows.loc["good", ["load", "message"]].tolist() == pytest.approx([0.41, ""])
    assert sweep.complete
    ran = command(
        "sweep", small, "--saturation", "--set", "title=panic", "--jobs", 1, "--out", tmp_path / "out"
    )
    assert (ran.code, "3 of 3 points failed" in ran.err) == (1, True), ran.err
    assert "failed: load 0.05" in " ".join(ran.out.split())


@pytest.mark.usefixtures("fake")
def test_a_stopped_search_goes_on_where_it_ended(small: Path, tmp_path: Path) -> None:
    whole = fs.sweep(small, saturation=True, jobs=1)
    for runs in range(1, len(whole.points)):
        asked, out = iter([False] * runs), tmp_path / str(runs)
        stopped = fs.sweep(small, saturation=True, jobs=1, out=out, stop=partial(next, asked, True))
        assert not stopped.complete
        assert not fs.load_sweep(out).complete
        assert stopped.saturation().empty
        begun: list[tuple[int, int]] = []

        def on_point(done: int, expected: int, to: list[tuple[int, int]] = begun) -> None:
            to.append((done, expected))

        resumed = fs.sweep(small, saturation=True, jobs=1, out=out, on_point=on_point)
        assert begun[0][0] == len(stopped.points)
        assert begun[-1] == (len(whole.points),) * 2
        for found in (resumed, fs.load_sweep(out)):
            assert found.complete
            pd.testing.assert_frame_equal(found.saturation(), whole.saturation())
    with pytest.raises(fs.InputError, match="this exists"):
        fs.sweep(small, saturation=SaturationSearch(tolerance=0.02), jobs=1, out=out)


def test_any_number_of_processes_runs_the_same_points(cell: Path) -> None:
    def found(jobs: int) -> fs.SweepResult:
        vary = {"host.mtu": ["512 B", "1 KiB"]}
        return fs.sweep(cell, vary=vary, saturation=SaturationSearch(points_per_round=2), seeds=2, jobs=jobs)

    one, two = found(1), found(2)
    pd.testing.assert_frame_equal(one.points.drop(columns="wall_s"), two.points.drop(columns="wall_s"))
    pd.testing.assert_frame_equal(one.saturation(), two.saturation())
    assert len(one.saturation()) == 2


def test_tasks_come_in_any_order_with_the_same_end() -> None:
    """Results that arrive late change neither the points nor the answer: three runs at once, the last one first."""
    schedule = BisectionSchedule({"traffic.0.load": 1.0}, tuple(n / 50 for n in range(1, 51)), 2, 300, 3.0, 2)
    ends = []
    for at_once in (1, 3, 7):
        rows: dict[int, dict[str, Any]] = {}
        due = Due(schedule, rows.copy)
        running: list[int] = []
        while True:
            while len(running) < at_once and (task := next(due, None)) is not None:
                running.append(task)
            if not running:
                break
            number = running.pop()
            load = schedule.values[number % 100 // 2]
            limit = 0.3 + number // 100 / 10
            rows[number] = {
                "status": "ok", "offered_load": load, "accepted_load": min(load, limit), "latency_ns.mean": 1.0
            }  # fmt: skip
        ends.append((sorted(rows), [schedule.search(n, rows).bracket.low for n in range(3)]))
    assert ends[0] == ends[1] == ends[2]
    assert [schedule.values[at] for at in ends[0][1]] == [0.3, 0.4, 0.5]


def test_the_search_and_the_grid_agree_on_a_network(cell: Path) -> None:
    values = SaturationSearch(low=0.1, tolerance=0.05).values()
    loads = {"traffic.few.load": [value / 2 for value in values], "traffic.many.load": values}
    grid = fs.sweep(cell, zip=loads, seeds=2, jobs=1)
    search = fs.sweep(cell, saturation=SaturationSearch(low=0.1, tolerance=0.05), seeds=2, jobs=1)
    expected, found = only(grid), only(search)
    assert 0.1 < found["load"] < 1.0
    assert found["offered"] == expected["load"]
    assert found["accepted"] == expected["accepted"]
    assert (len(search.points), len(grid.points)) == (found["runs"], found["grid_runs"])
    assert found["runs"] < found["grid_runs"] / 2


@pytest.mark.usefixtures("real")
@pytest.mark.parametrize("name", ["mesh-8x8", "torus-8x8"])
def test_saturation_is_that_of_the_benchmarks(name: str) -> None:
    """Noted there: the highest load of which 98 % is accepted, to half a percent, in longer runs."""
    cases = tomllib.loads((ROOT / "benches/cases.toml").read_text())["case"]
    noted = next(case["saturation"] for case in cases if case["name"] == name)
    by_load = SaturationSearch(latency_factor=math.inf)
    found = only(fs.sweep(ROOT / f"benches/{name}.toml", saturation=by_load, jobs=1))
    assert found["load"] == pytest.approx(noted, abs=0.015)
    assert found["reason"] == "accepted"


def test_loads_keep_their_proportion(cell: Path) -> None:
    search = SaturationSearch(tolerance=0.3)
    points = fs.sweep(cell, saturation=search, jobs=1).points
    assert (2 * points["traffic.0.load"]).tolist() == pytest.approx(points["traffic.1.load"].tolist())
    named = SaturationSearch(tolerance=0.3, loads=["traffic.few.load"])
    alone = fs.sweep(cell, vary={"traffic.many.load": [0.1, 0.9]}, saturation=named, jobs=1)
    assert alone.loads == ["traffic.few.load"]
    assert alone.others == ["traffic.many.load"]
    assert len(alone.saturation()) == 2
    cell.write_text(CELL + '[sweep]\n"traffic.few.load" = [0.1, 0.2]\n')
    assert fs.sweep(cell, saturation=search, jobs=1).loads == ["traffic.few.load"]


def test_the_mark_of_the_picture_is_the_point_that_was_found(cell: Path) -> None:
    result = fs.sweep(cell, saturation=SaturationSearch(latency_factor=math.inf), jobs=1)
    upper, lower = plots.load_latency(result).axes
    for axes in (upper, lower):
        (mark,) = [line for line in axes.lines if line.get_label() == "saturation point"]
        assert set(np.asarray(mark.get_xdata())) == {only(result)["offered"]}
    assert np.asarray(upper.lines[0].get_xdata()).size == len(result.points)
    by_usual = fs.saturation(result.points)
    assert by_usual is not None
    assert by_usual.load < only(result)["offered"], (
        "the control: latency is met first, and does not count here"
    )


def test_the_command_prints_the_point_and_the_runs(cell: Path, tmp_path: Path, command: Command) -> None:
    arguments = (
        "sweep",
        cell,
        "--saturation",
        "--tolerance",
        0.05,
        "--between",
        "0.1..0.95",
        "--load",
        "traffic.0.load",
    )
    ran = command(*arguments, "--jobs", 1, "--out", tmp_path / "out")
    assert ran.code == 0, ran.err
    found = only(fs.load_sweep(tmp_path / "out"))
    assert f"{found['runs']} runs; a grid of the same tolerance takes 18" in ran.out
    assert f"{found['load']:.3f}" in ran.out
    assert (tmp_path / "out/load-latency.png").exists()
    told = json.loads(command(*arguments, "--out", tmp_path / "out", "--json").out)
    assert told["saturation"][0]["load"] == found["load"]
    ran = command("report", tmp_path / "out", "--out", tmp_path / "page.html")
    assert ran.code == 0
    assert f"{found['runs']} of at most 18" in (tmp_path / "page.html").read_text()


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ("--tolerance 0.1", "--tolerance: it belongs to --saturation"),
        ("--load traffic.0.load", "--load: it belongs to --saturation"),
        ("--saturation --tolerance 2", "tolerance = 2: must be above 0 and at most 0.95"),
        ("--saturation --tolerance 0", "tolerance = 0: must be above 0"),
        ("--saturation --tolerance nan", "tolerance = nan: must be above 0"),
        ("--saturation --tolerance 1e-7", "more than 100,000 loads"),
        ("--saturation --between 0.5", "write LOW..HIGH"),
        ("--saturation --between a..b", "write LOW..HIGH"),
        ("--saturation --between 0.5..0.2", "loads from 0.5 to 0.2: must be above 0"),
        ("--saturation --between 0.1..20", "at most 10"),
        ("--saturation --load seed", "seed: this is no load"),
        ("--saturation --load traffic.7.load", "traffic.7.load"),
        (
            "--saturation --load traffic.0.load --load traffic.x.load",
            "traffic.x.load: the experiment has no such load",
        ),
        ("--saturation --vary traffic.0.load=0.1,0.2", "traffic.0.load is varied twice"),
        (
            "--saturation --load traffic.many.load --vary traffic.1.load=0.1",
            "traffic.1.load and traffic.many.load are the same key",
        ),
        (
            "--saturation --vary traffic.few.load=0.1,0.2",
            "traffic.0.load and traffic.few.load are the same key",
        ),
        ("--saturation --vary traffic.few.rate=1,2", "traffic.few.rate: loads are found by the search"),
        ("--saturation --latency-factor 0.5", "latency factor = 0.5: must be above 1"),
        ("--saturation --per-round 0", "points per round = 0: must be 1 to 64"),
        ("--saturation --precision 2%", "exclude each other"),
        ("--saturation --seeds 1", "--seeds 1: must be a whole number from 2 to 1,000"),
        ("--saturation --set traffic=[]", "has a load"),
    ],
)
def test_one_clear_message(options: str, told: str, cell: Path, tmp_path: Path, command: Command) -> None:
    ran = command("sweep", cell, *options.split(), "--out", tmp_path / "none")
    assert (ran.code, ran.err.count("\n")) == (2, 1), ran.err
    assert told in ran.err
    assert not (tmp_path / "none").exists()


@pytest.mark.usefixtures("fake")
@pytest.mark.parametrize(
    "schedule", [{}, {"kind": "other"}, {"kind": "saturation"}, {"kind": "precision", "most": 0}]
)
def test_a_damaged_schedule_is_named(
    schedule: dict[str, Any], small: Path, tmp_path: Path, command: Command
) -> None:
    fs.sweep(small, saturation=True, jobs=1, out=tmp_path / "out")
    manifest = json.loads((tmp_path / "out/manifest.json").read_text())
    (tmp_path / "out/manifest.json").write_text(json.dumps(manifest | {"schedule": schedule}))
    (tmp_path / "out/SHA256SUMS").unlink()
    ran = command("report", tmp_path / "out", "--out", tmp_path / "page.html")
    assert (ran.code, ran.err.count("\n")) == (1, 1), ran.err
    assert "out/manifest.json: damaged: the value of 'schedule'" in ran.err


def test_a_load_without_a_packet_is_no_answer(cell: Path) -> None:
    short = {"run.warmup": "0 ns", "run.duration": "1 ns"}
    found = only(fs.sweep(cell, set=short, saturation=True, jobs=1))
    assert "load 0.05: no packet was created" in found["message"]
