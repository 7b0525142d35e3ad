"""Faults of a picture, by the boxes of its texts and legends: texts on each other, texts cut off, legends on data."""

from __future__ import annotations

import copy
import itertools
import math
from dataclasses import dataclass
from typing import Any

from matplotlib.axis import Axis
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.text import Text
from matplotlib.transforms import Bbox, BboxBase

SLACK = 1.5
"""Pixels by which boxes may overlap: letters do not fill theirs."""


@dataclass(frozen=True)
class Seen:
    """A text as it is drawn."""

    text: str
    box: Bbox
    corners: tuple[tuple[float, float], ...]
    """Of the box, which may be turned."""
    clip: Bbox | None
    """Box at which it is cut; None: the figure's."""


def faults(figure: Figure) -> list[str]:
    """A line for each fault."""
    canvas = FigureCanvasAgg(figure)
    figure.draw_without_rendering()
    texts = [_seen(text, canvas) for text in texts_of(figure)]
    found = [f"cut off: {one.text!r}" for one in texts if not _inside(one.box, one.clip or figure.bbox)]
    found += [
        f"overlap: {one.text!r} and {other.text!r}"
        for one, other in itertools.combinations(texts, 2)
        if one.box.overlaps(other.box) and _overlap(one.corners, other.corners)
    ]
    boxes = [(legend, legend.get_window_extent(_renderer(canvas))) for legend in _legends(figure)]
    found += [f"cut off: legend {_name(legend)}" for legend, box in boxes if not _inside(box, figure.bbox)]
    found += [
        f"legend over data: {_name(legend)}"
        for legend, box in boxes
        for axes in figure.axes
        if axes.axison and _deep(box, axes.bbox)
    ]
    return found


def _renderer(canvas: FigureCanvasAgg) -> Any:
    return canvas.get_renderer()  # type: ignore[no-untyped-call]


def texts_of(figure: Figure) -> list[Text]:
    """Texts that are drawn. An axis keeps labels of ticks that are out of view, and does not draw them."""
    ticks: set[int] = set()
    drawn: set[int] = set()
    for axis in figure.findobj(Axis):
        assert isinstance(axis, Axis)
        for tick in [*axis.majorTicks, *axis.minorTicks]:
            ticks |= {id(tick.label1), id(tick.label2)}
        if axis.axes.axison and axis.axes.get_visible():
            inner: Any = axis
            for tick in inner._update_ticks():  # those that are in view
                drawn |= {id(tick.label1), id(tick.label2)}
    hidden = {
        id(text)
        for axes in figure.axes
        if not axes.axison
        for axis in (axes.xaxis, axes.yaxis)
        for text in axis.findobj(Text)
    }
    return [
        text
        for text in figure.findobj(Text)
        if isinstance(text, Text)
        and text.get_visible()
        and text.get_text().strip()
        and (id(text) not in ticks or id(text) in drawn)
        and id(text) not in hidden
        and not _clipped_away(text)
    ]


def _clipped_away(text: Text) -> bool:
    """A text outside of the panel that it belongs to, and is cut at."""
    box = text.get_clip_box()
    if box is None or not text.get_clip_on():
        return False
    x, y = text.get_transform().transform(text.get_unitless_position())
    return not bool(box.contains(x, y))


def _seen(text: Text, canvas: FigureCanvasAgg) -> Seen:
    renderer = _renderer(canvas)
    angle = text.get_rotation()
    box = Text.get_window_extent(text, renderer)  # an annotation's own would include its arrow
    if math.isclose(angle % 90, 0.0, abs_tol=1e-6):
        corners = ((box.x0, box.y0), (box.x1, box.y0), (box.x1, box.y1), (box.x0, box.y1))
        return Seen(text.get_text(), box, corners, _clip(text))
    turned = copy.copy(text)
    turned.set_transform_rotates_text(False)
    turned.set_rotation(0.0)
    flat = Text.get_window_extent(turned, renderer)
    middle = ((box.x0 + box.x1) / 2, (box.y0 + box.y1) / 2)
    cos, sin = math.cos(math.radians(angle)), math.sin(math.radians(angle))
    half = (flat.width / 2, flat.height / 2)
    turned_corners = tuple(
        (
            middle[0] + a * half[0] * cos - b * half[1] * sin,
            middle[1] + a * half[0] * sin + b * half[1] * cos,
        )
        for a, b in ((-1, -1), (1, -1), (1, 1), (-1, 1))
    )
    return Seen(text.get_text(), box, turned_corners, _clip(text))


def _clip(text: Text) -> Bbox | None:
    box = text.get_clip_box() if text.get_clip_on() else None
    return None if box is None else Bbox(box.get_points())


def _overlap(one: tuple[tuple[float, float], ...], other: tuple[tuple[float, float], ...]) -> bool:
    """True if rectangles overlap: no side of either has both apart."""
    for corners in (one, other):
        for (ax, ay), (bx, by) in zip(corners, [*corners[1:], corners[0]], strict=True):
            length = math.hypot(bx - ax, by - ay) or 1.0
            normal = ((by - ay) / length, (ax - bx) / length)
            spans = [[x * normal[0] + y * normal[1] for x, y in each] for each in (one, other)]
            if min(max(spans[0]), max(spans[1])) - max(min(spans[0]), min(spans[1])) <= SLACK:
                return False
    return True


def _deep(box: BboxBase, other: BboxBase) -> bool:
    width = min(box.x1, other.x1) - max(box.x0, other.x0)
    height = min(box.y1, other.y1) - max(box.y0, other.y0)
    return bool(width > SLACK and height > SLACK)


def _inside(box: BboxBase, outer: BboxBase) -> bool:
    return bool(
        box.x0 >= outer.x0 - SLACK
        and box.y0 >= outer.y0 - SLACK
        and box.x1 <= outer.x1 + SLACK
        and box.y1 <= outer.y1 + SLACK
    )


def _legends(figure: Figure) -> list[Legend]:
    return [found for found in figure.findobj(Legend) if isinstance(found, Legend) and found.get_visible()]


def _name(legend: Legend) -> str:
    return ", ".join(text.get_text() for text in legend.get_texts())[:60]
