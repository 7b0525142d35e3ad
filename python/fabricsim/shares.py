"""Shares of flows in the links of their destinations, from plain columns."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from fabricsim.frames import Lists, lists_of

if TYPE_CHECKING:
    from fabricsim.lazy import pandas as pd

_NONE: Lists = {"source": [], "destination": [], "accepted_gbps": []}


def rates_of_hosts(frames: Mapping[str, pd.DataFrame]) -> dict[str, float]:
    """Link rate of each host by name, Gb/s; empty if the run did not record it."""
    hosts = lists_of(frames, "hosts", "host", "link_gbps")
    if hosts is None or not {"host", "link_gbps"} <= set(hosts):
        return {}
    rates = zip(hosts["host"], hosts["link_gbps"], strict=True)
    return {host: rate for host, rate in rates if not math.isnan(rate)}


def destination_shares(frames: Mapping[str, pd.DataFrame]) -> list[float]:
    """Accepted throughput of each flow as a fraction of its destination's link rate; NaN if that is unknown."""
    flows = lists_of(frames, "flows", "destination", "accepted_gbps") or _NONE
    return _shares(frames, flows["destination"], flows["accepted_gbps"])


def final_destination_shares(frames: Mapping[str, pd.DataFrame], part: float = 0.1) -> list[float]:
    """As `destination_shares`, but in the last `part` of the run; NaN for flows of which no series was kept."""
    flows = lists_of(frames, "flows", "source", "destination") or _NONE
    late = _late(frames, part)
    gbps = [late.get(pair, math.nan) for pair in zip(flows["source"], flows["destination"], strict=True)]
    return _shares(frames, flows["destination"], gbps)


def _shares(frames: Mapping[str, pd.DataFrame], destinations: list[str], gbps: list[float]) -> list[float]:
    rates = rates_of_hosts(frames)
    return [
        each / (rates.get(destination) or math.nan)
        for destination, each in zip(destinations, gbps, strict=True)
    ]


def _late(frames: Mapping[str, pd.DataFrame], part: float) -> dict[tuple[str, str], float]:
    """Mean throughput in the last part of the run by source and destination."""
    names = ("time_ns", "source", "destination", "gbps")
    series = lists_of(frames, "series", *names)
    if series is None or not series["time_ns"]:
        return {}
    first, last = min(series["time_ns"]), max(series["time_ns"])
    since = last - part * (last - first)
    found: dict[tuple[str, str], list[float]] = {}
    bins = zip(*(series[name] for name in names), strict=True)
    for time, source, destination, gbps in bins:
        if time >= since and not math.isnan(gbps):
            found.setdefault((source, destination), []).append(gbps)
    return {pair: math.fsum(each) / len(each) for pair, each in found.items()}
