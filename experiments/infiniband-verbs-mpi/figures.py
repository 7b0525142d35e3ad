"""Figures of the tutorial's examples, drawn from our runs. Each function takes the runs of its figure by name."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fabricsim.crossings import from_frame
from fabricsim.plots import captured
from fabricsim.plots.theme import COLOURS, line_look, new_figure, plain_log, style
from fabricsim.programs import Note
from fabricsim.reproduce.quantities import Runs, load_hooks
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
        axes.axhline(1 / 6, color="black", linewidth=0.8, linestyle=":", label="1/6, printed for step 4")
        axes.set_xticks(range(len(runs)), [name.replace(", ", ",\n") for name in runs])
        axes.set_ylabel("throughput (of a link)")
        axes.set_title("Figure 12: congestion spreads to P")
        axes.legend(ncols=3, fontsize=8, loc="upper right")
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
    _size_axis(axes)
    axes.legend(fontsize=8)
    return figure, axes


def _size_axis(axes: Axes) -> None:
    axes.set_xscale("log", base=2)
    ticks = {1 << power: text for power, text in zip(range(1, 24, 3), SIZES, strict=True)}
    axes.set_xticks(list(ticks), list(ticks.values()))
    axes.minorticks_off()
    axes.set_xlabel("size of a message")


def _rate(run: Result, sender: str) -> float:
    flows = run.flows
    return float(flows.loc[flows["source"] == sender, "accepted_gbps"].sum())


PERCENTS = np.array([0, 25, 50, 75, 90, 99, 99.9, 99.99, 99.999, 100])
PRINTED = {
    "Isend, eager": (564, 628, 657, 718, 740, 1979, 2927, 3653, 4041, 8105),
    "completion, eager": (160, 215, 221, 231, 253, 1551, 2771, 3462, 3908, 14305),
    "Send, eager": (626, 673, 683, 764, 788, 2012, 2965, 3705, 3901, 14237),
    "Ssend, eager": (4380, 4548, 4618, 5196, 5346, 6469, 7202, 8418, 16159, 30909),
    "Isend, rendezvous": (354, 389, 400, 415, 434, 1704, 2722, 3736, 4211, 48030),
    "completion, rendezvous": (4741, 5461, 5744, 6073, 6208, 6868, 7385, 8397, 17576, 67589),
    "Send, rendezvous": (5232, 6171, 6303, 6387, 6567, 7907, 9258, 10135, 16402, 124374),
    "Ssend, rendezvous": (5203, 5640, 6260, 6345, 6650, 7855, 8752, 10062, 17118, 120310),
}
"""Tables IV and V."""


def eager_quantiles(runs: Runs) -> Figure:
    """Table IV: percentiles of durations, printed and ours."""
    return _quantiles(runs, "eager")


def rendezvous_quantiles(runs: Runs) -> Figure:
    """Table V."""
    return _quantiles(runs, "rendezvous")


def _quantiles(runs: Runs, protocol: str) -> Figure:
    with style():
        figure = new_figure(7.0, 3.6)
        axes = figure.subplots()
        columns = [(name, run, "call_ns") for name, run in runs.items()]
        columns.insert(1, ("completion", next(iter(runs.values())), "completion_ns"))
        places = np.arange(len(PERCENTS))
        for number, (name, run, column) in enumerate(columns):
            label = name.split()[-1]
            ours = np.percentile(run.table("returned")[column], PERCENTS)
            axes.plot(places, ours, color=COLOURS[number], label=label)
            axes.plot(places, PRINTED[f"{label}, {protocol}"], "o", color=COLOURS[number], markersize=4)
        axes.set_yscale("log")
        plain_log(axes.yaxis)
        axes.set_xticks(places, ["min", *(f"{one:g}" for one in PERCENTS[1:-1]), "max"])
        axes.set_xlabel("percentile")
        axes.set_ylabel("duration (ns)")
        axes.set_title(f"{protocol} protocol: printed (points) and ours (lines)")
        axes.legend(ncols=4, fontsize=8)
    return figure


def variation(runs: Runs) -> Figure:
    """Conclusion 4: how much longer than the median calls take, with and without noise."""
    with style():
        figure = new_figure(7.0, 3.2)
        axes = figure.subplots()
        places = np.arange(len(PERCENTS))
        for number, (name, run) in enumerate(runs.items()):
            ours = np.percentile(run.table("returned")["call_ns"], PERCENTS)
            axes.plot(places, ours / ours[2], label=name, **line_look(number))
        axes.set_yscale("log")
        plain_log(axes.yaxis)
        axes.set_xticks(places, ["min", *(f"{one:g}" for one in PERCENTS[1:-1]), "max"])
        axes.set_xlabel("percentile")
        axes.set_ylabel("duration of Send (median = 1)")
        axes.set_title("Conclusion 4: variation above the 90th percentile")
        axes.legend(fontsize=8)
    return figure


def one_sided(runs: Runs) -> Figure:
    """Conclusion 1: latency of WRITE and READ, and their throughput, over the size of a message."""
    with style():
        figure = new_figure(10.5, 3.2)
        for axes, test, column, unit in zip(
            figure.subplots(1, 2),
            ("latency", "throughput"),
            ("t_typical_us", "bw_average_mib_s"),
            ("latency (µs)", "throughput (MiB/s)"),
            strict=True,
        ):
            for number, kind in enumerate(("WRITE", "READ")):
                table = runs[f"{kind}, {test}"].table("perftest")
                axes.plot(table["bytes"], table[column], label=kind, **line_look(number))
            if test == "latency":
                axes.set_yscale("log")
                plain_log(axes.yaxis)
            _size_axis(axes)
            axes.set_ylabel(unit)
            axes.legend(fontsize=8)
        figure.suptitle("Conclusion 1: one-sided operations", fontsize=9)
    return figure


def stall(runs: Runs) -> Figure:
    """Conclusion 2: when the messages of a stream leave, with many buffers at the receiver and with few."""
    with style():
        figure = new_figure(7.0, 3.0)
        axes = figure.subplots()
        for number, name in enumerate(("many buffers", "64 buffers")):
            posted = runs[name].table("posted")
            times = posted.loc[(posted["from"] == 0) & (posted["bytes"] > 8000), "time_ns"] / 1e6
            axes.plot(range(1, len(times) + 1), times, label=name, **line_look(number))
        axes.axhline(2, color="black", linewidth=0.8, linestyle=":")
        axes.annotate("the receiver calls MPI", (1, 2), xytext=(0, 3), textcoords="offset points", fontsize=7)
        axes.set_xlabel("message")
        axes.set_ylabel("leaves the sender at (ms)")
        axes.set_title("Conclusion 2: eager messages to a receiver that computes")
        axes.legend(fontsize=8)
    return figure


def protocols(runs: Runs) -> Figure:
    """Conclusion 3: half of the time to and fro by either protocol, over the size of a message."""
    with style():
        figure = new_figure(7.0, 3.2)
        axes = figure.subplots()
        for number, name in enumerate(("eager", "rendezvous")):
            table = runs[name].table("returned")
            table = table[table["rank"] == 0]
            axes.plot(table["bytes"] / 1024, table["half_trip_ns"] / 1000, label=name, **line_look(number))
        axes.set_xlabel("size of a message (KiB)")
        axes.set_ylabel("half of a round trip (µs)")
        axes.set_title("Conclusion 3: time of a message, and of its copies")
        axes.legend(fontsize=8)
    return figure


ROUNDS = ("#009E73", "#D55E00", "#0072B2")
"""Colours of the rounds in figures 23 to 25: those in print, in shades that colour-blind readers tell apart."""


def barrier_of_8(runs: Runs) -> Figure:
    """Figure 23: the messages of each round, as a run posted them; ranks on a circle."""
    return _messages({"8 ranks": next(iter(runs.values()))}, "Figure 23: a barrier of 8 ranks")


def barrier_of_6(runs: Runs) -> Figure:
    """Figure 24."""
    return _messages({"6 ranks": next(iter(runs.values()))}, "Figure 24: a barrier of 6 ranks")


def reductions(runs: Runs) -> Figure:
    """Figure 25."""
    return _messages({name: runs[name] for name in ("8 ranks", "6 ranks")}, "Figure 25: reductions to rank 0")


def _messages(runs: Runs, title: str) -> Figure:
    rounds = load_hooks(Path(__file__).parent, "rank_quantities.py")["rounds"]
    shown = {name: rounds(runs, run=name) for name in runs}
    columns = max(int(found["round"].max()) for found in shown.values())
    with style():
        figure = new_figure(2.6 * columns, 2.7 * len(runs))
        grid = figure.subplots(len(runs), columns, squeeze=False)
        for line, (name, found) in zip(grid, shown.items(), strict=True):
            ranks = int(max(found["from"].max(), found["to"].max())) + 1
            for number, axes in enumerate(line, start=1):
                messages = found[found["round"] == number]
                if messages.empty:
                    axes.set_visible(False)
                    continue
                _circle(axes, ranks, messages, ROUNDS[number - 1])
                axes.set_title(f"{name}, round {number}", fontsize=8, y=0.96)
        figure.suptitle(title, fontsize=9)
    return figure


def _circle(axes: Axes, ranks: int, found: pd.DataFrame, colour: str) -> None:
    angles = np.pi / 2 - 2 * np.pi * np.arange(ranks) / ranks
    points = np.column_stack([np.cos(angles), np.sin(angles)])
    for source, to in zip(found["from"], found["to"], strict=True):
        axes.annotate(
            "",
            tuple(points[to]),
            tuple(points[source]),
            arrowprops={
                "arrowstyle": "-|>",
                "color": colour,
                "shrinkA": 8,
                "shrinkB": 8,
                "connectionstyle": "arc3,rad=0.12",
            },
        )
    for rank, (x, y) in enumerate(points):
        axes.text(
            x, y, str(rank), ha="center", va="center", fontsize=8, bbox={"boxstyle": "circle", "fc": "white"}
        )
    axes.set_xlim(-1.3, 1.3)
    axes.set_ylim(-1.3, 1.3)
    axes.set_aspect("equal")
    axes.axis("off")


def read_packets(runs: Runs) -> Figure:
    """Figure 9: the packets of a READ."""
    return _chart(runs, "Figure 9: packets of a READ")


def connection_setup(runs: Runs) -> Figure:
    """Figure 15: calls, events and packets."""
    return _chart(runs, "Figure 15: a connection is set up")


def receiving(runs: Runs) -> Figure:
    """Figure 19."""
    return _chart(runs, "Figure 19: a receive request waits for its message")


def transfer_of_send(runs: Runs) -> Figure:
    """Figure 20."""
    return _chart(runs, "Figure 20: SEND, channel semantics")


def transfer_of_write(runs: Runs) -> Figure:
    """Figure 21."""
    return _chart(runs, "Figure 21: RDMA WRITE, memory semantics")


def transfer_of_read(runs: Runs) -> Figure:
    """Figure 22."""
    return _chart(runs, "Figure 22: RDMA READ, memory semantics")


def _chart(runs: Runs, title: str) -> Figure:
    """The packets of a run, and what its programs called."""
    run = next(iter(runs.values()))
    notes = [Note(*row) for row in run.table("notes").itertuples(index=False)]
    return captured(from_frame(run.table("crossings")), notes=notes, title=title)
