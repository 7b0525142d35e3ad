"""Figures of the paper, redrawn from our runs. Each function takes the runs of its figure by name."""

from __future__ import annotations

from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.container import BarContainer
from matplotlib.figure import Figure

from fabricsim.plots.theme import COLOURS, new_figure, plain_log, style
from fabricsim.reproduce.quantities import Runs, load_hooks

OURS = load_hooks(Path(__file__).parent)
CHARTS = load_hooks(Path(__file__).parent, "charts.py")
FLITS = (8, 16, 24, 32)
PACKETS = (10, 20, 30, 40)
ORDERING = ("no ordering", "source-side", "target-side")
SYNCHRONIZATION = {
    "source-side": "source-side synchronization",
    "target-side": "target-side synchronization",
    "ordering": "target-side ordering",
}


def figure_4(runs: Runs) -> Figure:
    """Ordered transfer, slow mode."""
    return CHARTS["chart"](runs)


def figure_5(runs: Runs) -> Figure:
    """Ordered transfer, fast mode."""
    return CHARTS["chart"](runs)


def figure_6(runs: Runs) -> Figure:
    """Exactly-once delivery."""
    return CHARTS["chart"](runs)


def figure_7(runs: Runs) -> Figure:
    """Synchronized transfer."""
    return CHARTS["chart"](runs)


def figure_8a(runs: Runs) -> Figure:
    """Accepted load over packet length."""
    with style():
        figure = new_figure(7.0, 3.8)
        axes = figure.add_subplot()
        for number, mode in enumerate(ORDERING):
            loads = [OURS["load"](runs, f"{mode}/{flits}") for flits in FLITS]
            bars = _bars(axes, number, loads, mode if mode == "no ordering" else f"{mode} ordering")
            axes.bar_label(bars, fmt="{:.3f}", fontsize=7, padding=1)
        axes.set_xticks(range(len(FLITS)), [str(flits) for flits in FLITS])
        axes.set(
            xlabel="packet length (flits)", ylabel="accepted load (fraction of the link)", ylim=(0.0, 1.15)
        )
        axes.set_title("Figure 8(a) of the paper, redrawn: streams of 10 packets, as much as goes")
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.18), ncols=3)
    return figure


def figure_8b(runs: Runs) -> Figure:
    """Time of one stream over its length."""
    with style():
        figure = new_figure(7.0, 4.2)
        axes = figure.add_subplot()
        for number, mode in enumerate(ORDERING):
            _times(axes, number, runs, mode, mode if mode == "no ordering" else f"{mode} ordering")
        axes.set(yscale="log")
        plain_log(axes.yaxis)
        axes.set_ylim(0.5, 100.0)
        _packets(axes)
        axes.set_title("Figure 8(b) of the paper, redrawn: one stream, 16-flit packets")
    return figure


def figure_10(runs: Runs) -> Figure:
    """Time of one stream with its synchronization operation over its length."""
    with style():
        figure = new_figure(7.0, 4.2)
        axes = figure.add_subplot()
        for number, (mode, label) in enumerate(SYNCHRONIZATION.items()):
            _times(axes, number, runs, mode, label)
        axes.set(ylim=(0.0, 4.0))
        _packets(axes)
        axes.set_title("Figure 10 of the paper, redrawn: data and one synchronization operation")
    return figure


def _times(axes: Axes, number: int, runs: Runs, mode: str, label: str) -> None:
    """Bars of mean times, with lines from the shortest to the longest stream."""
    cells = [f"{mode}/{packets}" for packets in PACKETS]
    mean, least, most = (
        [OURS["completion"](runs, cell, which) / 1e3 for cell in cells] for which in ("mean", "min", "max")
    )
    below = [a - b for a, b in zip(mean, least, strict=True)]
    above = [b - a for a, b in zip(mean, most, strict=True)]
    bars = _bars(axes, number, mean, label, [below, above])
    axes.bar_label(bars, labels=[f"{value:.2f}" for value in mean], fontsize=7, padding=1)


def _packets(axes: Axes) -> None:
    axes.set_xticks(range(len(PACKETS)), [str(packets) for packets in PACKETS])
    axes.set(xlabel="stream length (packets)", ylabel="time of a stream (us)")
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=3)


def _bars(
    axes: Axes, number: int, values: list[float], label: str, spread: list[list[float]] | None = None
) -> BarContainer:
    at = [place + 0.27 * (number - 1) for place in range(len(values))]
    return axes.bar(at, values, width=0.25, color=COLOURS[number], label=label, yerr=spread, capsize=2)
