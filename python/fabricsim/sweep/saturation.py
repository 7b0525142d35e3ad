"""Saturation point of a network, from a sweep over load.

The field's usual definition: a network is saturated at an offered load at which it accepts less than is offered, or
at which the mean latency has grown to a multiple of the zero-load latency (Dally & Towles, Principles and Practices
of Interconnection Networks, section 23.1, and common practice). The saturation point is the highest load below the
first saturated one.
"""

from __future__ import annotations

from dataclasses import dataclass

from fabricsim.lazy import pandas as pd

ACCEPTED_FRACTION = 0.98
"""Accepted over offered load below which a network is saturated: a short-fall beyond the noise of a short run."""
LATENCY_FACTOR = 3.0
"""Mean latency over zero-load latency above which a network is saturated."""


@dataclass(frozen=True)
class Saturation:
    """The saturation point of a sweep. Loads are fractions of the hosts' link rate."""

    load: float
    """Highest offered load that is not saturated."""
    accepted: float
    """Accepted load there."""
    throughput: float
    """Highest accepted load of all points, beyond saturation too."""
    reached: bool
    """True if some point is saturated; if not, the true saturation point is higher."""


def reason(
    offered: float, accepted: float, latency: float, zero_load: float, factor: float = LATENCY_FACTOR
) -> str:
    """The definition that a load meets, "accepted" or "latency"; empty if it is not saturated.

    Args:
        offered: offered load.
        accepted: accepted load.
        latency: mean latency.
        zero_load: mean latency at the lowest load, in the same unit.
        factor: ratio of the two from which on the network is saturated.
    """
    if accepted < ACCEPTED_FRACTION * offered:
        return "accepted"
    return "latency" if latency > factor * zero_load else ""


def saturation(points: pd.DataFrame) -> Saturation | None:
    """The saturation point of rows with `offered_load`, `accepted_load` and `latency_ns.mean`; None without rows.

    The zero-load latency is that of the lowest load.
    """
    rows = points.dropna(subset=["offered_load", "accepted_load"]).sort_values("offered_load")
    if rows.empty:
        return None
    offered = rows["offered_load"].to_numpy(float)
    accepted = rows["accepted_load"].to_numpy(float)
    latency = rows["latency_ns.mean"].to_numpy(float)
    saturated = (accepted < ACCEPTED_FRACTION * offered) | (latency > LATENCY_FACTOR * latency[0])
    if "status" in rows:
        saturated |= (rows["status"] == "deadlock").to_numpy()
    first = int(saturated.argmax()) if saturated.any() else len(rows)
    last = max(first - 1, 0)
    if first == 0:
        return Saturation(0.0, 0.0, float(accepted.max()), reached=True)
    return Saturation(
        float(offered[last]), float(accepted[last]), float(accepted.max()), reached=bool(saturated.any())
    )
