"""Accepted throughput relative to the bound of topology and routing."""

from __future__ import annotations

from functools import lru_cache

from fabricsim.bound import bound, subject
from fabricsim.spec import Experiment
from fabricsim.tune.metrics.run import Measured, Which


def bound_fraction(run: Measured, which: Which) -> float:
    """Accepted throughput of all flows over the largest total that the topology and the routing allow."""
    accepted = float(run.throughput(which)["gbps"].sum())
    return accepted / _total(subject(run.experiment))


@lru_cache(maxsize=64)
def _total(experiment: Experiment) -> float:
    return bound(experiment).total_gbps
