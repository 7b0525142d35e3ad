"""Runs side by side: labels, flows, totals, the picture, and what cannot be compared."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from conftest import SMALL, Command
from hypothesis import given
from hypothesis import strategies as st
from picture_cases import many_flows
from rich.console import Console

import fabricsim as fs
from fabricsim import catalogue, plots
from fabricsim.cli.compare import print_comparison
from fabricsim.cli.numbers import shown
from fabricsim.cli.repeated_cells import joined, quantity
from fabricsim.compare.settings import differences
from fabricsim.report.page import html
from fabricsim.report.parts import cell, noted
from fabricsim.results import final_destination_share

ROOT = Path(__file__).resolve().parents[2]
A = ROOT / "experiments/thesis/a.toml"
CHOICE = "congestion_control.algorithm"
SHORT = {"run.duration": "20 ms", "measure.bin": "1 ms", **{f"traffic.{n}.start": "0 s" for n in range(4)}}


@pytest.fixture
def runs(fake: None, small: Path) -> list[fs.Result]:
    return [fs.run(small, set={"traffic.0.load": load}) for load in (0.2, 0.4)]


def test_flows_beside_each_other_with_ratios(runs: list[fs.Result]) -> None:
    found = fs.compare(runs)
    assert found.labels == ["traffic.0.load = 0.2", "traffic.0.load = 0.4"]
    assert list(found.flows.index) == [("H0", "H1"), ("H1", "H0")]
    assert found.quantity("accepted_gbps").to_numpy().tolist() == [[20.0, 40.0], [10.0, 20.0]]
    assert found.quantity("destination_share").to_numpy() == pytest.approx(np.array([[0.2, 0.4], [0.1, 0.2]]))
    assert found.quantity("final_destination_share").to_numpy() == pytest.approx(
        np.array([[0.2, 0.4], [0.1, 0.2]])
    )
    assert found.flows["ratio", "traffic.0.load = 0.4"].tolist() == [2.0, 2.0]
    assert ("ratio", "traffic.0.load = 0.2") not in found.flows


def test_totals_are_those_that_differ(runs: list[fs.Result]) -> None:
    totals = fs.compare(runs).totals
    assert list(totals.loc["accepted_load"]) == [0.2, 0.4]
    assert list(totals.loc["final_gbps"]) == [30.0, 60.0]
    assert "status" not in totals.index
    assert "fingerprint" not in totals.index


def _victims(run: fs.Result, looks: int, victim_ns: list[float]) -> fs.Result:
    """The run, whose measurement is 1 ms, with samples of congestion trees."""
    flows = run.flows[["source", "destination"]].head(len(victim_ns)).assign(victim_ns=victim_ns)
    counted = {"measured_ns": 1e6, "congestion_trees": {"looks": looks, "interval_ns": 1e4}}
    summary = {**run.manifest["summary"], **counted}
    return replace(
        run,
        frames={**run.frames, "congestion_flows": flows},
        manifest={**run.manifest, "summary": summary},
    )


def test_time_as_victims_is_the_mean_of_all_flows(runs: list[fs.Result]) -> None:
    # The first run's other flow was in no congestion tree.
    found = fs.compare([_victims(runs[0], 20, [4e5]), _victims(runs[1], 100, [4e5, 8e5])])
    assert list(found.totals.loc["victims"]) == [1, 2]
    assert list(found.totals.loc["victim_time"]) == pytest.approx([0.2, 0.6])
    assert not found.totals.index.str.startswith("congestion_trees").any()


def test_with_too_few_looks_there_is_no_time_as_victims(
    runs: list[fs.Result], capsys: pytest.CaptureFixture[str]
) -> None:
    found = fs.compare([_victims(runs[0], 19, [math.nan]), _victims(runs[1], 20, [4e5, 0.0])])
    assert list(found.totals.loc["victims"]) == [None, 1]
    assert list(found.totals.loc["victim_time"]) == [None, pytest.approx(0.2)]
    print_comparison(found, Console(width=200))
    out = capsys.readouterr().out
    assert "A: 19 samples of congestion trees in the measurement, fewer than 20" in out
    assert "B: 20 looks" not in out
    words = html(_victims(runs[0], 19, [math.nan]), bound=False)
    assert "19 samples of congestion trees" in words


def test_an_index_and_a_rate_have_rows_of_their_own(runs: list[fs.Result]) -> None:
    summaries = [
        {"congestion": {"algorithm": "infiniband", "ccti_mean": 4.5, "ccti_max": 9.0}},
        {"congestion": {"algorithm": "dcqcn", "rate_mean_mbps": 5000.0, "rate_min_mbps": 40.0}},
    ]
    both = [
        replace(run, manifest={**run.manifest, "summary": {**run.manifest["summary"], **summary}})
        for run, summary in zip(runs, summaries, strict=True)
    ]
    totals = fs.compare(both).totals
    assert list(totals.loc["congestion.ccti_mean"]) == [4.5, None]
    assert list(totals.loc["congestion.rate_mean_mbps"]) == [None, 5000.0]
    assert list(totals.loc["congestion.rate_min_mbps"]) == [None, 40.0]


def test_allowed_rates_are_shown_in_the_unit_of_other_rates(runs: list[fs.Result]) -> None:
    mean = catalogue.key("congestion.rate_mean_mbps")
    assert mean.heading == "mean allowed rate (Gb/s)"
    assert shown(5000.0, mean) == cell(5000.0, mean) == "5"
    assert quantity(40.0, mean) == "0.04 Gb/s"
    assert joined({"mean": 5000.0, "low": 4000.0, "high": 6000.0}, mean) == "5 ± 1 Gb/s"
    # The name of a column has its unit.
    assert noted(pd.DataFrame({"rate_mbps": [1.0]}), "rate_mbps").heading == "rate_mbps"
    rates = {"source": ["H0", "H0"], "destination": ["H1", "H1"], "rate_mbps": [5000.0, 2500.0]}
    series = pd.DataFrame({"time_ns": [0.0, 1e3], **rates, "throttled": 0.0, "becn": 0})
    frames = {**runs[0].frames, "congestion_series": series}
    (axes, *_) = plots.congestion(replace(runs[0], frames=frames)).axes
    assert axes.get_ylabel() == "allowed rate (Gb/s)"
    assert np.asarray(axes.lines[0].get_ydata()).tolist() == [5.0, 2.5]


def test_a_ratio_to_nothing_is_none(runs: list[fs.Result]) -> None:
    nothing = replace(
        runs[0], frames={**runs[0].frames, "flows": runs[0].flows.assign(accepted_gbps=[0.0, 10.0])}
    )
    ratio = fs.compare([nothing, runs[1]]).quantity("ratio").iloc[:, 0].tolist()
    assert math.isnan(ratio[0])
    assert ratio[1] == 2.0
    assert fs.compare([nothing, runs[1]]).as_dict()["flows"][0]["ratio"] == [None]


@pytest.mark.usefixtures("fake")
def test_runs_of_one_experiment_are_called_by_their_folders(small: Path, tmp_path: Path) -> None:
    folders = [tmp_path / "a", tmp_path / "b"]
    for folder in folders:
        fs.run(small, out=folder)
    found = fs.compare(folders)
    assert found.labels == [str(folder) for folder in folders]
    assert found.differences.empty
    assert found.totals.empty
    assert fs.compare([found.runs[0]] * 2).labels == [f"{n}: {folders[0]}" for n in (1, 2)]


def test_a_folder_is_printed_once(small: Path, tmp_path: Path, command: Command) -> None:
    for folder in ("a", "b"):
        fs.run(small, out=tmp_path / folder)
    assert command("compare", "a", "b").out.splitlines()[:2] == ["A: a", "B: b"]


def test_flows_that_are_not_in_all_runs_are_counted(runs: list[fs.Result]) -> None:
    fewer = replace(runs[0], frames={**runs[0].frames, "flows": runs[0].flows.head(1)})
    found = fs.compare([fewer, runs[1]])
    assert list(found.flows.index) == [("H0", "H1")]
    assert found.missing == {"traffic.0.load = 0.4": 1}
    assert set(found.series["source"]) == {"H0"}


def test_runs_without_a_flow_in_common_have_totals(runs: list[fs.Result], tmp_path: Path) -> None:
    others = runs[0].flows.assign(source=["X0", "X1"])
    other = replace(runs[0], frames={**runs[0].frames, "flows": others})
    found = fs.compare([other, runs[1]])
    assert found.note.startswith(
        "these runs have no flow in common: small has X0->H1, X1->H0, small has H0->H1"
    )
    assert found.flows.empty
    assert list(found.totals.loc["accepted_load"]) == [0.2, 0.4]
    assert found.as_dict()["flows"] == []
    with pytest.raises(
        fs.InputError, match=r"no flow in common.*no entry of the traffic list in common either"
    ):
        plots.comparison(found)
    by_source = replace(runs[0], frames={**runs[0].frames, "flows": runs[0].flows.assign(destination="*")})
    assert 'by source only: run all with measure.flows = "pairs"' in fs.compare([by_source, runs[1]]).note
    assert fs.compare(runs).note == ""


@pytest.mark.usefixtures("real")
def test_topologies_are_compared_by_entry(command: Command, small: Path) -> None:
    ring = "topology={ring={switches=9}}"
    assert command("run", small, "--out", "mesh").code == 0
    assert command("run", small, "--set", ring, "--set", "switch.virtual_lanes=2", "--out", "ring").code == 0
    ran = command("compare", "mesh", "ring", "--out", "both.svg")
    assert ran.code == 0, ran.err
    assert "picture: both.svg" in ran.out
    assert "topology.ring.switches" in ran.out
    assert "mean hops" in ran.out
    assert "these runs have no flow in common: mesh has H(0,0).0->" in ran.out
    assert "not in all of the others" not in ran.out


@pytest.mark.usefixtures("real")
def test_entries_of_topologies_are_drawn_side_by_side() -> None:
    text = SMALL + '[[traffic]]\nname = "alone"\npattern = "neighbour"\nload = 0.1\nmessage = "1 KiB"\n'
    mesh = fs.run(fs.Experiment.from_text(text.replace("neighbour", "random-permutation")))
    ring = "[topology.ring]\nswitches = 9\n[switch]\nvirtual_lanes = 2\n"
    other = fs.run(fs.Experiment.from_text(SMALL.replace("[topology.mesh]\ndimensions = [3, 3]\n", ring)))
    figure = plots.comparison(fs.compare([mesh, other]))
    (legend,) = figure.legends
    assert legend.get_title().get_text() == "entry"
    assert [text.get_text() for text in legend.get_texts()] == ["uniform"]
    assert figure.axes[0].get_title().startswith("topology.mesh.dimensions = [3, 3]\n")
    for axes, run in zip(figure.axes, (mesh, other), strict=False):
        (line,) = axes.lines
        of_entry = run.entries.set_index("entry").loc["uniform", "accepted_gbps"]
        assert np.asarray(line.get_ydata(), float).mean() == pytest.approx(of_entry, rel=0.3)
    share = final_destination_share(other)[other.flows["entry"] == "uniform"].mean()
    assert [text.get_text() for text in figure.axes[3].texts] == [f"{share:.1%}"]


def test_what_is_no_comparison(runs: list[fs.Result]) -> None:
    with pytest.raises(fs.InputError, match=r"1 run cannot be compared: give 2 to 12$"):
        fs.compare(runs[:1])
    with pytest.raises(fs.InputError, match=r"13 runs cannot be compared.*fabricsim sweep"):
        fs.compare(runs[:1] * 13)
    with pytest.raises(fs.InputError, match="give a list"):
        fs.compare("runs/a")
    with pytest.raises(fs.InputError, match="no table 'flows'"):
        fs.compare([replace(runs[0], frames={}), runs[1]])


@pytest.mark.usefixtures("fake")
def test_the_command(command: Command, small: Path, tmp_path: Path) -> None:
    for name, load in (("a", "0.2"), ("b", "0.4")):
        command("run", small, "--set", f"traffic.0.load={load}", "--out", name)
    ran = command("compare", "a", "b", "--out", "c.svg")
    assert ran.code == 0, ran
    assert "A: traffic.0.load = 0.2  (a)" in ran.out
    assert "B: traffic.0.load = 0.4  (b)" in ran.out
    assert "2.00" in ran.out
    assert "picture: c.svg" in ran.out
    first = (tmp_path / "c.svg").read_bytes()
    ran = command("compare", "a", "b", "--json", "--out", "c.svg")
    told = json.loads(ran.out)
    assert [run["folder"] for run in told["runs"]] == ["a", "b"]
    assert told["differences"] == {"traffic.0.load": ["0.2", "0.4"]}
    assert told["flows"][0]["accepted_gbps"] == [20.0, 40.0]
    assert told["totals"]["accepted_load"] == [0.2, 0.4]
    assert (tmp_path / "c.svg").read_bytes() == first


@pytest.mark.usefixtures("fake")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["a"], "1 run cannot be compared: give 2 to 12"),
        (["a", "nowhere"], "nowhere: this is not a folder of results"),
        (["a", "s"], "s: this is a folder of kind 'sweep', not of one run"),
        (["a", "a", "--out", "picture"], "picture: pictures are .png, .svg, .pdf"),
        (["a", "a", "--out", "a/manifest.json/x.png"], "the picture cannot be written"),
    ],
)
def test_bad_input_gives_one_message(
    command: Command, small: Path, arguments: list[str], message: str
) -> None:
    command("run", small, "--out", "a")
    command("sweep", small, "--vary", "seed=1,2", "--jobs", "1", "--out", "s")
    ran = command("compare", *arguments)
    assert ran.code == (1 if "written" in message else 2)
    assert message in ran.err
    assert "Traceback" not in ran.err


def test_the_picture_has_the_same_axes_for_all_runs(runs: list[fs.Result]) -> None:
    figure = plots.comparison(fs.compare(runs))
    lines, bars = figure.axes[:2], figure.axes[2:]
    assert [axes.get_title() for axes in lines] == ["traffic.0.load = 0.2", "traffic.0.load = 0.4"]
    assert len({axes.get_ylim() for axes in lines}) == 1
    assert len({axes.get_xlim() for axes in lines}) == 1
    assert len({axes.get_ylim() for axes in bars}) == 1
    assert np.asarray(lines[1].lines[0].get_ydata()).tolist() == [20.0, 40.0, 40.0]
    assert [
        patch.get_path().get_extents(patch.get_patch_transform()).height for patch in bars[1].patches
    ] == pytest.approx([0.4, 0.2])
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["H0 → H1", "H1 → H0"]


def test_the_picture_of_many_flows_and_runs(runs: list[fs.Result]) -> None:
    figure = plots.comparison(fs.compare([*runs, *runs, runs[0]]), most_flows=1)
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["H0 → H1", "mean of 1 other"]
    assert sum(axes.axison for axes in figure.axes) == 10


@pytest.mark.usefixtures("real")
def test_many_flows_of_a_packet_now_and_then_are_summed_up_by_entry() -> None:
    found = many_flows()
    figure = plots.comparison(found)
    (legend,) = figure.legends
    names = [text.get_text() for text in legend.get_texts()]
    assert legend.get_title().get_text() == "entry"
    assert {"uniform", "large messages"} <= set(names)
    assert len(names) <= 3  # pairs of both entries are of "several"
    for axes, run in zip(figure.axes, found.runs, strict=False):
        assert len(axes.lines) == len(names)
        total = sum(np.asarray(line.get_ydata(), float).mean() for line in axes.lines)
        assert total == pytest.approx(run.flows["accepted_gbps"].sum(), rel=0.1)
    assert len(figure.axes[2].patches) == len(names)


@pytest.mark.usefixtures("real")
def test_many_flows_of_runs_without_entries_are_lines_of_flows() -> None:
    found = many_flows()
    runs = [
        replace(run, frames={**run.frames, "flows": run.flows.drop(columns="entry")}) for run in found.runs
    ]
    (legend,) = plots.comparison(fs.compare(runs)).legends
    assert legend.get_title().get_text() == "flow"
    assert len(legend.get_texts()) == 13


def test_no_picture_without_series(runs: list[fs.Result]) -> None:
    bare = [replace(run, frames={"flows": run.flows, "hosts": run.hosts}) for run in runs]
    with pytest.raises(fs.InputError, match="kept no series"):
        plots.comparison(fs.compare(bare))


@pytest.mark.usefixtures("real")
class TestCongestionControl:
    def test_off_and_on_differ_in_one_key(self) -> None:
        found = fs.compare([fs.run(A, set=SHORT | {CHOICE: choice}) for choice in ("none", "infiniband")])
        assert found.labels == [f"{CHOICE} = none", f"{CHOICE} = infiniband"]
        assert list(found.differences.index) == [CHOICE]
        off, on = (found.quantity("accepted_gbps")[label] for label in found.labels)
        assert on["H111", "H121"] > 2 * off["H111", "H121"]

    def test_settings_of_an_algorithm_count_where_it_is_used(self) -> None:
        timer = "congestion_control.infiniband.ccti_timer"
        sets = [
            {CHOICE: "none"},
            {CHOICE: "infiniband", timer: "10 us"},
            {CHOICE: "infiniband", timer: "40 us"},
        ]
        found = fs.compare([fs.run(A, set=SHORT | {"run.duration": "1 ms"} | one) for one in sets])
        assert list(found.differences.loc[timer]) == [None, "10 us", "40 us"]
        assert found.labels[1] == f"{CHOICE} = infiniband, {timer} = 10 us"


def test_without_its_files_an_experiment_is_as_it_was_written(runs: list[fs.Result]) -> None:
    broken = [
        replace(run, manifest={**run.manifest, "experiment": SMALL.replace("[3, 3]", size)})
        for run, size in zip(runs, ("[3, 3]", "[2, 2]"), strict=True)
    ]
    broken[0].manifest["experiment"] = broken[0].manifest["experiment"].replace("topology", "topologie")
    assert "traffic.0.load" in differences(broken).index


KEYS = st.lists(st.sampled_from(["a", "b", "0", "3", '"x.y"']), min_size=1, max_size=4).map(".".join)


@given(KEYS, st.sampled_from(["1", "x y", '"t"', "[1, 2]", "{ a = 1 }", ""]))
def test_what_is_set_is_written_or_left_out(key: str, value: str) -> None:
    text = "a = 1\n[[b]]\na = 1\n[c]\na = { b = [1, 2] }\n"
    tree = fs.Experiment.from_text(text).with_overrides([(key, value)]).written()
    assert {"a", "b", "c"} <= set(tree)
    if "." not in key:
        assert tree[key] == {"1": 1, '"t"': "t", "[1, 2]": [1, 2], "{ a = 1 }": {"a": 1}}.get(value, value)


@pytest.mark.usefixtures("real")
def test_compare_has_no_nan_for_a_key_that_a_run_does_not_have(command: Command, tmp_path: Path) -> None:
    (tmp_path / "e.toml").write_text(SMALL)
    for name, interval in (("a", None), ("b", "1 ms"), ("c", "7 us")):
        setting = (
            ()
            if interval is None
            else ("--set", f"measure.congestion_interval={interval}", "--set", "seed=2")
        )
        assert command("run", "e.toml", "--out", name, *setting).code == 0
    ran = command("compare", "a", "b", "c")
    (row,) = [line for line in ran.out.splitlines() if line.startswith("│ measure.congestion_interval")]
    assert row.replace("│", "").split() == ["measure.congestion_interval", "-", "1", "ms", "7", "us"]


@pytest.mark.usefixtures("real")
def test_differences_name_entries_as_set_takes_them(small: Path, command: Command) -> None:
    def entry(name: str, load: float = 0.1) -> str:
        of_name = f'name = "{name}"\n' if name else ""
        return f'[[traffic]]\n{of_name}pattern = "uniform"\nload = {load}\nmessage = "1 KiB"\n'

    head = SMALL.partition("[[traffic]]")[0] + '[run]\nduration = "2 us"\n'
    small.write_text(head + entry("base") + entry("in.cast") + entry(""))
    for number, load in enumerate((0.2, 0.3)):
        changes = [f"traffic.base.load={load}", f'traffic."in.cast".load={load}', f"traffic.2.load={load}"]
        options = [part for change in changes for part in ("--set", change)]
        assert command("run", small, *options, "--out", f"r{number}").code == 0
    keys = ["traffic.base.load", 'traffic."in.cast".load', "traffic.2.load"]
    found = json.loads(command("compare", "r0", "r1", "--json").out)["differences"]
    assert found == {key: ["0.2", "0.3"] for key in keys}
    # Experiments whose entries differ have numbers, since names would hide that.
    small.write_text(head + entry("incast", 0.4))
    assert command("run", small, "--out", "other").code == 0
    found = json.loads(command("compare", "r0", "other", "--json").out)["differences"]
    assert found["traffic.0.name"] == ["base", "incast"]
    assert found["traffic.0.load"] == ["0.2", "0.4"]
    assert found['traffic."in.cast".load'] == ["0.2", None]
