"""Sweeps with the fraction of the bound: once for each network and traffic, only if requested."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from conftest import SMALL, Command

import fabricsim as fs
from fabricsim import plots
from fabricsim.bound import subject
from fabricsim.sweep import bounds, load_sweep

pytestmark = pytest.mark.usefixtures("real")

LOADS = [0.1, 0.9]


def test_the_column_is_that_of_runs_and_bounds(small: Path, tmp_path: Path) -> None:
    found = fs.sweep(small, vary={"traffic.0.load": LOADS}, jobs=1, bound=True, out=tmp_path / "out")
    expected = [
        fs.bound(small, set={"traffic.0.load": load}).fraction(accepted, offered)
        for load, accepted, offered in zip(
            LOADS, found.points["accepted_gbps"], found.points["offered_gbps"], strict=True
        )
    ]
    assert found.points["bound_fraction"].tolist() == pytest.approx(expected, rel=1e-12)
    assert load_sweep(tmp_path / "out").points["bound_fraction"].tolist() == pytest.approx(
        expected, rel=1e-12
    )
    assert found.points.attrs["columns"]["bound_fraction"][1].startswith("accepted throughput over")
    assert "bound_fraction" not in fs.sweep(small, vary={"seed": [1]}, jobs=1).points


def test_a_bound_is_computed_once_for_what_does_not_change_it(
    small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[fs.Experiment] = []

    def counted(experiment: fs.Experiment) -> fs.Bound:
        asked.append(experiment)
        return fs.bound(experiment)

    monkeypatch.setattr(bounds, "bound", counted)
    vary: dict[str, list[Any]] = {
        "seed": [1, 2, 3],
        "traffic.0.load": LOADS,
        "congestion_control.algorithm": ["none", "dcqcn"],
    }
    first = fs.sweep(small, vary=vary, jobs=1, out=tmp_path / "out")
    assert "bound_fraction" not in first.points
    assert asked == []
    second = fs.sweep(small, vary=vary, jobs=1, out=tmp_path / "out", bound=True)
    assert len(asked) == 2
    assert second.points["bound_fraction"].notna().all()
    fs.sweep(small, vary=vary, jobs=1, out=tmp_path / "out", bound=True)
    assert len(asked) == 2, "what is there is not computed again"


def test_the_seed_matters_where_the_traffic_is_drawn_from_it(small: Path) -> None:
    plain = fs.Experiment.from_file(small, {"seed": 2})
    drawn = plain.with_values({"traffic.0.pattern": "random-permutation"})
    assert subject(plain) == fs.Experiment.from_file(small)
    assert ("seed", "2") in subject(drawn).overrides


def test_in_processes_it_is_the_same(small: Path) -> None:
    both = [
        fs.sweep(small, vary={"traffic.0.load": LOADS}, jobs=jobs, bound=True)
        .points["bound_fraction"]
        .tolist()
        for jobs in (1, 2)
    ]
    assert both[0] == both[1]


def test_a_point_without_a_bound_says_why(command: Command, small: Path) -> None:
    # 600 hosts: more pairs than can be bounded.
    arguments = (
        "sweep",
        small,
        "--set",
        "topology.mesh.hosts_per_switch=75",
        "--set",
        "run.duration=1 us",
        "--bound",
    )
    ran = command(*arguments, "--vary", "seed=1,2", "--jobs", "1", "--out", "out")
    assert "2 of 2 points have no bound: " in ran.err
    assert ran.code == 1
    assert load_sweep("out").points["status"].tolist() == ["ok", "ok"]


@pytest.mark.parametrize("entry", ["0", "all"])
def test_responses_have_no_bound_however_they_are_set(command: Command, small: Path, entry: str) -> None:
    small.write_text(SMALL.replace("[[traffic]]", '[[traffic]]\nname = "all"'))
    response = f'traffic.{entry}.response={{ message = "64 B" }}'
    ran = command(
        "sweep", small, "--vary", "seed=1", "--bound", "--set", response, "--jobs", "1", "--out", "out"
    )
    assert "1 of 1 points have no bound: responses" in ran.err


def test_the_command_prints_it(command: Command, small: Path) -> None:
    small.write_text(SMALL)
    arguments = ("sweep", small, "--vary", "traffic.0.load=0.1,0.3", "--jobs", "1", "--bound")
    assert re.search(r" of the .*\n.* bound ", command(*arguments, "--out", "a").out)
    points = json.loads(command(*arguments, "--out", "b", "--json").out)["points"]
    assert all(0.9 < point["bound_fraction"] <= 1.1 for point in points)


JOB = """
title = "A job"
[topology.single-switch]
hosts = 4
[links.all]
rate = "8 Gb/s"
[[jobs]]
name = "sum"
program = { all-reduce = { message = "4 KiB" } }
[run]
duration = "1 ms"
"""
LEAST = "jobs.sum.least_iteration_ns"
MESSAGE = "jobs.sum.program.all-reduce.message"


def test_sweeps_of_jobs_have_their_least_times(tmp_path: Path, command: Command) -> None:
    (tmp_path / "job.toml").write_text(JOB)
    job = fs.Experiment.from_file(tmp_path / "job.toml")
    sizes = ["4 KiB", "16 KiB"]
    found = fs.sweep(job, vary={MESSAGE: sizes}, jobs=1, bound=True, out=tmp_path / "out")
    least = [fs.job_bounds(job, set={MESSAGE: size})["iteration_ns"].item() for size in sizes]
    assert found.points[LEAST].tolist() == pytest.approx(least)
    assert (found.points["jobs.sum.iteration_ns.mean"] >= found.points[LEAST]).all()
    assert found.points["message"].tolist() == ["", ""]
    assert found.points.attrs["columns"][LEAST][0] == "ns"
    assert LEAST not in fs.sweep(job, vary={MESSAGE: sizes}, jobs=1).points
    arguments = ("sweep", tmp_path / "job.toml", "--vary", f"{MESSAGE}={','.join(sizes)}", "--jobs", "1")
    ran = command(*arguments, "--bound", "--plot", LEAST)
    assert ran.code == 0, ran.err
    lines = [" ".join(line.split()) for line in ran.out.split("by job")[1].splitlines()]
    assert {"all-reduce. mean least", "message job iteration iteration"} <= set(lines)
    assert "give --bound as well" in command(*arguments, "--plot", LEAST).err
    wrong = command(*arguments, "--bound", "--plot", LEAST.replace("sum", "sim")).err
    assert "jobs.sim.least_iteration_ns: the experiment has no job 'sim'; did you mean sum?" in wrong


def test_pictures_of_iterations_have_the_least_ones() -> None:
    job = fs.Experiment.from_text(JOB)
    varied: list[dict[str, list[Any]]] = [
        {MESSAGE: ["4 KiB", "8 KiB"]},
        {"jobs.sum.placement": ["linear", "random"]},
        {MESSAGE: ["4 KiB", "8 KiB"], "jobs.sum.step_delay": ["0 ns", "1 us"]},
    ]
    for vary in varied:
        found = fs.sweep(job, vary=vary, jobs=1, bound=True)
        for metric, is_there in (("jobs.sum.iteration_ns.mean", True), ("jobs.sum.end_ns", False)):
            legends = plots.over_parameters(found, metric).legends
            texts = [text.get_text() for legend in legends for text in legend.get_texts()]
            assert ("least possible" in texts) == is_there, (vary, metric)


def test_traffic_beside_jobs_has_no_total_and_the_jobs_have_least_times() -> None:
    traffic = '[[traffic]]\npattern = "uniform"\nload = 0.1\nmessage = "1 KiB"\n'
    found = fs.sweep(fs.Experiment.from_text(JOB + traffic), vary={"seed": [1, 2]}, jobs=1, bound=True)
    assert found.points[LEAST].notna().all()
    assert found.points["message"].tolist() == [
        "no bound: responses and jobs have none, and their throughput is part of what is accepted"
    ] * len(found.points)


def test_least_times_depend_on_the_seed_if_ranks_are_placed_at_random() -> None:
    for text in (JOB.replace("program", 'placement = "random"\nprogram'), JOB):
        experiment = fs.Experiment.from_text(text)
        other = experiment.with_values({"seed": 2})
        assert (subject(experiment) == subject(other)) == (text is JOB)
    placed = fs.Experiment.from_text(JOB).with_values({"jobs.sum.placement": "random"})
    assert subject(placed) != subject(placed.with_values({"seed": 2}))
