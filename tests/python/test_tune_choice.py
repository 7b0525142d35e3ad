"""Which setting a study takes for the best, and by which runs it judges."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from conftest import SMALL, Command
from hypothesis import given
from hypothesis import strategies as st
from tune_cases import FAIR, GRID, MUCH, TWO_FLOWS

import fabricsim as fs
from fabricsim.notebook import html
from fabricsim.sweep.pool import never
from fabricsim.tune import TuneResult, load_tune
from fabricsim.tune.metrics import Which
from fabricsim.tune.pareto import least_broken
from fabricsim.tune.problem import Problem, Wanted
from fabricsim.tune.record import Record
from fabricsim.tune.runs import BASELINE, Run, Task, work

LIMITS = st.lists(st.tuples(*[st.sampled_from([-9.0, -1.0, 0.0, 0.5, 1.0, 3.0])] * 2), min_size=1, max_size=6)


def broken(number: int, excess: tuple[float, ...]) -> Record:
    return Record(number, {}, (), {}, (0.0,), excess)


def test_room_below_one_limit_does_not_make_up_for_breaking_another() -> None:
    """The first setting breaks one limit by 3 and stays 9 below the other; the second breaks one by 1 only."""
    records = [broken(0, (3.0, -9.0)), broken(1, (0.0, 1.0)), broken(2, (-9.0, 1.0))]
    assert least_broken(records) == records[1], "of those that break as much the first"


@given(LIMITS)
def test_the_least_broken_setting_breaks_the_limits_least(limits: list[tuple[float, float]]) -> None:
    records = [broken(number, excess) for number, excess in enumerate(limits)]
    breaks = [sum(e for e in excess if e > 0) for excess in limits]
    failed = Record(len(records), {}, (Run("s", 1, error="no"),))
    baseline = broken(BASELINE, (0.0, 0.0))
    assert least_broken([baseline, failed, *records]) == records[int(np.argmin(breaks))]
    assert least_broken([baseline, failed]) is None


@pytest.mark.parametrize(
    ("maximize", "at_least", "at_most", "worst"),
    [
        (True, None, None, "least"),
        (False, None, None, "largest"),
        (None, 1.0, None, "least"),
        (None, None, 1.0, "largest"),
        (None, None, None, "none"),
        (None, 1.0, 2.0, "least"),
        (True, None, 2.0, "least"),
        (False, 1.0, None, "largest"),
    ],
)
def test_which_of_several_runs_is_the_worst(
    maximize: bool | None, at_least: float | None, at_most: float | None, worst: str
) -> None:
    """As the guide says: the smallest if a metric is maximised or has a lower limit, else the largest."""
    assert Wanted("a", Which("a"), maximize, None, at_least, at_most).worst == worst


SCENARIOS = """
[[tune.scenarios]]
name = "little"
set = { "traffic.0.load" = 0.1 }
[[tune.scenarios]]
name = "much"
set = { "traffic.0.load" = 0.5 }
"""
SLOW = '[[tune.objectives]]\nmetric = "latency_mean"\ngoal = "minimize"\n'


@pytest.mark.usefixtures("real")
def test_the_worst_of_what_is_minimised_is_the_largest() -> None:
    """Latencies of constant flows at loads of 0.1 and 0.5: the two scenarios differ, and the larger one counts."""
    given_ = fs.Experiment.from_text(TWO_FLOWS + GRID + SLOW + SCENARIOS)
    few = {"tune.parameters": {"traffic.1.load": {"low": 0.1, "high": 0.7, "step": 0.2}}}
    result = fs.tune(given_, jobs=1, set={**few, "tune.aggregate": "worst"})
    runs = result.frames["runs"].groupby("trial")["latency_mean"]
    assert (runs.max() > runs.min()).any()
    found = result.trials.set_index("trial")["latency_mean"]
    pd.testing.assert_series_equal(found, runs.max(), check_dtype=False, check_index_type=False)
    assert result.best is not None
    assert result.best["metrics"]["latency_mean"] == found[found.index >= 0].min()


@pytest.mark.usefixtures("real")
def test_a_setting_holds_in_a_scenario_that_sets_the_table_around_it() -> None:
    sections = """
[tune]
seeds = [3, 4]
fresh_seeds = 0
trials = 2
[tune.parameters]
"links.all.buffer" = { choices = ["8 KiB", "16 KiB"] }
[[tune.scenarios]]
name = "as it is"
[[tune.scenarios]]
name = "slow"
set = { "links.all" = { rate = "50 Gb/s", buffer = "64 KiB" } }
[[tune.objectives]]
metric = "throughput"
goal = "maximize"
"""
    problem = Problem(fs.Experiment.from_text(TWO_FLOWS + sections))
    found = problem.variants({"links.all.buffer": "16 KiB"}, problem.seeds)
    assert [(scenario.name, seed) for scenario, seed, _ in found] == list(
        itertools.product(["as it is", "slow"], [3, 4])
    )
    for scenario, seed, experiment in found:
        facts = experiment.check()
        assert facts["links"]["all"]["buffer"] == "16 KiB", scenario.name
        assert facts["seed"] == seed
        assert facts["links"]["all"]["rate"] == ("50 Gb/s" if scenario.name == "slow" else "100 Gb/s")
    (_, _, baseline), *_ = problem.variants({}, [7])
    assert baseline.check()["seed"] == 7


@pytest.mark.usefixtures("fake")
@pytest.mark.parametrize(
    ("title", "error"),
    [
        ("defect", "a defect of the simulator, please report it: credits are missing"),
        ("deadlock", "the run ended with status 'deadlock'"),
    ],
)
def test_a_run_that_did_not_end_well_has_no_values(title: str, error: str) -> None:
    experiment = fs.Experiment.from_text(f"title = {title!r}\n{SMALL}")
    answer = work(Task(0, 0, experiment, (Which("accepted_load"),)), never)
    assert answer is not None
    assert (answer.values, answer.error, answer.fingerprint) == ((), error, "00ff")
    good = work(Task(0, 0, fs.Experiment.from_text(SMALL), (Which("accepted_load"),)), never)
    assert good is not None
    assert (good.values, good.error) == ((0.3,), "")


@pytest.mark.usefixtures("real")
@pytest.mark.parametrize(
    ("load", "objectives", "expected"),
    [
        (0.3, FAIR, "none of the 13 settings tried is better than the experiment as it is: fairness 0.99"),
        (0.35, FAIR, ""),
        (0.3, FAIR + MUCH, ""),
        (0.7, MUCH, "none of the 13 settings tried is better than the experiment as it is: throughput"),
    ],
)
def test_a_study_says_if_the_experiment_as_it_is_is_at_least_as_good(
    tmp_path: Path, command: Command, load: float, objectives: str, expected: str
) -> None:
    text = TWO_FLOWS.replace("load = 0.05", f"load = {load}") + GRID.replace("seeds = 0", "seeds = 2")
    (tmp_path / "e.toml").write_text(text + objectives)
    ran = command("tune", "e.toml", "--jobs", "1", "--out", "out")
    assert ran.code == 0, ran.err
    said = " ".join(ran.out.split())
    study = load_tune("out")
    assert study.improves_on_search == (not expected)
    assert ("best setting:" in said, "best of the settings tried (trial" in said) == (
        not expected,
        bool(expected),
    )
    assert expected in said
    assert ("best setting tried and experiment as it is" in said) == bool(expected)
    assert ("better than the experiment" in said) == bool(expected)
    assert ("better than the experiment" in html(study)) == bool(expected)


def test_fresh_seeds_may_show_no_gain_of_the_best_setting() -> None:
    trials = pd.DataFrame(
        {"trial": [-1, 0], "x": [2.0, 1.0], "feasible": True, "best": [False, True], "error": ""}
    )
    manifest = {"objectives": [{"name": "x", "goal": "minimize"}]}

    def improves(difference: float, **changed: Any) -> bool:
        gains = pd.DataFrame({"metric": ["x", "y"], "difference": [difference, -1.0]})
        study = TuneResult(manifest, {"trials": trials.assign(**changed), "gains": gains})
        assert study.improves_on_search
        return study.improves_on_fresh_seeds

    assert improves(-0.1)
    assert not improves(0.1)
    assert not improves(0.0)
    assert improves(0.1, feasible=[False, True]), "the experiment as it is breaks a constraint"
    assert TuneResult(manifest, {"trials": trials}).improves_on_fresh_seeds, "not compared"
