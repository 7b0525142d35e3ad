"""The thesis' figures, redrawn from our runs. Each function takes the runs of its figure by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fabricsim.plots.theme import COLOURS, line_look, new_figure, style
from fabricsim.reproduce.quantities import Runs, load_hooks
from fabricsim.results import Result

LINK_MBPS = 1000.0
"""A host's link: 8 Gb/s."""
MB_PER_GBIT = 125.0
SHARES = {"0": 0.0, "1/6": 1 / 6, "1/4": 1 / 4, "1/3": 1 / 3, "1/2": 1 / 2, "1": 1.0}
A_HOSTS = ("H112", "H211", "H121", "H111")
A_SINKS = ("H221", "H121")
B_HOSTS = ("H111", "H511", "H551", "H151", "H541")
B_SINKS = ("H552", "H542")


def figure_4_1(runs: Runs) -> Figure:
    return _over_time(runs, "Figure 4.1", A_HOSTS, A_SINKS)


def figure_4_2(runs: Runs) -> Figure:
    return _over_time(runs, "Figure 4.2", A_HOSTS, A_SINKS)


def figure_4_3(runs: Runs) -> Figure:
    return _over_time(runs, "Figure 4.3", (*B_HOSTS, "H431"), B_SINKS)


def figure_4_4(runs: Runs) -> Figure:
    return _over_time(runs, "Figure 4.4", (*B_HOSTS, "H431"), B_SINKS)


def figure_4_5(runs: Runs) -> Figure:
    return _over_time(runs, "Figure 4.5", (*B_HOSTS, "H512"), B_SINKS)


def figure_4_6(runs: Runs) -> Figure:
    return _over_time(runs, "Figure 4.6", (*B_HOSTS, "H512"), B_SINKS)


def figure_4_7(runs: Runs) -> Figure:
    return _static_flows(runs, "Figure 4.7")


def figure_4_8(runs: Runs) -> Figure:
    return _static_flows(runs, "Figure 4.8")


def figure_4_9(runs: Runs) -> Figure:
    return _off_and_on(runs, "Figure 4.9")


def figure_4_10(runs: Runs) -> Figure:
    return _static_flows(runs, "Figure 4.10")


def figure_4_11(runs: Runs) -> Figure:
    return _off_and_on(runs, "Figure 4.11")


def figure_4_12(runs: Runs) -> Figure:
    return _static_flows(runs, "Figure 4.12")


def figure_4_13(runs: Runs) -> Figure:
    return _off_and_on(runs, "Figure 4.13")


def figure_4_14(runs: Runs) -> Figure:
    return _off_and_on(runs, "Figure 4.14")


def figure_4_15(runs: Runs) -> Figure:
    return _by_rate(runs, "Figure 4.15")


def figure_4_16(runs: Runs) -> Figure:
    return _by_rate(runs, "Figure 4.16")


def figure_4_17(runs: Runs) -> Figure:
    return _by_rate(runs, "Figure 4.17")


def figure_4_18(runs: Runs) -> Figure:
    return _by_rate(runs, "Figure 4.18")


def figure_4_19(runs: Runs) -> Figure:
    return _by_rate(runs, "Figure 4.19")


def figure_4_20(runs: Runs) -> Figure:
    return _by_timer(runs, "Figure 4.20")


def figure_4_21(runs: Runs) -> Figure:
    return _by_timer(runs, "Figure 4.21")


def scatter(runs: Runs) -> Figure:
    """Ours against the thesis' averages."""
    with style():
        figure = new_figure(5.4, 4.6)
        axes = figure.add_subplot()
        ends = [12.0, 28.0]
        axes.plot(ends, ends, color="black", linewidth=1.0, label="equal")
        table = load_hooks(Path(__file__).parent)["table_4_9"](runs)
        for number, (timer, row) in enumerate(table.items()):
            ours = [_total(runs[f"{timer}/{rate}"]).mean() / 8.0 for rate in row]
            marker = "osD^v"[number]
            axes.plot(list(row.values()), ours, marker, color=COLOURS[number], label=f"CCTI_Timer {timer}")
        axes.set(xlabel="average throughput in table 4.9 (GB/s)", ylabel="ours (GB/s)", xlim=ends, ylim=ends)
        axes.set_title("Table 4.9: the 30 settings of D, 0.1 s")
        axes.legend(loc="upper left")
    return figure


def omnetpp_a(runs: Runs) -> Figure:
    return _over_time(runs, "Figure 4.1, 20 times shorter", A_HOSTS, A_SINKS, name="OMNeT++'s run of A")


def _off_and_on(runs: Runs, figure_of: str) -> Figure:
    lines = {f"congestion control {name}": runs[name] for name in ("off", "on")}
    return _totals(f"{figure_of}, redrawn. {runs['on'].manifest['summary']['experiment']}", lines)


def _by_rate(runs: Runs, figure_of: str) -> Figure:
    """The runs of a grid of CCTI_Timer and Marking_Rate, named by the latter."""
    named = {name.partition("/"): run for name, run in runs.items() if "/" in name}
    lines = {f"Marking_Rate {rate}": run for (_, _, rate), run in named.items()}
    return _totals(f"{figure_of}, redrawn. Thesis D: CCTI_Timer {next(iter(named))[0]}", lines)


def _by_timer(runs: Runs, figure_of: str) -> Figure:
    named = {name.partition("/"): run for name, run in runs.items() if "/" in name}
    lines = {f"CCTI_Timer {timer}": run for (timer, _, _), run in named.items()}
    lines["congestion control off"] = runs["off"]
    return _totals(f"{figure_of}, redrawn. Thesis D: Marking_Rate {next(iter(named))[2]}", lines)


def _totals(title: str, lines: Mapping[str, Result]) -> Figure:
    """Throughput of the whole network over time, a line for each run."""
    with style():
        figure = new_figure(8.6, 4.2)
        axes = figure.add_subplot()
        for number, (name, result) in enumerate(lines.items()):
            total = _total(result) / 8.0
            look = line_look(number) | {"linewidth": 1.6}
            label = f"{name} ({total.mean():.1f})"
            axes.plot((total.index.to_numpy(float) + 0.5 * _bin_ns(total)) / 1e9, total, label=label, **look)
        axes.set(xlabel="simulated time (s)", ylabel="total throughput (GB/s)")
        axes.set_xlim(left=0.0)
        axes.set_ylim(bottom=0.0)
        axes.set_title(title)
        figure.legend(loc="outside right upper", title="mean in brackets")
    return figure


def _static_flows(runs: Runs, figure_of: str) -> Figure:
    """Throughput of the sources with a fixed destination, and on the right-hand scale of the two destinations."""
    result = next(iter(runs.values()))
    hosts = result.table("hosts_series").pivot_table(index="time_ns", columns="host", values="delivered_gbps")
    with style():
        figure = new_figure(8.6, 4.2)
        axes = figure.add_subplot()
        right = axes.twinx()
        for number, host in enumerate((*B_HOSTS, "H512")):
            _steps(axes, _of_source(result, host), 1e9, label=host, color=COLOURS[number], linewidth=1.6)
        for number, host in enumerate(B_SINKS):
            look = {"color": "black", "linewidth": 1.2, "linestyle": ((0, (1, 1.5)), (0, (5, 2)))[number]}
            _steps(right, hosts[host], 1e9, label=f"all that {host} receives (right)", **look)
        axes.set(xlabel="simulated time (s)", ylabel="throughput from a source (MB/s)")
        right.set(ylabel="throughput at a destination (MB/s)")
        right.grid(visible=False)
        right.spines["right"].set_visible(True)
        axes.set_ylim(bottom=0.0)
        right.set_ylim(0.0, 1.08 * LINK_MBPS)
        axes.set_xlim(left=0.0)
        setting = _setting(result)
        name = result.manifest["summary"]["experiment"]
        axes.set_title(f"{figure_of}, redrawn. {name}, congestion control {setting}")
        figure.legend(loc="outside right upper")
    return figure


def _setting(result: Result) -> str:
    """ "on" or "off"."""
    return "off" if result.manifest["summary"]["congestion"] is None else "on"


def _total(result: Result) -> pd.Series[float]:
    """Throughput of the whole network over time."""
    return result.table("hosts_series").groupby("time_ns")["delivered_gbps"].sum()


def _bin_ns(series: pd.Series[float]) -> float:
    return float(series.index[1] - series.index[0])


def _over_time(
    runs: Runs, figure_of: str, sources: Sequence[str], sinks: Sequence[str], name: str = ""
) -> Figure:
    """Throughput over time: of each source at its destination, and of all that each sink receives."""
    result = next(iter(runs.values()))
    hosts = result.table("hosts_series").pivot_table(index="time_ns", columns="host", values="delivered_gbps")
    scale, unit = (1e9, "s") if hosts.index.max() > 1e8 else (1e6, "ms")
    with style():
        figure = new_figure(8.6, 4.2)
        axes = figure.add_subplot()
        for number, host in enumerate(sources):
            # Where curves coincide, the later ones are thinner, so that all are seen.
            look = {"color": COLOURS[number], "linewidth": 1.5 + 0.9 * (len(sources) - 1 - number)}
            _steps(axes, _of_source(result, host), scale, label=host, **look)
        for number, host in enumerate(sinks):
            look = {"color": "black", "linewidth": 1.0, "linestyle": ((0, (1, 2)), (0, (5, 3)))[number]}
            _steps(axes, hosts[host], scale, label=f"all that {host} receives", **look)
        axes.set(xlabel=f"simulated time ({unit})", ylabel="throughput (MB/s)")
        axes.set_ylim(0.0, 1.08 * LINK_MBPS)
        axes.set_xlim(left=0.0)
        share = axes.secondary_yaxis("right")
        share.set(ylabel="share of a host's link")
        share.set_yticks([LINK_MBPS * part for part in SHARES.values()], list(SHARES))
        name = name or result.manifest["summary"]["experiment"]
        axes.set_title(f"{figure_of}, redrawn. {name}, congestion control {_setting(result)}")
        figure.legend(loc="outside right upper", title="received from")
    return figure


def _steps(axes: Axes, gbps: pd.Series[float], scale: float, **look: Any) -> None:
    """A step for each time bin from the first with traffic on."""
    starts = gbps.index.to_numpy(float)
    values = gbps.to_numpy(float, copy=True) * MB_PER_GBIT
    values[: int(np.argmax(values > 0.0))] = np.nan
    edges = np.append(starts, 2 * starts[-1] - starts[-2]) / scale
    axes.stairs(values, edges, baseline=None, **look)


def _of_source(result: Result, host: str) -> pd.Series[float]:
    """What a source's flows deliver over time, Gb/s."""
    table = result.series
    return table[table["source"] == host].groupby("time_ns")["gbps"].sum()
