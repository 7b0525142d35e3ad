"""Figures of the paper, redrawn from our runs. Each function takes the runs of its figure by name."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fabricsim.plots.theme import COLOURS, line_look, new_figure, plain_log, style
from fabricsim.reproduce.quantities import Runs, load_hooks

OURS = load_hooks(Path(__file__).parent)
SENDERS = range(7)
ARBITERS = {
    "round robin": "round robin",
    "age, 1": "age, period 1",
    "age, 8": "age, period 8",
    "age, 64": "age, period 64",
    "age, 4096": "age, period 4096 (default)",
}
NETWORKS = {"mesh": "(a) mesh", "torus": "(b) torus"}
ROUTERS = {
    "mesh": "mesh",
    "torus": "torus",
    "mesh, SeaStar": "mesh, whole SeaStar router",
    "torus, SeaStar": "torus, whole SeaStar router",
}


def figure_3(runs: Runs) -> Figure:
    """Queueing delay over load: printed, as it should be, and simulated."""
    loads = np.linspace(0.0, 0.96, 200)
    with style():
        figure = new_figure(7.0, 4.0)
        axes = figure.add_subplot()
        axes.plot(
            loads,
            1.0 / (1.0 - loads),
            label="equation 2 as printed: 1 / (1 − λ), M/M/1 with service",
            **line_look(1),
        )
        axes.plot(
            loads, loads / (2.0 * (1.0 - loads)), label="M/D/1, waiting: λ / (2 (1 − λ))", **line_look(0)
        )
        at = [float(name) for name in runs]
        axes.plot(
            at,
            [OURS["waiting"](runs, run=name) for name in runs],
            "o",
            color="black",
            label="simulated queue, waiting",
        )
        axes.set(
            xlabel="offered load λ (fraction of the link)",
            ylabel="delay (services of one packet)",
            ylim=(0.0, 15.0),
        )
        axes.set_xlim(0.0, 1.0)
        axes.set_title("Figure 3 of the paper, redrawn: load and delay of one queue")
        axes.legend(loc="upper left")
    return figure


def figure_4(runs: Runs) -> Figure:
    """Each processor's share of P7's link, with input buffers only."""
    with style():
        figure = new_figure(8.6, 6.0)
        for axes, (network, title) in zip(figure.subplots(2, 1, sharex=True), NETWORKS.items(), strict=True):
            for number, (arbiter, label) in enumerate(ARBITERS.items()):
                flows = runs[f"{network}/{arbiter}"].flows.set_index("source")["accepted_gbps"]
                shares = [float(flows[f"H({sender}).0"] / flows.sum()) for sender in SENDERS]
                _bars(axes, number, shares, label)
            axes.set(ylabel="share of P7's link", title=title, yscale="log")
            plain_log(axes.yaxis)
            axes.set_ylim(0.003, 1.1)
        _senders(axes)
        figure.suptitle("Figure 4 of the paper, as shares: all send to P7", fontsize=11)
        figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=5)
    return figure


def figure_4_latency(runs: Runs) -> Figure:
    """Each processor's mean latency to P7, with input buffers only and in the whole router."""
    with style():
        figure = new_figure(8.6, 6.4)
        panels = figure.subplots(2, 2, sharex=True)
        for axes, (network, title) in zip(panels.flat, ROUTERS.items(), strict=True):
            for number, (arbiter, label) in enumerate(ARBITERS.items()):
                latency = [OURS["cycles"](runs, sender, run=f"{network}/{arbiter}") for sender in SENDERS]
                axes.plot(list(SENDERS), latency, marker="o", markersize=4, label=label, **line_look(number))
            axes.set(title=title, yscale="log")
            plain_log(axes.yaxis)
            axes.set_ylim(150.0, 60_000.0)
        for axes in panels[:, 0]:
            axes.set(ylabel="mean latency (cycles of 2 ns)")
        for axes in panels[1]:
            _senders(axes)
        figure.suptitle("Figure 4 of the paper, as latency: all send to P7", fontsize=11)
        figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=5)
    return figure


def _bars(axes: Axes, number: int, values: list[float], label: str) -> None:
    width = 0.8 / len(ARBITERS)
    at = [sender + width * (number - (len(ARBITERS) - 1) / 2) for sender in SENDERS]
    axes.bar(at, values, width=0.92 * width, color=COLOURS[number], label=label)


def _senders(axes: Axes) -> None:
    axes.set_xticks(list(SENDERS), [f"P{sender}" for sender in SENDERS])
    axes.set(xlabel="sender")
