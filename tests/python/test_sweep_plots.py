"""Pictures of sweeps: which kind is drawn, and that it shows the values."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import SMALL, Command
from picture_cases import study

import fabricsim as fs
from fabricsim import plots
from fabricsim.plots.tuning import trials
from fabricsim.spec import Range

LOAD = "traffic.0.load"
LATENCIES = ["1 ns", "10 ns", "100 ns", "1 us"]


@pytest.fixture
def experiment(fake: None, small: Path) -> Path:
    return small


def drawn(file: Path, metric: str, **wanted: Any) -> Any:
    return plots.over_parameters(fs.sweep(file, jobs=1, **wanted), metric)


def test_one_parameter_is_a_line(experiment: Path) -> None:
    (axes,) = drawn(experiment, "accepted_load", vary={"links.all.latency": LATENCIES}).axes
    assert list(axes.lines[0].get_xdata()) == [1.0, 10.0, 100.0, 1000.0]
    assert axes.get_xlabel() == "latency, links all (ns)"
    assert axes.get_xscale() == "log"


@pytest.mark.usefixtures("real")
def test_times_have_the_unit_that_suits_the_longest() -> None:
    head = SMALL.partition("[[traffic]]")[0]
    job = '[[jobs]]\nhosts = ["*"]\nprogram = { all-to-all = { message = "64 KiB" } }\n'
    experiment = fs.Experiment.from_text(f'{head}{job}[run]\nduration = "10 ms"\n')
    sweep = fs.sweep(experiment, vary={"jobs.0.iterations": [1, 2]}, jobs=1)
    (axes,) = plots.over_parameters(sweep, "job_time_ns").axes
    assert axes.get_ylabel() == "time of all jobs (µs)"
    drawn = np.asarray(axes.lines[0].get_ydata(), float)
    np.testing.assert_allclose(drawn, sweep.points["job_time_ns"] / 1000.0)


def test_objectives_in_times_have_the_unit_that_suits_the_longest() -> None:
    result = study(2)
    rows = result.trials[result.trials["trial"] >= 0]
    (axes,) = trials(result).axes
    assert axes.get_ylabel() == "latency mean (µs)"
    tried = rows[rows["feasible"]]
    drawn = np.asarray(axes.lines[0].get_ydata(), float)
    np.testing.assert_allclose(drawn, tried["latency_mean"] / 1000.0)


def test_one_parameter_of_names_is_bars(experiment: Path) -> None:
    (axes,) = drawn(experiment, "offered_load", vary={"title": ["'a'", "'b'", "'c'"]}).axes
    assert [bar.get_width() for bar in axes.patches] == [0.3] * 3
    assert [label.get_text() for label in axes.get_yticklabels()] == ["a", "b", "c"]


def test_legends_have_values_with_their_units(experiment: Path) -> None:
    vary = {LOAD: [0.1, 0.2, 0.3], "links.all.latency": ["10 ns", "1 us"]}
    (axes,) = drawn(experiment, "offered_load", vary=vary).axes
    assert [line.get_label() for line in axes.lines] == ["latency 10 ns", "latency 1 us"]


def test_a_second_parameter_is_a_line_for_each_value(experiment: Path) -> None:
    vary = {LOAD: [0.1, 0.2, 0.3], "title": ["'a'", "'b'"]}
    (axes,) = drawn(experiment, "offered_load", vary=vary).axes
    assert [line.get_label() for line in axes.lines] == ["title a", "title b"]
    np.testing.assert_allclose(axes.lines[1].get_ydata(), [0.1, 0.2, 0.3])


def test_two_parameters_of_numbers_are_a_heat_map(experiment: Path) -> None:
    loads = [0.1, 0.2, 0.3, 0.4]
    figure = drawn(experiment, "offered_load", vary={LOAD: loads, "links.all.latency": LATENCIES})
    axes, bar = figure.axes
    np.testing.assert_allclose(axes.images[0].get_array(), np.repeat(loads, 4).reshape(4, 4))
    assert (axes.get_ylabel(), axes.get_xlabel()) == ("load, traffic 0", "latency, links all (ns)")
    assert bar.get_ylabel() == "offered load (fraction)"


def test_points_drawn_at_random_are_a_panel_for_each_parameter(experiment: Path) -> None:
    keys = {LOAD: Range(0.1, 0.5), "links.all.latency": Range("1 ns", "1 us", "log")}
    figure = drawn(experiment, "accepted_load", random={"samples": 9, "keys": keys})
    panels = [axes for axes in figure.axes if axes.get_visible()]
    assert [axes.get_xlabel() for axes in panels] == ["load, traffic 0", "latency, links all (ns)"]
    np.testing.assert_allclose(panels[0].lines[0].get_xdata(), panels[0].lines[0].get_ydata())


def test_deadlocks_are_marked(experiment: Path) -> None:
    vary = {LOAD: [0.1, 0.2], "title": ["'a'", "'deadlock'"]}
    (axes,) = drawn(experiment, "offered_load", vary=vary).axes
    (marks,) = [line for line in axes.lines if line.get_label() == "deadlock"]
    assert list(marks.get_xdata()) == [0.1, 0.2]


def test_keys_that_vary_together_are_one_axis(experiment: Path) -> None:
    (axes,) = drawn(
        experiment, "offered_load", zip={LOAD: [0.1, 0.2, 0.3], "title": ["'a'", "'b'", "'c'"]}
    ).axes
    assert axes.get_xlabel() == "load, traffic 0\nwith title"
    np.testing.assert_allclose(axes.lines[0].get_ydata(), [0.1, 0.2, 0.3])


@pytest.mark.usefixtures("real")
def test_pictures_of_points_without_a_packet_are_left_out(small: Path, command: Command) -> None:
    small.write_text(SMALL.replace("load = 0.3", "load = 0.0001"))
    ran = command("sweep", small, "--vary", "run.duration=1 ns,2 ns", "--jobs", 1, "--out", "s")
    assert (ran.code, ran.err) == (0, "")
    assert "picture" not in ran.out
    ran = command("plot", "s")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == "fabricsim: s: there is nothing to draw\n"
    ran = command("plot", "s", "--metric", "latency_ns.mean")
    assert ran.err == "fabricsim: this sweep has no point with latency_ns.mean, so there is nothing to draw\n"
    ran = command("run", small, "--set", "run.duration=1 ns", "--plot", "--by", "source", "--out", "r")
    assert (ran.code, ran.err) == (0, "")
    assert "picture: r/links.png" in ran.out


def test_nothing_to_draw_is_told(experiment: Path) -> None:
    with pytest.raises(fs.InputError, match="no load varies"):
        plots.load_latency(fs.sweep(experiment, vary={"seed": [1, 2]}, jobs=1))
    with pytest.raises(fs.InputError, match="no metric 'pie'"):
        drawn(experiment, "pie", vary={"seed": [1, 2]})
    with pytest.raises(fs.InputError, match="no point that ran"):
        drawn(experiment, "latency_ns.mean", vary={"title": ["'panic'", "'good'"]}, stop=Once())


class Once:
    """Lets one point run."""

    def __init__(self) -> None:
        self._asked = 0

    def __call__(self) -> bool:
        self._asked += 1
        return self._asked > 1
