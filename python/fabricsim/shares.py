"""Shares of flows in the links of their destinations, from plain columns."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from fabricsim.frames import Lists, lists_of

if TYPE_CHECKING:
    from fabricsim.lazy import pandas as pd

ABOVE_RATE = (
    "more than a link's rate: a packet counts when its last\n"
    "byte arrives, also one that began before that time"
)
"""Explanation of shares above 100 %."""
_ROUNDING = 5e-4
"""Fraction of a link's rate up to which more than that is printed as 100.0 %."""

_NONE: Lists = {"source": [], "destination": [], "accepted_gbps": []}


def rates_of_hosts(frames: Mapping[str, pd.DataFrame]) -> dict[str, float]:
    """Link rate of each host by name, Gb/s; empty if the run did not record it."""
    hosts = lists_of(frames, "hosts", "host", "link_gbps")
    if hosts is None or not {"host", "link_gbps"} <= set(hosts):
        return {}
    rates = zip(hosts["host"], hosts["link_gbps"], strict=True)
    return {host: rate for host, rate in rates if not math.isnan(rate)}


def above_rate(shares: Iterable[float]) -> str:
    """An explanation if one of these shares of links is printed as more than 100 %; else empty."""
    return ABOVE_RATE if any(share >= 1.0 + _ROUNDING for share in shares) else ""


def destination_shares(frames: Mapping[str, pd.DataFrame]) -> list[float]:
    """Accepted throughput of each flow as a fraction of its destination's link rate; NaN if that is unknown."""
    flows = lists_of(frames, "flows", "destination", "accepted_gbps") or _NONE
    return _shares(frames, flows["destination"], flows["accepted_gbps"])


def final_destination_shares(
    frames: Mapping[str, pd.DataFrame], end_ns: float, part: float = 0.1
) -> list[float]:
    """As `destination_shares`, but in the last `part` of a run that ended at `end_ns`; NaN for flows of which no series
    was kept.
    """
    flows = lists_of(frames, "flows", "source", "destination") or _NONE
    late = _late(frames, end_ns, part)
    gbps = [late.get(pair, math.nan) for pair in zip(flows["source"], flows["destination"], strict=True)]
    return _shares(frames, flows["destination"], gbps)


def _shares(frames: Mapping[str, pd.DataFrame], destinations: list[str], gbps: list[float]) -> list[float]:
    rates = rates_of_hosts(frames)
    return [
        each / (rates.get(destination) or math.nan)
        for destination, each in zip(destinations, gbps, strict=True)
    ]


def _late(frames: Mapping[str, pd.DataFrame], end_ns: float, part: float) -> dict[tuple[str, str], float]:
    """Mean throughput in the last part of the run by source and destination."""
    names = ("time_ns", "source", "destination", "gbps")
    series = lists_of(frames, "series", *names)
    if series is None or not series["time_ns"]:
        return {}
    times = sorted(set(series["time_ns"]))
    first, last = times[0], times[-1]
    # The last bin may be shorter than the others.
    weight = min(1.0, (end_ns - last) / (last - times[-2])) if len(times) > 1 and end_ns > last else 1.0
    since = last - part * (last - first)
    found: dict[tuple[str, str], list[tuple[float, float]]] = {}
    bins = zip(*(series[name] for name in names), strict=True)
    for time, source, destination, gbps in bins:
        if time >= since and not math.isnan(gbps):
            found.setdefault((source, destination), []).append((gbps, weight if time == last else 1.0))
    return {
        pair: math.fsum(gbps * width for gbps, width in each) / math.fsum(width for _, width in each)
        for pair, each in found.items()
    }
