"""Names of groups, hosts and traffic entries in metrics: as ends of repetitions, and refused before anything runs."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from conftest import Command
from sums_cases import LOAD, write_mesh

import fabricsim as fs
from fabricsim.metric_names import MetricNames
from fabricsim.results import scalars
from fabricsim.spec.values import toml_value
from fabricsim.statistics import estimate
from fabricsim.sums import key_text, sum_name

pytestmark = pytest.mark.usefixtures("real")

TUNE = """
[tune]
trials = 2
seeds = [1]
[tune.parameters]
"switch.arbiter" = { choices = ["round-robin", "oldest-first"] }
[[tune.scenarios]]
name = "as it is"
[[tune.scenarios]]
name = "regrouped"
set = { groups = { clients = ["H(0,*"], disks = ["H(1,*"] } }
[[tune.objectives]]
goal = "maximize"
"""
WRONG = {
    "group.client->storage.jain": "no pair of groups 'client->storage'; did you mean clients->storage?",
    "destination.H(2,2).jain": "no host 'H(2,2)'; did you mean H(2,2).0?",
    "traffic.incats.latency_ns.mean": "no entry of traffic 'incats'; did you mean incast?",
    "jobs.fft.iteration_ns.mean": "no job 'fft'",
}


@pytest.fixture
def mesh(tmp_path: Path) -> Path:
    return write_mesh(tmp_path)


@pytest.fixture
def no_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fails where a sweep would run its points, or a study its trials."""

    def begin(*_: Any, **__: Any) -> None:
        raise AssertionError("something runs")

    monkeypatch.setattr(import_module("fabricsim.sweep.points"), "_run", begin)
    monkeypatch.setattr(import_module("fabricsim.tune.tuner"), "_opened", begin)


@pytest.mark.parametrize(
    ("metric", "precision"),
    [("group.clients->others.accepted_gbps", 0.04), ("source.H(1,1).0.latency_mean_ns", 0.05)],
)
def test_repetitions_end_when_a_sum_is_known_well_enough(
    mesh: Path, metric: str, precision: float, tmp_path: Path
) -> None:
    vary = {LOAD: [0.1, 0.3]}
    found = fs.sweep(mesh, vary=vary, precision={metric: precision}, jobs=1, out=tmp_path / "s")
    by, rest = metric.split(".", 1)
    key, column = rest.rsplit(".", 1)
    table = found.by(by)
    for row in found.precision().to_dict("records"):
        of_point = table[table[LOAD] == row[LOAD]]
        keys = (
            of_point[["source_group", "destination_group"]].agg("->".join, axis=1)
            if by == "group"
            else of_point[by]
        )
        values = of_point[keys == key][column].tolist()
        assert len(values) == row["seeds"] >= 5
        of = estimate(values)
        assert (row["mean"], row["precision"]) == (
            pytest.approx(of.mean),
            pytest.approx(of.half_width / of.mean),
        )
        assert row["reached"] == (row["precision"] <= precision)
        assert row["reached"] or row["seeds"] == 30
    assert set(found.precision()["reached"]) == {True, False}, "the control: one of two"
    again = fs.sweep(mesh, vary=vary, precision={metric: precision}, jobs=1, out=tmp_path / "s")
    assert again.precision().equals(found.precision()), "from the folder"


def test_precision_of_a_sum_at_the_command_line(mesh: Path, command: Command) -> None:
    option = "group.clients->others.accepted_gbps=50%"
    ran = command("sweep", mesh, "--precision", option, "--jobs", "1", "--out", "s")
    assert ran.code == 0, ran.err
    assert "5 runs of 30 at most" in ran.out
    ran = command("sweep", mesh, "--precision", "group.clients->others.accepted=2%", "--out", "t")
    assert (ran.code, "did you mean group.clients->others.accepted_gbps?" in ran.err) == (2, True), ran.err


@pytest.mark.parametrize("name", WRONG)
@pytest.mark.usefixtures("no_run")
def test_unknown_names_are_refused_before_points_run(mesh: Path, name: str, command: Command) -> None:
    for option in (("--plot", name), ("--precision", f"{name}=2%")):
        ran = command("sweep", mesh, "--vary", f"{LOAD}=0.1,0.2", *option, "--jobs", "1", "--out", "s")
        assert (ran.code, ran.err.count("\n")) == (2, 1), ran.err
        assert WRONG[name] in ran.err
        assert not Path("s").exists()


ABSENT = {
    "transport.completion_ns.mean": "the experiment has no transport.mode",
    "queue_pairs.messages": "the experiment has no queue_pairs",
    "subnet.sweeps": "the experiment has no subnet_manager",
    "congestion.marked": "the experiment has no congestion_control.algorithm",
    "job_time_ns": "the experiment has no jobs",
    "traffic.incast.round_trip_ns.p99": "traffic.incast has no responses: give traffic.incast.response",
    "bound_fraction": "give --bound as well",
    "saturated": "no number: there is nothing to draw over the parameters",
}
"""Numbers of other runs, or no numbers, and what is said of them."""


@pytest.mark.parametrize("name", ABSENT)
@pytest.mark.usefixtures("no_run")
def test_parts_of_results_that_no_point_has_are_refused_before_points_run(
    mesh: Path, name: str, command: Command
) -> None:
    ran = command("sweep", mesh, "--vary", f"{LOAD}=0.1,0.2", "--plot", name, "--jobs", "1", "--out", "s")
    assert (ran.code, ran.err) == (2, f"fabricsim: --plot {name}: {ABSENT[name]}\n")


def test_a_part_of_results_that_one_point_has_is_known(mesh: Path, command: Command) -> None:
    for vary, metric in (
        ("congestion_control.algorithm=none,dcqcn", "congestion.marked"),
        ("transport.mode=none,ordered", "transport.completion_ns.mean"),
        ('traffic.incast.response={message="8 B"},{message="1 KiB"}', "traffic.incast.round_trip_ns.p99"),
    ):
        options = (
            "--vary",
            vary,
            "--set",
            "host.open_messages=64",
            "--plot",
            metric,
            "--jobs",
            "1",
            "--force",
        )
        ran = command("sweep", mesh, *options, "--out", "t")
        assert (ran.code, f"{metric}.png" in ran.out) == (0, True), ran.err


@pytest.mark.usefixtures("no_run")
def test_the_control_known_names_run(mesh: Path) -> None:
    with pytest.raises(AssertionError, match="something runs"):
        fs.sweep(mesh, precision={"group.clients->storage.jain": 0.02}, jobs=1)
    objective = 'metric = "traffic.incast.latency_ns.mean"\nflows = []'
    mesh.write_text(mesh.read_text() + TUNE + objective)
    with pytest.raises(AssertionError, match="something runs"):
        fs.tune(mesh, jobs=1)


def test_a_name_that_one_point_has_is_known(mesh: Path, command: Command) -> None:
    groups = 'groups={clients=["H(0,*"]},{disks=["H(1,*"],clients=["H(0,*"]}'
    metric = "group.disks->others.accepted_gbps"
    ran = command("sweep", mesh, "--vary", groups, "--plot", metric, "--jobs", "1", "--out", "s")
    assert ran.code == 0, ran.err
    ran = command("sweep", mesh, "--vary", groups, "--plot", metric.replace("sk", "ks"), "--out", "t")
    assert (ran.code, "did you mean disks->others?" in ran.err) == (2, True), ran.err


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        *(('metric = "' + name + '"', text) for name, text in WRONG.items()),
        ('metric = "throughput"\nflows = ["incats"]', "'incats' is neither source->destination nor the name"),
        ('metric = "throughput"\nflows = ["client->*"]', "'client' is neither a host nor a group of hosts"),
        ('metric = "fairnes"', "did you mean fairness?"),
        # one scenario has other groups
        ('metric = "group.storage->others.jain"', "scenario 'regrouped': group.storage->others.jain: "),
    ],
)
@pytest.mark.usefixtures("no_run")
def test_unknown_names_of_a_study_are_refused_before_it_runs(
    mesh: Path, metric: str, expected: str, command: Command
) -> None:
    mesh.write_text(mesh.read_text() + TUNE + metric)
    ran = command("tune", mesh, "--jobs", "1", "--out", "t")
    assert (ran.code, ran.err.count("\n")) == (2, 1), ran.err
    assert expected in ran.err
    assert not Path("t").exists()


def test_all_names_of_a_run_are_known(mesh: Path) -> None:
    """The names that are computed before a run are those that its results have."""
    mesh.write_text(
        mesh.read_text()
        + """
[[traffic]]
name = "in.out"
pattern = "uniform"
load = 0.1
message = "1 KiB"
response = { message = "2 KiB" }

[[traffic]]
pattern = "uniform"
load = 0.1
message = "1 KiB"

[[jobs]]
hosts = ["storage"]
program = { all-to-all = { message = "1 KiB" } }
"""
    )
    names = MetricNames(fs.Experiment.from_file(mesh))
    run = fs.run(mesh)
    metrics = [
        name for name in scalars(run.manifest["summary"]) if name.partition(".")[0] in ("traffic", "jobs")
    ]
    heads = {name.split(".latency")[0] for name in metrics if ".latency_ns.mean" in name}
    assert {'traffic."in.out".response', "traffic.3", "jobs.all-to-all"} <= heads
    for by in ("source", "destination", "group"):
        metrics += [sum_name(by, key_text(key), "jain") for key in run.by(by).index]
    assert [name for name in metrics if names.unknown(name)] == []
    others = ("traffic.4.latency_ns.mean", "jobs.0.latency_ns.mean", "group.clients->other.jain")
    assert all(names.unknown(name) for name in others)


def test_the_figures_of_an_only_entry_are_the_totals(mesh: Path) -> None:
    text = mesh.read_text()
    first = text.index("[[traffic]]")
    last = text.index("[[traffic]]", first + 1)
    only = text[:first] + text[last:].replace('name = "incast"\n', "")
    names = MetricNames(fs.Experiment.from_text(only))
    assert "its figures are the totals, latency_ns.mean" in str(names.unknown("traffic.0.latency_ns.mean"))
    assert names.unknown("latency_ns.mean") is None


def test_hosts_of_any_name_are_known(tmp_path: Path) -> None:
    odd = ["plain", 'a "quoted" one', "back\\slash", "gr\u00fcn"]
    graph = tmp_path / "graph.toml"
    lines = ["[[switch]]", 'name = "S"']
    for name in odd:
        lines += ["[[host]]", f"name = {toml_value(name)}"]
    for name in odd:
        lines += ["[[link]]", f"a = {toml_value(name)}", 'b = "S"']
    graph.write_text("\n".join(lines))
    experiment = fs.Experiment.from_text(
        '[topology.file]\npath = "graph.toml"\n[[traffic]]\npattern = "uniform"\nload = 0.1\n'
        'message = "1 KiB"\n[run]\nduration = "1 us"\n',
        tmp_path,
    )
    names = MetricNames(experiment)
    assert names.hosts is not None
    assert sorted(names.hosts) == sorted(odd)
    assert names.unknown("destination.plain.jain") is None
    assert names.unknown("destination.pain.jain")


def test_hosts_that_cannot_be_listed_are_not_checked(mesh: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = MetricNames(fs.Experiment.from_file(mesh))

    def refuse(*_: Any) -> str:
        raise fs.InputError("no such format")

    monkeypatch.setattr(fs.Experiment, "export", refuse)
    assert names.hosts is None
    assert names.unknown("destination.any.jain") is None
    assert names.unknown("group.any->others.jain")
