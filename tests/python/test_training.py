"""Sequences and training steps: from Python's classes to frames, tables and bounds."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from conftest import Command
from rich.console import Console

import fabricsim as fs
from fabricsim import spec
from fabricsim.cli.tables import print_result
from fabricsim.report.page import html

pytestmark = pytest.mark.usefixtures("real")

LINKS = spec.Links(all=spec.LinkParameters(rate="8 Gb/s", latency="10 ns", buffer="256 KiB"))
RING_NS = 2 * 7 * (500 + 100)
"""An all-reduce of 4000 B among 8 ranks: 1 ns a byte, 100 ns a message."""


def experiment(program: spec.Program) -> fs.Experiment:
    return fs.Experiment.build(
        topology=spec.SingleSwitch(8),
        links=LINKS,
        switch=spec.Switch(router_delay="80 ns"),
        host=spec.Host(mtu="64 KiB"),
        jobs=spec.Job(program, name="step", iterations=2),
        run=spec.Run(duration="10 ms"),
    )


def sequence() -> fs.Experiment:
    reduce = spec.Phase(compute="3 us", operation=spec.AllReduce("4000 B", algorithm="ring"))
    return experiment(spec.PhaseSequence(phases=[reduce]))


def training(buckets: int = 1) -> fs.Experiment:
    step = spec.Training(
        parameters=8000, layers=8, hidden=4, tokens=10, flops=1e9, bytes_per_value=1, buckets=buckets
    )
    return experiment(step)


def shown(result: fs.Result) -> str:
    text = io.StringIO()
    print_result(result, Console(width=200, file=text))
    return text.getvalue()


def test_a_sequence_says_what_is_exposed() -> None:
    run = fs.run(sequence())
    assert list(run.jobs["time_ns"]) == [3000.0 + RING_NS] * 2
    assert list(run.jobs["compute_ns"]) == [3000.0] * 2
    assert list(run.jobs["exposed_ns"]) == [RING_NS] * 2
    assert run.manifest["summary"]["jobs"][0]["exposed_ns"] == RING_NS
    assert "exposed" in shown(run)
    assert "exposed communication" in html(run)


def test_jobs_that_do_not_compute_have_no_column_for_it() -> None:
    run = fs.run(experiment(spec.Barrier()))
    assert "exposed" not in shown(run)
    assert list(run.jobs["exposed_ns"]) == list(run.jobs["time_ns"])


def test_a_training_step_is_a_sequence_that_can_be_copied() -> None:
    text = training(buckets=4).describe()["sequences"]
    copied = sequence().written()
    del copied["jobs"]
    other = fs.Experiment.from_text(f"{_toml(copied)}\n{text}")
    assert fs.run(other).manifest["fingerprint"] == fs.run(training(buckets=4)).manifest["fingerprint"]


def test_bounds_of_jobs_are_reached_without_contention() -> None:
    for buckets in (1, 2, 4, 8):
        run = fs.run(training(buckets))
        least = fs.job_bounds(training(buckets))
        assert list(least["job"]) == ["step"]
        assert least.loc[0, "iteration_ns"] == run.jobs["time_ns"].mean()
        assert least.loc[0, "exposed_ns"] == pytest.approx(run.jobs["exposed_ns"].mean())
        assert least.loc[0, "link_ns"] == 2 * 7 * 1000


def test_commands_print_sequences_and_bounds(command: Command, tmp_path: Path) -> None:
    file = tmp_path / "step.toml"
    file.write_text(_toml(training(buckets=2).written()), encoding="utf-8")
    described = command("describe", str(file))
    assert "last_backward" in described.out
    assert "least time of an iteration" in command("bound", str(file)).out
    found = json.loads(command("bound", str(file), "--json").out)
    assert [job["job"] for job in found["jobs"]] == ["step"]


def test_bounds_need_jobs_that_end() -> None:
    with pytest.raises(fs.InputError, match="more than 4,000,000 messages"):
        fs.job_bounds(sequence(), set={"jobs.0.iterations": 1_000_000})
    traffic = spec.Traffic("uniform", message="64 B", load=0.1)
    without = fs.Experiment.build(
        topology=spec.SingleSwitch(8), traffic=traffic, run=spec.Run(duration="1 us")
    )
    with pytest.raises(fs.InputError, match="there is none"):
        fs.job_bounds(without)


def _toml(tree: object) -> str:
    import tomli_w  # noqa: PLC0415 - of the package, for tests alone

    assert isinstance(tree, dict)
    return tomli_w.dumps(tree)


EXCHANGE = """
[topology.single-switch]
hosts = 4

[[jobs]]
name = "stencil"
hosts = ["*"]
program = { neighbour-exchange = { grid = [4], message = "1 KiB", compute = "1000000 s" } }

[run]
duration = "1 s"
"""


@pytest.mark.parametrize(
    ("values", "days"),
    [
        ({"jobs.0.iterations": 18}, 208),
        ({"jobs.0.iterations": 19}, None),
        ({"jobs.0.program.neighbour-exchange.compute": "9000000 s", "jobs.0.iterations": 3}, None),
        (
            {
                "links.all.rate": "1 Mb/s",
                "jobs.0.program": {"all-reduce": {"algorithm": "ring", "message": "2 TiB"}},
            },
            None,
        ),
    ],
)
def test_bounds_beyond_the_range_of_times_are_refused(values: dict[str, Any], days: int | None) -> None:
    """Before: times that were too short, and no exposed communication."""
    experiment = fs.Experiment.from_text(EXCHANGE)
    if days is not None:
        assert int(fs.job_bounds(experiment, set=values)["time_ns"].iloc[0] / 86_400e9) == days
        return
    with pytest.raises(fs.InputError, match=r"least time of .* is beyond 18,446,744 s \(213 days\)"):
        fs.job_bounds(experiment, set=values)
