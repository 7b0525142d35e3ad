"""Pareto-optimal settings."""

from __future__ import annotations

from collections.abc import Sequence

from fabricsim.lazy import numpy as np
from fabricsim.tune.problem import Axis
from fabricsim.tune.record import Record


def dominates(a: Record, b: Record, axes: Sequence[Axis]) -> bool:
    """True if `a` is nowhere worse than `b`, and better somewhere."""
    signs = [1.0 if axis.maximize else -1.0 for axis in axes]
    better = [sign * (x - y) for sign, x, y in zip(signs, a.values, b.values, strict=True)]
    return min(better) >= 0.0 and max(better) > 0.0


def front(records: Sequence[Record], axes: Sequence[Axis]) -> list[Record]:
    """The feasible settings that no other feasible one dominates, best in the first objective first.

    Of several with the same values, the first that was tried.
    """
    able = [record for record in records if record.feasible and not record.is_baseline]
    kept: dict[tuple[float, ...], Record] = {}
    for record in sorted(able, key=lambda r: r.number):
        if not any(dominates(other, record, axes) for other in able):
            kept.setdefault(record.values, record)
    sign = -1.0 if axes[0].maximize else 1.0
    return sorted(kept.values(), key=lambda r: (sign * r.values[0], r.number))


def best(records: Sequence[Record], axes: Sequence[Axis]) -> Record | None:
    """The best setting that keeps the constraints; of a front, the one nearest to the best of all objectives at once.

    Distances are in fractions of the front's extent in each objective. None if no setting keeps the constraints.
    """
    found = front(records, axes)
    if not found:
        return None
    values = np.array([record.values for record in found]) * [1.0 if a.maximize else -1.0 for a in axes]
    ideal, extent = values.max(axis=0), np.ptp(values, axis=0)
    distance = np.linalg.norm((ideal - values) / np.where(extent > 0.0, extent, 1.0), axis=1)
    return found[int(distance.argmin())]


def least_broken(records: Sequence[Record]) -> Record | None:
    """The setting that breaks the constraints least, for when none keeps them; None if all failed."""
    able = [record for record in records if not record.error and not record.is_baseline]
    return min(able, key=lambda r: (sum(max(e, 0.0) for e in r.excess), r.number), default=None)
