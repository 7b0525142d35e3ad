"""A folder that a process works on is its own: every other process that wants to write it gets one message."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import SMALL
from processes import ENDLESS, ended, staging, started, wait_until

import fabricsim as fs
from fabricsim.lock import FolderLock, FolderTakenError
from fabricsim.store import in_free_folder

TUNE = """
[tune]
fresh_seeds = 0
trials = 100000
objectives = [{ metric = "throughput", goal = "maximize" }]

[tune.parameters]
"traffic.0.load" = { low = 0.05, high = 0.9 }
"""
WRITERS = {
    "run": ["run", "small.toml", "--force", "--out", "out"],
    "sweep": ["sweep", "small.toml", "--vary", "seed=7,8", "--jobs", "1", "--force", "--out", "out"],
    "tune": ["tune", "tune.toml", "--trials", "2", "--jobs", "1", "--force", "--out", "out"],
    "report": ["report", "out"],
    "plot": ["plot", "out"],
}
"""Commands that write the folder `out`."""
WORKERS = {
    "run": ["run", "e.toml", "--out", "out"],
    "sweep": ["sweep", "e.toml", "--vary", "seed=1,2", "--jobs", "1", "--out", "out"],
    "tune": ["tune", "tune.toml", "--jobs", "1", "--out", "out"],
}
"""Commands that work in it until they are stopped."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "small.toml").write_text(SMALL)
    (tmp_path / "e.toml").write_text(ENDLESS)
    (tmp_path / "tune.toml").write_text(SMALL + TUNE)
    return tmp_path


@pytest.mark.usefixtures("real")
class TestProcesses:
    @pytest.fixture(params=WORKERS)
    def worker(self, folder: Path, request: pytest.FixtureRequest) -> Iterator[subprocess.Popen[str]]:
        assert ended(started(folder, "run", "small.toml", "--out", "out"))[0] == 0
        process = started(folder, *WORKERS[request.param], "--force")
        if request.param == "run":
            wait_until(lambda: staging(folder / "out"))
        else:
            wait_until(lambda: f'"kind": "{request.param}"' in manifest(folder / "out"))
        yield process
        process.kill()
        process.communicate()

    def test_a_second_process_is_refused(self, folder: Path, worker: subprocess.Popen[str]) -> None:
        before = manifest(folder / "out")
        for name, command in WRITERS.items():
            code, out, err = ended(started(folder, *command))
            assert (code, out) == (2, ""), (name, err)
            assert f"out: in use by process {worker.pid} (fabricsim " in err, name
            assert err.strip().endswith("wait for it, stop it, or choose another folder with --out"), name
        assert manifest(folder / "out") == before

    def test_a_killed_process_leaves_no_lock(self, folder: Path, worker: subprocess.Popen[str]) -> None:
        worker.kill()
        worker.communicate()
        code, _, err = ended(started(folder, *WRITERS["sweep"]))
        assert code == 0, err
        assert len(fs.load_sweep(folder / "out").points) == 2


@pytest.mark.usefixtures("real")
def test_runs_that_begin_together_get_folders_of_their_own(folder: Path) -> None:
    processes = [started(folder, "run", "small.toml", "--set", f"seed={seed}") for seed in (1, 2, 3)]
    assert [ended(process)[0] for process in processes] == [0, 0, 0]
    found = [fs.load(path).summary["seed"] for path in sorted((folder / "runs").iterdir())]
    assert sorted(found) == [1, 2, 3]


@pytest.mark.usefixtures("real")
def test_a_page_may_be_written_elsewhere_while_a_sweep_works(folder: Path) -> None:
    sweep = started(folder, *WORKERS["sweep"])
    wait_until(lambda: '"kind": "sweep"' in manifest(folder / "out"))
    code, _, err = ended(started(folder, "report", "out", "--out", "page.html"))
    assert code == 0, err
    sweep.send_signal(signal.SIGINT)
    assert ended(sweep)[0] == 130


def test_a_lock_is_for_one(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with FolderLock(out):
        with pytest.raises(FolderTakenError, match=f"out: in use by process {os.getpid()} "):
            FolderLock(tmp_path / "." / "out").acquire()
        (tmp_path / "link").symlink_to(out)
        with pytest.raises(FolderTakenError, match="in use"):
            FolderLock(tmp_path / "link").acquire()
        with FolderLock(tmp_path / "other"):
            pass
    FolderLock(out).acquire().release()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link"]


def test_a_lock_whose_owner_is_not_known_is_still_a_lock(tmp_path: Path) -> None:
    with FolderLock(tmp_path / "out"):
        (tmp_path / ".out.lock").write_text("{")
        with pytest.raises(FolderTakenError, match="in use by another process"):
            FolderLock(tmp_path / "out").acquire()


def test_the_next_free_name(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()

    def work(folder: Path) -> str:
        with FolderLock(folder):
            return folder.name

    with FolderLock(tmp_path / "a-2"):
        assert in_free_folder(tmp_path, "a", work) == "a-3"


def manifest(folder: Path) -> str:
    try:
        return (folder / "manifest.json").read_text()
    except FileNotFoundError:
        return ""
