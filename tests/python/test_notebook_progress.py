"""Bars in notebooks: of runs, sweeps, studies and what-ifs, if the caller has no function for progress."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from tune_cases import FAIR, GRID, TWO_FLOWS

import fabricsim as fs
from fabricsim import shown
from fabricsim.shown import Bar, notebook_bar

pytestmark = pytest.mark.usefixtures("real")


@dataclass
class Cell:
    """The output of a cell: what is displayed in it, one element after the other."""

    elements: list[list[str]] = field(default_factory=list)
    """For each element its contents, the last is seen."""

    def HTML(self, text: str) -> str:  # the name of IPython's class
        return text

    def display(self, content: str, *, display_id: bool) -> Any:
        assert display_id
        contents = [content]
        self.elements.append(contents)
        return SimpleNamespace(update=contents.append)


@pytest.fixture
def cell(monkeypatch: pytest.MonkeyPatch) -> Cell:
    """A notebook's kernel in which all progress is shown at once."""
    found = Cell()
    ipython = ModuleType("IPython")
    vars(ipython).update(get_ipython=lambda: SimpleNamespace(kernel=object()), display=found)
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", found)
    monkeypatch.setattr(shown, "FIRST_S", 0.0)
    monkeypatch.setattr(shown, "EACH_S", 0.0)
    return found


def has_bar() -> bool:
    with notebook_bar("a") as bar:
        return bar is not None


def fractions(contents: list[str]) -> list[float]:
    return [float(value) for text in contents for value in re.findall(r'value="([\d.]+)"', text)]


def test_a_run_has_a_bar_that_is_gone_at_the_end(cell: Cell, small: Path) -> None:
    fs.run(small)
    (contents,) = cell.elements
    assert contents[-1] == ""
    assert 'aria-label="small"' in contents[0]
    assert fractions(contents) == sorted(fractions(contents))
    assert fractions(contents)[-1] == 1.0


def test_a_sweep_counts_its_points(cell: Cell, small: Path) -> None:
    fs.sweep(small, vary={"seed": [1, 2, 3]}, set={"run.duration": "5 us"}, jobs=1)
    points = [contents for contents in cell.elements if "points" in contents[0]]
    assert points == cell.elements  # the runs of the points have none
    assert re.findall(r"> (\d) of 3<", "".join(points[0])) == [*"0123"]
    assert points[0][-1] == ""


def test_runs_have_no_bars_where_the_caller_counts_them(cell: Cell, small: Path) -> None:
    seen: list[int] = []
    fs.sweep(small, vary={"seed": [1, 2]}, jobs=1, on_point=lambda done, total: seen.append(done))
    assert seen == [0, 1, 2]
    assert cell.elements == []
    fs.run(small)
    assert len(cell.elements) == 1


def test_a_what_if_counts_its_failures(cell: Cell, small: Path) -> None:
    fs.what_if(small, set={"run.duration": "5 us"}, jobs=1)
    (counts,) = [contents for contents in cell.elements if "failures" in contents[0]]
    assert "12 of 12" in counts[-2]
    assert counts[-1] == ""


def test_a_study_counts_its_trials(cell: Cell) -> None:
    fs.tune(fs.Experiment.from_text(TWO_FLOWS + GRID + FAIR), set={"tune.trials": 3}, jobs=1)
    (counts,) = [contents for contents in cell.elements if "trials" in contents[0]]
    assert fractions(counts)[-1] == 1.0


def test_the_caller_s_function_replaces_the_bar(cell: Cell, small: Path) -> None:
    seen: list[float] = []
    fs.run(small, on_progress=lambda progress: seen.append(progress.fraction))
    assert seen[-1] == 1.0
    assert cell.elements == []


def test_without_a_kernel_there_is_no_bar(cell: Cell, small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert has_bar()
    for shell in (None, SimpleNamespace(), SimpleNamespace(kernel=None)):
        monkeypatch.setattr(sys.modules["IPython"], "get_ipython", lambda shell=shell: shell)
        assert not has_bar()
        fs.run(small)
    monkeypatch.delitem(sys.modules, "IPython")
    assert not has_bar()
    assert cell.elements == []


def test_a_bar_appears_late_is_updated_seldom_and_escapes_names() -> None:
    cell, times = Cell(), iter([0.0, 0.4, 0.6, 0.6, 0.7, 0.9, 0.9])
    bar = Bar(cell, "<a>", lambda: next(times))
    for fraction in (0.1, 0.2, 0.3, 0.4):  # at 0.4, 0.6, 0.7 and 0.9 s
        bar.show(fraction, "b & c")
    (contents,) = cell.elements
    assert fractions(contents) == [0.2, 0.4]
    assert "&lt;a&gt;" in contents[0]
    assert "b &amp; c" in contents[0]
    bar.close()
    assert contents[-1] == ""


def test_a_bar_is_gone_if_the_work_fails(cell: Cell) -> None:
    def fail(done: int, total: int) -> None:
        with shown.counted("things", None) as count:
            assert count is not None
            count(done, total)
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail(1, 2)
    assert cell.elements[-1][-1] == ""
