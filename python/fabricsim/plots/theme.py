"""The look of all plots: colours that colour-blind readers can tell apart, and the same bytes every time."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter
from matplotlib.transforms import Bbox

from fabricsim.catalogue import Entry, shown_unit
from fabricsim.errors import StoreError
from fabricsim.plots.drawing import drawn
from fabricsim.plots.looks import chosen_look, relabel

Format = Literal["png", "svg", "pdf"]

COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000"]
"""Okabe and Ito's palette without its yellow, which is too light for lines."""
DASHES: list[Any] = ["-", (0, (5, 2)), (0, (1, 1.5)), (0, (5, 1.5, 1, 1.5))]
MAP = "viridis"
HEAT = LinearSegmentedColormap.from_list("heat", ["#E9E9E9", "#F6C667", "#E2711D", "#A3153A", "#2B0A3D"])
"""Colours of the use of links: idle is light, busy is dark."""
MARKERS = "os^"
"""Of the busiest, the second and the third busiest link."""
LOOKS = len(COLOURS) * len(DASHES)
"""Number of looks of lines that differ."""

_SCALES = [(1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1.0, "ns")]
_INCH = 25.4
_NARROW = 5.0
"""Inches below which legends are below the data, not beside."""

_STYLE: dict[Any, Any] = {
    "axes.axisbelow": True,
    "axes.grid": True,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": 11,
    "figure.dpi": 100,
    "figure.titlesize": 11,
    "font.family": "sans-serif",
    "font.size": 9,
    "grid.alpha": 0.3,
    "legend.fontsize": 8,
    "legend.frameon": False,
    "lines.linewidth": 1.5,
    "pdf.fonttype": 42,  # text stays text, which editors and search can read
    "savefig.bbox": None,
    "svg.fonttype": "none",
    "svg.hashsalt": "fabricsim",
    "text.parse_math": False,  # titles and names may hold a $
}


@contextmanager
def style(*, fixed: bool = False) -> Iterator[None]:
    """The settings under which a figure is drawn and saved, whatever the user's own are.

    `fixed`: those of a screen in every style, for charts that are laid out in inches.
    """
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(_STYLE)
        if not fixed:
            mpl.rcParams.update(chosen_look().sizes.settings)
        yield


def new_figure(
    width: float = 7.0, height: float = 4.0, *, fixed: bool = False, whole: bool = False
) -> Figure:
    """An empty figure, inches on a screen; in other styles as wide as those ask for, and as high as its text needs.

    Args:
        width: on a screen.
        height: on a screen.
        fixed: the same in every style.
        whole: it keeps its proportions, as a drawing does.
    """
    now = chosen_look()
    wide = now.width_mm or now.sizes.width_mm
    size = (width, height)
    if wide is not None and not fixed:
        size = (wide / _INCH, height * now.sizes.text)
        if whole:
            texts = 1.3  # inches of title and legend
            size = (wide / _INCH, (height - texts) * wide / _INCH / width + texts * now.sizes.text)
    return Figure(figsize=size, layout="constrained")


def head(figure: Figure, text: str) -> None:
    """The title of a figure, in as many lines as it needs."""
    figure.suptitle(_wrapped(text, figure.get_figwidth(), float(mpl.rcParams["figure.titlesize"])))


def panel_title(axes: Axes, text: str, across: int) -> None:
    """The title of one of `across` panels beside each other."""
    figure = axes.get_figure()
    assert figure is not None
    wide = 0.75 * float(figure.bbox.width / figure.dpi) / across
    axes.set_title(_wrapped(text, wide, float(mpl.rcParams["font.size"])), fontsize="medium")


def _wrapped(text: str, inches: float, points: float) -> str:
    letters = max(10, int(inches / (0.6 * points / 72)))
    return "\n".join(textwrap.fill(line, letters) for line in text.split("\n"))


def sized(points: float) -> float:
    """Size of a marker, which is `points` on a screen, in the style in force."""
    return points * chosen_look().sizes.lines


def is_narrow(figure: Figure) -> bool:
    """True if there is no room beside the data."""
    return float(figure.get_figwidth()) < _NARROW * chosen_look().sizes.text


def drop_overlaps(figure: Figure, texts: Sequence[Text]) -> None:
    """Leaves out those of the texts that would be on an earlier one."""
    canvas = FigureCanvasAgg(figure)
    drawn(figure, figure.draw_without_rendering)  # faults are those of `save`
    kept: list[Bbox] = []
    for text in texts:
        box = Text.get_window_extent(text, canvas.get_renderer())  # type: ignore[no-untyped-call]
        if any(box.overlaps(other) for other in kept):
            text.set_visible(False)
        else:
            kept.append(box)


def axis_label(entry: Entry) -> str:
    """A quantity in words with its unit."""
    return f"{entry.label} ({entry.unit})" if entry.unit else entry.label


def words(key: str) -> str:
    """A key of an experiment as the catalogue has those of results: `links.all.latency` is latency, links all."""
    *path, last = key.split(".")
    whose = " ".join(part.strip('"') for part in path)
    return last.replace("_", " ") + (f", {whose.replace('_', ' ')}" if whose else "")


def line_look(number: int) -> dict[str, Any]:
    """Colour and dashes of the n-th line of a plot; 28 differ, and those that lie on each other show through."""
    thick = chosen_look().sizes.lines
    return {
        "color": COLOURS[number % len(COLOURS)],
        "linestyle": DASHES[number % len(DASHES)],
        "linewidth": (2.4 if number % len(DASHES) == 0 else 1.6) * thick,
    }


def plain_log(axis: Axis) -> None:
    """Labels a logarithmic axis with plain numbers: at 1, 2 and 5 if they have room, else at 1 or at some decades."""
    low, high = sorted(axis.get_view_interval())
    decades = math.log10(high / low) if low > 0.0 else 1.0
    size = float(mpl.rcParams["font.size"]) / 72
    box = axis.axes.get_position()
    width, height = axis.axes.figure.get_size_inches()  # type: ignore[union-attr]
    across = axis is axis.axes.xaxis
    room = box.width * width * 0.8 if across else box.height * height
    label = (0.65 * max(len(_plain(low)), len(_plain(high))) + 0.8) * size if across else 2.0 * size
    if decades < 0.7:
        axis.set_major_locator(MaxNLocator(max(2, min(5, int(room / label)))))
    elif 3.0 * decades * label <= room:
        axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    else:
        axis.set_major_locator(LogLocator(numticks=max(2, int(room / label))))
    axis.set_major_formatter(FuncFormatter(lambda x, _: _plain(x)))
    axis.set_minor_formatter(NullFormatter())


def _plain(value: float) -> str:
    return f"{value:,.0f}" if value >= 10.0 else f"{value:.3g}"


def time_scale(longest_ns: float) -> tuple[float, str]:
    """Nanoseconds in the unit in which an axis up to `longest_ns` reads best, and that unit."""
    return (
        next((s for s in _SCALES if longest_ns >= 2 * s[0]), _SCALES[-1])
        if longest_ns < 1e9 / 2
        else _SCALES[0]
    )


def scale_of(values: Iterable[float], unit: str) -> tuple[float, str]:
    """The number that is 1 in a picture of these values, and its unit: times have the unit that suits the longest."""
    known = [abs(value) for value in values if not math.isnan(value)]
    if unit == "ns":
        return time_scale(max(known, default=1.0))
    name, scale = shown_unit(unit)
    return scale, name


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
    now = chosen_look()
    relabel(figure, now)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with style():
            written = drawn(
                figure,
                lambda: figure.savefig(path, dpi=now.sizes.dpi, metadata=metadata[path.suffix.lstrip(".")]),
            )
    except OSError as error:
        raise StoreError(f"{path}: the picture cannot be written: {error.strerror}") from error
    written.report(str(path))
    return path
