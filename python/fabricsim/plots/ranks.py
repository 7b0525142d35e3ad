"""Ranks of MPI: their calls and messages over time, and who sends how much to whom."""

from __future__ import annotations

from typing import Any

from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from fabricsim.errors import InputError
from fabricsim.lazy import numpy as np
from fabricsim.lazy import pandas as pd
from fabricsim.plots.legends import legend
from fabricsim.plots.theme import COLOURS, MAP, head, new_figure, style, time_scale
from fabricsim.results import Result

MOST_RANKS = 64
"""Ranks in the timeline, from rank 0 on."""
MOST_MESSAGES = 400
"""Messages that are drawn as lines; if there are more, none is."""
_POINT_TO_POINT = ("send", "recv", "probe", "wait", "test", "start", "progress")
_KINDS = {
    "computation": "#C9C9C9",
    "point-to-point call": COLOURS[0],
    "collective call": COLOURS[3],
    "late sender": COLOURS[1],
    "late receiver": COLOURS[4],
    "no credits": "#5F4B32",
    "congested link": "#8B1A1A",
    "busy input": "#7A5195",
    "free link": "#999933",
    "transfer": COLOURS[5],
    "polling": COLOURS[2],
}
"""Kinds of bars with their colours, in the order of the legend."""


def timeline(result: Result) -> Figure:
    """A row for each rank: computations and calls as bars, waits as thinner bars in them, the critical path as a line.

    Messages are lines from the start of the send to the end of the receive if there are at most 400.

    Raises:
        InputError: no time passed in the run.
    """
    table = result.table("mpi_timeline")
    ranks = min(len(result.table("mpi_times")), MOST_RANKS)
    end = float(result.table("mpi_times")["end_ns"].max())
    if not end > 0:
        raise InputError("no time passed in this run of ranks, so there is nothing to draw")
    scale, unit = time_scale(end)
    messages = result.table("mpi_messages").dropna(subset=["received_ns"])
    has_lines = len(messages) <= MOST_MESSAGES and ranks == len(result.table("mpi_times"))
    with style():
        figure = new_figure(9.0, 1.6 + 0.3 * ranks)
        axes = figure.add_subplot()
        used = _bars(axes, table[table["rank"] < ranks], scale)
        if has_lines:
            ends = messages[["start_ns", "source", "received_ns", "destination"]].to_numpy(float)
            lines = [[(a / scale, b), (c / scale, d)] for a, b, c, d in ends]
            axes.add_collection(LineCollection(lines, colors="#555555", linewidths=0.5, zorder=3))
        _path(axes, result.table("mpi_path"), scale, ranks)
        entries: list[Any] = [Patch(color=_KINDS[name], label=name) for name in _KINDS if name in used]
        entries.append(axes.plot([], [], color="black", linewidth=1.6, label="critical path")[0])
        legend(figure, handles=entries, below=True)
        axes.set(xlim=(0.0, end / scale), ylim=(ranks - 0.4, -0.6), xlabel=f"time ({unit})", ylabel="rank")
        axes.yaxis.set_major_locator(MaxNLocator(integer=True))
        axes.grid(visible=False, axis="y")
        head(figure, f"{result.title}: ranks over time")
    return figure


def has_ranks(result: Result) -> bool:
    """True if there is anything to draw."""
    table = result.frames.get("mpi_times")
    return table is not None and not table.empty and float(table["end_ns"].max()) > 0


def _bars(axes: Axes, table: pd.DataFrame, scale: float) -> set[str]:
    used: set[str] = set()
    kinds = [_kind(kind, name) for kind, name in zip(table["kind"], table["name"], strict=True)]
    for (number, kind), own in table.assign(shown=kinds).groupby(["rank", "shown"]):
        rank = float(str(number))
        begins = own["start_ns"].to_numpy(float) / scale
        bars = list(zip(begins, own["end_ns"].to_numpy(float) / scale - begins, strict=True))
        is_wait = own["kind"].iloc[0] == "wait"
        place = (rank - 0.2, 0.4) if is_wait else (rank - 0.35, 0.7)
        axes.broken_barh(bars, place, facecolors=_KINDS[str(kind)], linewidth=0, zorder=2 if is_wait else 1)
        used.add(str(kind))
    return used


def _kind(kind: str, name: str) -> str:
    if kind == "call":
        is_message = any(part in name.lower() for part in _POINT_TO_POINT)
        return "point-to-point call" if is_message or name == "Finalize" else "collective call"
    return name if kind == "wait" else "computation"


def _path(axes: Axes, path: pd.DataFrame, scale: float, ranks: int) -> None:
    # A message is one line, also if its packets waited for links.
    parts = (path[["rank", "peer", "call"]] != path[["rank", "peer", "call"]].shift()).any(axis=1)
    is_new = parts | (path["peer"] < 0)
    lines = []
    for _, part in path.groupby(is_new.cumsum()):
        first = part.iloc[0]
        rank, to = first["rank"], first["peer"] if first["peer"] >= 0 else first["rank"]
        if max(rank, to) < ranks:
            lines.append([(first["start_ns"] / scale, rank), (part["end_ns"].iloc[-1] / scale, to)])
    axes.add_collection(LineCollection(lines, colors="black", linewidths=1.6, zorder=4))


def matrix(result: Result) -> Figure:
    """Bytes from each rank to each other one; white: none.

    Raises:
        InputError: no rank sent a byte.
    """
    table = result.table("mpi_matrix")
    if table.empty or not table["bytes"].sum():
        raise InputError("no rank sent a byte in this run, so there is nothing to draw")
    ranks = len(result.table("mpi_times"))
    sent = np.full((ranks, ranks), np.nan)
    some = table[table["bytes"] > 0]
    sent[some["source"].to_numpy(int), some["destination"].to_numpy(int)] = some["bytes"].to_numpy(float)
    largest = float(some["bytes"].max())
    scale, unit = next(
        (size, name) for size, name in ((1 << 20, "MiB"), (1 << 10, "KiB"), (1, "B")) if largest >= size
    )
    with style():
        figure = new_figure(5.6, 4.8)
        axes = figure.add_subplot()
        image = axes.imshow(sent / scale, cmap=MAP, vmin=0.0, interpolation="nearest")
        figure.colorbar(image, ax=axes, label=f"sent ({unit})")
        axes.set(xlabel="destination rank", ylabel="source rank")
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_locator(MaxNLocator(integer=True))
        axes.grid(visible=False)
        head(figure, f"{result.title}: bytes between ranks")
    return figure


def has_bytes(result: Result) -> bool:
    """True if any rank sent a byte."""
    table = result.frames.get("mpi_matrix")
    return table is not None and bool(table["bytes"].sum())
