"""Cores that runs use where their experiment does not say how many threads they have."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from conftest import SMALL, Command
from pool_work import cores_here

import fabricsim as fs
from fabricsim import cores
from fabricsim.scaling import Scaling
from fabricsim.sweep.pool import work_through


@pytest.fixture
def four(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cores, "allowed", lambda: 4)


def test_a_process_may_use_the_cores_that_it_may_run_on(monkeypatch: pytest.MonkeyPatch) -> None:
    assert cores.available() == cores.allowed() >= 1
    if hasattr(os, "sched_getaffinity"):
        monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0, 2, 5})
        assert cores.available() == 3
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert cores.available() == 1
    monkeypatch.setattr(os, "cpu_count", lambda: 1000)
    assert cores.available() == cores.MOST


@pytest.mark.usefixtures("four")
def test_a_limit_holds_until_its_end() -> None:
    with cores.limited(2):
        assert cores.available() == 2
        with cores.limited(None):
            assert cores.available() == 2
        with cores.limited(1):
            assert cores.available() == 1
        assert cores.available() == 2
    assert cores.available() == 4


@pytest.mark.usefixtures("four")
@pytest.mark.parametrize(
    ("tasks", "jobs", "expected"),
    [(1, None, [4]), (2, None, [2, 2]), (3, 4, [1, 1, 1]), (3, 1, [1, 1, 1]), (1, 3, [3]), (5, 2, [1] * 5)],
)
def test_runs_beside_each_other_share_the_cores(tasks: int, jobs: int | None, expected: list[int]) -> None:
    found: dict[int, int] = {}
    assert work_through(list(range(tasks)), cores_here, found.__setitem__, jobs=jobs)
    assert [found[task] for task in range(tasks)] == expected
    assert cores.available() == 4


@pytest.mark.usefixtures("real")
def test_a_run_has_the_cores_of_its_process_and_results_do_not_depend_on_them(
    small: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Links of 50 us make windows long enough for threads also in this small network."""
    small.write_text(SMALL + '[links.all]\nlatency = "500 us"\nbuffer = "1 MiB"')
    alone = fs.run(small, set={"run.threads": 1}).manifest
    monkeypatch.setattr(cores, "allowed", lambda: 2)
    found = fs.run(small).manifest
    assert (found["scaling"]["threads"], alone["scaling"]["threads"]) == (2, 1)
    assert found["fingerprint"] == alone["fingerprint"]


@pytest.mark.usefixtures("real")
def test_a_run_says_what_its_threads_did(small: Path, command: Command) -> None:
    ran = command("run", small, "--threads", "2", "--out", small.parent / "out")
    assert "1 of 2: the network is not divided, since windows would hold too few events" in ran.out
    assert "threads" not in command("run", small, "--threads", "1", "--out", small.parent / "one").out


def scaling(**fields: object) -> Scaling:
    usual = {"asked": 2, "partitions": 2, "threads": 2, "lookahead_ns": 500.0, "worth": 100}
    return Scaling.of({"scaling": usual | {"windows": 10, "events": 40_000, "busiest": 0.53} | fields})


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (
            scaling(shared=1.0),
            "2: windows of at most 500 ns hold 4,000 events; the busiest thread has 53% of them",
        ),
        (scaling(shared=0.5), "2 (for 50% of all events): windows of at most 500 ns hold 4,000 events"),
        (
            scaling(events=400, shared=0.0),
            "1 of 2: windows of at most 500 ns hold 40 events, and 2 threads take part from 200 on",
        ),
        (
            scaling(shared=0.0),
            "1 of 2: windows of at most 500 ns hold 4,000 events, but the run is short, or stops often",
        ),
        (scaling(broadcasts=True), "1 of 2: one thread does all where switches broadcast their loads"),
        (scaling(lookahead_ns=None, shared=1.0), "2: windows of any length hold 4,000 events"),
    ],
)
def test_the_sentence_on_threads_gives_the_reason(found: Scaling, expected: str) -> None:
    assert (found.sentence() or "").startswith(expected)


def test_runs_of_one_thread_and_older_ones_say_nothing() -> None:
    assert Scaling.of({}).sentence() is None
    assert scaling(asked=1).sentence() is None
    assert scaling(shared=0.0, worth=2000).sentence() is None, "cores that no key gives"
