"""Runs side by side: throughput over time, and each flow's share at the end."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import PercentFormatter

from fabricsim import catalogue
from fabricsim.catalogue import entry_name
from fabricsim.compare import Comparison
from fabricsim.entry_names import of_summary
from fabricsim.errors import InputError
from fabricsim.lazy import numpy as np
from fabricsim.lazy import pandas as pd
from fabricsim.plots.ceilings import within_links
from fabricsim.plots.entities import (
    OTHERS,
    Keys,
    coarse,
    end_of,
    entries_of,
    entry_colours,
    flow_names,
    is_tangle,
    key_names,
    shortest_of_totals,
    steps,
    totals_of_entries,
    whole_bins,
    wide_by,
)
from fabricsim.plots.legends import legend
from fabricsim.plots.theme import head, line_look, new_figure, panel_title, sized, style, time_scale
from fabricsim.results import Result, final_destination_share
from fabricsim.shown import number_of

if TYPE_CHECKING:
    import numpy.typing as npt

MOST_FLOWS = 12
"""Flows that are drawn one by one."""
MOST_COLUMNS = 4
"""Panels beside each other."""
MOST_WRITTEN = 6
"""Bars beside each other that have their number written on them."""
_NEXT_KEY = re.compile(r", (?=[^,=]+ = )")
"""What separates keys with their values in the label of a run."""
_NO_SERIES = "these runs kept no series of their flows, so there is nothing to draw: there are too many"


def comparison(found: Comparison, most_flows: int = MOST_FLOWS, by: str | None = None) -> Figure:
    """A column for each run: accepted throughput of the common flows over time, below it their shares of their
    destinations' links in the last tenth. All columns have the same axes and one legend.

    Beyond `most_flows`, those with the largest throughput and the mean of the others are drawn. If their lines would
    cross all the time, or if no flow is in all runs, a line is the total of an entry of the traffic list, of all its
    flows.

    `by`: "source", "destination" or "group": a line is a sum of flows, and below are the accepted throughputs of the
    measurement; of many, the largest and the smallest, and the mean of the others.

    Raises:
        InputError: neither a flow nor an entry is in all runs, no run kept a series, or a run has no such sums.
    """
    found = _with_common_names(found)
    drawn = _drawn_flows(found, most_flows) if by is None else _drawn_sums(found, by)
    drawn = _below_links(found, drawn)
    scale, unit = time_scale(max(drawn.ends.values(), default=1.0))
    count = len(found.labels)
    columns = min(count, MOST_COLUMNS)
    bands = math.ceil(count / columns)
    with style():
        figure = new_figure(max(3.4 * columns, 4.0) + 1.6, 4.4 * bands)
        grid = figure.subplots(2 * bands, columns, squeeze=False, height_ratios=[2.0, 1.2] * bands)
        for number, label in enumerate(found.labels):
            band, column = divmod(number, columns)
            _lines(grid[2 * band, column], drawn, label, scale)
            panel_title(grid[2 * band, column], _NEXT_KEY.sub("\n", label), columns)
            _bars(grid[2 * band + 1, column], drawn, label)
        for empty in range(count, bands * columns):
            band, column = divmod(empty, columns)
            grid[2 * band, column].set_axis_off()
            grid[2 * band + 1, column].set_axis_off()
        _share_axes(grid, unit, drawn.shares_label)
        legend(figure, handles=_legend(drawn), title=drawn.title)
        titles = {run.title for run in found.runs}
        if len(titles) == 1:
            head(figure, titles.pop())
    return figure


def _with_common_names(found: Comparison) -> Comparison:
    """The same with entries of the traffic list under the names that they have in the tables of the comparison."""
    if all(of_summary(run.manifest["summary"]).items() <= found.entry_names.items() for run in found.runs):
        return found
    return replace(found, runs=[_renamed(run, found.entry_names) for run in found.runs])


def _renamed(run: Result, names: Mapping[str, str]) -> Result:
    known = {name: entry_name(key, names) for key, name in of_summary(run.manifest["summary"]).items()}
    frames = {
        name: table.assign(entry=table["entry"].astype(str).replace(known))
        for name in ("flows", "entries")
        if (table := run.frames.get(name)) is not None and "entry" in table
    }
    return replace(run, frames={**run.frames, **frames})


@dataclass(frozen=True)
class _Drawn:
    """Lines and bars of all runs."""

    title: str
    """Title of the legend."""
    shown: list[str]
    """Flows, or entries of the traffic list, that are drawn one by one."""
    looks: list[dict[str, Any]]
    """Their looks."""
    bins: dict[str, pd.DataFrame]
    """Throughput over time by run; a column is a flow or an entry."""
    ends: dict[str, float]
    """Time in nanoseconds at which the last bin ends, by run."""
    shares: dict[str, pd.Series[float]]
    """Shares of the destinations' links by run; of an entry, the mean of its common flows."""
    shares_label: str
    is_share: bool = True
    """False if these are throughputs, Gb/s."""

    @property
    def others(self) -> int:
        """Number of those that are not drawn one by one."""
        return len(next(iter(self.shares.values()))) - len(self.shown)


def _drawn_sums(found: Comparison, by: str) -> _Drawn:
    """Sums of flows by source, destination or group of hosts."""
    table = found.by(by)
    names = key_names(table.index.to_frame(index=False), by).tolist()
    rates = {
        label: pd.Series(table["accepted_gbps", label].to_numpy(float), index=names) for label in found.labels
    }
    keys = Keys.of(pd.concat(rates.values(), axis=1).mean(axis=1))
    ends, kept = {}, {}
    for label, run in zip(found.labels, found.runs, strict=True):
        if "series" in run.frames and len(run.series):
            wide = wide_by(run, by)
            ends[label] = end_of(wide, run)
            kept[label] = whole_bins(wide, ends[label])
    if not kept:
        raise InputError(_NO_SERIES)
    flows = {label: run.frames.get("flows") for label, run in zip(found.labels, found.runs, strict=True)}
    looks = [{"color": colour, "linewidth": sized(2.5)} for colour in keys.colours.values()]
    bins = _coarse(kept, flows, keys.shown)
    return _Drawn(by, keys.shown, looks, bins, ends, rates, "accepted\nthroughput (Gb/s)", is_share=False)


def _drawn_flows(found: Comparison, most: int) -> _Drawn:
    """The flows; if these are many whose lines would cross all the time, or if none is in all runs, entries of the
    traffic list.
    """
    if found.note:
        shares = {
            label: pd.Series(final_destination_share(run).to_numpy(float), index=flow_names(run.flows))
            for label, run in zip(found.labels, found.runs, strict=True)
        }
        if (drawn := _drawn_entries(found, shares, most)) is not None:
            return drawn
        raise InputError(
            f"{found.note}; they have no entry of the traffic list in common either, so there is no throughput to draw"
        )
    series = found.series
    if series.empty:
        raise InputError(_NO_SERIES)
    wide = series.assign(flow=flow_names(series)).pivot_table(
        index="time_ns", columns=["run", "flow"], values="gbps", aggfunc="sum", sort=False
    )
    wide = wide.sort_index()
    names = flow_names(found.flows.index.to_frame(index=False)).tolist()
    kept = wide.columns.get_level_values(0)
    ends, tables = {}, {}
    for label, run in zip(found.labels, found.runs, strict=True):
        if label in kept:
            table = cast("pd.DataFrame", wide[label]).dropna(how="all")
            ends[label] = end_of(table, run)
            tables[label] = whole_bins(table, ends[label])
    flows = {label: run.frames.get("flows") for label, run in zip(found.labels, found.runs, strict=True)}
    shares = {
        label: pd.Series(found.flows["final_destination_share", label].to_numpy(float), index=names)
        for label in found.labels
    }
    shown = _largest(names, found.quantity("accepted_gbps").mean(axis=1).to_numpy(), most)
    bins = _coarse(tables, flows, shown)
    tangled = len(names) > most and any(
        is_tangle(table, flows[label], [name for name in shown if name in table])
        for label, table in bins.items()
    )
    if tangled and (entries := _drawn_entries(found, shares, most)) is not None:
        return entries
    looks = [line_look(number) for number in range(len(shown))]
    return _Drawn("flow", shown, looks, bins, ends, shares, "share of link,\nlast tenth")


def _drawn_entries(found: Comparison, shares: Mapping[str, pd.Series[float]], most: int) -> _Drawn | None:
    """The entries of the traffic list that all runs have; None if there are none, or if a run does not say of which
    entry its flows are.

    `shares`: of the flows whose mean is the share of their entry, by name, for each run.
    """
    flows = {label: run.frames.get("flows") for label, run in zip(found.labels, found.runs, strict=True)}
    entries = {label: entries_of(flows[label], of.index.tolist()) for label, of in shares.items()}
    ends, totals = {}, {}
    for label, run in zip(found.labels, found.runs, strict=True):
        if "series" in run.frames and len(run.series):
            wide = _wide(run)
            ends[label] = end_of(wide, run)
            totals[label] = totals_of_entries(whole_bins(wide, ends[label]), flows[label])
    known = {label: table for label, table in totals.items() if table is not None}
    if not known or len(known) < len(totals) or any(each is None for each in entries.values()):
        return None
    means = pd.concat([table.mean() for table in known.values()], axis=1, join="inner").mean(axis=1)
    if means.empty:
        return None
    names = [str(name) for name in means.index]
    known = {label: table[names] for label, table in known.items()}
    shown = _largest(names, means.to_numpy(), most)
    of_entries = {
        label: of.groupby(cast("pd.Series[str]", entries[label]), sort=False).mean().reindex(names)
        for label, of in shares.items()
    }
    looks = [{"color": colour, "linewidth": sized(2.5)} for colour in entry_colours(found.runs[0], shown)]
    bins = _coarse(known, flows, shown, max(map(shortest_of_totals, found.runs)))
    return _Drawn("entry", shown, looks, bins, ends, of_entries, "share of link,\nmean of flows,\nlast tenth")


def _below_links(found: Comparison, drawn: _Drawn) -> _Drawn:
    bins = {
        label: within_links(drawn.bins[label], drawn.ends[label], run, drawn.title)
        for label, run in zip(found.labels, found.runs, strict=True)
        if label in drawn.bins
    }
    return replace(drawn, bins=bins)


def _wide(run: Result) -> pd.DataFrame:
    """Throughput over time of all flows of a run. A row is a bin, a column a flow."""
    series = run.series
    wide = series.assign(flow=flow_names(series)).pivot_table(
        index="time_ns", columns="flow", values="gbps", aggfunc="sum", fill_value=0.0, sort=False
    )
    return wide.sort_index()


def _coarse(
    tables: Mapping[str, pd.DataFrame],
    flows: Mapping[str, pd.DataFrame | None],
    shown: Sequence[str],
    shortest: float = 0.0,
) -> dict[str, pd.DataFrame]:
    return {
        label: coarse(table, flows[label], [name for name in shown if name in table], shortest)
        for label, table in tables.items()
    }


def _largest(names: list[str], rates: npt.NDArray[np.float64], most: int) -> list[str]:
    """Those that are drawn one by one, in the order of the names."""
    if len(names) <= most:
        return names
    largest = set(np.argsort(-rates, kind="stable")[:most])
    return [name for number, name in enumerate(names) if number in largest]


def _lines(axes: Axes, drawn: _Drawn, label: str, scale: float) -> None:
    if label not in drawn.bins:
        axes.text(0.5, 0.5, "no series was kept", ha="center", transform=axes.transAxes)
        return
    table, end = drawn.bins[label], drawn.ends[label]
    for name, look in zip(drawn.shown, drawn.looks, strict=True):
        if name in table:
            steps(axes, table[name], end, scale, **look)
    rest = table.drop(columns=drawn.shown, errors="ignore")
    if rest.shape[1]:
        steps(axes, rest.mean(axis=1), end, scale, color=OTHERS, linewidth=sized(2.5))


def _bars(axes: Axes, drawn: _Drawn, label: str) -> None:
    shares = drawn.shares[label]
    heights = [*shares[drawn.shown]]
    colours = [look["color"] for look in drawn.looks]
    rest = shares.drop(drawn.shown)
    if len(rest):
        heights.append(rest.mean())
        colours.append(OTHERS)
    bars = axes.bar(range(len(heights)), heights, color=colours, width=0.75)
    if len(heights) <= MOST_WRITTEN:
        written = _percent if drawn.is_share else "{:.3g}".format
        texts = ["" if math.isnan(height) else written(height) for height in heights]
        axes.bar_label(bars, texts, fontsize="small")
    axes.set_xticks([])
    axes.margins(y=0.15)
    if drawn.is_share:
        axes.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))


def _percent(share: float) -> str:
    """Two digits also of small shares."""
    return f"{share:.0%}" if share >= 0.0995 else f"{share:.1%}"


def _share_axes(grid: npt.NDArray[np.object_], unit: str, shares: str) -> None:
    """The same limits for all panels of a kind; labels at the edges."""
    lines, bars = ([axes for row in grid[kind::2] for axes in row if axes.axison] for kind in (0, 1))
    for panels in (lines, bars):
        top = max(axes.get_ylim()[1] for axes in panels)
        for axes in panels:
            axes.set_ylim(0.0, top)
    end = max(axes.get_xlim()[1] for axes in lines)
    for axes in lines:
        axes.set_xlim(0.0, end)
        axes.set_xlabel(f"simulated time ({unit})")
    accepted = catalogue.key("accepted_gbps").heading.replace(" ", "\n", 1)
    for row, label in zip(grid, itertools.cycle((accepted, shares)), strict=False):
        row[0].set_ylabel(label)
        for axes in row[1:]:
            axes.tick_params(labelleft=False)


def _legend(drawn: _Drawn) -> list[Line2D]:
    handles = [
        Line2D([], [], label=name, **look) for name, look in zip(drawn.shown, drawn.looks, strict=True)
    ]
    if drawn.others:
        handles.append(
            Line2D(
                [],
                [],
                label=f"mean of {number_of(drawn.others, 'other')}",
                color=OTHERS,
                linewidth=sized(2.5),
            )
        )
    return handles
