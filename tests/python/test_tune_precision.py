"""The comparison on fresh seeds ends when the intervals of the differences are narrow enough."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from conftest import Command
from tune_cases import FAIR, GRID, MUCH, TWO_FLOWS

import fabricsim as fs

pytestmark = pytest.mark.usefixtures("real")
NOISY = {"traffic.0.injection": "poisson", "traffic.1.injection": "poisson", "tune.fresh_seeds": 20}


def noisy(objective: str = MUCH) -> fs.Experiment:
    return fs.Experiment.from_text(TWO_FLOWS + GRID + objective).with_values(NOISY)


def half_width(result: fs.TuneResult) -> float:
    (row,) = result.gains.to_dict("records")
    return float((row["high"] - row["low"]) / 2 / abs(row["baseline"]))


def test_it_ends_at_the_first_narrow_interval() -> None:
    loose, strict = (fs.tune(noisy(), precision=precision, jobs=1) for precision in (0.5, 0.06))
    assert loose.manifest["fresh_seeds"] == list(range(2, 7))
    assert half_width(loose) < 0.5
    assert len(strict.manifest["fresh_seeds"]) in (8, 12, 18)
    assert half_width(strict) <= 0.06 < half_width(loose)
    assert loose.settings == strict.settings, "the search is the same"
    assert set(strict.frames["confirmation"]["seed"]) == set(strict.manifest["fresh_seeds"])


def test_without_a_precision_all_fresh_seeds_run() -> None:
    assert len(fs.tune(noisy(), jobs=1).manifest["fresh_seeds"]) == 20


def test_runs_without_randomness_end_after_the_first_look() -> None:
    result = fs.tune(
        noisy(FAIR).with_values(dict.fromkeys(list(NOISY)[:2], "constant")), precision=0.001, jobs=1
    )
    assert len(result.manifest["fresh_seeds"]) == 5
    assert half_width(result) == 0.0


def test_a_stopped_comparison_goes_on_and_ends_where_it_would_have(tmp_path: Path) -> None:
    whole = fs.tune(noisy(), precision=0.06, jobs=1)
    done: list[int] = []
    stopped = fs.tune(
        noisy(), precision=0.06, jobs=1, out=tmp_path / "out", on_confirm=lambda n, _: done.append(n),
        stop=lambda: max(done, default=0) >= 11,
    )  # fmt: skip
    assert not stopped.complete
    resumed = fs.tune(noisy(), precision=0.06, jobs=1, out=tmp_path / "out")
    assert resumed.complete
    pd.testing.assert_frame_equal(resumed.gains, whole.gains)


def test_the_command_says_whether_it_was_reached(tmp_path: Path, command: Command) -> None:
    (tmp_path / "e.toml").write_text(TWO_FLOWS + GRID + MUCH)
    set_values: list[Any] = [part for key, value in NOISY.items() for part in ("--set", f"{key}={value}")]
    for precision, told in (
        ("50%", "all intervals are at most ± 50.0%"),
        ("0.1%", "with 20 seeds, intervals of"),
    ):
        out = tmp_path / precision.strip("%")
        ran = command(
            "tune", tmp_path / "e.toml", *set_values, "--precision", precision, "--jobs", 1, "--out", out
        )
        assert ran.code == 0, ran.err
        assert told in " ".join(ran.out.split())


@pytest.mark.parametrize("precision", ["0", "100%", "x", "nan"])
def test_one_clear_message(precision: str, tmp_path: Path, command: Command) -> None:
    (tmp_path / "e.toml").write_text(TWO_FLOWS + GRID + MUCH)
    ran = command("tune", tmp_path / "e.toml", "--precision", precision, "--out", tmp_path / "none")
    assert (ran.code, ran.err.count("\n")) == (2, 1), ran.err
    assert "precision" in ran.err
    assert "2%" in ran.err
    assert not (tmp_path / "none").exists()
