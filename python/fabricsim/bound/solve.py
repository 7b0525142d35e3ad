"""The four answers of a bound."""

from __future__ import annotations

from collections.abc import Mapping

from fabricsim.bound.compute import LIMIT_S
from fabricsim.bound.filling import OWN_DEMAND, Rates, fill
from fabricsim.bound.problem import Problem, Reals, Tie
from fabricsim.bound.program import fair as fair_by_program
from fabricsim.bound.program import maximum
from fabricsim.bound.result import Bound
from fabricsim.lazy import numpy as np
from fabricsim.lazy import pandas as pd

_AS_MUCH = 1e-6
"""Totals that differ by less, relatively, are the same."""


def bound_of(problem: Problem, limit_s: float = LIMIT_S) -> Bound:
    """The bound of flows and links."""
    flows, loads = problem.flows.copy(), {}
    names = np.append(problem.links["link"].to_numpy(dtype=object), "")
    for prefix, tie in (("", Tie.none(problem)), ("sender_", Tie.senders(problem))):
        fair = _fair(problem, tie, limit_s)
        best = _maximum(problem, tie, fair, limit_s)
        flows[f"{prefix}fair_gbps"] = tie.shares @ fair.gbps
        flows[f"{prefix}maximum_gbps"] = tie.shares @ best
        holds = np.asarray((tie.shares > 0).astype(float).argmax(axis=1)).ravel()
        flows[f"{prefix}bottleneck"] = names[fair.bottleneck[holds]]
        loads[f"{prefix}fair_gbps"] = _load(problem, tie.shares @ fair.gbps)
        loads[f"{prefix}maximum_gbps"] = _load(problem, tie.shares @ best)
    return Bound(problem.facts, flows, _used(problem, loads))


def _fair(problem: Problem, tie: Tie, limit_s: float) -> Rates:
    if problem.arcs is None:
        return fill(problem.crossings @ tie.shares, problem.capacity, tie.demand)
    return fair_by_program(problem, tie, limit_s)


def _maximum(problem: Problem, tie: Tie, fair: Rates, limit_s: float) -> Reals:
    """Rates with the largest total; the fair ones if they have it."""
    if np.all(fair.bottleneck == OWN_DEMAND):
        return fair.gbps
    best = maximum(problem, tie, limit_s)
    return fair.gbps if tie.gain @ fair.gbps >= tie.gain @ best * (1.0 - _AS_MUCH) else best


def _load(problem: Problem, rates: Reals) -> Reals:
    load: Reals = problem.crossings @ rates
    if problem.arcs is not None:
        load[np.unique(problem.arcs.link)] = np.nan
    return load


def _used(problem: Problem, loads: Mapping[str, Reals]) -> pd.DataFrame:
    used = np.diff(problem.crossings.indptr) > 0
    if problem.arcs is not None:
        used[problem.arcs.link] = True
    links: pd.DataFrame = problem.links.assign(**loads)[used]
    return links.reset_index(drop=True)
