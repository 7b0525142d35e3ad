"""Memory: estimated before a run, limited, watched while it goes on; never an abort."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import SMALL, Command
from hypothesis import given
from hypothesis import strategies as st
from processes import ENDLESS, ended, started

import fabricsim as fs
from fabricsim.memory import Allowance, allowance, resident_bytes, shared

GIB = 2**30
# 400 switches of 400 ports with a queue for each pair of ports and lane: 5 GiB, for a graph of 80 thousand links.
LARGE = (
    SMALL.replace("[topology.mesh]\ndimensions = [3, 3]", "[topology.fat-tree]\narity = 200\nlevels = 2")
    + """
[switch]
queueing = "voq"
virtual_lanes = 16
"""
)


@pytest.mark.parametrize(
    ("text", "most"),
    [
        ("16GiB", 16 * GIB),
        ("16 GiB", 16 * GIB),
        ("1.5 kB", 1500),
        ("1KiB", 1024),
        ("7 B", 7),
        ("2 TB", 2 * 10**12),
    ],
)
def test_sizes(text: str, most: int) -> None:
    assert allowance(text) == Allowance(most, most)


@pytest.mark.parametrize("text", ["0", "0.0", "0 B", "0 GiB", 0, -1])
def test_no_memory_is_refused_with_one_reason(text: str | int) -> None:
    with pytest.raises(fs.InputError) as refused:
        allowance(text)
    assert str(refused.value) == f"memory {text}: must be more than 0, for example 16 GiB or 500 MB"


def test_more_memory_than_can_be_counted_is_refused() -> None:
    assert allowance(2**64 - 1).resident == 2**64 - 1
    for memory in ("16777216 TiB", "999999999999999999TiB", 2**64):
        with pytest.raises(fs.InputError, match=r"must be less than 16 EiB$"):
            allowance(memory)


@pytest.mark.parametrize(
    ("used", "resident", "expected"),
    [
        (3 * GIB, 2 * GIB, "takes 3.00 GiB, and 2.00 GiB are allowed"),
        (5 * 2**19, 1024, "takes 2.50 MiB, and 1.00 KiB are allowed"),
        (2**40, 7, "takes 1.00 TiB, and 7 B are allowed"),
    ],
)
def test_sizes_in_messages_have_a_fitting_unit(
    used: int, resident: int, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fabricsim.memory.resident_bytes", lambda: used)
    assert expected in (Allowance(None, resident).exceeded() or "")


@given(st.text(max_size=8))
def test_any_other_text_is_refused(text: str) -> None:
    refused = None
    try:
        found = allowance(text)
    except fs.InputError as error:
        refused = str(error)
    assert refused is None or refused.startswith("memory ")
    assert refused or found.resident


def test_processes_share_what_is_given() -> None:
    assert shared("8 GiB", 4) == Allowance(2 * GIB, 2 * GIB)
    assert shared("8 GiB", 1) == shared("8 GiB", None) == Allowance(8 * GIB, 8 * GIB)


@pytest.mark.usefixtures("real")
def test_processes_share_what_there_is_by_estimate_only() -> None:
    whole = shared(None, 1)
    part = shared(None, 4)
    assert whole == Allowance()
    assert part.resident is None
    assert part.estimate is not None
    assert part.estimate > GIB / 64


@pytest.mark.usefixtures("real")
class TestCommands:
    @pytest.fixture
    def folder(self, tmp_path: Path) -> Path:
        (tmp_path / "e.toml").write_text(LARGE)
        (tmp_path / "endless.toml").write_text(ENDLESS)
        return tmp_path

    def test_a_run_that_does_not_fit_is_refused_with_the_number(self, folder: Path) -> None:
        code, out, err = ended(started(folder, "run", "e.toml", "--memory", "1 GiB"))
        assert (code, out) == (2, "")
        assert "the run takes about 5." in err
        assert "1.0 GiB are allowed" in err
        assert "allow more with --memory" in err
        assert not (folder / "runs" / "e").exists()

    def test_an_address_space_that_is_limited_is_no_abort(self, folder: Path) -> None:
        most = 5 * GIB
        process = started(
            folder, "run", "e.toml", prepare=lambda: resource.setrlimit(resource.RLIMIT_AS, (most, most))
        )
        code, out, err = ended(process)
        assert (code, out) == (2, ""), err
        assert "GiB are available" in err

    def test_a_run_that_grows_beyond_its_limit_keeps_its_results(
        self, folder: Path, command: Command, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        begun = time.process_time()
        # Building takes milliseconds: after two seconds of processor time the simulation is running.
        monkeypatch.setattr(
            "fabricsim.memory.resident_bytes", lambda: 2 * GIB if time.process_time() - begun > 2 else GIB
        )
        ran = command("run", "endless.toml", "--memory", "1.5 GiB", "--out", "out")
        assert ran.code == 1
        assert "out of memory: the process takes 2.00 GiB, and 1.50 GiB are allowed" in ran.err
        assert "results: out" in ran.out
        result = fs.load(folder / "out")
        assert result.status == "interrupted"
        assert "out of memory" in result.manifest["stopped"]

    def test_points_of_a_sweep_that_do_not_fit_are_rows(self, folder: Path) -> None:
        process = started(
            folder, "sweep", "e.toml", "--vary", "seed=1,2", "--jobs", "2", "--memory", "1GiB", "--out", "out"
        )
        code, _, err = ended(process)
        assert code == 1
        assert "2 of 2 points failed" in err
        points = fs.load_sweep(folder / "out").points
        assert points["message"].str.contains("512.0 MiB are allowed").all()


@pytest.mark.usefixtures("real")
def test_the_estimate_is_told(command: Command, small: Path) -> None:
    experiment = fs.Experiment.from_file(small)
    few, many = (
        experiment.with_values({"topology.mesh.dimensions": [side, side]}).describe()["memory_bytes"]
        for side in (10, 100)
    )
    assert few < 50 * 2**20 < 70 * 2**20 < many
    assert "memory" in command("describe", small).out


# By the kernel's VmHWM: what getrusage() reports begins with the peak of the process that started this one.
MEASURE = """
import json, re, sys
from pathlib import Path
import fabricsim as fs
import numpy, pandas, pyarrow.parquet, fabricsim.results, fabricsim.run  # else they would count as the run's
from fabricsim.memory import resident_bytes
experiment = fs.Experiment.from_file(sys.argv[1]).with_overrides([tuple(pair) for pair in json.loads(sys.argv[2])])
estimate = experiment.describe()["memory_bytes"]
before = resident_bytes()
fs.run(experiment)
peak = int(re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1]) * 1024
print(estimate / (peak - before))
"""


@pytest.mark.usefixtures("real")
@pytest.mark.parametrize(
    "overrides",
    [
        [("topology.mesh.dimensions", "[100, 100]"), ("switch.virtual_lanes", "8")],
        [("topology.mesh.dimensions", "[40, 40]"), ("transport.mode", "'ordered'")],
        [
            ("topology", "{ single-switch = { hosts = 1000 } }"),
            ("switch", "{ queueing = 'voq', virtual_lanes = 8 }"),
            # Outputs of a large switch have queues only while packets wait for them, and the estimate counts all.
            ("traffic.0.load", "0.9"),
        ],
    ],
)
def test_the_estimate_is_what_a_run_takes(small: Path, overrides: list[tuple[str, str]]) -> None:
    given = [*overrides, ("run.duration", "2 us")]
    command = [sys.executable, "-c", MEASURE, str(small), json.dumps(given)]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    assert 0.5 < float(ran.stdout) < 2.0


def test_what_the_process_takes_is_known() -> None:
    used = resident_bytes()
    assert used is not None
    assert used > 10 * 2**20


@pytest.mark.usefixtures("real")
@pytest.mark.parametrize("limit", ["900 MiB", "1 GiB"])
def test_a_network_that_is_too_large_is_refused_before_it_is_built(limit: str) -> None:
    million = {"topology": {"torus": {"dimensions": [100, 100, 100]}}, "run.duration": "1 us"}
    before = resident_bytes() or 0
    pattern = r"topology: the run takes at least \d\.\d GiB of memory for its 4000000 links, and .* allowed: .*--memory"
    with pytest.raises(fs.InputError, match=pattern):
        fs.run(fs.Experiment.from_text(SMALL), set=million, memory=limit)
    assert (resident_bytes() or 0) - before < 100 * 2**20, "nothing was built"
