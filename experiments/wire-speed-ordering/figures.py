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
LENGTHS = (16, 32, 64, 128)
LATENCIES = (
    ("at once, until received", "at once", ()),
    ("in turn, until received", "in turn", ()),
    ("at once, until delivered", "at once", ("delivered",)),
)
SYNCHRONIZATION = {
    "source-side": "source-side synchronization",
    "target-side": "target-side synchronization",
    "ordering": "target-side ordering",
}


LESS_ADAPTIVE = "0.2"
"""Trigger of figure 11(c)."""


def figure_4(runs: Runs) -> Figure:
    """Ordered transfer, slow mode."""
    chart: Figure = CHARTS["chart"](runs)
    return chart


def figure_5(runs: Runs) -> Figure:
    """Ordered transfer, fast mode."""
    chart: Figure = CHARTS["chart"](runs)
    return chart


def figure_6(runs: Runs) -> Figure:
    """Exactly-once delivery."""
    chart: Figure = CHARTS["chart"](runs)
    return chart


def figure_7(runs: Runs) -> Figure:
    """Synchronized transfer."""
    chart: Figure = CHARTS["chart"](runs)
    return chart


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


def figure_9(runs: Runs) -> Figure:
    """Latency of all packets of a source, and of one, over the length of its streams."""
    panels = {"total": ("total latency of 128 packets", 5.0), "request": ("mean latency of a request", 3.0)}
    with style():
        figure = new_figure(8.6, 4.0)
        for axes, (what, (title, top)) in zip(figure.subplots(1, 2), panels.items(), strict=True):
            for number, (label, mode, more) in enumerate(LATENCIES):
                if what == "total" and more:
                    continue
                cells = [f"{mode}/{length}" for length in LENGTHS]
                means = [OURS[what](runs, cell, *more) / 1e3 for cell in cells]
                spread = [OURS[f"{what}_deviation"](runs, cell, *more) / 1e3 for cell in cells]
                bars = _bars(axes, number, means, label, [spread, spread])
                axes.bar_label(bars, fmt="{:.2f}", fontsize=7, padding=1)
            axes.set_xticks(range(len(LENGTHS)), [f"{128 // n} x {n}" for n in LENGTHS])
            axes.set(xlabel="streams x packets of each", ylabel=f"{title} (us)", ylim=(0.0, top))
        handles, labels = axes.get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=3)
        figure.suptitle("Figure 9 of the paper, redrawn: 16 sources, 16 destinations", fontsize=11)
    return figure


def figure_10(runs: Runs) -> Figure:
    """Time of one stream with its synchronization operation over its length."""
    with style():
        figure = new_figure(7.0, 4.2)
        axes = figure.add_subplot()
        for number, (mode, label) in enumerate(SYNCHRONIZATION.items()):
            _times(axes, number, runs, mode, label, "synchronized_after")
        axes.set(ylim=(0.0, 4.0))
        _packets(axes)
        axes.set_title("Figure 10 of the paper, redrawn: data and one synchronization operation")
    return figure


def figure_11a(runs: Runs) -> Figure:
    """Reorder buffer over time."""
    return _over_time(
        runs, "reorder_buffer", "Figure 11(a) of the paper, redrawn: as many connections as wanted"
    )


def figure_11b(runs: Runs) -> Figure:
    """Connections over time."""
    return _over_time(
        runs, "connections", "Figure 11(b) of the paper, redrawn: as many connections as wanted"
    )


def figure_11c(runs: Runs) -> Figure:
    """Reorder buffer over time with bursts."""
    title = "Figure 11(c) of the paper, redrawn: bursts, two sources"
    return _over_time(_part(runs, LESS_ADAPTIVE), "reorder_buffer", title)


def figure_12a(runs: Runs) -> Figure:
    """Reorder buffer over time with two connections."""
    return _over_time(
        _part(runs, "no cap"), "reorder_buffer", "Figure 12(a) of the paper, redrawn: two connections"
    )


def figure_12b(runs: Runs) -> Figure:
    """Connections over time with two connections."""
    return _over_time(
        _part(runs, "no cap"), "connections", "Figure 12(b) of the paper, redrawn: two connections"
    )


def figure_12c(runs: Runs) -> Figure:
    """Reorder buffer over time with two connections and at most 25 packets outstanding."""
    title = "Figure 12(c) of the paper, redrawn: two connections, at most 25 packets of a stream outstanding"
    return _over_time(_part(runs, "cap of 25"), "reorder_buffer", title)


def _part(runs: Runs, first: str) -> Runs:
    return {name.partition("/")[2]: run for name, run in runs.items() if name.partition("/")[0] == first}


def _over_time(runs: Runs, column: str, title: str) -> Figure:
    """A level of the first receiver: by bins of 100 ns, and its mean over 10 us."""
    cells = list(dict.fromkeys(name.rpartition("/")[0] for name in runs))
    buffer = column == "reorder_buffer"
    with style():
        figure = new_figure(8.6, 1.4 + 1.8 * (len(cells) // 2))
        panels = figure.subplots(len(cells) // 2, 2, sharex=True, sharey="row", squeeze=False)
        for axes, cell in zip(panels.flat, cells, strict=True):
            levels = OURS["levels"](runs, cell)
            time, values = levels["time_ns"] / 1e3, levels[column]
            look = {"color": COLOURS[0], "linewidth": 0.7}
            axes.plot(time, values, label="packets" if buffer else "connections", **look)
            trend = values.rolling(101, center=True, min_periods=1).mean()
            axes.plot(time, trend, color=COLOURS[1], linestyle=":", linewidth=2.2, label="mean over 10 us")
            if buffer:
                axes.axhline(50.0, color="black", linestyle="--", linewidth=0.8, label="capacity")
                axes.set_ylim(0.0, 53.0)
            else:
                axes.set_ylim(0.0, None)
            sources, packets = cell.split("/")
            axes.set_title(f"{sources} sources, streams of {packets} packets", fontsize=9)
        for axes in panels[:, 0]:
            axes.set(ylabel="reorder buffer (packets)" if buffer else "connections")
        for axes in panels[-1]:
            axes.set(xlabel="time (us)")
        figure.suptitle(title, fontsize=11)
        handles, labels = panels.flat[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=3)
    return figure


def _times(axes: Axes, number: int, runs: Runs, mode: str, label: str, what: str = "completion") -> None:
    """Bars of mean times, with lines from the shortest to the longest stream."""
    cells = [f"{mode}/{packets}" for packets in PACKETS]
    mean, least, most = (
        [OURS[what](runs, cell, which) / 1e3 for cell in cells] for which in ("mean", "min", "max")
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
