"""Sums of flows by source, destination and group of hosts as metrics of tuning."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from conftest import Command
from sums_cases import MERGED, write_mesh

import fabricsim as fs
from fabricsim.tune.metrics import Measured, Which, measure
from fabricsim.tune.metrics.registry import unit

pytestmark = pytest.mark.usefixtures("real")


@pytest.fixture
def mesh(tmp_path: Path) -> Path:
    return write_mesh(tmp_path)


@pytest.mark.parametrize("by", ["source", "destination", "group"])
def test_sums_are_metrics_of_tuning(mesh: Path, by: str) -> None:
    run = fs.run(mesh)
    measured = Measured(run, fs.Experiment.from_file(mesh))
    for name, row in run.by(by).iterrows():
        text = "->".join(name) if isinstance(name, tuple) else str(name)
        for column in ("accepted_gbps", "latency_mean_ns", "jain"):
            found = measure(measured, Which(f"{by}.{text}.{column}"))
            assert found == pytest.approx(row[column])
    assert unit(f"{by}.any.latency_p99_ns") == "ns"
    assert unit(f"{by}.any.accepted_gbps") == "Gb/s"


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        ("group.client->storage.accepted_gbps", "did you mean clients->storage?"),
        ("destination.H(2,2).accepted_gbps", "did you mean H(2,2).0?"),
        ("destination.H(2,2).0.acepted_gbps", "did you mean destination.H(2,2).0.accepted_gbps?"),
        ("destinaton.H(2,2).0.accepted_gbps", "did you mean destination.H(2,2).0.accepted_gbps?"),
    ],
)
def test_names_of_sums_that_are_none(mesh: Path, metric: str, expected: str) -> None:
    measured = Measured(fs.run(mesh), fs.Experiment.from_file(mesh))
    with pytest.raises(fs.InputError, match=re.escape(expected)):
        measure(measured, Which(metric))


def test_metrics_of_groups_say_what_is_missing(mesh: Path) -> None:
    set_to = {"measure.flows": "sources"}
    measured = Measured(fs.run(mesh, set=set_to), fs.Experiment.from_file(mesh, set_to))
    with pytest.raises(fs.InputError, match=f"group.clients->storage.jain: .*{MERGED}"):
        measure(measured, Which("group.clients->storage.jain"))
    measured = Measured(fs.run(mesh), fs.Experiment.from_file(mesh))
    with pytest.raises(fs.InputError, match="did you mean 'clients'"):
        measure(measured, Which("throughput", ("client->*",)))
    expected = fs.run(mesh).by("group").loc["clients"]["accepted_gbps"].sum()
    assert measure(measured, Which("throughput", ("clients->*",))) == pytest.approx(expected)


def test_a_study_of_what_a_group_gets(mesh: Path, command: Command) -> None:
    with mesh.open("a") as file:
        file.write("""
[tune]
trials = 2
seeds = [1]
fresh_seeds = 2
sampler = "grid"
[tune.parameters]
"switch.arbiter" = { choices = ["round-robin", "oldest-first"] }
[[tune.objectives]]
metric = "group.storage->others.latency_mean_ns"
goal = "minimize"
[[tune.report]]
metric = "destination.H(2,2).0.accepted_gbps"
""")
    ran = command("tune", mesh, "--jobs", "1", "--out", "t")
    assert ran.code == 0, ran.err
    assert "mean latency, group" in ran.out
    assert "latency_mean_ns" not in ran.out, "no key in the tables"
    trials = fs.load_tune("t").trials
    row = trials[trials["trial"] == 1].iloc[0]
    run = fs.run(mesh, set={"switch.arbiter": row["switch.arbiter"], "seed": 1})
    expected = run.by("group").loc[("storage", "others"), "latency_mean_ns"]
    assert row["group.storage->others.latency_mean_ns"] == pytest.approx(expected)
