"""Transports: what targets hold over time, and how long messages take."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from fabricsim.errors import InputError
from fabricsim.lazy import numpy as np
from fabricsim.lazy import pandas as pd
from fabricsim.plots.entities import MOST_LINES, entry_colours
from fabricsim.plots.legends import labelled, legend
from fabricsim.plots.theme import head, line_look, new_figure, plain_log, sized, style, time_scale
from fabricsim.results import Result
from fabricsim.shown import number_of

_PANELS = {"reorder_buffer": "packets in\nthe reorder buffer", "connections": "connections held\nas a target"}
_TIMES = {
    "completion_p50_ns": "p50",
    "completion_p99_ns": "p99",
    "completion_p999_ns": "p99.9",
}
_SHADES = (1.0, 0.6, 0.3)
"""Opacity of the bars of each time."""
MOST_ENTRIES = 40
"""Entries of the traffic list that have bars of their own."""
WIDE = 10.0
"""Largest over smallest time from which on their axis is logarithmic."""


def transport(result: Result) -> Figure:
    """The most in the reorder buffer and the most connections within each time bin, a line for each receiving host.

    Beyond `MOST_LINES` hosts, those with the most, and the largest and the mean of the others.

    Raises:
        InputError: the run had no transport, or nothing waited and no connection was held.
    """
    table = result.transport_series
    if not has_levels(result):
        raise InputError("in this run no packet waited and no connection was held: nothing to draw")
    longest = float(table["time_ns"].max())
    scale, unit = time_scale(longest)
    with style():
        figure = new_figure(8.0, 5.0)
        rows = figure.subplots(len(_PANELS), 1, sharex=True)
        for axes, (name, label) in zip(rows, _PANELS.items(), strict=True):
            _levels(axes, table, name, scale)
            axes.set_ylabel(label)
        handles, names = labelled(rows[0])
        legend(figure, handles, names, title="most in a bin")
        head(figure, f"{result.title}: transport")
        rows[0].set_xlim(left=0.0)
        rows[-1].set_xlabel(f"simulated time ({unit})")
    return figure


def has_levels(result: Result) -> bool:
    """True if there is anything that `transport` would draw."""
    table = result.frames.get("transport_series")
    if table is None or table.empty:
        return False
    return bool((table[["reorder_buffer_max", "connections_max"]] > 0).to_numpy().any())


def _levels(axes: Axes, table: pd.DataFrame, name: str, scale: float) -> None:
    wide = table.pivot_table(index="time_ns", columns="host", values=f"{name}_max", sort=False).sort_index()
    # The same hosts, with the same looks, in both panels.
    order = table.groupby("host", sort=False)["reorder_buffer_max"].max()
    strongest = order.sort_values(ascending=False, kind="stable").index[:MOST_LINES]
    for number, host in enumerate(wide.columns[wide.columns.isin(strongest)]):
        axes.step(wide.index / scale, wide[host], where="post", label=str(host), **line_look(number))
    rest = wide.drop(columns=strongest)
    if rest.shape[1]:
        label = number_of(rest.shape[1], "other")
        axes.step(
            wide.index / scale,
            rest.max(axis=1),
            where="post",
            color="0.6",
            linewidth=sized(2.5),
            label=f"largest of {label}",
        )
        axes.step(
            wide.index / scale,
            rest.mean(axis=1),
            where="post",
            color="0.6",
            linewidth=sized(1.2),
            label=f"mean of {label}",
        )
    axes.yaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    axes.set_ylim(0.0, max(1.0, axes.get_ylim()[1]))


def completion(result: Result) -> Figure:
    """Completion times of messages, p50, p99 and p99.9, for each entry of the traffic list.

    Raises:
        InputError: the run had no transport, no message is complete, or there are too many entries.
    """
    table = result.messages
    table = table[table["messages"] > 0]
    if table.empty:
        raise InputError("no message that was created in the measurement is complete: nothing to draw")
    if len(table) > MOST_ENTRIES:
        raise InputError(
            f"{len(table)} entries have completion times, and a picture has room for {MOST_ENTRIES}: see the "
            "table `messages`"
        )
    scale, unit = time_scale(float(table[list(_TIMES)].max().max()))
    with style():
        figure = new_figure(7.0, max(2.6, 1.4 + 0.5 * len(table)))
        axes = figure.add_subplot()
        places = np.arange(len(table))
        colours = entry_colours(result, [str(name) for name in table["entry"]])
        shades: list[Patch] = []
        for number, (column, label) in enumerate(_TIMES.items()):
            shift = (number - 1) * 0.26
            values = table[column].to_numpy(float) / scale
            axes.barh(places + shift, values, 0.24, color=colours, alpha=_SHADES[number])
            shades.append(Patch(color="0.2", alpha=_SHADES[number], label=label))
        axes.set_yticks(places, _names(table))
        axes.set_ylim(len(table) - 0.4, -0.6)
        axes.grid(visible=False, axis="y")
        axes.set_xlabel(f"completion time of messages ({unit})")
        _choose_scale(axes, table)
        head(figure, f"{result.title}: completion times")
        legend(figure, handles=shades)
    return figure


def has_completions(result: Result) -> bool:
    """True if there is anything that `completion` would draw, and room for it."""
    table = result.frames.get("messages")
    return table is not None and 0 < int((table["messages"] > 0).sum()) <= MOST_ENTRIES


def _names(table: pd.DataFrame) -> list[str]:
    counts = [f"{int(count):,} message" + ("s" if count != 1 else "") for count in table["messages"]]
    return [f"{stream}\n{count}" for stream, count in zip(table["entry"], counts, strict=True)]


def _choose_scale(axes: Axes, table: pd.DataFrame) -> None:
    times = table[list(_TIMES)].to_numpy(float)
    if np.nanmin(times) > 0.0 and np.nanmax(times) / np.nanmin(times) >= WIDE:
        axes.set_xscale("log")
        plain_log(axes.xaxis)
    else:
        axes.set_xlim(left=0.0)
