"""Runs of a reproduction that are kept in a folder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import SMALL

import fabricsim as fs
from fabricsim.reproduce import reproduce

EXPECTED = """
title = "A thesis"
source = "Author, 2016"
tolerances = { close = "ten digits are printed" }

[[figure]]
name = "table-2"

[figure.run.low]
experiment = "small.toml"
set = { "traffic.0.load" = 0.1 }

[figure.run.high]
experiment = "small.toml"
set = { "traffic.0.load" = 0.5 }

[[figure.quantity]]
quantity = "gain"
origin = "derived"
expected = 5
tolerance = 0.02
because = "close"
control = { "traffic.0.load" = 0.1 }
control_on = ["high"]
value = 'accepted_load(run="high") / accepted_load(run="low")'
"""


@pytest.mark.usefixtures("fake")
def test_runs_that_are_kept_are_not_run_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "experiments" / "thesis"
    folder.mkdir(parents=True)
    (folder / "expected.toml").write_text(EXPECTED, encoding="utf-8")
    file = folder / "small.toml"
    file.write_text(SMALL, encoding="utf-8")
    runs: list[fs.Experiment] = []
    stop_after = 1

    def counted(experiment: fs.Experiment, stop: Callable[[], bool]) -> fs.Result:
        runs.append(experiment)
        return fs.run(experiment, stop=stop)

    monkeypatch.setattr("fabricsim.reproduce.kept.run", counted)

    def once(**options: Any) -> list[dict[str, Any]]:
        outcome = reproduce(experiments=folder.parent, jobs=1, keep=tmp_path / "kept", **options)
        return [entry.as_dict() for entry in outcome.entries]

    once(stop=lambda: len(runs) >= stop_after)
    assert len(runs) == stop_after, "it was stopped"
    found = once()
    assert len(runs) == 2, "one run was lacking"
    assert found == once()
    assert len(runs) == 2, "all were kept"
    file.write_text(file.read_text(encoding="utf-8") + "\n# Another text.\n", encoding="utf-8")
    once()
    assert len(runs) == 4, "of another text nothing is kept"
    monkeypatch.setattr("fabricsim.reproduce.kept._build", lambda: "another")
    once()
    assert len(runs) == 6, "of another build nothing is kept"
