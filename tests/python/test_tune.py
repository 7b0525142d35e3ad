"""The tuner on experiments whose best setting is known."""

from __future__ import annotations

import io
import itertools
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import cast

import numpy as np
import pandas as pd
import pytest
from conftest import Command
from rich.console import Console
from tune_cases import FAIR, GRID, MUCH, SEARCH, TWO_FLOWS, Shuffled

import fabricsim as fs
from fabricsim.cli.tune import _print_no_difference
from fabricsim.tune.study import Progress

pytestmark = pytest.mark.usefixtures("real")
NOT_THE_SAME = ["wall_s"]


def experiment(*sections: str) -> fs.Experiment:
    return fs.Experiment.from_text(TWO_FLOWS + "".join(sections))


def same(a: fs.TuneResult, b: fs.TuneResult) -> None:
    for table in ("trials", "runs", "importances"):
        left, right = (r.frames[table].drop(columns=NOT_THE_SAME, errors="ignore") for r in (a, b))
        pd.testing.assert_frame_equal(left, right)
    assert a.best == b.best


def test_a_grid_finds_the_known_best() -> None:
    result = fs.tune(experiment(GRID, FAIR), jobs=1)
    assert result.complete
    loads = result.trials[result.trials["trial"] >= 0]["traffic.1.load"]
    np.testing.assert_allclose(loads, np.arange(0.05, 0.66, 0.05))
    assert result.settings == {"traffic.1.load": pytest.approx(0.3)}
    x = loads.to_numpy()
    found = result.trials[result.trials["trial"] >= 0]["fairness"]
    np.testing.assert_allclose(found, (0.3 + x) ** 2 / (2 * (0.09 + x**2)), rtol=0.02)


def test_tpe_comes_near_the_known_best() -> None:
    result = fs.tune(experiment(SEARCH, FAIR), jobs=1, set={"tune.trials": 40})
    assert result.settings["traffic.1.load"] == pytest.approx(0.3, abs=0.03)
    matters = result.importances.set_index("parameter")["fairness"]
    assert matters["traffic.1.load"] > 0.8, "the buffer has no influence"
    assert matters.sum() == pytest.approx(1.0)


def test_a_constraint_is_kept() -> None:
    limit = '[[tune.constraints]]\nmetric = "throughput"\nat_most = 52.0\n'
    free = fs.tune(experiment(GRID, MUCH), jobs=1)
    assert free.settings["traffic.1.load"] == pytest.approx(0.65)
    bound = fs.tune(experiment(GRID, MUCH, limit), jobs=1)
    assert bound.settings["traffic.1.load"] == pytest.approx(0.2), "30 and 20 Gb/s"
    assert list(bound.trials["feasible"]) == list(bound.trials["throughput"] <= 52.0)


def test_no_setting_keeps_the_constraint() -> None:
    limit = '[[tune.constraints]]\nmetric = "throughput"\nat_least = 99.0\nflows = ["b"]\n'
    result = fs.tune(experiment(GRID, FAIR, limit), jobs=1)
    assert result.best is None
    assert result.front.empty
    nearest = result.as_dict()["least_broken"]["settings"]
    assert nearest == {"traffic.1.load": pytest.approx(0.65)}
    with pytest.raises(fs.InputError, match="no setting"):
        _ = result.settings


def test_the_front_is_the_known_one() -> None:
    """Below a load of 0.3 both throughput and fairness rise with it, above they part."""
    result = fs.tune(experiment(GRID, MUCH, FAIR), jobs=1)
    np.testing.assert_allclose(result.front["traffic.1.load"], np.arange(0.65, 0.29, -0.05))
    assert result.best is not None
    assert result.best["trial"] in set(result.front["trial"])


def test_nsga_ii_gives_a_front_that_nothing_dominates() -> None:
    result = fs.tune(experiment(SEARCH, MUCH, FAIR), jobs=1)
    assert result.manifest["sampler"] == "nsga-ii"
    tried = result.trials[result.trials["trial"] >= 0][["throughput", "fairness"]].to_numpy()
    assert len(result.front) >= 2
    for point in result.front[["throughput", "fairness"]].to_numpy():
        assert not ((tried >= point).all(axis=1) & (tried > point).any(axis=1)).any()


def test_weights_make_one_objective() -> None:
    heavy = FAIR.replace('"maximize"', '"maximize"\nweight = 1000.0')
    light = MUCH.replace('"maximize"', '"maximize"\nweight = 0.001')
    result = fs.tune(experiment(GRID, heavy, light), jobs=1)
    assert [objective["name"] for objective in result.objectives] == ["weighted sum"]
    assert result.settings["traffic.1.load"] == pytest.approx(0.3)
    rows = result.trials
    np.testing.assert_allclose(
        rows["objective: weighted sum"], 1000.0 * rows["fairness"] + 0.001 * rows["throughput"]
    )


def test_the_number_of_processes_has_no_influence() -> None:
    found = [fs.tune(experiment(SEARCH, FAIR), jobs=jobs) for jobs in (1, 2)]
    same(*found)


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("objectives", [FAIR, FAIR + MUCH])
def test_the_order_in_which_runs_end_has_no_influence(seed: int, objectives: str) -> None:
    seeds = {"tune.seeds": [3, 4]}
    in_order = fs.tune(experiment(SEARCH, objectives), jobs=1, set=seeds)
    same(in_order, fs.tune(experiment(SEARCH, objectives), executor=Shuffled(seed), set=seeds))


def test_another_seed_gives_other_trials() -> None:
    first, second = (fs.tune(experiment(SEARCH, FAIR), jobs=1, set={"tune.sampler_seed": n}) for n in (1, 2))
    assert list(first.trials["traffic.1.load"]) != list(second.trials["traffic.1.load"])


@pytest.mark.parametrize("stop_after", [1, 9, 15])
@pytest.mark.parametrize("objectives", [FAIR, FAIR + MUCH])
def test_a_stopped_study_becomes_what_it_would_have_been(
    tmp_path: Path, stop_after: int, objectives: str
) -> None:
    asked = itertools.count()
    out = tmp_path / "out"
    given = experiment(SEARCH, objectives)
    first = fs.tune(given, jobs=1, out=out, stop=lambda: next(asked) >= stop_after)
    done = first.manifest["done"]
    assert not first.complete
    assert done < 24
    told: list[Progress] = []
    second = fs.tune(given, jobs=1, out=out, on_progress=told.append)
    assert second.complete
    assert told[0].done == done, "finished trials are kept"
    whole = fs.tune(given, jobs=1)
    same(second, whole)
    loaded = fs.load_tune(out)
    assert loaded.best == whole.best
    assert list(loaded.front["trial"]) == list(whole.front["trial"])


def test_a_study_can_be_extended_and_its_trials_stay(tmp_path: Path) -> None:
    given = experiment(SEARCH, FAIR)
    short = fs.tune(given, jobs=1, out=tmp_path / "out", set={"tune.trials": 8})
    longer = fs.tune(given, jobs=1, out=tmp_path / "out", set={"tune.trials": 12})
    assert len(longer.trials) == 13
    pd.testing.assert_frame_equal(longer.trials.iloc[:9, :3], short.trials.iloc[:, :3])


def test_a_killed_study_goes_on(tmp_path: Path) -> None:
    (tmp_path / "e.toml").write_text(TWO_FLOWS + SEARCH + FAIR)
    command = [sys.executable, "-m", "fabricsim", "tune", "e.toml", "--out", "out", "--jobs", "1"]
    process = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE)
    begun = time.monotonic()
    while _trials(tmp_path / "out") < 3:
        assert time.monotonic() - begun < 60
        assert process.poll() is None, process.stderr and process.stderr.read()
        time.sleep(0.01)
    process.kill()
    process.communicate()
    told: list[Progress] = []
    kept = fs.Experiment.from_file(tmp_path / "e.toml")
    second = fs.tune(kept, jobs=1, out=tmp_path / "out", on_progress=told.append)
    assert told[0].done >= 3
    same(second, fs.tune(kept, jobs=1))


def _trials(folder: Path) -> int:
    import sqlite3  # noqa: PLC0415

    if not (folder / "study.db").exists():
        return 0
    try:
        with sqlite3.connect(folder / "study.db") as database:
            found = database.execute(
                "select count(*) from trial_user_attributes where key = 'fabricsim:runs'"
            ).fetchone()
    except sqlite3.OperationalError:
        return 0
    return int(found[0])


def test_ctrl_c_keeps_the_trials(tmp_path: Path) -> None:
    (tmp_path / "e.toml").write_text(TWO_FLOWS + SEARCH.replace("24", "5000") + FAIR)
    command = [sys.executable, "-m", "fabricsim", "tune", "e.toml", "--out", "out", "--jobs", "2"]
    process = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, encoding="utf-8")
    begun = time.monotonic()
    while _trials(tmp_path / "out") < 3:
        assert time.monotonic() - begun < 60
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "of 5000 trials are done; give --out out to go on" in err
    assert "Traceback" not in err
    assert fs.load_tune(tmp_path / "out").manifest["done"] >= 3


def test_fresh_seeds_show_the_gain_with_its_interval() -> None:
    noisy = {"traffic.0.injection": "poisson", "traffic.1.injection": "poisson", "tune.fresh_seeds": 6}
    result = fs.tune(experiment(GRID, MUCH), jobs=1, set={**noisy, "tune.confidence": 0.9})
    (row,) = result.gains.to_dict("records")
    assert row["seeds"] == 6
    runs = result.frames["confirmation"]
    assert not set(runs["seed"]) & set(result.manifest["seeds"]), "fresh seeds had no say"
    values = runs.pivot_table(index="seed", columns="setting", values="throughput")
    difference = values["best"] - values["baseline"]
    assert row["difference"] == pytest.approx(difference.mean())
    # Student's t for 5 degrees of freedom and 90 %: 2.015.
    half = 2.015 * difference.std(ddof=1) / 6**0.5
    assert (row["low"], row["high"]) == pytest.approx(
        (difference.mean() - half, difference.mean() + half), 1e-3
    )
    assert row["low"] < 60.0 < row["high"], "load 0.65 for 0.05: 60 Gb/s more"


def test_a_stopped_comparison_goes_on(tmp_path: Path) -> None:
    given = experiment(GRID, MUCH).with_values({"tune.fresh_seeds": 6})
    told: list[tuple[int, int]] = []
    first = fs.tune(
        given,
        jobs=1,
        out=tmp_path / "out",
        on_confirm=lambda done, total: told.append((done, total)),
        stop=lambda: len(told) > 4,
    )
    assert not first.complete
    assert first.gains.empty
    assert told[-1] == (4, 12)
    told.clear()
    second = fs.tune(
        given, jobs=1, out=tmp_path / "out", on_confirm=lambda done, total: told.append((done, total))
    )
    assert told[0] == (4, 12), "runs that are done are kept"
    assert second.complete
    pd.testing.assert_frame_equal(second.gains, fs.tune(given, jobs=1).gains)


def test_a_setting_has_to_serve_all_scenarios() -> None:
    """With a at load 0.1 the fairest load of b is 0.1, with 0.5 it is 0.5: the worst of both is best at sqrt(0.05)."""
    scenarios = """
[[tune.scenarios]]
name = "little"
set = { "traffic.0.load" = 0.1 }
[[tune.scenarios]]
name = "much"
set = { "traffic.0.load" = 0.5 }
"""
    range_ = {"tune.parameters": {"traffic.1.load": {"low": 0.05, "high": 0.45, "step": 0.05}}}
    given = experiment(GRID, FAIR, scenarios)
    worst = fs.tune(given, jobs=1, set={**range_, "tune.aggregate": "worst"})
    assert worst.settings["traffic.1.load"] == pytest.approx(0.05**0.5, abs=0.03)
    runs = worst.frames["runs"]
    lowest = runs.groupby("trial")["fairness"].min()
    pd.testing.assert_series_equal(
        worst.trials.set_index("trial")["fairness"], lowest, check_dtype=False, check_index_type=False
    )
    mean = fs.tune(given, jobs=1, set=range_)
    np.testing.assert_allclose(mean.trials["fairness"], runs.groupby("trial")["fairness"].mean())


def test_the_worst_run_has_to_keep_both_limits() -> None:
    limits = '[[tune.constraints]]\nmetric = "throughput"\nat_least = 42.0\nat_most = 72.0\n'
    cases = '[[tune.scenarios]]\nname = "little"\nset = { "traffic.0.load" = 0.2 }\n[[tune.scenarios]]\nname = "all"\n'
    given = experiment(GRID, MUCH, limits, cases)
    worst = fs.tune(given, jobs=1, set={"tune.aggregate": "worst"})
    loads = worst.trials[worst.trials["feasible"] & (worst.trials["trial"] >= 0)]["traffic.1.load"]
    np.testing.assert_allclose(loads, [0.25, 0.3, 0.35, 0.4])  # 20 + b above 42, 30 + b below 72
    mean = fs.tune(given, jobs=1)
    loads = mean.trials[mean.trials["feasible"] & (mean.trials["trial"] >= 0)]["traffic.1.load"]
    np.testing.assert_allclose(loads, [0.2, 0.25, 0.3, 0.35, 0.4, 0.45])


def test_a_metric_that_is_wanted_twice_is_one() -> None:
    limit = '[[tune.constraints]]\nmetric = "throughput"\nat_least = 52.0\n[[tune.report]]\nmetric = "throughput"\n'
    result = fs.tune(experiment(GRID, MUCH, limit), jobs=1)
    assert result.manifest["metrics"] == ["throughput"]
    least = '[[tune.constraints]]\nmetric = "throughput"\nat_most = 52.0\n'
    result = fs.tune(experiment(GRID, MUCH, least), jobs=1)
    assert result.manifest["metrics"] == ["throughput", "throughput #2"]


def test_start_points_come_first() -> None:
    starts = [{"traffic.1.load": 0.25, "links.all.buffer": "10 KiB"}, {"traffic.1.load": 0.5}]
    result = fs.tune(experiment(SEARCH, FAIR), jobs=1, set={"tune.starts": starts, "tune.trials": 6})
    rows = result.trials.set_index("trial")
    assert rows.loc[0, "traffic.1.load"] == 0.25
    assert rows.loc[0, "links.all.buffer"] == "10 KiB"
    assert rows.loc[1, "traffic.1.load"] == 0.5


def test_choices_of_several_types_are_a_column_of_texts() -> None:
    """The baseline has a fraction, the choices are a whole number and a text: values of three types."""
    choices = GRID.replace("{ low = 0.05, high = 0.65, step = 0.05 }", '{ choices = [1, "much"] }')
    column = fs.tune(experiment(choices, FAIR), jobs=1).trials["traffic.1.load"]
    assert column.dtype == "str"
    assert list(column) == ["0.05", "1", "much"]


def test_a_gain_that_chance_explains_is_called_none() -> None:
    metrics = ["traffic.read.latency_ns.p99", "fairness", "jain", "wall_s"]
    gains = pd.DataFrame({"metric": metrics, "low": [-1.0, 0.1, -3.0, 0.0], "high": [0.5, 2.0, -1.0, 0.0]})
    trials = pd.DataFrame({"trial": [-1]})
    manifest = {"confidence": 0.95, "parameters": []}
    result = fs.TuneResult(manifest, {"gains": gains, "trials": trials})
    console = Console(file=io.StringIO(), width=300)
    _print_no_difference(result, console)
    line = cast("io.StringIO", console.file).getvalue()
    assert line == (
        "no difference of p99 latency, read: the 95% interval contains zero; more fresh seeds may show one\n"
    )


def test_json_and_pictures(command: Command, tmp_path: Path) -> None:
    (tmp_path / "e.toml").write_text(TWO_FLOWS + GRID + MUCH + FAIR)
    ran = command("tune", "e.toml", "--json", "--out", "out", "--jobs", "1")
    assert ran.code == 0, ran.err
    assert '"front": [' in ran.out
    assert {"trials.png", "importances.png", "trials.parquet", "study.db"} <= {
        path.name for path in (tmp_path / "out").iterdir()
    }
    assert command("plot", "out", "--format", "svg").code == 0
    assert (tmp_path / "out/trials.svg").exists()
    again = command("tune", "e.toml", "--out", "out", "--jobs", "1")
    assert again.code == 0
    assert "Pareto front" in again.out
    assert "as it is" in again.out
