"""Checkpoints: a run whose process is killed, again and again, ends with the bytes of one that was not."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from conftest import SMALL, Command

import fabricsim as fs
from fabricsim import checkpoint
from fabricsim.checkpoint import Checkpoint, Head, folder_of, path_of
from fabricsim.errors import InputError, StoreError
from fabricsim.lock import FolderTakenError

HEAD = Head("1 (abc)", "0" * 64, "x.toml", 5_000_000, 1_000_000, 2, 1.5)
TRAFFIC = """
[[traffic]]
name = "get"
pattern = "uniform"
injection = "window"
window = 2
message = "256 B"
response = { message = "4 KiB" }

[[jobs]]
name = "job"
ranks = 4
program = { barrier = {} }
iterations = 200

[congestion_control]
algorithm = "infiniband"
"""
EXPERIMENT = SMALL.replace("[run]", f"{TRAFFIC}\n[run]").replace("load = 0.3", "load = 0.7")
# A checkpoint calls fsync twice: before the file has its name, and after.
CHILD = """
import os, signal, sys
import fabricsim as fs

left, fsync = int(sys.argv[1]), os.fsync

def killed(number):
    global left
    left -= 1
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    fsync(number)

os.fsync = killed
resume = sys.argv[4] if os.path.exists(sys.argv[4]) else None
fs.run(sys.argv[2], out=sys.argv[3], checkpoint="9 us", resume=resume)
"""


def _files(folder: Path) -> dict[str, bytes]:
    """The files of a run folder by name, without the wall time."""
    found = {path.name: path.read_bytes() for path in folder.iterdir()}
    manifest = json.loads(found["manifest.json"])
    assert manifest.pop("wall_s") > 0
    found["manifest.json"] = json.dumps(manifest).encode()
    sums = found["SHA256SUMS"].splitlines()
    found["SHA256SUMS"] = b"\n".join(line for line in sums if b"manifest.json" not in line)
    return found


@pytest.fixture
def experiment(tmp_path: Path) -> Path:
    file = tmp_path / "x.toml"
    file.write_text(EXPERIMENT, encoding="utf-8")
    return file


@pytest.fixture
def written(tmp_path: Path) -> Path:
    """A checkpoint of any state."""
    path = tmp_path / "run.checkpoint"
    Checkpoint(HEAD, b"some state").write(path)
    return path


@pytest.fixture
def stopped(real: None, experiment: Path, tmp_path: Path) -> Path:
    """The checkpoint of a run of 100 ms that was interrupted after the first one."""
    folder = tmp_path / "stopped"
    path = path_of(folder)
    run = fs.run(experiment, out=folder, checkpoint="9 us", stop=path.exists, set={"run.duration": "100 ms"})
    assert run.status == "interrupted"
    return path


@pytest.mark.skipif(os.name != "posix", reason="signals")
@pytest.mark.parametrize("every", [1, 2, 7])
def test_a_run_that_is_killed_again_and_again(
    real: None, experiment: Path, tmp_path: Path, every: int
) -> None:
    alone, folder = tmp_path / "alone", tmp_path / "killed"
    path = path_of(folder)
    fs.run(experiment, out=alone)
    times: list[int] = []
    killed, calls = 0, every
    while True:
        command = [sys.executable, "-c", CHILD, str(calls), str(experiment), str(folder), str(path)]
        ran = subprocess.run(command, capture_output=True, text=True, check=False)
        if ran.returncode == 0:
            break
        assert ran.returncode == -signal.SIGKILL, ran.stderr
        killed += 1
        assert killed < 30, times
        if path.exists():
            times.append(Checkpoint.read(path).head.time_ps)
        else:
            assert every == 1  # killed before the first one had its name
            calls = 2
    assert killed >= 2
    assert times == sorted(times)
    assert all(time % 9_000_000 == 0 for time in times)
    assert times[-1] > times[0] or every == 7
    assert not path.exists()
    assert _files(folder) == _files(alone)


def test_every_changed_byte_and_every_length_is_refused(written: Path) -> None:
    whole = written.read_bytes()
    assert Checkpoint.read(written) == Checkpoint(HEAD, b"some state")
    for at in range(len(whole)):
        written.write_bytes(whole[:at])
        with pytest.raises((InputError, StoreError), match=r"run\.checkpoint: (this is not|truncated)"):
            Checkpoint.read(written)
        for change in (0x01, 0x80, 0xFF):
            written.write_bytes(whole[:at] + bytes([whole[at] ^ change]) + whole[at + 1 :])
            with pytest.raises((InputError, StoreError), match=r"run\.checkpoint: "):
                Checkpoint.read(written)
    written.write_bytes(whole + b"x")
    with pytest.raises(StoreError, match="truncated"):
        Checkpoint.read(written)


def test_a_checkpoint_replaces_the_one_before(written: Path) -> None:
    Checkpoint(replace(HEAD, time_ps=6_000_000), b"later").write(written)
    assert Checkpoint.read(written).state == b"later"
    assert [path.name for path in written.parent.iterdir()] == [written.name]
    with pytest.raises(StoreError, match="cannot be written: No such file"):
        Checkpoint(HEAD, b"").write(written.parent / "nowhere" / "run.checkpoint")


def test_checkpoints_are_at_multiples_of_the_interval(
    fake: None, experiment: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[tuple[int, bytes]] = []

    def keep(self: Checkpoint, path: Path) -> None:
        assert path == tmp_path / "run.checkpoint"
        written.append((self.head.time_ps, self.state))

    monkeypatch.setattr(Checkpoint, "write", keep)
    fs.run(experiment, out=tmp_path / "run", checkpoint="7 us")
    assert written == [(time, str(time).encode()) for time in (7_000_000, 14_000_000, 21_000_000, 28_000_000)]


def test_names_of_files_and_folders() -> None:
    assert path_of("runs/a.b") == Path("runs/a.b.checkpoint")
    assert folder_of("runs/a.b.checkpoint") == Path("runs/a.b")
    for name in ("runs/a", ".checkpoint"):
        with pytest.raises(InputError, match="is named FOLDER"):
            folder_of(name)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"checkpoint": "9 us"}, "give `out`"),
        ({"checkpoint": "0 s", "out": "run"}, "checkpoint = 0 s: must be more than 0 s"),
        ({"checkpoint": "9 parsecs", "out": "run"}, 'checkpoint: "9 parsecs" is not a time'),
        ({"resume": "none.checkpoint"}, "none.checkpoint: no checkpoint can be read there: No such file"),
        ({"resume": "x.toml", "out": "run"}, "x.toml: this is not a checkpoint"),
    ],
)
def test_wrong_arguments(
    real: None,
    experiment: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: dict[str, str],
    message: str,
) -> None:
    monkeypatch.chdir(experiment.parent)
    with pytest.raises(InputError, match=message):
        fs.run(experiment, **arguments)  # type: ignore[arg-type]
    assert sorted(path.name for path in experiment.parent.iterdir()) == ["x.toml"]


@pytest.mark.parametrize(
    ("settings", "feature"),
    [
        ({"capture.links": ["*"]}, "a capture (`capture`)"),
        (
            {
                "subnet_manager": {},
                "routing.algorithm": "opensm",
                "routing.engine": "minhop",
                "run.allow_deadlock": True,
            },
            "a subnet manager (`subnet_manager`)",
        ),
    ],
)
def test_features_without_checkpoints_are_refused_before_the_run(
    real: None, experiment: Path, tmp_path: Path, settings: dict[str, object], feature: str
) -> None:
    message = f"a run with {feature} cannot be written to a checkpoint"
    with pytest.raises(InputError) as raised:
        fs.run(experiment, out=tmp_path / "run", checkpoint="9 us", set=settings)
    assert message in str(raised.value)
    assert not path_of(tmp_path / "run").exists()


def _damage(path: Path, change: Callable[[Checkpoint], Checkpoint]) -> None:
    change(Checkpoint.read(path)).write(path)


def test_refusals(stopped: Path, experiment: Path, command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = ["run", str(experiment), "--force", "--resume", str(stopped)]
    long = ["--set", "run.duration=100 ms"]
    ran = command(*arguments)
    assert ran.code == 2
    assert "stopped.checkpoint: a checkpoint of another experiment than" in ran.err
    ran = command(*arguments, *long, "--seeds", "3")
    assert "checkpoints are those of one run" in ran.err
    good = stopped.read_bytes()
    _damage(stopped, lambda found: replace(found, state=found.state[:-1]))
    ran = command(*arguments, *long)
    assert ran.code == 1
    assert "stopped.checkpoint: damaged at byte" in ran.err
    stopped.write_bytes(good[:-1])
    ran = command(*arguments, *long)
    assert (ran.code, "stopped.checkpoint: truncated" in ran.err) == (1, True)
    stopped.write_bytes(good)
    monkeypatch.setattr(checkpoint, "engine", lambda: "9.9 (fedcba)")
    ran = command(*arguments, *long)
    assert ran.code == 2
    assert "this is 9.9 (fedcba): a checkpoint is read by the build that wrote it only" in ran.err


def test_a_file_that_the_experiment_names_is_part_of_it(real: None, tmp_path: Path) -> None:
    network, file = tmp_path / "net.toml", tmp_path / "x.toml"
    text = fs.Experiment.from_text(SMALL).export("toml")
    network.write_text(text, encoding="utf-8")
    of_file = SMALL.replace("[topology.mesh]\ndimensions = [3, 3]", '[topology.file]\npath = "net.toml"')
    file.write_text(of_file.replace("100 us", "100 ms") + "allow_deadlock = true\n", encoding="utf-8")
    path = path_of(tmp_path / "run")
    fs.run(file, out=tmp_path / "run", checkpoint="9 us", stop=path.exists)
    network.write_text(f"# the same network\n{text}", encoding="utf-8")
    with pytest.raises(InputError, match="a checkpoint of another experiment than"):
        fs.run(file, out=tmp_path / "other", resume=path)


def test_an_earlier_checkpoint_is_not_replaced(stopped: Path, experiment: Path) -> None:
    folder = folder_of(stopped)
    other = folder.with_name("other")
    stopped.rename(path_of(other))
    with pytest.raises(FolderTakenError, match=r"other\.checkpoint: a checkpoint of an earlier run is there"):
        fs.run(experiment, out=other, checkpoint="9 us")
    fs.run(experiment, out=other, checkpoint="9 us", force=True)
    assert not path_of(other).exists()


def test_a_run_goes_on_if_its_state_cannot_be_written(
    real: None, experiment: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = fs.run(experiment, out=tmp_path / "whole")

    def write(self: Checkpoint, path: Path) -> None:
        raise StoreError(f"{path}: the checkpoint cannot be written: No space left on device")

    monkeypatch.setattr(Checkpoint, "write", write)
    with pytest.warns(RuntimeWarning, match="No space left on device; the run goes on"):
        found = fs.run(experiment, out=tmp_path / "run", checkpoint="9 us")
    assert found.summary["fingerprint"] == expected.summary["fingerprint"]
    assert not path_of(tmp_path / "run").exists()
