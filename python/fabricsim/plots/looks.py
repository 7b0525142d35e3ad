"""The style of pictures, their width, and labels in the place of names."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Literal

from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.ticker import Formatter

from fabricsim.errors import InputError

Style = Literal["screen", "paper", "slides"]

COLUMN, PAGE = 89.0, 183.0
"""Widths of one and of both columns of a journal's page, mm."""
WIDTHS = {"column": COLUMN, "page": PAGE}
_INCH = 25.4


@dataclass(frozen=True)
class Sizes:
    """A style: settings on top of those of a screen, and how figures are resized."""

    settings: Mapping[Any, Any] = field(default_factory=dict)
    width_mm: float | None = None
    """Width of a figure; None: its own."""
    text: float = 1.0
    """Height of text against that on a screen."""
    lines: float = 1.0
    """Width of lines against that on a screen."""
    dpi: int = 150


_STYLES: dict[str, Sizes] = {
    "screen": Sizes(),
    "paper": Sizes(
        {
            "axes.linewidth": 0.6,
            "axes.titlesize": 8,
            "figure.titlesize": 8,
            "font.size": 7,
            "legend.fontsize": 6.5,
            "legend.title_fontsize": 6.5,
        },
        width_mm=COLUMN,
        text=7 / 9,
        lines=0.7,
        dpi=300,
    ),
    "slides": Sizes(
        {
            "axes.linewidth": 1.4,
            "axes.titlesize": 20,
            "figure.titlesize": 20,
            "font.size": 16,
            "legend.fontsize": 14,
            "legend.title_fontsize": 14,
            "lines.markersize": 9,
            "xtick.major.pad": 8,
            "ytick.major.pad": 8,
        },
        width_mm=320.0,
        text=16 / 9,
        lines=1.6,
    ),
}


@dataclass(frozen=True)
class Look:
    """How pictures are drawn."""

    style: Style = "screen"
    width_mm: float | None = None
    """Width of figures; None: that of the style."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """Texts in the place of names."""
    used: set[str] = field(default_factory=set)
    """Names of `labels` that pictures have had."""

    @property
    def sizes(self) -> Sizes:
        """The settings of its style."""
        return _STYLES[self.style]


_LOOK: ContextVar[Look] = ContextVar("look", default=Look())  # noqa: B039 - `used` of the default stays empty


def chosen_look() -> Look:
    """The look in force."""
    return _LOOK.get()


@contextmanager
def look(chosen: Look) -> Iterator[None]:
    """Pictures within are drawn so.

    Raises:
        InputError: no picture had one of the names that have labels.
    """
    token = _LOOK.set(chosen)
    try:
        yield
    finally:
        _LOOK.reset(token)
    if unused := [name for name in chosen.labels if name not in chosen.used]:
        name, it = ("this name", "it") if len(unused) == 1 else ("one of these names", "them")
        raise InputError(
            f"--label {', '.join(unused)}: no text of these pictures has {name}; they are drawn without {it}"
        )


def width_of(text: str) -> float:
    """Millimetres of a width: `column`, `page`, or a number with mm, cm or in.

    Raises:
        InputError: it is none of these, or out of range.
    """
    if text in WIDTHS:
        return WIDTHS[text]
    match = re.fullmatch(r"([0-9.]+) ?(mm|cm|in)", text.strip())
    try:
        width = float(match[1]) * {"mm": 1.0, "cm": 10.0, "in": _INCH}[match[2]] if match else math.nan
    except ValueError:
        width = math.nan
    if not 40.0 <= width <= 1000.0:
        raise InputError(
            f"--width {text}: must be column, page, or 40 mm to 1000 mm with its unit (mm, cm, in)"
        )
    return width


def label_of(texts: Sequence[str]) -> dict[str, str]:
    """Labels by name, of texts NAME=TEXT.

    Raises:
        InputError: one has no name, or a name is there twice.
    """
    found: dict[str, str] = {}
    for text in texts:
        name, equals, label = text.partition("=")
        if not equals or not name.strip():
            raise InputError(f"--label {text}: must be NAME=TEXT")
        if name.strip() in found:
            raise InputError(f"--label {name.strip()}: given twice")
        found[name.strip()] = label.strip()
    return found


class _Relabelled(Formatter):
    """Tick labels of another formatter, with labels in the place of names."""

    def __init__(self, inner: Formatter, replaced: Callable[[str], str]) -> None:
        self._inner = inner
        self._replaced = replaced

    def __call__(self, x: float, pos: int | None = None) -> str:
        return self._replaced(self._inner(x, pos))

    def format_ticks(self, values: Sequence[float]) -> list[str]:
        return [self._replaced(text) for text in self._inner.format_ticks(list(values))]

    def get_offset(self) -> str:
        return self._replaced(self._inner.get_offset())


def relabel(figure: Figure, chosen: Look) -> None:
    """Puts labels in the place of names, in all texts of a figure."""
    if not chosen.labels:
        return
    names = sorted(chosen.labels, key=len, reverse=True)
    pattern = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, names))})(?!\w)")

    def replaced(text: str) -> str:
        chosen.used.update(pattern.findall(text))
        return pattern.sub(lambda match: chosen.labels[match[0]], text)

    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            formatter = axis.get_major_formatter()
            if not isinstance(formatter, _Relabelled):
                axis.set_major_formatter(_Relabelled(formatter, replaced))
    for text in figure.findobj(Text):
        assert isinstance(text, Text)
        text.set_text(replaced(text.get_text()))
