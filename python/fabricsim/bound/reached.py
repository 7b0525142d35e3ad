"""Fraction of its bound that a run reached."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from fabricsim.bound.result import Bound
from fabricsim.errors import InputError
from fabricsim.lazy import numpy as np
from fabricsim.results import Result

_ENTRIES = ("traffic", "request")
"""Kinds of streams that are entries of the traffic list; responses and jobs have no bound."""
_CLOSE = 1e-9


@dataclass(frozen=True)
class Reached:
    """Throughput of a run in the part of its measurement for which the bound holds, beside the bound."""

    accepted_gbps: float
    """Accepted throughput of the entries of the traffic list."""
    fraction: float
    """The same as a fraction of the bound. Packets count when they are complete: what the network held at the begin of
    that part may bring it above 1."""
    from_ns: float
    to_ns: float
    whole: bool
    """True if that part is the whole measurement."""

    @property
    def bound_gbps(self) -> float:
        """The bound that `fraction` refers to: that of the mean rates, and what was offered beyond them by chance."""
        return self.accepted_gbps / self.fraction if self.fraction > 0 else math.nan


def reached(result: Result, found: Bound) -> Reached:
    """Fraction of a bound that a run reached, in the part of its measurement in which the bound's flows are active.

    Raises:
        InputError: the run has no accepted throughput of that part.
    """
    summary = result.manifest["summary"]
    begin, length = summary.get("measured_from_ns"), summary.get("measured_ns")
    if summary.get("accepted_gbps") is None or begin is None or not length:
        raise InputError("the run has no accepted throughput")
    from_ns = max(float(begin), found.facts["from_s"] * 1e9)
    to_ns = min(float(begin) + float(length), found.facts["to_s"] * 1e9)
    entries = summary.get("entries") or summary.get("streams") or []  # the second in runs of earlier versions
    # Steady-state detection is for traffic that does not change.
    if summary.get("steady") is not None or to_ns - from_ns >= length * (1.0 - _CLOSE):
        accepted, offered = float(summary["accepted_gbps"]), summary.get("offered_gbps")
        if any(entry["kind"] not in _ENTRIES for entry in entries):
            accepted = sum(entry["accepted_gbps"] for entry in entries if entry["kind"] in _ENTRIES)
            offered = None  # it is not known of entries alone
        fraction = found.fraction(accepted, offered)
        return Reached(accepted, fraction, float(begin), float(begin) + float(length), whole=True)
    if any(entry["kind"] not in _ENTRIES for entry in entries):
        raise InputError("the run has no throughput over time without that of responses and jobs")
    accepted = _accepted_between(result, from_ns, to_ns)
    return Reached(accepted, found.fraction(accepted), from_ns, to_ns, whole=False)


def _accepted_between(result: Result, from_ns: float, to_ns: float) -> float:
    """Mean throughput of the bins that lie between two times."""
    series: Any = result.frames.get("run_series")
    if series is not None and "gbps" in series and len(series) > 1:
        times = series["time_ns"].to_numpy(float)
        end = float(result.manifest["summary"].get("simulated_s") or 0.0) * 1e9
        ends = np.append(times[1:], max(end, times[-1]))
        inside = (times >= from_ns - _CLOSE * end) & (ends <= to_ns + _CLOSE * end) & (ends > times)
        if inside.any():
            lengths = (ends - times)[inside]
            return float((series["gbps"].to_numpy(float)[inside] * lengths).sum() / lengths.sum())
    raise InputError("no time bin of the run lies in the part of the measurement for which the bound holds")
