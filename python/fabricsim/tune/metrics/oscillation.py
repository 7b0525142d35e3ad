"""Oscillation of throughput over time."""

from __future__ import annotations

from fabricsim.errors import InputError
from fabricsim.lazy import numpy as np
from fabricsim.lazy import pandas as pd
from fabricsim.tune.metrics.run import PAIR, Measured, Which, not_for


def oscillation(run: Measured, which: Which) -> float:
    """Standard deviation over mean of the throughput in time bins (coefficient of variation).

    Of every flow, and then the mean over flows with any throughput; by total, of the sum of the flows.
    """
    not_for(which, "flow", "total")
    series = run.chosen(run.series(which), which)
    if series["time_ns"].nunique() < 2:
        raise InputError(
            "oscillation needs two time bins or more: choose a smaller measure.bin or a longer time"
        )
    if which.by == "total":
        return variation(series.groupby("time_ns")["gbps"].sum())
    each = [variation(rows["gbps"]) for _, rows in series.groupby(PAIR, sort=False)]
    known = [value for value in each if not np.isnan(value)]
    return float(np.mean(known)) if known else float("nan")


def variation(values: pd.Series[float]) -> float:
    """Standard deviation over mean; NaN if the mean is zero."""
    mean = float(values.mean())
    return float(values.std(ddof=0)) / mean if mean > 0.0 else float("nan")
