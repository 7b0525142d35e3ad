"""Figures of the tutorial's examples, drawn from our runs. Each function takes the runs of its figure by name."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fabricsim.plots.theme import COLOURS, line_look, new_figure, plain_log, style
from fabricsim.reproduce.quantities import Runs
from fabricsim.results import Result

SENDERS = ("A", "B", "C", "P")
SIZES = ("2 B", "16 B", "128 B", "1 KiB", "8 KiB", "64 KiB", "512 KiB", "4 MiB")


def shares(runs: Runs) -> Figure:
    """Figure 12: what each sender gets in each step."""
    with style():
        figure = new_figure(7.0, 3.2)
        axes = figure.subplots()
        width = 0.8 / len(SENDERS)
        for number, sender in enumerate(SENDERS):
            places = np.arange(len(runs)) + (number - 1.5) * width
            heights = [_rate(run, sender) / 100.0 for run in runs.values()]
            axes.bar(
                places,
                heights,
                width,
                color=COLOURS[number],
                label=f"{sender} to {'Q' if sender == 'P' else 'R'}",
            )
        axes.axhline(1 / 6, color="black", linewidth=0.8, linestyle=":")
        axes.annotate(
            "1/6, printed for step 4", (1.25, 1 / 6), xytext=(0, 2), textcoords="offset points", fontsize=7
        )
        axes.set_xticks(range(len(runs)), [name.replace(", ", ",\n") for name in runs])
        axes.set_ylabel("throughput (of a link)")
        axes.set_title("Figure 12: congestion spreads to P")
        axes.legend(ncols=4, fontsize=8)
    return figure


def rates(runs: Runs) -> Figure:
    """Figure 13: throughput over time, without and with congestion control, and when congestion ends."""
    named = {
        "off": "without congestion control",
        "on": "with congestion control",
        "end": "B and C stop after 10 ms",
    }
    with style():
        figure = new_figure(9.0, 3.0)
        for place, (axes, (name, title)) in enumerate(
            zip(figure.subplots(1, 3, sharey=True), named.items(), strict=True)
        ):
            series = runs[name].table("series")
            for number, sender in enumerate(SENDERS):
                one = series[series["source"] == sender]
                binned = one.assign(bin=one["time_ns"] // 1e6).groupby("bin")["gbps"].mean()
                axes.plot(binned.index + 0.5, binned, color=COLOURS[number], label=sender)
            axes.set_title(f"Figure 13: {title}", fontsize=8)
            axes.set_xlabel("time (ms)")
            if place == 0:
                axes.set_ylabel("throughput (Gb/s)")
                axes.legend(ncols=2, fontsize=8)
    return figure


def latencies(runs: Runs) -> Figure:
    """Figure 27: latency of the three operations against the size of the message."""
    with style():
        figure, axes = _by_size(runs, "t_typical_us")
        axes.set_yscale("log")
        plain_log(axes.yaxis)
        axes.set_ylabel("latency (µs)")
        axes.set_title("Figure 27: latency of verbs")
    return figure


def throughputs(runs: Runs) -> Figure:
    """Figure 28: throughput of the operations against the size of the message."""
    with style():
        figure, axes = _by_size(runs, "bw_average_mib_s")
        axes.set_ylabel("throughput (MiB/s)")
        axes.set_title("Figure 28: throughput of verbs")
    return figure


def _by_size(runs: Runs, column: str) -> tuple[Figure, Axes]:
    figure = new_figure(7.0, 3.4)
    axes = figure.subplots()
    for number, (name, run) in enumerate(runs.items()):
        table = run.table("perftest")
        axes.plot(table["bytes"], table[column], label=name, **line_look(number))
    axes.set_xscale("log", base=2)
    ticks = {1 << power: text for power, text in zip(range(1, 24, 3), SIZES, strict=True)}
    axes.set_xticks(list(ticks), list(ticks.values()))
    axes.minorticks_off()
    axes.set_xlabel("size of a message")
    axes.legend(fontsize=8)
    return figure, axes


def _rate(run: Result, sender: str) -> float:
    flows = run.flows
    return float(flows.loc[flows["source"] == sender, "accepted_gbps"].sum())
