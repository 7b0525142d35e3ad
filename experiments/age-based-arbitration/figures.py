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
HISTOGRAMS = {
    "4096; 1, 1, 1": "(a) period 4096 (default)",
    "8; 3, 2, 1": "(b) period 8",
    "4; 3, 2, 1": "(c) period 4",
}
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


def table_5(runs: Runs) -> Figure:
    """Queueing delay of each dimension and latency, ours and the paper's, over round robin's."""
    settings = OURS["settings"](runs)
    with style():
        figure = new_figure(8.6, 5.6)
        upper, lower = figure.subplots(2, 1, sharex=True)
        for number, dimension in enumerate("xyz"):
            values = [OURS["queueing"](runs, setting, dimension) for setting in settings]
            at = [place + 0.26 * (number - 1) for place in range(len(settings))]
            upper.bar(at, values, width=0.24, color=COLOURS[number], label=f"Q({dimension})")
        upper.set(
            ylabel="queueing delay (cycles a hop)",
            title="Table 5 of the paper, redrawn: uniform random traffic, 11x12x16 torus",
        )
        upper.legend(loc="upper right", ncols=3)
        ours = [OURS["request_latency"](runs, setting) for setting in settings]
        paper = [OURS["paper"](runs, setting)[-1] for setting in settings]
        lower.plot([value / ours[0] for value in ours], marker="o", label="simulated", **line_look(0))
        lower.plot(
            [value / paper[0] for value in paper], marker="s", label="paper, production jobs", **line_look(1)
        )
        lower.set(
            ylabel="mean latency over round robin's",
            xlabel="age clock period (cycles); bias of x, y, z",
            ylim=(0.0, None),
        )
        lower.set_xticks(range(len(settings)), settings)
        lower.legend(loc="lower left")
    return figure


def figure_5(runs: Runs) -> Figure:
    """Histograms of ages."""
    with style():
        figure = new_figure(8.6, 3.4)
        panels = figure.subplots(1, 3, sharey=True)
        for number, (axes, (setting, title)) in enumerate(zip(panels, HISTOGRAMS.items(), strict=True)):
            parts = OURS["ages"](runs, setting)
            bars = axes.bar(range(4), parts, color=COLOURS[number], width=0.8)
            axes.bar_label(bars, [f"{part:.1%}" if part else "0" for part in parts], fontsize=8, padding=1)
            axes.set_xticks(range(4), ["0-63", "64-127", "128-191", "192-255"])
            axes.tick_params(axis="x", labelsize=7)
            axes.set(title=title, xlabel="age as a router sends it on", ylim=(0.0, 1.1))
        panels[0].set(ylabel="part of all packets")
        figure.suptitle("Figure 5 of the paper, redrawn: ages, counted by the routers", fontsize=11)
    return figure


def table_6(runs: Runs) -> Figure:
    """Gains of ages, of all sizes and placements, and the paper's."""
    paper = {"FFT": 0.124, "all-reduce": 0.124, "all-to-all": 0.366}
    with style():
        figure = new_figure(7.6, 3.2)
        axes = figure.add_subplot()
        for number, placement in enumerate(("in order", "random nodes")):
            points = [
                (100 * OURS["benefit"](runs, benchmark), at + 0.12 - 0.24 * number)
                for at, operation in enumerate(paper)
                for benchmark in OURS["benchmarks"](runs, operation)
                if benchmark.endswith(placement)
            ]
            axes.plot(
                *zip(*points, strict=True),
                "os"[number],
                color=COLOURS[number],
                label=f"simulated, {placement}",
            )
        for at, gain in enumerate(paper.values()):
            label = "paper" if at == 0 else None
            axes.plot([100 * gain] * 2, [at - 0.35, at + 0.35], color="black", linewidth=2.0, label=label)
        axes.axvline(0.0, color="black", linewidth=0.8)
        axes.set_yticks(range(len(paper)), list(paper))
        axes.set(
            xlabel="gain of ages over round robin (%)",
            title="Table 6 of the paper, redrawn: all operations, sizes and placements",
        )
        axes.legend(loc="best")
    return figure


def sizes(runs: Runs) -> Figure:
    """Spread of latency against size."""
    with style():
        figure = new_figure(8.6, 6.2)
        panels = figure.subplots(2, 2, sharex=True)
        names = [name for name in runs if ", clock off" not in name]
        arbiters = list(dict.fromkeys(name.rpartition("/")[2] for name in names))
        for column, kind in enumerate(("torus", "mesh")):
            networks = [
                name
                for name in dict.fromkeys(name.rpartition("/")[0] for name in names)
                if name.endswith(kind)
            ]
            radices = [int(name.split("x")[0]) for name in networks]
            for number, arbiter in enumerate(arbiters):
                own = [runs[f"{network}/{arbiter}"] for network in networks]
                look = {"marker": "o", "label": arbiter, **line_look(number)}
                panels[0, column].plot(radices, [OURS["deviation"]({"": run}) for run in own], **look)
                panels[1, column].plot(
                    radices, [run.manifest["summary"]["latency_ns"]["p999"] for run in own], **look
                )
            panels[0, column].set(title=f"k-ary 3-{'cube (torus)' if kind == 'torus' else 'mesh'}")
            panels[1, column].set(xlabel="radix k (k³ nodes)")
            panels[1, column].set_xscale("log", base=2)
            panels[1, column].set_xticks(radices, [str(radix) for radix in radices])
        panels[0, 0].set(ylabel="standard deviation of latency (ns)")
        panels[1, 0].set(ylabel="99.9th percentile of latency (ns)")
        figure.legend(
            *panels[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=len(arbiters)
        )
    return figure


def sizes_below(runs: Runs) -> Figure:
    """Spread of latency against size at half load."""
    return _titled(sizes(runs), "Beyond the paper: uniform traffic at half of what the network can carry")


def sizes_full(runs: Runs) -> Figure:
    """Spread of latency against size at full load."""
    return _titled(sizes(runs), "Beyond the paper: uniform traffic, as much as goes")


def _titled(figure: Figure, title: str) -> Figure:
    with style():
        figure.suptitle(title, fontsize=11)
    return figure


def _bars(axes: Axes, number: int, values: list[float], label: str) -> None:
    width = 0.8 / len(ARBITERS)
    at = [sender + width * (number - (len(ARBITERS) - 1) / 2) for sender in SENDERS]
    axes.bar(at, values, width=0.92 * width, color=COLOURS[number], label=label)


def _senders(axes: Axes) -> None:
    axes.set_xticks(list(SENDERS), [f"P{sender}" for sender in SENDERS])
    axes.set(xlabel="sender")
