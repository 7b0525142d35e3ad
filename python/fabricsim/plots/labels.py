"""Texts along lines, where there is room for them."""

from __future__ import annotations

import math
from collections.abc import Sequence

from matplotlib.axes import Axes

FONT = 6.5
LETTER, LINE, ABOVE = 0.056, 0.12, 0.02
"""Inches that a letter is wide and a line high in this font, with some space, and that it stands above its line."""
_PLACES = (0.06, 0.94, 0.5, 0.25, 0.75)
"""Parts of the way where a text begins, ends, or has its middle."""

Point = tuple[float, float]
Line = tuple[Point, Point]


def columns(axes: Axes, places: Sequence[tuple[float, str, str]]) -> None:
    """Draws the columns of a sequence chart: x, name and grey of each."""
    for x, name, grey in places:
        axes.axvline(x, color=grey, linewidth=1.2)
        axes.annotate(
            name,
            (x, 1.0),
            (0, 6),
            xycoords=axes.get_xaxis_transform(),
            textcoords="offset points",
            ha="center",
            fontsize=8,
            annotation_clip=False,
        )


class Labels:
    """Puts texts along lines; x is in inches, and an inch of y is `inch`. Time runs down."""

    def __init__(self, axes: Axes, inch: float, lines: Sequence[Line]) -> None:
        self._axes = axes
        self._inch = inch
        self._lines = lines
        self._taken: list[tuple[float, float, Line]] = []
        """From x to x, and the line."""
        self.left_out = 0
        """Texts that found no room."""

    def put(self, texts: Sequence[str], line: Line, colour: str) -> None:
        """Writes the first of the texts that finds room along the line, where the fewest others cross it."""
        (x, y), (end_x, end_y) = line
        steep = math.hypot(1.0, (end_y - y) / self._inch / max(abs(end_x - x), 1e-9))
        direction = math.copysign(1.0, end_x - x)
        for text in texts:
            span = LETTER * len(text) / steep
            begins = [x + (end_x - x) * place - direction * span * _before(place) for place in _PLACES]
            free = [
                ends
                for begin in begins
                if self._is_free(ends := _sorted(begin, begin + direction * span), line)
            ]
            if free:
                low, high = min(free, key=lambda ends: self._crossing(ends, line))
                self._taken.append((low, high, line))
                self._write(text, (low + high) / 2, line, colour)
                return
        self.left_out += 1

    def _is_free(self, ends: Point, line: Line) -> bool:
        """No other text is there."""
        high = LINE * self._inch
        for *other, its_line in self._taken:
            apart = _apart((max(ends[0], other[0]), min(ends[1], other[1])), line, its_line)
            if apart and (min(map(abs, apart)) < high or min(apart) < 0.0 < max(apart)):
                return False
        return True

    def _crossing(self, ends: Point, line: Line) -> int:
        """Number of other lines that pass through a text above the line."""
        count = 0
        for other in self._lines:
            (begin, _), (end, _) = other
            both = (max(ends[0], min(begin, end)), min(ends[1], max(begin, end)))
            apart = _apart(both, line, other) if other != line else []
            count += bool(apart) and max(apart) > 0.0 and min(apart) < LINE * self._inch
        return count

    def _write(self, text: str, x: float, line: Line, colour: str) -> None:
        left, right = sorted(line)
        angle = math.degrees(math.atan2(right[1] - left[1], right[0] - left[0]))
        self._axes.text(
            x,
            _at(x, line) - ABOVE * self._inch,
            text,
            color=colour,
            fontsize=FONT,
            ha="center",
            va="bottom",
            rotation=angle,
            rotation_mode="anchor",
            transform_rotates_text=True,
            clip_on=True,
            bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 0.2},
            zorder=5,
        )


def _before(place: float) -> float:
    """Part of the text that lies before its place."""
    return 0.0 if place < 0.1 else 1.0 if place > 0.9 else 0.5


def _sorted(a: float, b: float) -> Point:
    return (a, b) if a < b else (b, a)


def _apart(ends: Point, line: Line, other: Line) -> list[float]:
    """Distance of the line below the other one, at three points between the ends; empty if there is none."""
    low, high = ends
    return [_at(x, line) - _at(x, other) for x in (low, (low + high) / 2, high)] if low < high else []


def _at(x: float, line: Line) -> float:
    """Height of a line at x."""
    (begin_x, begin_y), (end_x, end_y) = line
    return begin_y + (end_y - begin_y) * (x - begin_x) / (end_x - begin_x)
