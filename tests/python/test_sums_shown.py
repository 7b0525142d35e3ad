"""Sums of flows by source, destination and group of hosts in pictures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from conftest import Command
from matplotlib.colors import to_rgba
from sums_cases import LOAD, MERGED, write_mesh

import fabricsim as fs
from fabricsim import plots
from fabricsim.compare import compare
from fabricsim.plots.entities import MOST_KEYS, Keys
from fabricsim.plots.sets import plot_folder

pytestmark = pytest.mark.usefixtures("real")
HOT = "H(2,2).0"


@pytest.fixture
def mesh(tmp_path: Path) -> Path:
    return write_mesh(tmp_path)


def legend_of(figure: Any) -> list[str]:
    return [text.get_text() for text in figure.legends[0].get_texts()]


def test_bars_are_the_sums_and_the_mean_of_the_others(mesh: Path) -> None:
    run = fs.run(mesh)
    sums: Any = run.by("destination")["accepted_gbps"].sort_values(ascending=False, kind="stable")
    left, right = plots.entries_by(run, "destination").axes
    names = [text.get_text() for text in left.get_yticklabels()]
    assert names[4] == "mean of 2 others"
    assert names[:4] == list(sums.index[:4])
    assert names[5:] == list(sums.index[-3:])
    accepted = left.containers[1]
    widths = [bar.get_width() for bar in accepted]
    expected = [*sums.iloc[:4], sums.iloc[4:6].mean(), *sums.iloc[-3:]]
    assert widths == pytest.approx(expected)
    assert len({tuple(bar.get_facecolor()) for bar in accepted}) == 8, "a colour for each"
    assert left.get_xlabel() == "throughput (Gb/s)"
    assert right.get_xlabel().startswith("packet latency (")


def test_of_few_keys_all_are_drawn(mesh: Path) -> None:
    set_to = {"groups": {"left": ["H(0,*"], "clients": ["H(0,*"]}}
    figure = plots.entries_by(fs.run(mesh, set=set_to), "group")
    names = {text.get_text() for text in figure.axes[0].get_yticklabels()}
    assert names == {"left → left", "left → others", "others → left", "others → others"}


def test_lines_are_the_sums_over_time(mesh: Path) -> None:
    run = fs.run(mesh, set={"measure.bin": "1 us"})
    figure = plots.throughput_by(run, "destination")
    (axes,) = figure.axes
    lines = {line.get_label(): line for line in axes.get_lines()}
    assert set(legend_of(figure)) == set(lines)
    assert len(lines) == MOST_KEYS + 1
    series = run.series_by("destination")
    hot = series[series["destination"] == HOT].set_index("time_ns")["gbps"]
    # Bins may be drawn together: the mean over time stays.
    drawn: Any = lines[HOT].get_ydata()
    assert np.mean(drawn[:-1]) == pytest.approx(hot.mean(), rel=0.05)
    assert figure.legends[0].get_title().get_text() == "destination"
    assert axes.get_ylabel() == "accepted throughput (Gb/s)"


def test_a_key_has_one_colour_in_all_pictures_of_a_run(mesh: Path) -> None:
    run = fs.run(mesh)
    bars = plots.entries_by(run, "destination").axes[0]
    names = [text.get_text() for text in bars.get_yticklabels()]
    colours = {name: bar.get_facecolor() for name, bar in zip(names, bars.containers[1], strict=True)}
    for line in plots.throughput_by(run, "destination").axes[0].get_lines():
        assert to_rgba(line.get_color()) == colours[str(line.get_label())]


def test_chosen_keys_are_the_largest_and_the_smallest() -> None:
    keys = Keys.of(pd.Series({f"k{n}": float(n) for n in range(20)}))
    assert keys.shown == ["k19", "k18", "k17", "k16", "k2", "k1", "k0"]
    assert keys.others_label == "mean of 13 others"
    assert Keys.of(pd.Series({"a": 1.0, "b": 2.0})).shown == ["b", "a"]


def test_plot_draws_sums_of_a_run(mesh: Path, command: Command) -> None:
    assert command("run", mesh, "--out", "r", "--by", "group", "--plot").code == 0
    assert {path.name for path in Path("r").glob("*by-group.png")} == {
        "by-group.png",
        "throughput-by-group.png",
    }
    ran = command("plot", "r", "--by", "destination", "--out", "d")
    assert ran.code == 0
    assert {path.name for path in Path("d").iterdir()} == {
        "by-destination.png",
        "throughput-by-destination.png",
    }
    assert command("plot", "r", "--by", "source", "--kind", "throughput", "--out", "t").code == 0
    assert [path.name for path in Path("t").iterdir()] == ["throughput-by-source.png"]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("--by", "grp"), "did you mean group?"),
        (("--by", "group", "--kind", "links"), "links is not of sums: --by is for entries and throughput"),
        (("--by", "group", "--host", "H1", "--kind", "sequence"), "--by is for whole runs"),
    ],
)
def test_sums_that_plot_refuses(
    mesh: Path, command: Command, arguments: tuple[str, ...], expected: str
) -> None:
    command("run", mesh, "--out", "r")
    ran = command("plot", "r", *arguments)
    assert (ran.code, expected in ran.err) == (2, True), ran.err


def test_pictures_of_flows_by_source_say_what_to_set(mesh: Path, tmp_path: Path) -> None:
    fs.run(mesh, set={"measure.flows": "sources"}, out=tmp_path / "r")
    with pytest.raises(fs.InputError, match=MERGED):
        plot_folder(tmp_path / "r", by="destination")
    assert len(plot_folder(tmp_path / "r", by="source")) == 2


def test_a_comparison_draws_sums(mesh: Path) -> None:
    runs = [fs.run(mesh, set={LOAD: load}) for load in (0.1, 0.4)]
    found = compare(runs)
    figure = plots.comparison(found, by="group")
    lines, bars = figure.axes[:2], figure.axes[2:4]
    assert len(lines[0].get_lines()) == len(legend_of(figure)) == MOST_KEYS + 1
    table: Any = found.by("group")
    order = table["accepted_gbps"].mean(axis=1).sort_values(ascending=False)
    for label, axes in zip(found.labels, bars, strict=True):
        heights = [bar.get_height() for bar in axes.containers[0]]
        assert heights[0] == pytest.approx(table.loc[order.index[0], ("accepted_gbps", label)])
        assert len(heights) == MOST_KEYS + 1
    assert "Gb/s" in bars[0].get_ylabel()


def test_a_sweep_draws_sums_over_its_parameter(mesh: Path, command: Command, tmp_path: Path) -> None:
    loads = [0.1, 0.2, 0.4]
    swept = fs.sweep(mesh, vary={LOAD: loads}, by=["destination", "group"], jobs=1, out=tmp_path / "s")
    figure = plots.sums_over_parameters(swept, "destination", "accepted_gbps")
    (axes,) = figure.axes
    line: Any = next(line for line in axes.get_lines() if line.get_label() == HOT)
    table = swept.by("destination")
    expected = table[table["destination"] == HOT]["accepted_gbps"].tolist()
    assert list(line.get_xdata()) == loads
    assert list(line.get_ydata()) == pytest.approx(expected)
    one = plots.over_parameters(swept, f"destination.{HOT}.accepted_gbps")
    alone: Any = one.axes[0].get_lines()[0]
    assert list(alone.get_ydata()) == pytest.approx(expected)
    assert "Gb/s" in one.axes[0].get_ylabel()
    ran = command("plot", "s", "--by", "group", "--metric", "jain", "--metric", "latency_p99_ns")
    assert ran.code == 0, ran.err
    names = {path.name for path in (tmp_path / "s").glob("*.png")}
    assert names == {"jain-by-group.png", "latency_p99_ns-by-group.png"}


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("--by", "source"), "no sums by source: run it with"),
        (("--by", "group", "--metric", "latency_mean"), "did you mean latency_mean_ns?"),
        (("--metric", "group.clients->storge.jain"), "did you mean clients->storage?"),
    ],
)
def test_sums_that_a_picture_of_a_sweep_lacks(
    mesh: Path, command: Command, tmp_path: Path, arguments: tuple[str, ...], expected: str
) -> None:
    fs.sweep(mesh, vary={"seed": [1, 2]}, by="group", jobs=1, out=tmp_path / "s")
    ran = command("plot", "s", *arguments)
    assert (ran.code, expected in ran.err) == (2, True), ran.err


def test_a_sweep_has_the_sums_that_its_metrics_need(mesh: Path, command: Command) -> None:
    metric = f"destination.{HOT}.latency_mean_ns"
    ran = command("sweep", mesh, "--vary", "seed=1,2", "--plot", metric, "--jobs", "1", "--out", "s")
    assert ran.code == 0, ran.err
    assert Path(f"s/{metric}.png").exists()
    assert Path("s/by_destination.parquet").exists()


def test_names_of_groups_make_no_folders(tmp_path: Path, command: Command) -> None:
    file = tmp_path / "odd.toml"
    mesh = write_mesh(tmp_path).read_text()
    file.write_text(mesh.replace("[groups]", '[groups]\n"../a/b" = ["H(0,0).0"]'))
    options = ("--vary", f"{LOAD}=0.1,0.2", "--by", "group", "--jobs", "1", "--out", tmp_path / "out")
    assert command("sweep", file, *options).code == 0
    name = "group.../a/b->others.accepted_gbps"
    ran = command("plot", tmp_path / "out", "--metric", name, "--out", tmp_path / "drawn")
    assert ran.code == 0, ran.err
    assert [path.name for path in (tmp_path / "drawn").iterdir()] == [
        "group...-a-b to others.accepted_gbps.png"
    ]


def test_pairs_of_groups_with_the_same_text_are_refused(tmp_path: Path, command: Command) -> None:
    file = tmp_path / "ambiguous.toml"
    groups = '[groups]\na = ["H(0,0).0"]\n"b->c" = ["H(0,1).0"]\n"a->b" = ["H(1,0).0"]\nc = ["H(1,1).0"]'
    file.write_text(write_mesh(tmp_path).read_text().replace("[groups]", groups))
    options = ("--vary", f"{LOAD}=0.1,0.2", "--by", "group", "--jobs", "1", "--out", tmp_path / "out")
    assert command("sweep", file, *options).code == 0
    ran = command("plot", tmp_path / "out", "--metric", "group.a->b->c.accepted_gbps", "--out", tmp_path)
    assert (ran.code, len(ran.err.strip().splitlines())) == (2, 1)
    assert "is ambiguous: names of these groups contain '->'" in ran.err
