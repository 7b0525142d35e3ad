"""Repetitions with paired seeds: intervals, differences that are none, and what cannot be repeated."""

from __future__ import annotations

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
from fabricsim import plots
from fabricsim.catalogue import Entry
from fabricsim.cli.repeated_cells import joined
from fabricsim.compare import compare_repeated
from fabricsim.statistics import difference, estimate, seeds_from
from fabricsim.sweep.repeated import means

PAIR = """
seed = 7

[topology.single-switch]
hosts = 4

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


def test_rounding_is_no_difference() -> None:
    ours = [0.1 + 0.2, 0.1 + 0.7, 5.0]
    none = difference(ours, [0.3, 0.8, 5.0])
    assert (none.mean, none.low, none.high) == (0.0, 0.0, 0.0)
    assert difference(ours, [0.3, 0.8, 5.0 + 1e-9]).mean != 0.0
    assert math.isnan(difference([math.nan], [1.0]).mean)


@pytest.fixture
def pair(tmp_path: Path, real: None) -> Path:
    path = tmp_path / "pair.toml"
    path.write_text(PAIR)
    return path


def test_intervals_are_those_of_student() -> None:
    values = [3.0, 4.0, 5.5, 4.5, 3.5]
    found: Any = estimate(values)
    half = stats.t.ppf(0.975, 4) * np.std(values, ddof=1) / math.sqrt(5)
    assert found.mean == pytest.approx(4.1)
    assert found.count == 5
    assert found.half_width == pytest.approx(half)
    assert found.low == pytest.approx(4.1 - half)
    assert estimate([2.0, math.nan, 2.0]).as_dict() == {"mean": 2.0, "low": 2.0, "high": 2.0, "seeds": 2}
    assert math.isnan(estimate([1.0]).low)
    assert estimate([]).count == 0


def test_pairs_show_what_means_hide() -> None:
    """Large differences between seeds, a small one between settings: only pairs show it. The control: other pairs."""
    theirs = [10.0, 50.0, 20.0, 80.0, 35.0]
    ours = [value + shift for value, shift in zip(theirs, [0.9, 1.1, 1.0, 1.05, 0.95], strict=True)]
    paired = difference(ours, theirs)
    assert paired.low == pytest.approx(0.9, abs=0.05)
    assert not paired.is_none
    assert difference(ours[1:] + ours[:1], theirs).is_none


def test_intervals_cover_the_mean_as_often_as_they_say() -> None:
    random = np.random.default_rng(1)
    covered = sum(
        found.low <= 3.0 <= found.high
        for found in (estimate(random.normal(3.0, 2.0, 6).tolist()) for _ in range(2000))
    )
    # Four standard deviations of a share of 2000.
    assert covered / 2000 == pytest.approx(0.95, abs=4 * math.sqrt(0.95 * 0.05 / 2000))


@pytest.mark.parametrize("count", [0, 1, -3, 1001])
def test_numbers_of_seeds_that_mean_nothing(count: int) -> None:
    with pytest.raises(fs.InputError, match=rf"seeds = {count}: must be 2 to 1,000"):
        seeds_from(1, count)


def test_a_run_is_repeated_with_the_seeds_after_its_own(pair: Path, tmp_path: Path, command: Command) -> None:
    ran = command("run", pair, "--seeds", 3, "--out", tmp_path / "three")
    assert ran.code == 0
    assert "means of 3 seeds" in ran.out
    result = fs.load_sweep(tmp_path / "three")
    assert result.seeds == [7, 8, 9]
    found: Any = result.estimates().set_index("metric")
    singles = [fs.run(pair, set={"seed": seed}).summary["latency_ns.mean"] for seed in (7, 8, 9)]
    assert found.loc["latency_ns.mean", "mean"] == pytest.approx(np.mean(singles))
    assert found.loc["traffic.all.latency_ns.mean", "mean"] == pytest.approx(np.mean(singles))
    assert found.loc["latency_ns.mean", "low"] < min(singles) or found.loc[
        "latency_ns.mean", "low"
    ] < np.mean(singles)


@pytest.mark.parametrize("count", ["0", "1", "-3", "1001", "two", "1.5", ""])
@pytest.mark.parametrize("name", ["run", "sweep", "compare"])
def test_one_clear_message_for_wrong_numbers_of_seeds(
    pair: Path, tmp_path: Path, command: Command, name: str, count: str
) -> None:
    given: dict[str, list[Any]] = {
        "run": [pair],
        "sweep": [pair, "--vary", "traffic.all.load=0.1,0.2"],
        "compare": ["a", "b"],
    }
    ran = command(name, *given[name], "--seeds", count, "--out", tmp_path / "none.svg")
    message = f"fabricsim: --seeds {count or repr(count)}: must be a whole number from 2 to 1,000\n"
    assert (ran.code, ran.err) == (2, message)
    assert not (tmp_path / "none.svg").exists()


def test_points_of_a_sweep_are_repeated(pair: Path) -> None:
    sweep = fs.sweep(pair, vary={"traffic.all.load": [0.2, 0.6]}, seeds=3, jobs=1)
    assert len(sweep.points) == 6
    assert sweep.varied == ["traffic.all.load"]
    (_, curve), *others = sweep.curves()
    assert (len(curve), others) == (2, [])
    found: Any = sweep.estimates()
    loads: Any = found[found["metric"] == "accepted_load"].set_index("traffic.all.load")
    assert loads["mean"].tolist() == pytest.approx(curve["accepted_load"].tolist())
    assert (loads["seeds"] == 3).all()
    assert set(sweep.as_dict()) >= {"estimates", "confidence"}
    upper, lower = plots.load_latency(sweep).axes
    assert len(upper.collections) == len(lower.collections) == 1, "a band of the interval"
    assert len(plots.over_parameters(sweep, "jain").axes[0].lines) == 1, "a mean, not a line for each seed"
    with pytest.raises(fs.InputError, match="no repetitions"):
        fs.sweep(pair, vary={"traffic.all.load": [0.2]}, jobs=1).estimates()
    with pytest.raises(fs.InputError, match="seed is varied twice"):
        fs.sweep(pair, vary={"seed": [1, 2]}, seeds=3, jobs=1)


def test_entries_of_points_have_their_own_rows(pair: Path, tmp_path: Path, command: Command) -> None:
    second = (
        PAIR.partition("[[traffic]]")[2]
        .partition("[run]")[0]
        .replace('"all"', '"more"')
        .replace("0.5", "0.1")
    )
    pair.write_text(PAIR.replace("[run]", f"[[traffic]]{second}[run]"))
    ran = command("sweep", pair, "--vary", "traffic.all.load=0.2,0.4", "--seeds", 2, "--jobs", 1)
    _, _, table = ran.out.partition("by entry")
    rows = [line.split() for line in table.splitlines() if " ± " in line]
    assert [row[:2] for row in rows[::2]] == [["0.2", "all"], ["0.4", "all"]]
    assert [row[0] for row in rows[1::2]] == ["more", "more"]
    loads = [float(row[2].rstrip("%")) for row in rows[::2]]
    assert loads[1] == pytest.approx(2 * loads[0], rel=0.3)
    single = command("sweep", pair, "--vary", "traffic.all.load=0.2,0.4", "--jobs", 1, "--out", "single")
    totals, _, table = single.out.partition("by entry")
    assert "load, " not in totals
    rows = [line.split() for line in table.splitlines() if " ns" in line or " µs" in line]
    rates = fs.load_sweep(tmp_path / "single").points[
        [f"traffic.{of}.accepted_load" for of in ("all", "more")]
    ]
    expected = [
        [of, f"{rate:.1%}"]
        for pair_of in rates.to_numpy()
        for of, rate in zip(("all", "more"), pair_of, strict=True)
    ]
    assert [[row for row in cells if row not in ("0.2", "0.4")][:2] for cells in rows] == expected


def test_means_of_very_many_columns_come_without_a_warning() -> None:
    numbers = {f"traffic.{at}.accepted_load": [0.1, 0.3] for at in range(150)}
    points = pd.DataFrame({"traffic.0.load": [0.2, 0.2], "status": ["ok", "deadlock"], **numbers})
    found = means(points, ["traffic.0.load"])
    assert found["status"].tolist() == ["deadlock"]
    assert found["traffic.149.accepted_load"].tolist() == [pytest.approx(0.2)]


def test_differences_are_compared_with_chance(pair: Path, tmp_path: Path, command: Command) -> None:
    """A large change is one; the name of the experiment changes nothing; a slightly other size of packets is none."""
    fs.sweep(pair, seeds=4, jobs=1, out=tmp_path / "base")
    fs.sweep(pair, set={"traffic.all.load": 0.7}, seeds=4, jobs=1, out=tmp_path / "more")
    fs.sweep(pair, set={"title": "other"}, seeds=4, jobs=1, out=tmp_path / "same")
    found: Any = compare_repeated([tmp_path / name for name in ("base", "more", "same")])
    verdicts: Any = found.quantities.set_index(["quantity", "set"])["verdict"]
    assert verdicts["latency_ns.mean", "more"] == "larger"
    assert verdicts["latency_ns.mean", "same"] == "equal"
    ran = command("compare", tmp_path / "base", tmp_path / "more")
    assert ran.code == 0
    assert "larger" in ran.out
    told = json.loads(command("compare", tmp_path / "base", tmp_path / "more", "--json").out)
    assert told["seeds"] == [7, 8, 9, 10]
    assert plots.save(plots.sets_of_seeds(found), tmp_path / "sets.png").exists()


def test_what_sets_differ_in_is_said(pair: Path, tmp_path: Path, command: Command) -> None:
    for folder, load in (("a", 0.3), ("b", 0.5)):
        command("run", pair, "--seeds", 2, "--set", f"traffic.all.load={load}", "--out", tmp_path / folder)
    ran = command("compare", tmp_path / "a", tmp_path / "b")
    assert ran.out.splitlines()[:2] == ["A: a: traffic.all.load = 0.3", "B: b: traffic.all.load = 0.5"]
    found = json.loads(command("compare", tmp_path / "a", tmp_path / "b", "--json").out)
    assert [one["settings"] for one in found["sets"]] == ["traffic.all.load = 0.3", "traffic.all.load = 0.5"]


def test_chance_is_called_so(pair: Path) -> None:
    """Two sets of independent seeds of one experiment, paired by force: no difference beyond chance."""
    base = fs.sweep(pair, seeds=5, jobs=1)
    other = fs.sweep(pair, set={"seed": 107}, seeds=5, jobs=1)
    points = other.points.assign(seed=base.points["seed"].to_numpy())
    other = type(other)(other.manifest, points, complete=True)
    found: Any = compare_repeated([base, other], ["a", "b"]).quantities.set_index(["quantity", "set"])
    assert found.loc[("latency_ns.mean", "b"), "verdict"] == "no difference"


def test_sets_that_cannot_be_compared(pair: Path, tmp_path: Path, command: Command) -> None:
    fs.sweep(pair, seeds=2, jobs=1, out=tmp_path / "a")
    fs.sweep(pair, set={"seed": 50}, seeds=2, jobs=1, out=tmp_path / "b")
    fs.sweep(pair, vary={"traffic.all.load": [0.1, 0.2]}, jobs=1, out=tmp_path / "loads")
    fs.run(pair, out=tmp_path / "one")
    for names, expected in [
        (("a", "b"), "seeds that these sets have in common: 0"),
        (("a", "loads"), "not one experiment with several seeds"),
        (("a", "one"), "repeat it with `fabricsim run --seeds N`"),
        (("a", "nowhere"), "nowhere: this is not a folder of results: it does not exist"),
        (("a", "load"), "did you mean"),
    ]:
        ran = command("compare", *(tmp_path / name for name in names))
        assert (ran.code, ran.err.count("\n")) == (2, 1), ran.err
        assert expected in ran.err
    mixed = command("compare", tmp_path / "one", tmp_path / "a", "--seeds", 2)
    assert (mixed.code, mixed.err.count("a: this is repeated already")) == (2, 1), mixed.err


def test_single_runs_are_repeated_for_a_comparison(pair: Path, tmp_path: Path, command: Command) -> None:
    for load in (0.3, 0.7):
        fs.run(pair, set={"traffic.all.load": load}, out=tmp_path / str(load))
    ran = command("compare", tmp_path / "0.3", tmp_path / "0.7", "--seeds", 3)
    assert ran.code == 0
    assert "load = 0.3" in ran.out
    assert "larger" in ran.out


@pytest.mark.parametrize(
    ("mean", "half", "unit", "text"),
    [
        (0.228, 0.0752, "fraction", "22.8 ± 7.5%"),
        (727.4, 1414.0, "ns", "727 ± 1,410 ns"),
        (3132.0, 52.0, "ns", "3.13 ± 0.052 µs"),
        (0.6441, 0.0002617, "", "0.6441 ± 0.00026"),
        (14.34, 1.6e-14, "Gb/s", "14.34 ± 0 Gb/s"),
        (49.77, 65.06, "Gb/s", "49.77 ± 65 Gb/s"),
        (0.0, 0.0, "ns", "0 ± 0 ns"),
        (-1290.0, 176.0, "ns", "-1.29 ± 0.18 µs"),
        (5.0, math.nan, "ns", "5 ns"),
        (math.nan, math.nan, "ns", "-"),
    ],
)
def test_means_and_intervals_have_one_unit(mean: float, half: float, unit: str, text: str) -> None:
    row = {"mean": mean, "low": mean - half, "high": mean + half}
    assert joined(row, Entry("a", "a", unit)) == text


def test_nearly_equal_repetitions_have_an_interval() -> None:
    """Without a warning, which would be an error here."""
    values = [1.0, 1.0 + 1e-16, 1.0 + 3e-16]
    found = estimate(values)
    assert found.low <= 1.0 <= found.high < 1.0 + 1e-14


def test_intervals_are_those_of_the_t_test() -> None:
    values = [10.0, 12.5, 9.0, 11.0]
    expected = stats.ttest_1samp(values, 0.0).confidence_interval(0.99)
    found = estimate(values, 0.99)
    assert found.low == pytest.approx(expected.low)
    assert found.high == pytest.approx(expected.high)
