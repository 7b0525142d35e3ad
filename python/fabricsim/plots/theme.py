"""The look of all plots: colours that colour-blind readers can tell apart, and the same bytes every time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import matplotlib as mpl
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

from fabricsim.errors import StoreError

Format = Literal["png", "svg", "pdf"]

COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000"]
"""Okabe and Ito's palette without its yellow, which is too light for lines."""
DASHES: list[Any] = ["-", (0, (5, 2)), (0, (1, 1.5)), (0, (5, 1.5, 1, 1.5))]
MAP = "viridis"

_STYLE: dict[Any, Any] = {
    "axes.axisbelow": True,
    "axes.grid": True,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": 11,
    "figure.dpi": 100,
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "grid.alpha": 0.3,
    "legend.fontsize": 8,
    "legend.frameon": False,
    "lines.linewidth": 1.5,
    "savefig.bbox": None,
    "svg.hashsalt": "fabricsim",
    "text.parse_math": False,  # titles and names may hold a $
}


@contextmanager
def style() -> Iterator[None]:
    """The settings under which a figure is drawn and saved, whatever the user's own are."""
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(_STYLE)
        yield


def new_figure(width: float = 7.0, height: float = 4.0) -> Figure:
    """An empty figure, inches."""
    return Figure(figsize=(width, height), layout="constrained")


def line_look(number: int) -> dict[str, Any]:
    """Colour and dashes of the n-th line of a plot; 28 differ, and those that lie on each other show through."""
    return {
        "color": COLOURS[number % len(COLOURS)],
        "linestyle": DASHES[number % len(DASHES)],
        "linewidth": 2.4 if number % len(DASHES) == 0 else 1.6,
    }


def plain_log(axis: Axis) -> None:
    """Labels a logarithmic axis with plain numbers at 1, 2 and 5."""
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.set_major_formatter(StrMethodFormatter("{x:,g}"))
    axis.set_minor_formatter(NullFormatter())


def save(figure: Figure, path: Path) -> Path:
    """Writes a figure in the format of its suffix; the same figure gives the same bytes.

    Raises:
        StoreError: it cannot be written.
    """
    metadata = {
        "png": {"Software": None},
        "svg": {"Date": None, "Creator": None},
        "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
    }
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with style():
            figure.savefig(path, dpi=150, metadata=metadata[path.suffix.lstrip(".")])
    except OSError as error:
        raise StoreError(f"{path}: the picture cannot be written: {error.strerror}") from error
    return path
