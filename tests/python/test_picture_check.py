"""The check of pictures finds faults that are planted, and no others."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from matplotlib.figure import Figure
from picture_check import faults

from fabricsim.plots.theme import new_figure, style


def clean() -> Figure:
    with style():
        figure = new_figure()
        axes = figure.add_subplot()
        axes.plot([0.0, 1.0], [0.0, 1.0], label="a line")
        axes.set(xlabel="time (ns)", ylabel="rate", title="A picture")
        return figure


def texts_on_each_other(figure: Figure) -> str:
    figure.axes[0].text(0.5, 0.5, "one text")
    figure.axes[0].text(0.52, 0.5, "another")
    return "overlap: 'one text' and 'another'"


def turned_texts(figure: Figure) -> str:
    figure.axes[0].text(0.5, 0.5, "a turned text", rotation=40)
    figure.axes[0].text(0.5, 0.55, "flat", rotation=0)
    return "overlap: 'a turned text' and 'flat'"


def tick_labels(figure: Figure) -> str:
    figure.axes[0].set_xticks([0.5, 0.52], ["a long label", "a second one"])
    return "overlap: 'a long label' and 'a second one'"


def title_too_long(figure: Figure) -> str:
    figure.axes[0].set_title("wide " * 40)
    return f"cut off: {'wide ' * 40!r}"


def cut_by_its_panel(figure: Figure) -> str:
    figure.axes[0].text(0.98, 0.5, "a label at the edge", clip_on=True)
    return "cut off: 'a label at the edge'"


def legend_on_data(figure: Figure) -> str:
    figure.axes[0].legend(loc="center")
    return "legend over data: a line"


PLANTED = [texts_on_each_other, turned_texts, tick_labels, title_too_long, cut_by_its_panel, legend_on_data]


@pytest.mark.parametrize("plant", PLANTED)
def test_the_check_finds_a_planted_fault(plant: Callable[[Figure], str]) -> None:
    figure = clean()
    assert faults(figure) == []
    assert plant(figure) in faults(figure)


def test_the_check_passes_texts_that_are_near() -> None:
    figure = clean()
    figure.axes[0].text(0.2, 0.2, "a turned text", rotation=40)
    figure.axes[0].text(0.2, 0.45, "beside it, in its box")
    figure.axes[0].text(7.0, 0.5, "not drawn", clip_on=True)
    assert faults(figure) == []
