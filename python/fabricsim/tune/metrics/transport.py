"""Ordering protocols: completion times of messages, and shares of reordered and dropped packets."""

from __future__ import annotations

from typing import Any

from fabricsim.errors import InputError
from fabricsim.lazy import pandas as pd
from fabricsim.tune.metrics.run import Measured, Which


def completion_mean(run: Measured, which: Which) -> float:
    """Mean time from the creation of a message until its last operation is visible at its receiver, ns."""
    if not which.flows:
        return _completion(run, which, "mean")
    rows = _entries(run, which)
    count = rows["messages"]
    return float((rows["completion_mean_ns"] * count).sum() / count.sum()) if count.sum() else float("nan")


def completion_p99(run: Measured, which: Which) -> float:
    """99 % of the messages do not take longer, ns; of some entries, that of the worst of them."""
    return _tail(run, which, "p99")


def completion_p999(run: Measured, which: Which) -> float:
    """99.9 % of the messages do not take longer, ns; of some entries, that of the worst of them."""
    return _tail(run, which, "p999")


def reordered_share(run: Measured, which: Which) -> float:
    """Of the operations delivered, those that had waited in a reorder buffer."""
    return _number(_summary(run, which)["reordered_share"])


def dropped_share(run: Measured, which: Which) -> float:
    """Share of received requests dropped because a reorder buffer was full or they were out of sequence."""
    return _number(_summary(run, which)["dropped_share"])


def _tail(run: Measured, which: Which, name: str) -> float:
    if not which.flows:
        return _completion(run, which, name)
    return float(_entries(run, which)[f"completion_{name}_ns"].max())


def _completion(run: Measured, which: Which, name: str) -> float:
    return _number(_summary(run, which)["completion_ns"][name])


def _summary(run: Measured, which: Which) -> dict[str, Any]:
    found = run.result.manifest["summary"].get("transport")
    if not isinstance(found, dict):
        raise InputError(
            f"{which.metric} is of messages of a transport: give the experiment a [transport] with a mode"
        )
    return found


def _entries(run: Measured, which: Which) -> pd.DataFrame:
    """The rows of the entries of the traffic list that are named."""
    _summary(run, which)
    table = run.result.messages
    for entry in which.flows:
        if entry not in set(table["entry"]):
            known = ", ".join(table["entry"])
            raise InputError(
                f"{which.metric} is of entries of the traffic list, and there is no {entry!r}; there are: {known}"
            )
    return table[table["entry"].isin(which.flows)]


def _number(value: float | None) -> float:
    return float("nan") if value is None else float(value)
