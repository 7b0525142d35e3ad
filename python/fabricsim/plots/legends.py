"""Legends beside or below the data, with all labels.

matplotlib leaves out labels that begin with `_`: names of groups, hosts and entries may.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.collections import Collection
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from fabricsim.plots.theme import is_narrow

_AUTOMATIC = re.compile(r"_(child\d+|container\d+|nolegend_)")
"""Labels that matplotlib gives to what has none."""
_INVISIBLE = "\u200b"


def labelled(axes: Axes) -> tuple[list[Any], list[str]]:
    """Artists with a label, and the labels."""
    kinds = (Line2D, Patch, Collection)
    artists = [*(artist for artist in axes.get_children() if isinstance(artist, kinds)), *axes.containers]
    found = [(artist, str(artist.get_label())) for artist in artists]
    shown = [(artist, label) for artist, label in found if label and not _AUTOMATIC.fullmatch(label)]
    return [artist for artist, _ in shown], [label for _, label in shown]


def add_legend(
    add: Callable[..., Legend], handles: Sequence[Any], labels: Sequence[str], **place: Any
) -> Legend:
    """A legend with labels as they are. `add` is a method of a figure or of axes."""
    # Until 3.10 matplotlib leaves them out of a list as well.
    found = add(
        list(handles), [_INVISIBLE + label if label.startswith("_") else label for label in labels], **place
    )
    for text, label in zip(found.get_texts(), labels, strict=True):
        text.set_text(label)
    return found


def legend(
    figure: Figure, *entries: Any, title: str = "", handles: Sequence[Any] = (), below: bool = False
) -> Legend:
    """A legend beside the data, or below it where the figure is narrow.

    Args:
        figure: the figure.
        entries: handles and their labels; by default those of all axes, each label once.
        title: heading of the legend.
        handles: handles with labels of their own, instead of `entries`.
        below: it is below in every figure.
    """
    if handles:
        entries = (list(handles), [str(handle.get_label()) for handle in handles])
    if not entries:
        found: dict[str, Any] = {}
        for axes in figure.axes:
            for handle, label in zip(*labelled(axes), strict=True):
                found.setdefault(str(label), handle)
        entries = (list(found.values()), list(found))
    width, height = figure.get_size_inches()
    size = float(mpl.rcParams["legend.fontsize"]) / 72
    longest = max((len(line) for text in entries[1] for line in text.split("\n")), default=1)
    column = (4.5 + 0.62 * longest) * size
    if not below and not is_narrow(figure) and column < 0.4 * width:
        return add_legend(figure.legend, *entries, loc="outside right center", title=title)
    columns = max(1, min(len(entries[1]), int(0.98 * width / column)))
    lines = max((text.count("\n") + 1 for text in entries[1]), default=1)
    rows = math.ceil(len(entries[1]) / columns) * lines + bool(title)
    figure.set_size_inches(width, height + max(0, rows - 2) * 1.5 * size)
    return add_legend(figure.legend, *entries, loc="outside lower center", title=title, ncols=columns)


def beside(axes: Axes) -> None:
    """The legend of one of several panels: on its right, or above it where the figure is narrow."""
    figure = axes.get_figure()
    assert figure is not None
    handles, labels = labelled(axes)
    width = float(figure.bbox.width / figure.dpi)
    size = float(mpl.rcParams["legend.fontsize"]) / 72
    longest = max((len(line) for text in labels for line in text.split("\n")), default=1)
    column = (4.5 + 0.62 * longest) * size
    if column < 0.4 * width:
        add_legend(
            axes.legend, handles, labels, loc="upper left", bbox_to_anchor=(1.01, 1.02), borderaxespad=0.0
        )
        return
    above(axes)


def above(axes: Axes) -> None:
    """The legend of one of several panels above it, in as many columns as there is room for."""
    figure = axes.get_figure()
    assert figure is not None
    handles, labels = labelled(axes)
    size = float(mpl.rcParams["legend.fontsize"]) / 72
    longest = max((len(line) for text in labels for line in text.split("\n")), default=1)
    room = 0.75 * float(figure.bbox.width / figure.dpi)
    columns = max(1, min(len(labels), int(room / ((4.5 + 0.62 * longest) * size))))
    place: dict[str, Any] = {"loc": "lower left", "bbox_to_anchor": (0.0, 1.01), "borderaxespad": 0.0}
    add_legend(axes.legend, handles, labels, ncols=columns, **place)
