"""Names of entries of the traffic list: the same in the tables and pictures of all commands."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from conftest import Command

import fabricsim as fs
from fabricsim import plots
from fabricsim.compare.repeated import compare_repeated
from fabricsim.entry_names import in_common, of_points, of_summary
from fabricsim.plots import tuning
from fabricsim.tune import TuneResult

MESH = """
title = "Four entries"

[topology.mesh]
dimensions = [2, 2]

[[traffic]]
sources = ["H(0,0).0"]
pattern = "bit-complement"
load = 0.2
message = "1 KiB"

[[traffic]]
name = "bulk"
sources = ["H(0,1).0"]
pattern = "uniform"
load = 0.2
message = "1 KiB"

[[traffic]]
sources = ["H(1,0).0"]
pattern = { to = "H(1,1).0" }
load = 0.2
message = "1 KiB"
response = { message = "64 B" }

[[traffic]]
name = "v1.2"
sources = ["H(1,1).0"]
pattern = { to = "H(0,0).0" }
load = 0.2
message = "1 KiB"

[run]
duration = "20 us"
"""
NAMES = {
    "traffic.0": "bit-complement",
    "traffic.bulk": "bulk",
    "traffic.2": "to",
    'traffic."v1.2"': "v1.2",
    "traffic.2.response": "to response",
}
SAME = {"traffic.0.pattern": "uniform", "traffic.bulk.name": "uniform"}
"""Two entries with the same name: a pattern's, and its own."""


def _mesh(tmp_path: Path) -> Path:
    path = tmp_path / "mesh.toml"
    path.write_text(MESH)
    return path


@pytest.mark.usefixtures("real")
@pytest.mark.parametrize("set", [{}, SAME, {"traffic.2.pattern": {"to": "H(0,1).0"}}])
def test_names_are_those_of_the_engine(tmp_path: Path, set: dict[str, str]) -> None:
    run = fs.run(_mesh(tmp_path), set=set)
    names = of_points(run.manifest)
    of_run = of_summary(run.manifest["summary"])
    assert {key: names[key] for key in of_run} == of_run
    if not set:
        assert of_run == NAMES
    if set is SAME:
        assert [of_run["traffic.0"], of_run["traffic.uniform"]] == ["uniform #1", "uniform #2"]


def test_names_that_points_do_not_have_in_common_are_left_out() -> None:
    manifest = {"experiment": MESH}
    assert NAMES.items() <= of_points(manifest, [{"traffic.0.load": "0.1"}, {"seed": "2"}]).items()
    varied = of_points(manifest, [{"traffic.0.pattern": '"transpose"'}, {"traffic.0.pattern": "uniform"}])
    assert "traffic.0" not in varied
    assert varied["traffic.2"] == "to"
    assert in_common([{"traffic.0": "uniform"}, {"traffic.1": "uniform"}]) == {}
    assert of_points({"experiment": "no TOML ="}) == {}
    assert of_points({"experiment": "traffic = [1, {}]"}) == {}


@pytest.mark.usefixtures("real")
def test_all_commands_call_an_entry_as_the_table_of_a_run(tmp_path: Path, command: Command) -> None:
    path = _mesh(tmp_path)
    load = ("--set", "traffic.0.load=0.4")
    texts = [
        command("run", path, "--out", "a").out,
        command("run", path, "--seeds", "2", "--out", "s").out,
        command("run", path, *load, "--out", "b").out,
        command("run", path, *load, "--seeds", "2", "--out", "t").out,
        command("compare", "a", "b").out.split("by entry")[1],
        command("compare", "s", "t").out.split("confidence")[1],
        command("sweep", path, "--vary", "host.mtu=1KiB,2KiB", "--jobs", "1", "--out", "w").out,
        command("sweep", path, "--vary", "host.mtu=1KiB,2KiB", "--seeds", "2", "--jobs", "1").out,
    ]
    for text in texts:
        assert "bit-complement" in text
        assert "traffic.0" not in text
    assert command("report", "w").code == 0
    page = Path("w/report.html").read_text()
    assert ">bit-complement</td>" in page
    assert ">traffic.0</td>" not in page


@pytest.mark.usefixtures("real")
def test_a_pattern_that_varies_leaves_the_key(tmp_path: Path) -> None:
    path = _mesh(tmp_path)
    patterns = ["bit-complement", "uniform"]
    found = fs.compare([fs.run(path, set={"traffic.0.pattern": name}) for name in patterns])
    without = {key: name for key, name in NAMES.items() if key != "traffic.0"}
    assert found.entry_names == without
    picture = plots.comparison(found, most_flows=1)
    assert "traffic.0" not in [text.get_text() for text in picture.legends[0].get_texts()]  # flows
    swept = fs.sweep(path, vary={"traffic.0.pattern": patterns}, seeds=2, jobs=1)
    assert without.items() <= swept.entry_names.items()
    for key, name in (("traffic.0", "traffic.0"), ("traffic.2", "to")):
        axes = plots.over_parameters(swept, f"{key}.latency_ns.mean").axes[0]
        assert axes.get_xlabel().startswith(f"mean latency, {name}")


@pytest.mark.usefixtures("real")
def test_pictures_by_entry_have_the_names_of_the_comparison(tmp_path: Path) -> None:
    path = tmp_path / "three.toml"
    entries = "".join(
        f"""
        [[traffic]]
        sources = ["H({row},*).0"]
        pattern = "bit-complement"
        load = 0.3
        message = "2 KiB"
        """
        for row in range(4)
    )
    path.write_text(f'[topology.mesh]\ndimensions = [4, 4]\n{entries}\n[run]\nduration = "40 us"\n')
    runs = [fs.run(path), fs.run(path, set={"traffic.3.pattern": "transpose"})]
    assert runs[1].entries["entry"].tolist() == [*(f"bit-complement #{n}" for n in (1, 2, 3)), "transpose"]
    names = [text.get_text() for text in plots.comparison(fs.compare(runs)).legends[0].get_texts()]
    assert names == [*(f"bit-complement #{n}" for n in (1, 2, 3)), "traffic.3"]
    again = [fs.run(path), fs.run(path, set={"seed": 2})]
    names = [text.get_text() for text in plots.comparison(fs.compare(again)).legends[0].get_texts()]
    assert names == [f"bit-complement #{number}" for number in (1, 2, 3, 4)]


def test_pictures_of_studies_have_figures_of_entries_in_words() -> None:
    metric = "traffic.0.latency_ns.p99"
    trials = pd.DataFrame(
        {"trial": [-1, 0], metric: [3e4, 2e4], "feasible": True, "best": False, "error": ""}
    )
    trials.attrs["columns"] = {metric: ("ns", "")}
    manifest = {
        "experiment": MESH,
        "parameters": [],
        "metrics": [metric],
        "objectives": [{"name": metric, "goal": "minimize"}],
        "summary": {},
    }
    axes = tuning.trials(TuneResult(manifest, {"trials": trials})).axes[0]
    assert axes.get_ylabel() == "p99 latency, bit-complement (µs)"
    assert all(tick == round(tick) for tick in axes.get_xticks()), "trials are whole numbers"


@pytest.mark.usefixtures("real")
def test_pictures_of_sets_have_the_quantities_of_their_table(tmp_path: Path) -> None:
    path = _mesh(tmp_path)
    sets = [fs.sweep(path, set={"traffic.0.load": load}, seeds=2, jobs=1) for load in (0.2, 0.4)]
    axes = plots.sets_of_seeds(compare_repeated(sets)).axes[0]
    names = [text.get_text() for text in axes.get_yticklabels()]
    assert "mean latency, bit-complement" in names
    assert not [name for name in names if "network latency" in name]


def test_a_study_has_the_names_that_its_scenarios_and_trials_have_in_common() -> None:
    scenario = """
    [[tune.scenarios]]
    name = "as it is"
    [[tune.scenarios]]
    name = "other"
    set = { "traffic.0.pattern" = "uniform" }
    """
    trials = pd.DataFrame({"trial": [-1, 0], "traffic.2.pattern": ["", "uniform"]})

    def names(text: str, *parameters: str) -> dict[str, str]:
        return TuneResult({"experiment": text, "parameters": parameters}, {"trials": trials}).entry_names

    assert NAMES.items() <= names(MESH).items()
    assert {*NAMES} - {*names(MESH + scenario)} == {"traffic.0"}
    assert "traffic.2" not in names(MESH, "traffic.2.pattern")
    assert names(MESH, "traffic.2.pattern")["traffic.0"] == "bit-complement"
