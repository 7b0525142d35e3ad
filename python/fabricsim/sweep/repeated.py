"""Repetitions of points with other seeds: their means, and confidence intervals of the means."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fabricsim.lazy import pandas as pd
from fabricsim.statistics import CONFIDENCE, Estimate, estimate

SEED = "seed"
_NOT_MEANS = ("seed", "wall_s", "packet_hops", "fingerprint", "simulated_s")
"""Numbers that are no results."""


def metrics(points: pd.DataFrame, parameters: Sequence[str]) -> list[str]:
    """Columns of a sweep that are numbers of results."""
    numbers = [
        name
        for name in points
        if pd.api.types.is_numeric_dtype(points[name]) and not pd.api.types.is_bool_dtype(points[name])
    ]
    return [str(name) for name in numbers if name not in (*parameters, *_NOT_MEANS)]


def means(points: pd.DataFrame, parameters: Sequence[str]) -> pd.DataFrame:
    """Points with equal parameters as one: means of numbers, `ok` if all are, else another status."""
    rows = points[points["status"] != "failed"]
    keys: list[pd.Series[Any]] = [rows[name] for name in parameters] or [pd.Series(0, index=rows.index)]
    names = [*parameters, *metrics(rows, parameters)]
    grouped = rows.groupby(keys, sort=False, dropna=False)
    table = grouped[names].agg({name: "first" if name in parameters else "mean" for name in names})
    status = grouped["status"].agg(lambda states: next((s for s in states if s != "ok"), "ok"))
    # one by one, pandas warns of a table of more than a hundred columns
    return pd.concat([table, status], axis=1).reset_index(drop=True)


def estimates(
    points: pd.DataFrame, parameters: Sequence[str], confidence: float = CONFIDENCE
) -> pd.DataFrame:
    """Mean and confidence interval of each number: a row for each combination of parameters and each metric."""
    rows = points[points["status"] != "failed"]
    groups = rows.groupby(list(parameters), sort=False, dropna=False) if parameters else [((), rows)]
    found: list[dict[str, Any]] = []
    for values, group in groups:
        of = dict(zip(parameters, values if isinstance(values, tuple) else (values,), strict=True))
        known = [name for name in metrics(rows, parameters) if group[name].notna().any()]
        found += [{**of, "metric": name, **of_column(group[name], confidence).as_dict()} for name in known]
    return pd.DataFrame(found, columns=[*parameters, "metric", "mean", "low", "high", "seeds"])


def of_column(values: pd.Series[float], confidence: float = CONFIDENCE) -> Estimate:
    """Mean and confidence interval of one column of repetitions."""
    return estimate(values.astype(float).tolist(), confidence)


def half_widths(rows: pd.DataFrame, by: pd.Series[Any], metric: str) -> pd.Series[float]:
    """Half of the confidence interval of the metric's mean, for rows with equal values of `by`."""
    return rows.groupby(by, sort=True)[metric].agg(lambda values: of_column(values).half_width)
