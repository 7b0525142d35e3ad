"""Performance counters of routers: ages of packets, and where they wait."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import StrMethodFormatter

from fabricsim.errors import InputError
from fabricsim.lazy import numpy as np
from fabricsim.lazy import pandas as pd
from fabricsim.plots.legends import above
from fabricsim.plots.theme import COLOURS, head, new_figure, style
from fabricsim.results import Result

AGE_GROUPS = {"age_0_63": "0-63", "age_64_127": "64-127", "age_128_191": "128-191", "age_192_255": "192-255"}
"""Columns of the histogram of ages, and what they stand for."""
_SLOW = {
    "stalled_per_packet": "stalled: no credits (equation 17)",
    "blocked_per_packet": "blocked: no staging buffer",
}


def routers(result: Result) -> Figure:
    """Counters by direction: stalled and blocked cycles per packet, queueing delay, and, where packets age, their ages
    in four groups with a logarithmic axis.

    Raises:
        InputError: the run did not record the counters of routers, or nothing passed a router.
    """
    table = result.router_dimensions
    table = table[table["granted"] > 0]
    if table.empty:
        raise InputError("nothing passed a router in this measurement, so there are no counters to draw")
    panels = [_stalls, _queueing, *([_ages] if has_ages(table) else [])]
    with style():
        figure = new_figure(7.0, 2.6 * len(panels))
        for axes, panel in zip(np.atleast_1d(figure.subplots(len(panels), 1)), panels, strict=True):
            panel(axes, table)
        head(figure, f"{result.title}: routers")
    return figure


def has_counts(result: Result) -> bool:
    """True if there is anything to draw."""
    table = result.frames.get("router_dimensions")
    return table is not None and bool((table["granted"] > 0).any())


def has_ages(table: pd.DataFrame) -> bool:
    """True if packets aged."""
    return bool((table["age_mean"] > 0).any())


def _stalls(axes: Axes, table: pd.DataFrame) -> None:
    deviation = {"stalled_per_packet": table["stalled_per_packet_deviation"].fillna(0.0)}
    _bars(axes, {text: table[name] for name, text in _SLOW.items()}, list(table["direction"]))
    for name, width in deviation.items():
        bars = axes.containers[list(_SLOW).index(name)]
        centres = [bar.get_x() + bar.get_width() / 2 for bar in bars]
        axes.errorbar(
            centres,
            table[name].fillna(0.0),
            yerr=width,
            linestyle="",
            color="0.2",
            capsize=2,
            label="± its deviation over ports",
        )
    axes.set_ylabel("cycles per packet")
    axes.set_ylim(bottom=0.0)
    above(axes)


def _queueing(axes: Axes, table: pd.DataFrame) -> None:
    _bars(axes, {"queueing delay": table["queueing_cycles"]}, list(table["direction"]))
    axes.set_ylabel("queueing delay Q\n(cycles per hop)")


def _ages(axes: Axes, table: pd.DataFrame) -> None:
    dimension = table["direction"].str.lstrip("+-")
    sums = table.groupby(dimension, sort=False)[list(AGE_GROUPS)].sum()
    _bars(axes, {f"output {name}": row for name, row in sums.iterrows()}, list(AGE_GROUPS.values()))
    axes.set_yscale("log")
    axes.set_ylim(bottom=0.5)
    axes.set(xlabel="age of packets as they leave a router", ylabel="packets")
    axes.yaxis.set_major_formatter(StrMethodFormatter("{x:,g}"))
    above(axes)


def _bars(axes: Axes, columns: dict[str, pd.Series[float]], labels: list[str]) -> None:
    """Groups of bars side by side."""
    width = 0.8 / len(columns)
    places = np.arange(len(labels))
    for number, (label, values) in enumerate(columns.items()):
        shift = (number - (len(columns) - 1) / 2) * width
        colour = COLOURS[number % len(COLOURS)]
        axes.bar(places + shift, values.fillna(0.0).to_numpy(float), width, color=colour, label=label)
    axes.set_xticks(places, labels)
    axes.grid(visible=False, axis="x")
