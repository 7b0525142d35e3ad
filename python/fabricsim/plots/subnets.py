"""Loads of the links of a subnet, by the forwarding tables of one answer or of several."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fabricsim.errors import InputError
from fabricsim.lazy import numpy as np
from fabricsim.plots.legends import labelled, legend
from fabricsim.plots.theme import head, line_look, new_figure, panel_title, style
from fabricsim.subnets import Routed

_PANELS = {
    "all_to_all": ("all to all (dotted: mean)", "paths on the link"),
    "shift": ("shift", "flows on the link, worst shift"),
    "bit-reversal": ("bit reversal", "flows on the link"),
    "incast": ("incast", "flows on the link, worst receiver"),
    "matrix": ("matrix", "weight on the link"),
}
"""Title and label of each column of loads."""


def link_loads(answers: Mapping[str, Routed], title: str) -> Figure:
    """The load of every direction of every link between switches, the fullest first, for each pattern of traffic.

    Args:
        answers: answers by their names, at least one.
        title: title of the figure.

    Raises:
        InputError: the subnet has no links between switches.
    """
    found = [answer.links for answer in answers.values()]
    if not any(found):
        raise InputError("the subnet has no links between switches: there are no loads to draw")
    shown = [column for column in _PANELS if any(column in links[0] for links in found if links)]
    rows = (len(shown) + 1) // 2
    with style():
        figure = new_figure(8.0, 0.6 + 2.6 * rows)
        panels = figure.subplots(rows, 2, squeeze=False).ravel().tolist()
        for panel, column in zip(panels, shown, strict=False):
            _panel(panel, column, list(answers), found)
        for panel in panels[len(shown) :]:
            panel.set_axis_off()
        lines, names = labelled(panels[0])
        head(figure, title)
        legend(figure, lines, names, below=True)
    return figure


def _panel(
    axes: Axes, column: str, names: Sequence[str], found: Sequence[Sequence[Mapping[str, float]]]
) -> None:
    """Sorted loads of one pattern; a dotted line at the mean of each answer."""
    heading, label = _PANELS[column]
    for number, (name, links) in enumerate(zip(names, found, strict=True)):
        loads = np.sort([link[column] for link in links if column in link])[::-1]
        if not len(loads):
            continue
        look = line_look(number)
        places = np.linspace(0.0, 100.0, len(loads) + 1)
        axes.step(places, np.append(loads, loads[-1]), where="post", label=name, **look)
        if column == "all_to_all":
            axes.axhline(loads.mean(), color=look["color"], linewidth=0.8, linestyle=":")
    panel_title(axes, heading, 2)
    axes.set(xlabel="links, fullest first (%)", ylabel=label)
    axes.set_xlim(0.0, 100.0)
    axes.set_ylim(bottom=0.0)
