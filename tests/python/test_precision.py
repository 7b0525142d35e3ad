"""Repetition until intervals are narrow enough: when it ends, how honest it is, and what equal seeds are good for."""

from __future__ import annotations

import itertools
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from conftest import Command
from scipy import stats

import fabricsim as fs
from fabricsim.statistics import Estimate, estimate
from fabricsim.sweep.precision import PrecisionSchedule, is_narrow, looks

MESH = """
seed = 7

[topology.mesh]
dimensions = [3, 3]

[[traffic]]
name = "all"
pattern = "uniform"
injection = "poisson"
load = 0.5
message = "1 KiB"

[run]
warmup = "5 us"
duration = "40 us"
"""


@pytest.fixture
def mesh(tmp_path: Path, real: None) -> Path:
    path = tmp_path / "mesh.toml"
    path.write_text(MESH)
    return path


def repeated(schedule: PrecisionSchedule, values: np.ndarray[Any, Any]) -> list[float]:
    """The values that a schedule of one point takes."""
    rows: dict[int, dict[str, Any]] = {}
    while due := schedule.due(rows):
        rows |= {at: {"status": "ok", "jain": float(values[at])} for at in due}
    assert sorted(rows) == list(range(len(rows))), "seeds in their order"
    return [rows[at]["jain"] for at in sorted(rows)]


def test_looks_are_few_and_end_at_the_most() -> None:
    assert looks(5, 30) == [5, 8, 12, 18, 27, 30]
    assert looks(3, 3) == [3]
    assert looks(3, 1000)[-1] == 1000
    assert len(looks(3, 1000)) == 15


def test_equal_values_end_at_the_first_look() -> None:
    schedule = PrecisionSchedule({"jain": 0.01}, 5, 30, 30)
    assert len(repeated(schedule, np.full(30, 0.5))) == 5


@pytest.mark.parametrize("precision", [0.2, 0.1, 0.05, 0.03, 0.001])
def test_a_point_ends_at_the_first_look_at_a_narrow_interval(precision: float) -> None:
    values = np.random.default_rng(3).normal(10.0, 1.0, 200)
    taken = repeated(PrecisionSchedule({"jain": precision}, 5, 200, 200), values)
    seen = [estimate(taken[:count]) for count in looks(5, 200) if count <= len(taken)]
    narrow = [found.half_width <= precision * found.mean for found in seen]
    assert not any(narrow[:-1])
    assert narrow[-1] == (precision > 0.001)
    assert narrow[-1] or len(taken) == 200


def student(values: np.ndarray[Any, Any]) -> Estimate:
    """The interval of `estimate`, in a tenth of its time."""
    mean, half = values.mean(), T_95[len(values)] * values.std(ddof=1) / math.sqrt(len(values))
    return Estimate(mean, mean - half, mean + half, len(values))


T_95 = {count: float(stats.t.ppf(0.975, count - 1)) for count in range(2, 61)}


@pytest.mark.parametrize(("first", "share"), [(3, 0.905), (5, 0.919)])
def test_intervals_after_stopping_hold_the_mean_less_often_than_they_say(first: int, share: float) -> None:
    """The bias that the page states. The control: intervals of a fixed number of seeds hold it as often as they say."""
    random = np.random.default_rng(1)
    stopped, fixed, runs = 0, 0, 3000
    for _ in range(runs):
        values = random.normal(10.0, 1.0, 60)
        seen = (student(values[:count]) for count in looks(first, 60))
        of, whole = (
            next(found for found in seen if is_narrow(found, 0.05) or found.count == 60),
            student(values[:20]),
        )
        stopped += of.low <= 10.0 <= of.high
        fixed += whole.low <= 10.0 <= whole.high
    # Four standard deviations of a share.
    assert stopped / runs == pytest.approx(share, abs=4 * math.sqrt(share * (1 - share) / runs))
    assert fixed / runs == pytest.approx(0.95, abs=4 * math.sqrt(0.05 * 0.95 / runs))
    assert student(values).half_width == pytest.approx(estimate(values.tolist()).half_width)


def test_failed_seeds_are_no_reason_to_go_on_for_ever() -> None:
    def due(rows: dict[int, dict[str, Any]]) -> list[int]:
        return PrecisionSchedule({"jain": 0.01}, 3, 9, 9).due(rows)

    assert due({at: {"status": "failed", "message": "no"} for at in range(3)}) == []
    some = {at: {"status": "ok", "jain": 0.5 + at} for at in range(2)} | {2: {"status": "failed"}}
    assert due(some) == [3, 4], "the control: two that ran, wide apart"


def test_each_point_takes_the_seeds_that_it_needs(mesh: Path) -> None:
    vary = {"traffic.all.load": [0.1, 0.7]}
    sweep = fs.sweep(mesh, vary=vary, precision={"accepted_load": 0.02}, jobs=1)
    found: Any = sweep.precision().set_index("traffic.all.load")
    assert found["reached"].all()
    assert (found["precision"] <= 0.02).all()
    assert found.loc[0.1, "seeds"] > found.loc[0.7, "seeds"] == 5
    assert len(sweep.points) == found["seeds"].sum()
    for load, count in found["seeds"].items():
        taken = sweep.points[sweep.points["traffic.all.load"] == load]
        assert taken["seed"].tolist() == list(range(7, 7 + count))
        of = estimate(taken["accepted_load"].tolist())
        assert found.loc[load, "precision"] == pytest.approx(of.half_width / of.mean)
    assert sweep.seeds == list(range(7, 7 + found["seeds"].max()))


def test_a_quantile_that_is_not_known_well_enough_is_named(
    mesh: Path, tmp_path: Path, command: Command
) -> None:
    options = (
        "--precision",
        "latency_ns.p99=0.1%",
        "--most-seeds",
        6,
        "--jobs",
        1,
        "--out",
        tmp_path / "out",
    )
    ran = command("sweep", mesh, *options)
    assert ran.code == 0, ran.err
    (row,) = fs.load_sweep(tmp_path / "out").precision().to_dict("records")
    assert (row["metric"], row["seeds"], row["reached"]) == ("latency_ns.p99", 6, False)
    assert f"not reached: p99 latency ± {row['precision']:.1%} with 6 seeds" in ran.out
    assert "means of 6 seeds" in ran.out
    told = json.loads(command("sweep", mesh, *options, "--json").out)
    assert told["precision"] == [row]
    control = command(
        "sweep", mesh, "--precision", "latency_ns.p99=90%", "--jobs", 1, "--out", tmp_path / "wide"
    )
    assert "not reached" not in control.out
    assert "5 runs of 30 at most" in control.out


def test_any_number_of_processes_takes_the_same_seeds(mesh: Path) -> None:
    one, two = (
        fs.sweep(mesh, vary={"traffic.all.load": [0.1, 0.5]}, precision=0.03, jobs=jobs) for jobs in (1, 2)
    )
    pd.testing.assert_frame_equal(one.points.drop(columns="wall_s"), two.points.drop(columns="wall_s"))
    assert len(one.points) < 60


@pytest.mark.usefixtures("fake")
def test_a_stopped_repetition_goes_on_where_it_ended(small: Path, tmp_path: Path) -> None:
    asked = itertools.count()
    stopped = fs.sweep(small, precision=0.1, jobs=1, out=tmp_path / "out", stop=lambda: next(asked) >= 3)
    assert not stopped.complete
    assert 0 < len(stopped.points) < 5
    resumed = fs.sweep(small, precision=0.1, jobs=1, out=tmp_path / "out")
    assert resumed.complete
    assert len(resumed.points) == 5
    with pytest.raises(fs.InputError, match="this exists"):
        fs.sweep(small, precision=0.2, jobs=1, out=tmp_path / "out")


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ("--most-seeds 9", "--most-seeds: it belongs to --precision"),
        ("--precision x", "write it as 0.02 or 2%"),
        ("--precision 2%%", "write it as 0.02 or 2%"),
        ("--precision nan", "write it as 0.02 or 2%"),
        ("--precision 0", "must be above 0 and below 1"),
        ("--precision latency_ns.p99=100%", "precision of latency_ns.p99 = 1: must be above 0 and below 1"),
        ("--precision latency=2%", "precision of latency: no run has such a number"),
        ("--precision 2% --seeds 2", "precision with 2 seeds first and 30 at most: must be 3 or more"),
        ("--precision 2% --seeds 9 --most-seeds 8", "precision with 9 seeds first and 8 at most"),
        ("--precision 2% --most-seeds 1001", "at most 1,000"),
        ("--precision 2% --vary seed=1,2", "seed is varied twice"),
    ],
)
def test_one_clear_message(options: str, told: str, mesh: Path, tmp_path: Path, command: Command) -> None:
    ran = command("sweep", mesh, *options.split(), "--out", tmp_path / "none")
    assert (ran.code, ran.err.count("\n")) == (2, 1), ran.err
    assert told in ran.err
    assert not (tmp_path / "none").exists()


def test_there_is_no_precision_without_a_request(mesh: Path) -> None:
    with pytest.raises(fs.InputError, match="this sweep has no precision"):
        fs.sweep(mesh, seeds=2, jobs=1).precision()


@pytest.mark.parametrize(
    ("key", "values", "metric"),
    [
        ("traffic.all.load", [0.5, 0.52], "latency_ns.mean"),
        ("switch.arbiter", ["round-robin", "oldest-first"], "latency_ns.mean"),
        ("links.all.latency", ["10 ns", "100 ns"], "accepted_load"),
    ],
)
def test_points_have_common_random_numbers(mesh: Path, key: str, values: list[Any], metric: str) -> None:
    """Differences of two points vary less between pairs of equal seeds than between pairs of different seeds.

    Equal seeds give both points the same messages: the variance of their differences is less than a tenth. For
    independent runs it would be about the sum of both variances, as it is for pairs of different seeds.
    """
    points = fs.sweep(mesh, vary={key: values}, seeds=20, jobs=1).points
    (_, first), (_, second) = points.groupby(key, sort=False)
    assert first["seed"].tolist() == second["seed"].tolist() == list(range(7, 27))
    ours, theirs = first[metric].to_numpy(float), second[metric].to_numpy(float)
    independent = ours.var(ddof=1) + theirs.var(ddof=1)
    paired = (ours - theirs).var(ddof=1)
    assert paired < 0.1 * independent
    others = [(ours - np.roll(theirs, shift)).var(ddof=1) for shift in range(1, 20)]
    assert np.mean(others) == pytest.approx(independent, rel=0.2)


def test_a_measurement_ends_when_quantile_and_throughput_are_known(command: Command, tmp_path: Path) -> None:
    file = tmp_path / "mesh.toml"
    file.write_text(MESH)
    key = 'run.steady_state={ precision = %s, of = ["latency_ns.p99", "accepted_gbps"] }'
    rows, lengths = {}, {}
    for name, precision in (("loose", "0.1"), ("tight", "0.001")):
        out = tmp_path / name
        ran = command("run", file, "--set", key % precision, "--set", "run.duration=200 us", "--out", out)
        assert ran.code == 0, ran.err
        (rows[name],) = (line for line in ran.out.splitlines() if line.startswith("precision"))
        summary = fs.load(out).manifest["summary"]
        lengths[name] = summary["measured_ns"]
        for row in summary["precision"]:
            assert row["reached"] == (row["relative"] <= float(precision) and not row["correlated"])
    assert lengths["loose"] < lengths["tight"] == 200_000.0
    for part in ("latency p99", "Gb/s ±", "required ± 10.00%"):
        assert part in rows["loose"]
    assert "not reached" not in rows["loose"]
    assert "(not reached" in rows["tight"]


def test_of_a_steady_state_has_names_of_the_summary(command: Command, tmp_path: Path) -> None:
    file = tmp_path / "mesh.toml"
    file.write_text(MESH)
    ran = command("check", file, "--set", 'run.steady_state={ of = ["latency_ns.p98"] }')
    assert ran.code != 0
    assert "did you mean `latency_ns.p99`" in ran.err + ran.out
