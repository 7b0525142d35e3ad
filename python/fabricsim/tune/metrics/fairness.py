"""Fairness of throughput shares."""

from __future__ import annotations

from fabricsim.lazy import pandas as pd
from fabricsim.sums import jain
from fabricsim.tune.metrics.run import Measured, Which, not_for


def fairness(run: Measured, which: Which) -> float:
    """Jain's index (DEC-TR-301, 1984) of the flows' accepted throughputs, or by group of the means of groups."""
    not_for(which, "flow", "group")
    table = run.throughput(which)
    if which.by == "group":
        return jain(pd.Series([table[rows]["gbps"].mean() for rows in run.groups(table, which)]))
    return jain(run.chosen(table, which)["gbps"])
