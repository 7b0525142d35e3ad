"""Sums of flows by source, destination and group of hosts of several runs, and of sets of repetitions."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from conftest import Command
from sums_cases import LOAD, agree, write_mesh

import fabricsim as fs
from fabricsim.compare import compare, compare_repeated
from fabricsim.sweep import load_sweep
from fabricsim.sweep.sums import with_silent

pytestmark = pytest.mark.usefixtures("real")


@pytest.fixture
def mesh(tmp_path: Path) -> Path:
    return write_mesh(tmp_path)


def test_compare_puts_sums_side_by_side(mesh: Path, tmp_path: Path, command: Command) -> None:
    runs = [fs.run(mesh, set={LOAD: load}, out=tmp_path / name) for name, load in (("a", 0.1), ("b", 0.4))]
    found = compare(runs)
    table = found.by("destination")
    for label, run in zip(found.labels, runs, strict=True):
        of_run = table.xs(label, axis=1, level=1).drop(columns="ratio", errors="ignore")
        agree(of_run.reset_index(), run.flows, "destination")
    rates = [run.by("destination").loc["H(2,2).0", "accepted_gbps"] for run in runs]
    ratio: Any = table.loc["H(2,2).0", ("ratio", found.labels[1])]
    assert ratio == pytest.approx(rates[1] / rates[0])  # type: ignore[operator]
    ran = command("compare", "a", "b", "--by", "destination", "--by", "group")
    assert ran.code == 0
    assert ran.out.index("by destination") < ran.out.index("by group") < ran.out.index("at end")
    (row,) = [
        line.split()
        for line in ran.out.partition("by destination")[2].partition("by group")[0].splitlines()
        if " H(2,2).0 " in line
    ]
    assert float(row[3]) == pytest.approx(ratio, abs=0.006)
    told = json.loads(command("compare", "a", "b", "--by", "group", "--json").out)["by"]["group"]
    pairs = [(row["source_group"], row["destination_group"]) for row in told]
    assert len(set(pairs)) == len(pairs) == len(found.by("group"))
    assert "by" not in json.loads(command("compare", "a", "b", "--json").out)


def test_a_key_that_a_run_does_not_have_is_no_flow_of_it(mesh: Path) -> None:
    narrow = {
        "traffic": [{"sources": ["H(0,0).0"], "pattern": {"to": "H(0,1).0"}, "load": 0.2, "message": "1 KiB"}]
    }
    found = compare([fs.run(mesh), fs.run(mesh, set=narrow)]).by("destination")
    assert len(found) == 9
    mine: Any = found.loc["H(2,2).0"]
    second = mine.index.get_level_values(1)[1]
    assert mine["flows", second] == 0
    assert math.isnan(mine["accepted_gbps", second])
    assert math.isnan(mine["ratio", second])


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("--by", "destinations"), "did you mean destination?"),
        (("--by", "group"), "b: the experiment has no groups of hosts"),
    ],
)
def test_sums_that_compare_refuses(
    mesh: Path, tmp_path: Path, command: Command, arguments: tuple[str, ...], expected: str
) -> None:
    fs.run(mesh, out=tmp_path / "a")
    fs.run(mesh, set={"groups": {}, "traffic.1.sources": ["H(0,0).0"]}, out=tmp_path / "b")
    ran = command("compare", "a", "b", *arguments)
    assert ran.code == 2
    assert expected in ran.err
    assert ran.out == ""


def test_sets_of_seeds_have_paired_intervals_of_sums(mesh: Path, tmp_path: Path, command: Command) -> None:
    alone = {"traffic.0.load": 0.0001}
    for name, load in (("a", 0.1), ("b", 0.3)):
        fs.sweep(
            mesh, set={LOAD: load, **alone}, seeds=3, by=["destination", "group"], jobs=1, out=tmp_path / name
        )
    found = compare_repeated([tmp_path / "a", tmp_path / "b"], by="destination")
    table = found.by("destination")
    hot = table[
        (table["destination"] == "H(2,2).0") & (table["metric"] == "accepted_gbps") & (table["set"] == "b")
    ]
    a, b = (load_sweep(tmp_path / name).by("destination") for name in ("a", "b"))
    values = [one[one["destination"] == "H(2,2).0"].set_index("seed")["accepted_gbps"] for one in (a, b)]
    apart = values[1] - values[0]
    assert hot["difference"].item() == pytest.approx(apart.mean())
    half = 4.302652729911275 * apart.std(ddof=1) / math.sqrt(3)  # Student's t, 2 degrees of freedom
    assert hot["difference_high"].item() - hot["difference"].item() == pytest.approx(half)
    assert hot["verdict"].item() == "larger"
    ran = command("compare", "a", "b", "--by", "group")
    assert ran.code == 0
    assert "clients->others" in ran.out
    with pytest.raises(fs.InputError, match="not compared"):
        found.by("group")
    ran = command("compare", "a", "b", "--by", "source")
    assert (ran.code, "a: this sweep has no sums by source" in ran.err) == (2, True)


def test_compare_repeats_runs_with_their_sums(mesh: Path, tmp_path: Path, command: Command) -> None:
    for name, load in (("a", 0.1), ("b", 0.4)):
        fs.run(mesh, set={LOAD: load}, out=tmp_path / name)
    told = json.loads(command("compare", "a", "b", "--seeds", "2", "--by", "group", "--json").out)
    rows = [row for row in told["by"]["group"] if row["metric"] == "accepted_gbps"]
    assert {row["set"] for row in rows} == {one["label"] for one in told["sets"]}
    total = sum(row["mean"] for row in rows if row["set"] == told["sets"][1]["label"])
    (expected,) = [
        row["mean"]
        for row in told["quantities"]
        if row["quantity"] == "accepted_gbps" and row["set"] == told["sets"][1]["label"]
    ]
    assert total == pytest.approx(expected)


def test_a_repetition_without_a_flow_of_a_key_counts_as_zero() -> None:
    rows = pd.DataFrame(
        {
            "seed": [1, 2, 2],
            "load": [0.5, 0.5, 0.5],
            "destination": ["a", "a", "b"],
            "flows": [1, 1, 2],
            "accepted_gbps": [4.0, 6.0, 3.0],
            "latency_mean_ns": [10.0, 20.0, 30.0],
        }
    )
    found = with_silent(rows, ["load"], "destination")
    first, second = found[found["destination"] == "a"], found[found["destination"] == "b"]
    assert second["accepted_gbps"].to_list() == [0.0, 3.0]
    assert second["flows"].to_list() == [0, 2]
    assert second["latency_mean_ns"].isna().to_list() == [True, False]
    assert first["accepted_gbps"].to_list() == [4.0, 6.0]
    assert found["load"].unique().tolist() == [0.5]
    assert len(with_silent(rows.drop(columns="load"), [], "destination")) == 4


def test_several_sums_are_a_picture_each(mesh: Path, tmp_path: Path, command: Command) -> None:
    for name, load in (("a", 0.1), ("b", 0.4)):
        fs.run(mesh, set={LOAD: load}, out=tmp_path / name)
    kinds = ("--by", "destination", "--by", "group")
    for seeds in ((), ("--seeds", "2")):
        folder = tmp_path / f"drawn{len(seeds)}"
        ran = command("compare", "a", "b", *kinds, *seeds, "--out", folder / "c.svg")
        assert ran.code == 0, ran.err
        drawn = {path.name: path.read_text() for path in folder.iterdir()}
        assert set(drawn) == {"c-by-destination.svg", "c-by-group.svg"}
        assert ran.out.count("picture: ") == 2
        # A group has this name, and no host.
        assert "clients" in drawn["c-by-group.svg"]
        assert "clients" not in drawn["c-by-destination.svg"]
    assert command("compare", "a", "b", "--by", "group", "--out", "one.svg").code == 0
    assert "clients" in (tmp_path / "one.svg").read_text()
