"""Fraction of its bound that a run reached."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from fabricsim.bound.result import Bound
from fabricsim.errors import InputError
from fabricsim.lazy import numpy as np
from fabricsim.results import Result
from fabricsim.selection import to_ns
from fabricsim.spec import Experiment

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
    chance: bool = True
    """False if it is not known what the sources offered in that part beyond their mean rates: that may bring `fraction`
    above 1 as well."""

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
    first = max(float(begin), found.facts["from_s"] * 1e9)
    last = min(float(begin) + float(length), found.facts["to_s"] * 1e9)
    entries = summary.get("entries") or summary.get("streams") or []  # the second in runs of earlier versions
    # Steady-state detection is for traffic that does not change.
    if summary.get("steady") is not None or last - first >= length * (1.0 - _CLOSE):
        accepted, offered = float(summary["accepted_gbps"]), summary.get("offered_gbps")
        if any(entry["kind"] not in _ENTRIES for entry in entries):
            accepted = sum(entry["accepted_gbps"] for entry in entries if entry["kind"] in _ENTRIES)
            offered = _offered(entries)
        fraction = found.fraction(accepted, offered)
        return Reached(accepted, fraction, float(begin), float(begin) + float(length), whole=True)
    if any(entry["kind"] not in _ENTRIES for entry in entries):
        raise InputError("the run has no throughput over time without that of responses and jobs")
    accepted, covered = _accepted_between(result, first, last)
    of_part = None
    if _all_inside(result, (float(begin), float(begin) + float(length)), (first, last)):
        of_part = (_offered(entries) or 0.0) * length / covered
    known = of_part is not None or found.facts.get("saturating", True)
    return Reached(accepted, found.fraction(accepted, of_part), first, last, whole=False, chance=known)


def _offered(entries: list[dict[str, Any]]) -> float | None:
    """What the entries of the traffic list offered; None in results that do not have it."""
    offered = [entry.get("offered_gbps") for entry in entries if entry["kind"] in _ENTRIES]
    known = [float(one) for one in offered if one is not None]
    return sum(known) if known and len(known) == len(offered) else None


def _all_inside(result: Result, measured: tuple[float, float], part: tuple[float, float]) -> bool:
    """True if all that was offered in the measurement was offered in a part of it: no entry is active outside."""
    for entry in Experiment.from_manifest(result.manifest).written().get("traffic", []):
        begin = max(to_ns(entry.get("start") or "0 ns"), measured[0])
        end = min(to_ns(entry["stop"]) if entry.get("stop") else math.inf, measured[1])
        slack = _CLOSE * measured[1]
        if begin < end and not part[0] - slack <= begin <= end <= part[1] + slack:
            return False
    return True


def _accepted_between(result: Result, from_ns: float, to_ns: float) -> tuple[float, float]:
    """Mean throughput of the bins that lie between two times, and their length in all."""
    series: Any = result.frames.get("run_series")
    if series is not None and "gbps" in series and len(series) > 1:
        times = series["time_ns"].to_numpy(float)
        end = float(result.manifest["summary"].get("simulated_s") or 0.0) * 1e9
        ends = np.append(times[1:], max(end, times[-1]))
        inside = (times >= from_ns - _CLOSE * end) & (ends <= to_ns + _CLOSE * end) & (ends > times)
        if inside.any():
            lengths = (ends - times)[inside]
            bits = float((series["gbps"].to_numpy(float)[inside] * lengths).sum())
            return bits / float(lengths.sum()), float(lengths.sum())
    raise InputError("no time bin of the run lies in the part of the measurement for which the bound holds")
