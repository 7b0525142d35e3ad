"""Sums of flows by source, destination and group of hosts: of runs, sweeps and comparisons, compared with the flows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from conftest import Command
from sums_cases import LOAD, MERGED, MESH, agree, write_mesh

import fabricsim as fs
from fabricsim.catalogue import key, sum_parts
from fabricsim.sums import COLUMNS, implicit_group, keys_of
from fabricsim.sweep import load_sweep
from fabricsim.sweep.state import JOURNAL, SweepState

pytestmark = pytest.mark.usefixtures("real")


@pytest.fixture
def mesh(tmp_path: Path) -> Path:
    return write_mesh(tmp_path)


@pytest.mark.parametrize("by", ["source", "destination", "group"])
def test_sums_of_a_run_are_those_of_its_flows(mesh: Path, by: str) -> None:
    run = fs.run(mesh)
    found = run.by(by)
    agree(found.reset_index(), run.flows, by)
    assert found["accepted_gbps"].sum() == pytest.approx(run.summary["accepted_gbps"])
    assert (found["latency_p99_ns"] >= found["latency_mean_ns"]).any()


@pytest.mark.parametrize("by", ["destination", "group"])
def test_sums_over_time_are_those_of_the_series(mesh: Path, by: str) -> None:
    run = fs.run(mesh)
    found = run.series_by(by)
    assert list(found.columns) == ["time_ns", *keys_of(by), "gbps"]
    pd.testing.assert_series_equal(
        found.groupby("time_ns")["gbps"].sum(), run.series.groupby("time_ns")["gbps"].sum()
    )
    hot = run.series[run.series["destination"] == "H(2,2).0"].groupby("time_ns")["gbps"].sum()
    if by == "destination":
        mine = found[found["destination"] == "H(2,2).0"].set_index("time_ns")["gbps"]
        assert mine.tolist() == pytest.approx(hot.tolist())


def test_run_prints_sums_before_single_flows(mesh: Path, command: Command) -> None:
    ran = command("run", mesh, "--by", "group", "--by", "destination", "--out", "r")
    assert ran.code == 0
    places = [ran.out.index(title) for title in (": by entry", "by group", "by destination", "single flows")]
    assert places == sorted(places)


def test_groups_are_those_set_on_top_of_the_file(mesh: Path, tmp_path: Path) -> None:
    fs.run(mesh, set={"groups": {"west": ["H(0,*", "H(1,*"], "clients": ["H(0,*"]}}, out=tmp_path / "run")
    run = fs.load(tmp_path / "run")
    assert set(run.groups) == {"west", "clients"}
    assert {name for pair in run.by("group").index for name in pair} == {"west", "others"}


def test_names_of_sums_have_labels_and_units() -> None:
    assert sum_parts("group.a b->c.d.latency_mean_ns") == ("group", "a b->c.d", "latency_mean_ns")
    assert sum_parts("traffic.incast.accepted_gbps") is None
    of = key("destination.H(2,2).0.accepted_gbps")
    assert (of.label, of.unit) == ("accepted throughput, destination H(2,2).0", "Gb/s")


def test_flows_by_source_only_have_no_sums_by_destination(mesh: Path, command: Command) -> None:
    run = fs.run(mesh, set={"measure.flows": "sources"})
    assert len(run.by("source")) == 9
    for by in ("destination", "group"):
        with pytest.raises(fs.InputError, match=MERGED):
            run.by(by)
        with pytest.raises(fs.InputError, match=MERGED):
            run.series_by(by)
    ran = command("run", mesh, "--set", "measure.flows=sources", "--by", "destination", "--out", "none")
    assert (ran.code, MERGED in ran.err, ran.out) == (2, True, "")
    ran = command("sweep", mesh, "--vary", "seed=1,2", "--set", "measure.flows=sources", "--by", "group")
    assert (ran.code, MERGED in ran.err) == (2, True)


MANY = """
[topology.single-switch]
hosts = 100
[[traffic]]
pattern = "uniform"
load = 0.5
message = "256 B"
[run]
duration = "5 us"
"""


def test_what_only_the_run_shows_is_told_after_its_results(tmp_path: Path, command: Command) -> None:
    (tmp_path / "many.toml").write_text(MANY)  # above 4096 pairs, flows are those of sources
    ran = command("run", "many.toml", "--by", "destination", "--out", "run")
    assert ran.code == 2
    assert "accepted" in ran.out
    assert "results: run" in ran.out
    assert MERGED in ran.err
    arguments = (
        "sweep",
        "many.toml",
        "--vary",
        "seed=1,2",
        "--by",
        "destination",
        "--jobs",
        "1",
        "--out",
        "s",
    )
    ran = command(*arguments)
    assert ran.code == 1
    assert "2 of 2 points have no sums: flows are recorded by source only" in ran.err
    found = load_sweep(tmp_path / "s")
    assert (found.count("ok"), list(found.sums)) == (2, [])
    before = found.points["wall_s"].tolist()
    assert command(*arguments).code == 1
    assert load_sweep(tmp_path / "s").points["wall_s"].tolist() == before, "no point runs again"
    ran = command("run", "many.toml", "--seeds", "2", "--by", "destination", "--out", "seeds")
    assert (ran.code, MERGED in ran.err) == (1, True)


def test_a_sweep_has_the_sums_of_each_run(mesh: Path, tmp_path: Path) -> None:
    loads = [0.1, 0.4]
    swept = fs.sweep(mesh, vary={LOAD: loads}, by=["group", "destination"], jobs=1, out=tmp_path / "s")
    kept = load_sweep(tmp_path / "s")
    assert {path.name for path in (tmp_path / "s").glob("*.parquet")} == {
        "sweep.parquet",
        "by_group.parquet",
        "by_destination.parquet",
    }
    for by in ("group", "destination"):
        table = swept.by(by)
        assert list(table.columns) == [LOAD, *keys_of(by), *COLUMNS]
        pd.testing.assert_frame_equal(table, kept.by(by))
        assert kept.by(by).attrs["columns"]["latency_mean_ns"][0] == "ns"
        for load in loads:
            agree(table[table[LOAD] == load], fs.run(mesh, set={LOAD: load}).flows, by)
    assert "by" not in swept.points
    assert [row["destination_group"] for row in swept.as_dict()["by"]["group"]]


def leave(state: SweepState) -> None:
    """As if the process were killed: the table is not written, and the journal stays."""
    assert state._journal is not None
    state._journal.close()
    state._release()


def test_sums_survive_a_sweep_that_was_killed(
    mesh: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def swept(folder: str) -> fs.SweepResult:
        return fs.sweep(mesh, vary={"seed": [1, 2]}, by="destination", jobs=1, out=tmp_path / folder)

    whole = swept("whole")
    with monkeypatch.context() as killed:
        killed.setattr(SweepState, "close", leave)
        swept("s")
    assert (tmp_path / "s" / JOURNAL).exists()
    assert not (tmp_path / "s" / "by_destination.parquet").exists()
    pd.testing.assert_frame_equal(load_sweep(tmp_path / "s").by("destination"), whole.by("destination"))
    resumed = swept("s")
    assert (tmp_path / "s" / "by_destination.parquet").exists()
    pd.testing.assert_frame_equal(resumed.by("destination"), whole.by("destination"))


def test_points_without_the_sums_run_again_and_keep_others(mesh: Path, tmp_path: Path) -> None:
    def swept(by: str | None, stop: bool = False) -> fs.SweepResult:
        return fs.sweep(mesh, vary={"seed": [1, 2]}, by=by, jobs=1, out=tmp_path / "s", stop=lambda: stop)

    assert not swept(None).sums
    stopped = swept("destination", stop=True)
    assert (stopped.complete, len(stopped.points)) == (False, 2), "results are kept until they are replaced"
    assert set(swept("destination").sums) == {"destination"}
    found = swept("group")
    assert set(found.sums) == {"destination", "group"}
    assert len(found.by("group")["seed"].unique()) == 2
    times = found.points["wall_s"].tolist()
    assert swept("group").points["wall_s"].tolist() == times, "nothing is left to run"


def test_a_damaged_table_of_sums_is_named(mesh: Path, tmp_path: Path) -> None:
    out = tmp_path / "s"
    fs.sweep(mesh, vary={"seed": [1, 2]}, by="destination", jobs=1, out=out)
    (out / "SHA256SUMS").unlink()
    (out / "by_destination.parquet").write_bytes((out / "sweep.parquet").read_bytes())
    with pytest.raises(fs.FabricsimError, match=r"by_destination\.parquet.*remove it"):
        load_sweep(out)
    (out / "by_destination.parquet").unlink()
    assert not load_sweep(out).sums


def test_estimates_of_sums_are_means_over_the_seeds(mesh: Path) -> None:
    swept = fs.sweep(mesh, vary={LOAD: [0.1, 0.4]}, seeds=3, by="destination", jobs=1)
    found = swept.estimates(by="destination")
    row = found[
        (found[LOAD] == 0.4) & (found["destination"] == "H(2,2).0") & (found["metric"] == "accepted_gbps")
    ]
    runs = [fs.run(mesh, set={LOAD: 0.4, "seed": seed}).by("destination") for seed in swept.seeds]
    values = [float(run.loc["H(2,2).0", "accepted_gbps"]) for run in runs]  # type: ignore[arg-type]
    assert row["mean"].item() == pytest.approx(sum(values) / 3)
    assert row["low"].item() < row["mean"].item() < row["high"].item()
    assert set(found["metric"]) <= set(COLUMNS)


@pytest.mark.parametrize(
    ("by", "expected"),
    [("grup", "did you mean group"), ("group", "has no .groups. of hosts"), ("host", "must be source")],
)
def test_sums_that_a_sweep_refuses(tmp_path: Path, by: str, expected: str) -> None:
    file = tmp_path / "x.toml"
    file.write_text(
        MESH.replace('[groups]\nclients = ["H(0,*"]\nstorage = ["H(1,*"]\n', "").replace('"clients"', '"*"')
    )
    with pytest.raises(fs.InputError, match=expected):
        fs.sweep(file, vary={"seed": [1, 2]}, by=by, jobs=1)


def test_a_sweep_without_sums_says_how_to_get_them(mesh: Path) -> None:
    swept = fs.sweep(mesh, vary={"seed": [1]}, by="source", jobs=1)
    with pytest.raises(fs.InputError, match=r"run it with by='group'.*it has: source"):
        swept.by("group")
    with pytest.raises(fs.InputError, match="must be source, destination or group"):
        swept.by("rack")


def test_a_sweep_prints_sums_in_80_columns(mesh: Path, command: Command) -> None:
    arguments = (
        "sweep",
        mesh,
        "--vary",
        f"{LOAD}=0.1,0.4",
        "--jobs",
        "1",
        "--by",
        "destination",
        "--by",
        "group",
    )
    ran = command(*arguments, "--out", "s")
    assert ran.code == 0, ran.err
    _, _, rest = ran.out.partition("by destination")
    destinations, _, groups = rest.partition("by group")
    assert "the 3 largest and the 3 smallest of 9" in " ".join(destinations.split())
    rows = [line.split() for line in destinations.splitlines() if "H(2,2).0" in line]
    assert len(rows) == 2
    expected = load_sweep(Path("s")).by("destination")
    shown = expected[expected["destination"] == "H(2,2).0"]["accepted_gbps"].tolist()
    assert [float(row[-6]) for row in rows] == pytest.approx(shown, abs=0.006)
    assert "clients" in groups
    tables = ran.out.partition("saturation point")[0]
    assert max(len(line.rstrip()) for line in tables.partition("by destination")[2].splitlines()) <= 80
    told = json.loads(command(*arguments, "--out", "t", "--json").out)["by"]
    assert {row["source_group"] for row in told["group"]} == {"clients", "storage", "others"}


def test_repetitions_print_sums_with_intervals(mesh: Path, command: Command) -> None:
    ran = command("run", mesh, "--seeds", "2", "--by", "group", "--out", "r")
    assert ran.code == 0, ran.err
    (row,) = [line for line in ran.out.splitlines() if line.split()[:2] == ["clients", "storage"]]
    mean: Any = load_sweep(Path("r")).by("group").set_index(["source_group", "destination_group"])
    value = mean.loc[("clients", "storage"), "accepted_gbps"].mean()
    assert f"{value:.4g} ±" in row


def test_a_group_with_the_name_of_the_implicit_one_is_kept_apart(mesh: Path) -> None:
    text = mesh.read_text().replace('storage = ["H(1,*"]', 'others = ["H(1,*"]')
    plain = fs.run(mesh).by("group")
    found = fs.run(fs.Experiment.from_text(text)).by("group")
    names = {"clients": "clients", "storage": "others", "others": "(no group)"}
    assert found.index.tolist() == [(names[source], names[to]) for source, to in plain.index]
    assert found["accepted_gbps"].tolist() == plain["accepted_gbps"].tolist()


def test_names_of_the_implicit_group_that_are_all_taken(mesh: Path) -> None:
    groups = {"others": ["H(0,0).0"], "(no group)": ["H(0,1).0"]}
    assert implicit_group(groups) == "((no group))"
    found = fs.run(mesh).by("group", groups)
    assert {name for pair in found.index for name in pair} == {*groups, "((no group))"}
    assert implicit_group({"others": ["H(0,0).0"]}) == "(no group)"
    assert implicit_group({"a": ["H(0,0).0"]}) == "others"
