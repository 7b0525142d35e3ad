"""Looks of flows, entries and jobs: the same in all pictures of a run."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, cast

from matplotlib.axes import Axes

from fabricsim.hot_links import SEVERAL
from fabricsim.lazy import numpy as np
from fabricsim.lazy import pandas as pd
from fabricsim.plots.theme import COLOURS, LOOKS, line_look
from fabricsim.results import Result
from fabricsim.shown import number_of
from fabricsim.sums import keys_of

FEWEST_PACKETS = 10
"""Packets of a flow that a bin of a picture holds, unless it has too few bins then."""
FEWEST_PACKET_TIMES = 4
"""Times of a packet on a host's link that a bin of totals lasts, unless the run has too few bins then: hosts that send
in step are pulses below."""
FEWEST_BINS = 20
FEWEST_OF_LINES = 2
"""Packets of a flow in a bin below which lines of flows are pulses."""
MOST_NOISE = 0.2
"""Variation of flows in time, as a fraction of their mean, up to which lines of flows with equal means are legible."""
MOST_LINES = 12
"""Flows that are drawn one by one."""
MOST_KEYS = len(COLOURS)
"""Sources, destinations or groups that are drawn one by one: each has a colour."""
OTHERS = "0.6"
"""Colour of the mean of the others."""


def flow_names(table: pd.DataFrame) -> pd.Series[str]:
    """`source → destination`, or the source alone where flows are not kept by destination."""
    source, destination = table["source"].astype(str), table["destination"].astype(str)
    alone = destination.isin(["", "*"])
    return source.where(alone, source + " → " + destination)


def key_names(table: pd.DataFrame, by: str) -> pd.Series[str]:
    """Key of each row of a table of sums: a host's name, or `senders → others`."""
    ends = [table[key].astype(str) for key in keys_of(by)]
    return ends[0] if len(ends) == 1 else ends[0] + " → " + ends[1]


@dataclass(frozen=True)
class Keys:
    """Sources, destinations or pairs of groups that are drawn one by one, the largest throughput first."""

    shown: list[str]
    others: int
    """Number of those that are not."""

    @classmethod
    def of(cls, rates: pd.Series[float]) -> Keys:
        """Of throughputs by name: all, or the largest and the smallest, half of `MOST_KEYS` each."""
        names = [str(name) for name in rates.sort_values(ascending=False, kind="stable").index]
        if len(names) <= MOST_KEYS:
            return cls(names, 0)
        small = MOST_KEYS // 2
        return cls([*names[: MOST_KEYS - small], *names[-small:]], len(names) - MOST_KEYS)

    @property
    def colours(self) -> dict[str, str]:
        """A colour for each."""
        return dict(zip(self.shown, COLOURS, strict=False))

    @property
    def others_label(self) -> str:
        """Name of the mean of the others."""
        return f"mean of {number_of(self.others, 'other')}"


def rates_by(result: Result, by: str) -> pd.Series[float]:
    """Accepted throughput of each source, destination or pair of groups by name, Gb/s."""
    table = result.by(by).reset_index()
    return pd.Series(table["accepted_gbps"].to_numpy(float), index=key_names(table, by))


def wide_by(result: Result, by: str) -> pd.DataFrame:
    """Throughput over time of each source, destination or pair of groups, Gb/s. A row is a bin, a column a key.

    Raises:
        InputError: the run kept no series, or has no such sums.
    """
    table = result.series_by(by)
    wide = table.assign(key=key_names(table, by)).pivot_table(
        index="time_ns", columns="key", values="gbps", aggfunc="sum", fill_value=0.0, sort=False
    )
    known: list[Hashable] = list(dict.fromkeys([*wide.columns, *rates_by(result, by).index]))
    return wide.sort_index().reindex(columns=known, fill_value=0.0)


def largest(wide: pd.DataFrame, most: int = MOST_LINES) -> list[str]:
    """The flows with the largest means, in the order of the table; a column is a flow."""
    order = wide.mean().sort_values(ascending=False, kind="stable").index[:most]
    return [str(name) for name in wide.columns[wide.columns.isin(order)]]


def coarse(
    wide: pd.DataFrame, flows: pd.DataFrame | None, shown: Sequence[Any], shortest: float = 0.0
) -> pd.DataFrame:
    """Throughput in bins that hold enough packets, and of the `shortest` width in nanoseconds, if there are enough
    bins: in shorter ones a packet more or less is a rate above the link's. A row is a bin, a column a flow.
    """
    if (
        flows is None
        or not {"bytes", "packets"} <= set(flows)
        or len(wide) < 2 * FEWEST_BINS
        or not len(shown)
    ):
        return wide
    held = _held(wide, flows, shown)
    many = len(wide) // FEWEST_BINS
    together = many if held <= 0.0 else math.ceil(FEWEST_PACKETS / held)
    together = min(many, max(together, math.ceil(shortest / _width(wide))))
    if together < 2:
        return wide
    # The last bins may be no whole one: they belong to the one before.
    number = np.minimum(np.arange(len(wide)) // together, len(wide) // together - 1)
    found = wide.groupby(number).mean()
    return found.set_index(wide.index[::together][: len(found)])


def _held(wide: pd.DataFrame, flows: pd.DataFrame, shown: Sequence[Any]) -> float:
    """Packets in a bin of the flow that has as many as half of them."""
    packets, total = float(flows["packets"].sum()), float(flows["bytes"].sum())
    return float(wide[list(shown)].mean().median()) * _width(wide) / 8.0 * packets / total if total else 0.0


def _width(wide: pd.DataFrame) -> float:
    return float(wide.index.to_series().diff().median())


def shortest_of_totals(result: Result) -> float:
    """Shortest width of a bin of totals, nanoseconds; 0 if the run does not have what gives it."""
    flows, hosts = result.frames.get("flows"), result.frames.get("hosts")
    if flows is None or hosts is None or not {"bytes", "packets"} <= set(flows) or "link_gbps" not in hosts:
        return 0.0
    packets, rate = float(flows["packets"].sum()), float(hosts["link_gbps"].median())
    if not packets or not rate > 0.0:
        return 0.0
    return FEWEST_PACKET_TIMES * 8.0 * float(flows["bytes"].sum()) / packets / rate


def is_tangle(bins: pd.DataFrame, flows: pd.DataFrame | None, shown: Sequence[Any]) -> bool:
    """True if lines of these flows are pulses, or cross all the time. A row is a bin, a column a flow.

    Pulses have too few packets in a bin. Lines cross if flows vary in time, besides what they have in common, by more
    than their means differ, and by more than `MOST_NOISE`.
    """
    is_counted = flows is not None and {"bytes", "packets"} <= set(flows)
    if is_counted and len(bins) > 1 and _held(bins, cast("pd.DataFrame", flows), shown) < FEWEST_OF_LINES:
        return True
    rates = bins[list(shown)].to_numpy(float)
    if min(rates.shape) < 2:
        return False
    means, common = np.nanmean(rates, axis=0), np.nanmean(rates, axis=1)
    own = rates - common[:, np.newaxis] - means + means.mean()
    noise = float(np.median(np.nanstd(own, axis=0)))
    return noise > max(float(means.std()), MOST_NOISE * float(means.mean()))


def entries_of(flows: pd.DataFrame | None, names: Sequence[str]) -> pd.Series[str] | None:
    """The entry of the traffic list, or job, of each flow by name; None if the run does not have them."""
    if flows is None or "entry" not in flows:
        return None
    entries = dict(zip(flow_names(flows), flows["entry"].astype(str), strict=True))
    if not set(names) <= set(entries):
        return None
    return pd.Series([entries[name] for name in names], index=list(names), dtype=object).replace(
        "several", SEVERAL
    )


def totals_of_entries(wide: pd.DataFrame, flows: pd.DataFrame | None) -> pd.DataFrame | None:
    """Totals of the entries to which the flows belong; None if the run does not have them."""
    entries = entries_of(flows, wide.columns.tolist())
    return None if entries is None else wide.T.groupby(entries.to_numpy(), sort=False).sum().T


def end_of(wide: pd.DataFrame, result: Result) -> float:
    """Time in nanoseconds at which the last bin ends. A row is a bin."""
    if not len(wide):
        return 0.0
    width = float(wide.index.to_series().diff().median()) if len(wide) > 1 else 0.0
    last = float(wide.index.max())
    simulated = float(result.manifest["summary"].get("simulated_s") or 0.0) * 1e9
    return min(last + width, simulated) if simulated > last else last + width


def whole_bins(bins: pd.DataFrame, end: float) -> pd.DataFrame:
    """Adds the last bin to the one before if it is shorter: in it a packet more or less is a rate above the link's."""
    if len(bins) < 3:
        return bins
    width, last = float(bins.index[-1] - bins.index[-2]), end - float(bins.index[-1])
    if last >= 0.99 * width:
        return bins
    ends = bins.iloc[-2:].fillna(0.0)
    found = bins.iloc[:-1].copy()
    found.iloc[-1] = (ends.iloc[0] * width + ends.iloc[1] * last) / (width + last)
    return found


def steps(axes: Axes, rates: pd.Series[float], end: float, scale: float, **look: Any) -> None:
    """Draws a line of steps, the last until `end`."""
    edges = [*rates.index, *([end] if len(rates) and end > rates.index[-1] else [])]
    heights = [*rates, *rates.iloc[-1:]][: len(edges)]
    axes.step([edge / scale for edge in edges], heights, where="post", **look)


def flow_looks(result: Result, names: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Colour and dashes of flows: those of the largest ones of the run come first."""
    known: list[str] = []
    series = result.frames.get("series")
    if series is not None and len(series):
        named = series.assign(flow=flow_names(series))
        means = named.groupby("flow", sort=False)["gbps"].sum().to_frame().T
        known = largest(means)
    flows = result.frames.get("flows")
    rest = [] if flows is None else flow_names(flows).tolist()
    return looks(names, [*known, *rest])


def looks(names: Sequence[str], order: Sequence[str]) -> dict[str, dict[str, Any]]:
    """A look for each name by its place in the order; of two that would look the same, the later takes a free one."""
    numbers = {name: number for number, name in enumerate(dict.fromkeys([*order, *names]))}
    taken: set[int] = set()
    found = {}
    for name in sorted(names, key=numbers.__getitem__):
        number = numbers[name] % LOOKS
        if len(taken) < LOOKS:
            while number in taken:
                number = (number + 1) % LOOKS
        taken.add(number)
        found[name] = line_look(number)
    return {name: found[name] for name in names}


def entry_colours(result: Result, names: Sequence[str]) -> list[str]:
    """A colour for each entry of the traffic list, or job, by its place in the run's list of them."""
    entries = result.frames.get("entries")
    known = [] if entries is None or "entry" not in entries else [str(name) for name in entries["entry"]]
    numbers = {name: number for number, name in enumerate(dict.fromkeys([*known, *names]))}
    return [COLOURS[numbers[name] % len(COLOURS)] for name in names]
