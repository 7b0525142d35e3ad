"""Legends with names that matplotlib would leave out."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from matplotlib.axes import Axes
from sums_cases import MESH

import fabricsim as fs
from fabricsim import plots
from fabricsim.plots.legends import above, beside, labelled, legend
from fabricsim.plots.theme import new_figure, style

NAMES = ["_first", "second", "__third"]


def drawn() -> tuple[Any, Axes]:
    figure = new_figure(7.0, 4.0)
    axes = figure.add_subplot()
    for number, name in enumerate(NAMES[:2]):
        axes.plot([0, 1], [number, number], label=name)
    axes.plot([0, 1], [3, 3])  # without a label
    axes.bar([0.5], [1.0], label=NAMES[2])
    return figure, axes


def texts(found: Any) -> list[str]:
    return [text.get_text() for text in found.get_texts()]


def test_all_labels_are_in_the_legend() -> None:
    with style():
        figure, axes = drawn()
        assert texts(legend(figure)) == NAMES
        assert texts(legend(figure, *labelled(axes))) == NAMES
        assert texts(legend(figure, handles=axes.lines[:2])) == NAMES[:2]
        for place in (beside, above):
            place(axes)
            assert texts(axes.get_legend()) == NAMES


def test_pictures_of_a_run_name_groups_and_entries_with_underscores(real: None, tmp_path: Path) -> None:
    text = MESH.replace("clients", "_clients").replace('"background"', '"_background"')
    run = fs.run(fs.Experiment.from_text(text))
    of_groups = plots.throughput_by(run, "group")
    assert "_clients → others" in texts(of_groups.legends[0])
    saved = plots.save(of_groups, tmp_path / "groups.svg").read_text()
    assert re.search(r">_clients → others<", saved), "the text itself, which editors and search find"
    assert "_background" in texts(plots.throughput(run).legends[0])


def test_a_label_may_begin_with_an_underscore(real: None, tmp_path: Path) -> None:
    run = fs.run(fs.Experiment.from_text(MESH))
    with plots.look(plots.Look(labels={"background": "_b"})):
        saved = plots.save(plots.throughput(run), tmp_path / "entries.svg").read_text()
    assert ">_b<" in saved


@pytest.mark.parametrize("name", ["_child1", "_nolegend_"])
def test_names_that_matplotlib_gives_are_no_labels(name: str) -> None:
    with style():
        figure = new_figure(7.0, 4.0)
        axes = figure.add_subplot()
        axes.plot([0, 1], [0, 1], label=name)
        assert labelled(axes) == ([], [])
