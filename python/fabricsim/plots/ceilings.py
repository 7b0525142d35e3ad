"""Throughput over time below the rates of links: a packet counts where it ends, parts of it came before."""

from __future__ import annotations

import math
from collections.abc import Mapping

from fabricsim.lazy import numpy as np
from fabricsim.lazy import pandas as pd
from fabricsim.plots.entities import entries_of, flow_names
from fabricsim.results import Result

_ROUNDING = 1e-9


def within_links(bins: pd.DataFrame, end: float, result: Result, kind: str) -> pd.DataFrame:
    """Moves what is more than the links of hosts carry into the bin before, in which it has arrived.

    Args:
        bins: a row is a bin, a column one of `kind`.
        end: time in nanoseconds at which the last bin ends.
        result: the run.
        kind: "flow", "entry", "source" or "destination"; others stay as they are.
    """
    ceilings = _ceilings(result, kind)
    widths = np.diff([*bins.index.astype(float), end])
    names = [name for name in bins if math.isfinite(ceilings.get(str(name), math.inf))]
    if len(bins) < 2 or not names or not (widths > 0.0).all():
        return bins
    found = bins.copy()
    for name in names:
        rates, ceiling = found[name].fillna(0.0).to_numpy(float, copy=True), ceilings[str(name)]
        if not (rates > ceiling * (1.0 + _ROUNDING)).any():
            continue
        for bin in range(len(rates) - 1, 0, -1):
            if rates[bin] > ceiling:
                rates[bin - 1] += (rates[bin] - ceiling) * widths[bin] / widths[bin - 1]
                rates[bin] = ceiling
        found[name] = rates
    return found


def _ceilings(result: Result, kind: str) -> Mapping[str, float]:
    """Rates of the links of the sources, or of the destinations if these are less, Gb/s. Without end where a
    destination is no host: a multicast group, or any.
    """
    flows, hosts = result.frames.get("flows"), result.frames.get("hosts")
    if flows is None or hosts is None or "link_gbps" not in hosts or flows.empty:
        return {}
    names = flow_names(flows)
    keys = {"flow": names, "entry": entries_of(flows, names.tolist())}.get(kind)
    if kind in ("source", "destination"):
        keys = flows[kind].astype(str)
    if keys is None:
        return {}
    rates = hosts.drop_duplicates("host").set_index("host")["link_gbps"].astype(float)
    ends = flows[["source", "destination"]].astype(str).assign(key=keys.to_numpy())
    known = ends["destination"].isin(rates.index)
    least = pd.Series(math.inf, index=pd.unique(ends["key"]))
    for end in ("source", "destination"):
        links = ends.drop_duplicates(["key", end])
        sums = links[end].map(rates).groupby(links["key"]).sum(min_count=1)
        least = least.combine(sums.reindex(least.index), min)
    least[ends.loc[~known, "key"].unique()] = math.inf
    return {str(key): float(rate) for key, rate in least.items()}
