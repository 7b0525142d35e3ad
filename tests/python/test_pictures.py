"""Every kind of picture, in every style: no text on another, none cut off, no legend on data."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from conftest import Command
from matplotlib.colors import to_rgba, to_rgba_array
from matplotlib.figure import Figure
from picture_cases import NETWORKS, PICTURES, SWEPT, SWEPT_PICTURES, network, tree
from picture_check import faults, texts_of

import fabricsim as fs
from fabricsim import plots
from fabricsim.plots.cells import coordinates_of, panels_of
from fabricsim.plots.looks import relabel
from fabricsim.plots.sets import left_out
from fabricsim.plots.theme import HEAT

BESIDE = (
    "throughput",
    "links",
    "latency",
    "congestion",
    "transport",
    "trials",
    "heat map, dragonfly",
    "load and latency",
)
"""Pictures whose legends or bars of colours are beside the data on a screen, and elsewhere on paper."""
ON_SLIDES = ("congestion", "entries", "load and latency")
ON_PAPER = ("heat map, torus",)
"""Of the heat maps; the places of links in the others are tests of their own."""


def all_cases(pictures: dict[str, Callable[[], Figure]]) -> list[tuple[str, plots.Style]]:
    """Paper is narrowest, so that every picture is checked on it."""
    chosen: list[tuple[plots.Style, tuple[str, ...]]] = [
        (
            "paper",
            tuple(name for name in pictures if not name.startswith("heat map") or name in ON_PAPER),
        ),
        ("screen", BESIDE),
        ("slides", ON_SLIDES),
    ]
    return [(name, of) for of, names in chosen for name in names if name in pictures]


@pytest.mark.parametrize(("name", "of"), all_cases(PICTURES))
def test_a_picture_has_no_faults(real: None, name: str, of: plots.Style) -> None:
    with plots.look(plots.Look(of)):
        assert faults(PICTURES[name]()) == []


@pytest.mark.parametrize(("name", "of"), all_cases(SWEPT_PICTURES))
def test_a_picture_of_a_sweep_has_no_faults(fake: None, name: str, of: plots.Style) -> None:
    with plots.look(plots.Look(of)):
        assert faults(SWEPT_PICTURES[name]()) == []


def test_every_plot_of_a_run_is_a_case() -> None:
    have = {name.partition(",")[0].replace(" ", "-") for name in PICTURES}
    assert set(plots.PLOTS) - have == set()


OTHER_NAMES = {
    "entries_by": "by destination",
    "importance": "importance",
    "latency_cdf": "latency",
    "link_loads": "link loads",
    "load_latency": "load and latency",
    "over_parameters": "lines",
    "sets_of_seeds": "sets of seeds",
    "throughput_by": "throughput by source",
}
"""Cases of functions whose names are other ones."""
NO_PICTURES = {"new_figure", "draw"}
"""Functions that return a figure and draw nothing of their own."""


def test_every_function_that_draws_is_a_case() -> None:
    drawing = set()
    for each in pkgutil.iter_modules(plots.__path__):
        module = importlib.import_module(f"{plots.__name__}.{each.name}")
        for name, function in inspect.getmembers(module, inspect.isfunction):
            if function.__annotations__.get("return") == "Figure" and not name.startswith("_"):
                drawing.add(name)
    assert {"throughput", "failures", "trials", *OTHER_NAMES} <= drawing
    cases = {name.partition(",")[0] for name in (*PICTURES, *SWEPT_PICTURES)}
    missing = {
        name for name in drawing - NO_PICTURES if OTHER_NAMES.get(name, name.replace("_", " ")) not in cases
    }
    assert missing == set()


ONE_SIZE = ("sequence", "captured")
"""Charts that are laid out in inches and have one size in all styles (docs/guide/pictures.md)."""


def has_style_and_labels(name: str, draw: Callable[[], Figure]) -> None:
    """Checks the width and the size of text of a picture on paper, and that each of its texts can have a label."""
    with plots.look(plots.Look("paper", width_mm=100.0)):
        figure = draw()
        assert (figure.get_figwidth() == pytest.approx(100.0 / 25.4)) == (name not in ONE_SIZE)
        figure.draw_without_rendering()
        before = [text for text in texts_of(figure) if re.search("[A-Za-z]", text.get_text())]
        assert before
        assert name in ONE_SIZE or max(float(text.get_fontsize()) for text in before) <= 8.5
        names = {text.get_text().strip(): f"label{at}" for at, text in enumerate(before)}
        relabel(figure, plots.Look(labels=names))
        figure.draw_without_rendering()
    left = [text.get_text() for text in texts_of(figure) if re.search("[A-Za-z]", text.get_text())]
    assert left
    assert [text for text in left if not re.fullmatch(r"label\d+", text.strip())] == []


def on_paper(pictures: dict[str, Callable[[], Figure]]) -> list[str]:
    return [name for name, of in all_cases(pictures) if of == "paper"]


@pytest.mark.parametrize("name", on_paper(PICTURES))
def test_a_picture_has_its_style_and_labels(real: None, name: str) -> None:
    has_style_and_labels(name, PICTURES[name])


@pytest.mark.parametrize("name", on_paper(SWEPT_PICTURES))
def test_a_picture_of_a_sweep_has_its_style_and_labels(fake: None, name: str) -> None:
    has_style_and_labels(name, SWEPT_PICTURES[name])


@pytest.mark.usefixtures("real")
def test_widths_and_heights_of_text() -> None:
    with plots.look(plots.Look("paper")):
        figure = plots.throughput(tree())
    assert figure.get_figwidth() * 25.4 == pytest.approx(89.0)
    assert figure.axes[0].xaxis.label.get_fontsize() == 7
    with plots.look(plots.Look("paper", plots.width_of("6 in"))):
        assert plots.throughput(tree()).get_figwidth() == pytest.approx(6.0)
    assert plots.throughput(tree()).axes[0].xaxis.label.get_fontsize() == 9


@pytest.mark.parametrize(
    ("text", "width"), [("column", 89.0), ("page", 183.0), ("12 cm", 120.0), ("100mm", 100.0)]
)
def test_widths(text: str, width: float) -> None:
    assert plots.width_of(text) == width


@pytest.mark.parametrize("text", ["wide", "10 mm", "2 km", "1..2 mm", "120"])
def test_no_widths(text: str) -> None:
    with pytest.raises(fs.InputError, match="must be column, page, or 40 mm to 1000 mm"):
        plots.width_of(text)


@pytest.mark.usefixtures("real")
def test_labels_replace_names_everywhere(tmp_path: Path) -> None:
    labels = {"H1": "storage", "victims": "other jobs", "H4 → H0": "backup"}
    with plots.look(plots.Look(labels=labels)):
        (lines,) = plots.save_plots(tree(), tmp_path, "svg", ["throughput"])
        (bars,) = plots.save_plots(tree(), tmp_path, "svg", ["entries"])
    text = lines.read_text(encoding="utf-8")
    assert ">backup<" in text
    assert "H5 → H0" in text
    assert "H4 → H0" not in text
    # A part of a name, but no part of a word; a part of a title; a tick label.
    assert ">storage → H2<" in text
    assert ">storage → H15<" in text
    assert "and two other jobs of it" in text
    assert bars.read_text(encoding="utf-8").count(">other jobs<") == 1


@pytest.mark.usefixtures("real")
@pytest.mark.parametrize(
    ("labels", "problem"),
    [
        (["H99=a"], "--label H99: no text of these pictures has this name"),
        (["H99=a", "nope=b"], "--label H99, nope: no text of these pictures has one of these names"),
        (["H4"], "--label H4: must be NAME=TEXT"),
        (["H4=a", "H4=b"], "--label H4: given twice"),
    ],
)
def test_labels_that_cannot_be(labels: list[str], problem: str, tmp_path: Path) -> None:
    with (
        pytest.raises(fs.InputError, match=re.escape(problem)),
        plots.look(plots.Look(labels=plots.label_of(labels))),
    ):
        plots.save_plots(tree(), tmp_path, "png", ["latency"])


@pytest.mark.usefixtures("real")
def test_text_stays_text(tmp_path: Path) -> None:
    (svg,) = plots.save_plots(tree(), tmp_path, "svg", ["jobs"])
    assert "time (µs)</text>" in svg.read_text(encoding="utf-8")
    (pdf,) = plots.save_plots(tree(), tmp_path, "pdf", ["jobs"])
    assert b"/CIDFontType2" in pdf.read_bytes()
    assert b"/Type3" not in pdf.read_bytes()


@pytest.mark.usefixtures("real")
def test_a_flow_has_one_look_in_all_pictures() -> None:
    throughput, congestion = plots.throughput(tree()).axes[0], plots.congestion(tree()).axes[0]
    looks = {
        str(line.get_label()): (line.get_color(), line.get_linestyle(), line.get_linewidth())
        for line in throughput.lines
    }
    both = [line for line in congestion.lines if str(line.get_label()) in looks]
    assert len(both) >= 3
    for line in both:
        assert looks[str(line.get_label())] == (line.get_color(), line.get_linestyle(), line.get_linewidth())


@pytest.mark.usefixtures("real")
@pytest.mark.parametrize(("chosen", "factor"), [("paper", 0.7), ("slides", 1.6)])
def test_all_lines_have_the_thickness_of_the_style(chosen: plots.Style, factor: float) -> None:
    def widths() -> list[float]:
        axes = [plots.throughput(tree()).axes[0], *plots.congestion(tree()).axes]
        return [line.get_linewidth() for one in axes for line in one.lines]

    on_screen = widths()
    with plots.look(plots.Look(chosen)):
        assert widths() == pytest.approx([factor * width for width in on_screen])


@pytest.mark.usefixtures("real")
def test_a_job_has_one_colour_in_all_pictures() -> None:
    place = list(tree().entries["entry"]).index("all to all")
    accepted = plots.entries(tree()).axes[0].patches[len(tree().entries) + place].get_facecolor()
    (bars,) = plots.jobs(tree()).axes[0].collections
    assert to_rgba_array(bars.get_facecolor())[0] == pytest.approx(to_rgba(accepted))


@pytest.mark.usefixtures("real")
@pytest.mark.parametrize("name", NETWORKS)
def test_a_heat_map_has_every_link(name: str) -> None:
    run = network(name)
    panels = panels_of(run, "utilisation")
    shown = [str(link) for panel in panels for link in panel.links["link"]]
    assert sorted(shown) == sorted(map(str, run.links["link"].unique()))
    for panel in panels:
        assert panel.links["x"].between(0, panel.columns - 1).all()
        assert panel.links["y"].between(0, panel.rows - 1).all()


@pytest.mark.usefixtures("real")
def test_places_are_coordinates() -> None:
    plus_x = next(panel for panel in panels_of(network("torus"), "utilisation") if panel.title == "+x")
    for link, x, y in zip(plus_x.links["link"], plus_x.links["x"], plus_x.links["y"], strict=True):
        here, there = (coordinates_of(name) for name in str(link).split("->"))
        assert (x, y) == (here[0] + 5 * here[2], here[1])
        assert there[0] == (here[0] + 1) % 4
    (group,) = [panel for panel in panels_of(network("dragonfly"), "utilisation") if panel.title == "global"]
    for link, x, y in zip(group.links["link"], group.links["x"], group.links["y"], strict=True):
        here, there = (coordinates_of(name) for name in str(link).split("->"))
        assert (x, y) == (there[0], here[0])


@pytest.mark.usefixtures("real")
def test_the_busiest_links_are_named_with_their_use() -> None:
    links = network("tree").links.groupby("link")["utilisation"].sum().sort_values(ascending=False)
    for draw in (plots.heat_map, plots.links):
        (legend,) = draw(network("tree")).legends
        values = [float(text.get_text().rpartition(": ")[2].rstrip("%")) for text in legend.get_texts()]
        assert values == pytest.approx(100 * links[:3].to_numpy(), abs=0.051)
        for text in legend.get_texts():
            name, _, value = text.get_text().rpartition(": ")
            assert float(value.rstrip("%")) == pytest.approx(100 * links[name], abs=0.051)


def test_idle_is_light_and_busy_is_dark() -> None:
    light = [0.2126 * r + 0.7152 * g + 0.0722 * b for r, g, b, _ in map(HEAT, (0.0, 0.25, 0.5, 0.75, 1.0))]
    assert light == sorted(light, reverse=True)
    assert light[0] > 0.9
    assert light[-1] < 0.1


@pytest.mark.usefixtures("real")
def test_what_is_left_out_is_said_with_the_reason(tmp_path: Path, command: Command) -> None:
    run = network("tree")
    many = replace(run, frames={**run.frames, "nodes": pd.concat([run.nodes] * 5)})
    assert {name: text for name, text in left_out(many).items() if name in ("links", "heat-map")} == {
        "links": "more than 400 nodes have no room; heat-map has them"
    }
    assert "heat-map" in left_out(tree())
    fs.run(fs.Experiment.from_text(SWEPT), out=tmp_path / "r")
    ran = command("plot", "r", "--style", "paper", "--width", "page", "--label", "packet latency=latency")
    assert ran.code == 0
    assert "not drawn: entries: at most one entry has packets" in ran.err
    assert "picture: r/links.png" in ran.out
    assert command("plot", "r", "--width", "1 mm").code == 2


@pytest.mark.usefixtures("real")
def test_pictures_without_a_packet_or_a_table_are_left_out(tmp_path: Path, command: Command) -> None:
    fs.run(
        fs.Experiment.from_text('topology.ring = { switches = 4 }\nrun.duration = "10 us"'),
        out=tmp_path / "idle",
    )
    ran = command("plot", "idle")
    assert ran.out.split() == ["picture:", "idle/links.png"]
    assert "not drawn: throughput: no packet arrived" in ran.err
    assert "not drawn: latency: no packet arrived" in ran.err

    fs.run(fs.Experiment.from_text(SWEPT), out=tmp_path / "r")
    (tmp_path / "r/series.parquet").unlink()
    (tmp_path / "r/SHA256SUMS").unlink()
    ran = command("plot", "r")
    assert "not drawn: throughput: the run has no table series" in ran.err
    assert "picture: r/latency.png" in ran.out


@pytest.mark.usefixtures("real")
def test_no_rate_is_above_its_link() -> None:
    lines = plots.throughput(tree()).axes[0].lines
    # The series itself has bins shorter than a packet.
    assert tree().series["gbps"].max() > 200.0
    assert max(np.max(np.asarray(line.get_ydata(), float)) for line in lines) <= 100.0
    assert all(np.size(line.get_ydata()) >= 20 for line in lines)


def test_seeds_show_each_run_and_the_mean(fake: None) -> None:
    figure = SWEPT_PICTURES["seeds"]()
    load = figure.axes[0]
    assert [text.get_text() for text in load.get_yticklabels()] == ["all", "incast", "victims of it"]
    dots = [line for line in load.lines if line.get_marker() == "|" and np.size(line.get_xdata()) == 5]
    means = [line for line in load.lines if line.get_marker() == "o"]
    assert len(dots) == len(means) == 3
    for dot, mean in zip(dots, means, strict=True):
        each = [np.asarray(line.get_xdata(), float).mean() for line in (mean, dot)]
        assert each[0] == pytest.approx(each[1])
    assert "accepted load" in load.get_xlabel()


def test_repetitions_have_that_picture(fake: None, small: Path, tmp_path: Path) -> None:
    once = fs.sweep(small, seeds=3, jobs=1)
    assert [path.name for path in plots.save_sweep_plots(once, tmp_path)] == ["seeds.png"]
    varied = fs.sweep(small, vary={"traffic.0.load": [0.1, 0.2]}, seeds=3, jobs=1)
    assert [path.name for path in plots.save_sweep_plots(varied, tmp_path)] == ["load-latency.png"]


def test_titles_are_those_of_experiments(fake: None) -> None:
    for name in ("bars", "seeds"):
        title = SWEPT_PICTURES[name]().get_suptitle()
        assert title.startswith("Mesh under uniform traffic:"), name


@pytest.mark.usefixtures("real")
def test_marks_of_short_bins_are_summed_up() -> None:
    marked = tree().table("run_series")["marked"]
    assert marked.max() <= 2
    (line,) = [line for line in plots.congestion(tree()).axes[1].lines if "FECN" in str(line.get_label())]
    shown = np.asarray(line.get_ydata(), float)
    assert 90 <= len(shown) <= 110
    assert shown.sum() == marked.sum() > 0
