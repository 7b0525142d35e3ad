"""Sweeps: the grid, resuming, stopping, saturation."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from conftest import SMALL
from hypothesis import given
from hypothesis import strategies as st
from pool_work import square

import fabricsim as fs
from fabricsim.spec import split_values
from fabricsim.sweep import grid, load_sweep, work_through
from fabricsim.sweep.execution import run_point

LOADS = [0.05, 0.2, 0.4, 0.8]


@pytest.mark.usefixtures("fake")
def test_grid_is_every_combination_last_key_fastest(small: Path) -> None:
    small.write_text(SMALL + "[sweep]\n'seed' = [1, 2]\n'traffic.0.load' = [0.1]\n")
    experiment = fs.Experiment.from_file(small)
    points = grid(experiment, {"traffic.0.load": [0.2, 0.3], "title": ["'a'"]})
    assert [tuple(p.values()) for p in points] == [
        ("1", "0.2", "'a'"),
        ("1", "0.3", "'a'"),
        ("2", "0.2", "'a'"),
        ("2", "0.3", "'a'"),
    ]


@pytest.mark.usefixtures("fake")
def test_points_and_saturation(small: Path) -> None:
    result = fs.sweep(small, vary={"traffic.0.load": LOADS}, jobs=1)
    assert result.complete
    assert list(result.points["traffic.0.load"]) == LOADS
    assert list(result.points["accepted_load"]) == [0.05, 0.2, 0.4, 0.6]
    (row,) = result.saturation().to_dict("records")
    assert row == {"load": 0.4, "accepted": 0.4, "throughput": 0.6, "reached": True}


@pytest.mark.usefixtures("fake")
def test_a_stopped_sweep_goes_on_where_it_ended(small: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    asked = itertools.count()
    first = fs.sweep(small, vary={"traffic.0.load": LOADS}, jobs=1, out=out, stop=lambda: next(asked) >= 2)
    done = len(first.points)
    assert 0 < done < len(LOADS)
    assert not load_sweep(out).complete

    told: list[tuple[int, int]] = []
    second = fs.sweep(
        small, vary={"traffic.0.load": LOADS}, jobs=1, out=out, on_point=lambda d, n: told.append((d, n))
    )
    assert second.complete
    assert told[0] == (done, len(LOADS))
    assert len(told) == 1 + len(LOADS) - done
    whole = fs.sweep(small, vary={"traffic.0.load": LOADS}, jobs=1)
    for points in (second.points, load_sweep(out).points):
        pd.testing.assert_frame_equal(
            points.drop(columns="wall_s"), whole.points.drop(columns="wall_s"), check_dtype=False
        )


@pytest.mark.usefixtures("fake")
def test_another_sweep_does_not_go_on_in_the_folder(small: Path, tmp_path: Path) -> None:
    fs.sweep(small, vary={"traffic.0.load": LOADS}, jobs=1, out=tmp_path / "out")
    with pytest.raises(fs.InputError, match="this exists"):
        fs.sweep(small, vary={"traffic.0.load": [0.1]}, jobs=1, out=tmp_path / "out")


@pytest.mark.usefixtures("fake")
def test_an_interrupted_point_is_not_counted(small: Path) -> None:
    experiment = fs.Experiment.from_file(small, {"title": "slow"})
    assert run_point((0, experiment), lambda: True) is None


@pytest.mark.usefixtures("fake")
def test_values_of_several_types_become_texts(small: Path, tmp_path: Path) -> None:
    fs.sweep(small, vary={"seed": ["1", "'x'"]}, jobs=1, out=tmp_path / "out")
    assert list(load_sweep(tmp_path / "out").points["seed"]) == ["1", "x"]


@pytest.mark.parametrize("jobs", [1, 2])
def test_pool_hands_over_every_result(jobs: int) -> None:
    done: dict[int, int] = {}
    assert work_through(range(7), square, done.__setitem__, jobs=jobs)
    assert done == {n: n * n for n in range(7)}


@pytest.mark.parametrize("jobs", [1, 2])
def test_pool_draws_a_task_when_a_process_is_idle(jobs: int) -> None:
    done: list[int] = []
    busy: list[int] = []

    def tasks() -> Iterator[int]:
        for number in range(7):
            busy.append(number - len(done))
            yield number

    assert work_through(tasks(), square, lambda task, result: done.append(task), jobs=jobs)
    assert max(busy) == jobs - 1


@pytest.mark.parametrize("jobs", [1, 2])
def test_pool_passes_errors_on(jobs: int) -> None:
    with pytest.raises(fs.InputError, match="negative"):
        work_through([-1, 1], square, lambda task, result: None, jobs=jobs)


def test_pool_stops() -> None:
    done: list[int] = []
    assert not work_through(range(400), square, lambda t, r: done.append(t), jobs=2, stop=lambda: bool(done))
    assert len(done) < 400


def _points(rows: list[tuple[float, float, float]]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["offered_load", "accepted_load", "latency_ns.mean"])


def test_saturation_by_latency_and_by_acceptance() -> None:
    by_latency = fs.saturation(_points([(0.1, 0.1, 100), (0.5, 0.5, 299), (0.6, 0.6, 301)]))
    assert by_latency == fs.Saturation(0.5, 0.5, 0.6, reached=True)
    by_acceptance = fs.saturation(_points([(0.1, 0.1, 100), (0.5, 0.48, 120)]))
    assert by_acceptance == fs.Saturation(0.1, 0.1, 0.48, reached=True)
    never = fs.saturation(_points([(0.1, 0.1, 100), (0.5, 0.5, 120)]))
    assert never == fs.Saturation(0.5, 0.5, 0.5, reached=False)
    assert fs.saturation(_points([])) is None
    assert fs.saturation(_points([(0.9, 0.5, 100)])) == fs.Saturation(0.0, 0.0, 0.5, reached=True)


def test_split_values() -> None:
    assert split_values('1, 2,[3, 4],"a,b",{x = 1, y = 2}') == ["1", "2", "[3, 4]", '"a,b"', "{x = 1, y = 2}"]
    assert split_values("") == []
    hosts = ["H(0,0).0", '"H(1,0).0"', "H2", "H(3)"]
    assert split_values(",".join(hosts)) == hosts
    assert split_values("a(,b,c)") == ["a(,b,c)"]
    assert split_values("a(,b") == ["a(", "b"]


@given(
    st.lists(st.integers() | st.text(alphabet="ab,[](){} \"'\\\n", max_size=6) | st.booleans(), min_size=1)
)
def test_split_values_undoes_joining(values: list[Any]) -> None:
    texts = [fs.spec.toml_value(value) for value in values]
    assert split_values(",".join(texts)) == texts
