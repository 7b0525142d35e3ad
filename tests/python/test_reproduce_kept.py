"""Runs of a reproduction that are kept in a folder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import SMALL
from test_reproduce import EXPECTED, HOOKS

import fabricsim as fs
from fabricsim.reproduce import reproduce


@pytest.mark.usefixtures("fake")
def test_runs_that_are_kept_are_not_run_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "experiments" / "thesis"
    folder.mkdir(parents=True)
    (folder / "expected.toml").write_text(EXPECTED, encoding="utf-8")
    (folder / "quantities.py").write_text(HOOKS, encoding="utf-8")
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
