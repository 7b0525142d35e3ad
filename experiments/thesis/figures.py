"""The thesis' figures, redrawn from our runs. Each function takes the runs of its figure by name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fabricsim.plots.theme import COLOURS, new_figure, style
from fabricsim.reproduce.quantities import Runs
from fabricsim.results import Result

LINK_MBPS = 1000.0
"""A host's link: 8 Gb/s."""
MB_PER_GBIT = 125.0
SHARES = {"0": 0.0, "1/6": 1 / 6, "1/4": 1 / 4, "1/3": 1 / 3, "1/2": 1 / 2, "1": 1.0}
B_HOSTS = ("H111", "H511", "H551", "H151", "H541")


def figure_4_1(runs: Runs) -> Figure:
    return _over_time(runs, "Figure 4.1 of the thesis", ("H112", "H211", "H121", "H111"), ("H221", "H121"))


def figure_4_3(runs: Runs) -> Figure:
    return _over_time(runs, "Figure 4.3 of the thesis", (*B_HOSTS, "H431"), ("H552", "H542"))


def figure_4_5(runs: Runs) -> Figure:
    return _over_time(runs, "Figure 4.5 of the thesis", (*B_HOSTS, "H512"), ("H552", "H542"))


def omnetpp_a(runs: Runs) -> Figure:
    return _over_time(
        runs, "Figure 4.1 in a twentieth of the time", ("H112", "H211", "H121", "H111"), ("H221", "H121")
    )


def _over_time(runs: Runs, figure_of: str, sources: Sequence[str], sinks: Sequence[str]) -> Figure:
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
        axes.set_title(f"{figure_of}, redrawn. {result.manifest['summary']['experiment']}")
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
