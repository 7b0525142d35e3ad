"""Sweeps on a real Dask scheduler and workers, in separate processes, that are killed."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest
from conftest import SMALL, Command
from dask_processes import DaskProcesses, wait_for
from pool_work import die, die_once, square, until_stopped

import fabricsim as fs
from fabricsim.sweep import cluster as on_dask
from fabricsim.sweep.executors import dask, local

pytestmark = [pytest.mark.usefixtures("real")]
SEEDS = list(range(1, 41))


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[DaskProcesses]:
    with DaskProcesses(tmp_path) as processes:
        yield processes


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def test_a_killed_worker_loses_no_point(cluster: DaskProcesses, small: Path, tmp_path: Path) -> None:
    small.write_text(SMALL.replace('"100 us"', '"1 ms"'))
    victim, _ = cluster.worker(), cluster.worker()
    told: list[int] = []

    def on_point(done: int, total: int) -> None:
        told.append(done)
        if done == 6:
            victim.send_signal(signal.SIGKILL)

    result = fs.sweep(
        small,
        vary={"seed": SEEDS},
        executor=dask(cluster.address),
        out=tmp_path / "out",
        on_point=on_point,
    )
    assert victim.wait(10) == -signal.SIGKILL
    assert told == list(range(len(SEEDS) + 1))
    assert result.complete
    assert list(result.points["seed"]) == SEEDS
    assert set(result.points["status"]) == {"ok"}
    alone = fs.sweep(small, vary={"seed": SEEDS}, jobs=1)
    for found in (result, fs.load_sweep(tmp_path / "out")):
        pd.testing.assert_frame_equal(
            found.points.drop(columns="wall_s"), alone.points.drop(columns="wall_s"), check_dtype=False
        )


def test_a_task_that_kills_its_workers_is_given_up_and_the_others_are_done(cluster: DaskProcesses) -> None:
    for _ in range(5):
        cluster.worker()
    done: dict[int, int] = {}
    lost: list[int] = []
    assert dask(cluster.address).work_through(
        [1, 2, -9, 3], die, done.__setitem__, on_lost=lambda task, message: lost.append(task)
    )
    assert done == {1: 1, 2: 4, 3: 9}
    assert lost == [-9]


def test_tasks_are_made_from_results(cluster: DaskProcesses) -> None:
    cluster.worker()
    done: dict[int, int] = {}

    def tasks() -> Iterator[int]:
        for number in range(30):
            assert number - len(done) <= 4  # tasks at once
            yield number

    assert dask(cluster.address).work_through(tasks(), square, done.__setitem__)
    assert done == {n: n * n for n in range(30)}


def test_a_search_for_saturation_runs_the_same_points(cluster: DaskProcesses, small: Path) -> None:
    for _ in range(2):
        cluster.worker()
    vary, search = {"seed": [1, 2]}, fs.SaturationSearch(tolerance=0.1, points_per_round=2)
    found = fs.sweep(small, vary=vary, saturation=search, executor=dask(cluster.address))
    alone = fs.sweep(small, vary=vary, saturation=search, jobs=1)
    pd.testing.assert_frame_equal(found.points.drop(columns="wall_s"), alone.points.drop(columns="wall_s"))
    pd.testing.assert_frame_equal(found.saturation(), alone.saturation())
    assert found.saturation()["reached"].all()


def test_an_error_in_a_worker_is_raised_here(cluster: DaskProcesses) -> None:
    cluster.worker()
    with pytest.raises(fs.InputError, match="negative"):
        dask(cluster.address).work_through([1, -1, 2], square, lambda task, result: None)


def test_a_stop_reaches_the_task_at_work_and_no_other_begins(cluster: DaskProcesses, tmp_path: Path) -> None:
    cluster.worker()
    done: list[str] = []
    marks = [str(tmp_path / f"mark-{n}") for n in range(8)]
    complete = dask(cluster.address).work_through(
        marks,
        until_stopped,
        lambda task, result: done.append(task),
        stop=lambda: any(Path(mark).exists() for mark in marks),
    )
    assert not complete
    assert done == [mark for mark in marks if Path(mark).exists()]
    assert len(done) == 1


def test_ctrl_c_keeps_the_points(cluster: DaskProcesses, small: Path, tmp_path: Path) -> None:
    small.write_text(SMALL.replace('"100 us"', '"1 ms"'))
    cluster.worker()
    seeds = ",".join(map(str, range(1000)))
    arguments = ["sweep", str(small), "--dask", cluster.address, "--vary", f"seed={seeds}", "--out", "out"]
    process = subprocess.Popen(
        [sys.executable, "-m", "fabricsim", *arguments],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    journal = tmp_path / "out/sweep.jsonl"
    try:
        wait_for(lambda: journal.exists() and len(journal.read_text().splitlines()) >= 3)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 130, err
    assert b"Traceback" not in err
    assert b"points are done; give --out out to go on" in err
    kept = fs.load_sweep(tmp_path / "out")
    assert 3 <= len(kept.points) < 1000
    assert set(kept.points["status"]) == {"ok"}


class SlowStart:
    """Stands for `distributed` on a machine where the event loop does not start at once."""

    def __init__(self, failures: int) -> None:
        self.failures = failures
        self.comm = SimpleNamespace(get_address_host=str)

    def Client(self, address: str, **settings: object) -> str:
        if self.failures:
            self.failures -= 1
            raise AssertionError
        return address


def test_an_event_loop_that_starts_late_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(on_dask, "import_distributed", lambda: SlowStart(on_dask.STARTS - 1))
    assert on_dask.connect("tcp://host:1") == "tcp://host:1"
    monkeypatch.setattr(on_dask, "import_distributed", lambda: SlowStart(on_dask.STARTS))
    with pytest.raises(fs.InputError, match="overloaded"):
        on_dask.connect("tcp://host:1")


def test_no_scheduler_is_one_clear_message(command: Command, small: Path, tmp_path: Path) -> None:
    begun = time.monotonic()
    ran = command("sweep", small, "--dask", f"tcp://127.0.0.1:{free_port()}", "--vary", "seed=1,2")
    assert ran.code == 2
    assert "there is no Dask scheduler there" in ran.err
    assert len(ran.err.strip().splitlines()) == 1
    assert time.monotonic() - begun < 15
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize("address", ["nonsense://x:1", "127.0.0.1", "", "tcp://no-such-host.invalid:8786"])
def test_an_address_that_is_none_is_one_clear_message(
    command: Command, small: Path, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(on_dask, "CONNECT_S", 1.0)
    ran = command("sweep", small, "--dask", address, "--vary", "seed=1,2")
    assert ran.code == 2, ran.err
    assert "there is no Dask scheduler there" in ran.err
    assert len(ran.err.strip().splitlines()) == 1


def test_an_address_that_is_none_leaves_no_client(monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[str] = []
    monkeypatch.setattr(on_dask, "_client", lambda _, address: begun.append(address))
    with pytest.raises(fs.InputError, match="missing port number"):
        on_dask.connect("nowhere")
    assert not begun


def test_a_scheduler_that_goes_is_a_clear_error_and_points_are_kept(
    cluster: DaskProcesses, small: Path, tmp_path: Path
) -> None:
    cluster.worker()
    small.write_text(SMALL.replace('"100 us"', '"1 ms"'))

    def on_point(done: int, total: int) -> None:
        if done == 3:
            cluster.end_scheduler()

    with pytest.raises(fs.FabricsimError, match="the connection to the Dask scheduler was lost"):
        fs.sweep(
            small,
            vary={"seed": SEEDS},
            executor=dask(cluster.address),
            out=tmp_path / "out",
            on_point=on_point,
        )
    assert 3 <= len(fs.load_sweep(tmp_path / "out").points) < len(SEEDS)


def other_version(folder: Path) -> Path:
    """A place on the path where fabricsim says that it is version 0.0.1."""
    place = folder / "other/fabricsim-0.0.1.dist-info"
    place.mkdir(parents=True)
    (place / "METADATA").write_text("Metadata-Version: 2.1\nName: fabricsim\nVersion: 0.0.1\n")
    return place.parent


def test_a_worker_of_another_version_is_refused(
    cluster: DaskProcesses, command: Command, small: Path, tmp_path: Path
) -> None:
    cluster.worker()
    cluster.worker(first_on_path=other_version(tmp_path))
    ran = command("sweep", small, "--dask", cluster.address, "--vary", "seed=1,2")
    assert ran.code == 2
    assert "has another fabricsim (0.0.1) than this machine" in ran.err
    assert len(ran.err.strip().splitlines()) == 1


def test_a_worker_of_another_version_that_comes_later_is_refused(
    cluster: DaskProcesses, tmp_path: Path
) -> None:
    executor = dask(cluster.address)
    late = threading.Timer(1.0, cluster.worker, kwargs={"first_on_path": other_version(tmp_path)})
    late.start()
    try:
        with pytest.raises(fs.InputError, match="another fabricsim"):
            executor.work_through(range(8), square, lambda task, result: None)
    finally:
        late.join()


def test_waiting_for_a_worker_is_told(cluster: DaskProcesses) -> None:
    said: list[str] = []
    late = threading.Timer(1.0, cluster.worker)
    late.start()
    done: dict[int, int] = {}
    assert dask(cluster.address, say=said.append).work_through(range(3), square, done.__setitem__)
    late.join()
    assert done == {0: 0, 1: 1, 2: 4}
    assert said == ["the Dask scheduler has no worker: waiting for one"]


@pytest.mark.parametrize("jobs", [2, 3])
def test_a_killed_local_process_loses_nothing(jobs: int) -> None:
    done: Counter[int] = Counter()
    lost: list[int] = []
    tasks = [*range(1, 9), -9, *range(9, 17)]
    assert local(jobs).work_through(
        tasks, die, lambda task, result: done.update([task]), on_lost=lambda task, message: lost.append(task)
    )
    assert done == Counter(range(1, 17))
    assert lost == [-9]


def test_a_killed_local_process_without_on_lost_is_an_error() -> None:
    with pytest.raises(fs.FabricsimError, match="killed repeatedly"):
        local(2).work_through([1, -9, 2, 3], die, lambda task, result: None)


def test_a_task_whose_process_is_killed_once_is_done(tmp_path: Path) -> None:
    done: dict[str, str] = {}
    marks = [str(tmp_path / f"mark-{n}") for n in range(6)]
    assert local(2).work_through(marks, die_once, done.__setitem__)
    assert done == dict.fromkeys(marks, "done")


SBATCH = """#!/bin/sh
cp "$1" "$FAKE_SLURM/script"
sh "$FAKE_SLURM/script" >"$FAKE_SLURM/log" 2>&1 &
echo $! >"$FAKE_SLURM/pid"
echo 4711
"""
SCANCEL = """#!/bin/sh
echo "$@" >>"$FAKE_SLURM/cancelled"
kill "$(cat "$FAKE_SLURM/pid")" 2>/dev/null || true
"""


@pytest.fixture
def slurm_programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Programs in the place of Slurm's, which run the job on this machine."""
    place = tmp_path / "slurm"
    place.mkdir()
    for name, text in (("sbatch", SBATCH), ("scancel", SCANCEL)):
        (place / name).write_text(text)
        (place / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{place}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("FAKE_SLURM", str(place))
    return place


def test_slurm_jobs_are_submitted_work_and_are_cancelled(
    command: Command, small: Path, slurm_programs: Path, tmp_path: Path
) -> None:
    options = ["partition=batch", "cores=2", "memory=2 GiB", "walltime=00:10:00", "directive=--qos=low"]
    given = [part for option in options for part in ("--slurm-option", option)]
    ran = command("sweep", small, "--vary", "seed=1,2,3,4", "--slurm", *given, "--out", "out")
    assert ran.code == 0, (ran.err, (slurm_programs / "log").read_text())
    points = fs.load_sweep(tmp_path / "out").points
    assert list(points["seed"]) == [1, 2, 3, 4]
    assert set(points["status"]) == {"ok"}
    assert "1 Slurm job submitted" in ran.err
    script = (slurm_programs / "script").read_text()
    for line in ("-p batch", "--cpus-per-task=2", "--mem=2G", "-t 00:10:00", "--qos=low"):
        assert f"#SBATCH {line}\n" in script
    assert "4711" in (slurm_programs / "cancelled").read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--slurm"], "there is no program sbatch here"),
        (["--slurm-option", "partitoin=x"], "did you mean partition?"),
        (["--slurm-option", "cores=0"], "cores=0 is not allowed"),
        (["--slurm-option", "walltime=1h"], "for example walltime=01:00:00"),
        (["--slurm-option", "cores"], "is not an assignment"),
        (["--slurm", "--jobs", "2"], "exclude each other"),
        (["--dask", "tcp://localhost:1", "--slurm"], "exclude each other"),
    ],
)
def test_bad_options_are_one_clear_message(
    command: Command, small: Path, arguments: list[str], message: str
) -> None:
    ran = command("sweep", small, "--vary", "seed=1,2", *arguments)
    assert ran.code == 2
    assert message in ran.err
    assert len(ran.err.strip().splitlines()) == 1


@pytest.mark.parametrize(
    ("module", "arguments", "name"),
    [
        ("distributed", ["--dask", "tcp://127.0.0.1:1"], "Dask"),
        ("dask_jobqueue", ["--slurm"], "dask-jobqueue"),
    ],
)
def test_what_is_not_installed_is_told(
    command: Command,
    small: Path,
    monkeypatch: pytest.MonkeyPatch,
    module: str,
    arguments: list[str],
    name: str,
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    ran = command("sweep", small, "--vary", "seed=1,2", *arguments)
    assert ran.code == 2
    assert f"{name} is not installed" in ran.err
    assert "pip install 'fabricsim[cluster]'" in ran.err
