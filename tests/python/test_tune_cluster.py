"""The tuner on a real Dask scheduler with workers in processes of their own."""

from __future__ import annotations

import signal
from pathlib import Path

import pandas as pd
import pytest
from dask_processes import DaskProcesses
from tune_cases import FAIR, SEARCH, TWO_FLOWS

import fabricsim as fs
from fabricsim.sweep.executors import dask
from fabricsim.tune import Progress

pytestmark = pytest.mark.usefixtures("real")


def test_a_killed_worker_changes_nothing(tmp_path: Path) -> None:
    experiment = fs.Experiment.from_text(TWO_FLOWS + SEARCH + FAIR, tmp_path)
    with DaskProcesses(tmp_path) as cluster:
        victim, _ = cluster.worker(), cluster.worker()

        def on_progress(progress: Progress) -> None:
            if progress.done == 5:
                victim.send_signal(signal.SIGKILL)

        found = fs.tune(
            experiment, executor=dask(cluster.address), out=tmp_path / "out", on_progress=on_progress
        )
        assert victim.wait(10) == -signal.SIGKILL
    assert found.complete
    alone = fs.tune(experiment, jobs=1)
    pd.testing.assert_frame_equal(found.trials, alone.trials)


def test_a_scheduler_that_is_not_there(tmp_path: Path) -> None:
    experiment = fs.Experiment.from_text(TWO_FLOWS + SEARCH + FAIR, tmp_path)
    with pytest.raises(fs.InputError, match="there is no Dask scheduler there"):
        fs.tune(experiment, executor=dask("tcp://127.0.0.1:9"), out=tmp_path / "out")
    assert not (tmp_path / "out").exists()
