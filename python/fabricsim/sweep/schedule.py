"""The order in which the points of a sweep run where that depends on results: which of them run at all."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol

from fabricsim.errors import InputError, StoreError
from fabricsim.spec import Experiment
from fabricsim.store import MANIFEST
from fabricsim.sweep.base import Base
from fabricsim.sweep.bisection import SEARCH, BisectionSchedule, SaturationSearch, load_points, load_shares
from fabricsim.sweep.plan import Plan, is_load, plan
from fabricsim.sweep.precision import FIRST_SEEDS, METRICS, PRECISION, Precision, PrecisionSchedule

Rows = Mapping[int, Mapping[str, Any]]
"""Rows of the points that are done, by number of point."""


class Schedule(Protocol):
    """Chooses the points of a sweep that run. The choice depends on nothing but results, so that it is the same for any
    number of processes, and after an interruption.
    """

    def due(self, rows: Rows) -> list[int]:
        """Numbers of the points that are not done and that may run now; none if the sweep is complete."""
        ...

    def expected(self, rows: Rows) -> int:
        """Number of runs that the sweep is expected to take, those that are done included."""
        ...

    def as_dict(self) -> dict[str, Any]:
        """For the manifest of the sweep."""
        ...


def schedule_of(manifest: Mapping[str, Any], where: str | Path = MANIFEST) -> Schedule | None:
    """The schedule of a sweep by its manifest, which messages call `where`; None if all points run.

    Raises:
        StoreError: the manifest's schedule is damaged.
    """
    stored = manifest.get("schedule")
    if stored is None:
        return None
    try:
        kind, size = stored["kind"], int(manifest["size"])
        if kind == SEARCH:
            return BisectionSchedule.of(stored, size)
        if kind == PRECISION:
            return PrecisionSchedule.of(stored, size)
    except (KeyError, TypeError, ValueError, ZeroDivisionError):
        pass
    raise StoreError(f"{where}: damaged: the value of 'schedule' is not what fabricsim writes")


def scheduled(
    experiment: Experiment,
    axes: Mapping[str, Any],
    saturation: SaturationSearch | bool,
    precision: Precision | Mapping[str, float] | float | None,
) -> tuple[Plan, Schedule | None]:
    """The points of a sweep, and which of them run: see `fabricsim.sweep`. `axes` are the arguments of `plan`.

    Raises:
        InputError: there is nothing to vary, or something about it is wrong.
    """
    if precision is None and not saturation:
        return plan(experiment, **axes), None
    if precision is not None and saturation:
        raise InputError(
            "saturation and precision exclude each other: repeat the loads of a search with seeds=N (--seeds N)"
        )
    if precision is not None:
        return _precise(experiment, _as_precision(precision), axes)
    search = SaturationSearch() if isinstance(saturation, bool) else saturation
    return _searched(experiment, search, axes)


def planned_points(experiment: Experiment, points: Mapping[str, Any]) -> Plan:
    """The points of a sweep, not checked. `points` are the arguments of `fabricsim.sweep` about points.

    Raises:
        InputError: there is nothing to vary, or something about it is wrong.
    """
    axes = {key: given for key, given in points.items() if key not in ("saturation", "precision")}
    found, _ = scheduled(experiment, axes, points["saturation"], points["precision"])
    return found


def _as_precision(given: Precision | Mapping[str, float] | float) -> Precision:
    if isinstance(given, Precision):
        return given
    return Precision(given if isinstance(given, Mapping) else dict.fromkeys(METRICS, float(given)))


def _precise(experiment: Experiment, wanted: Precision, axes: Mapping[str, Any]) -> tuple[Plan, Schedule]:
    first = FIRST_SEEDS if axes["seeds"] is None else int(axes["seeds"])
    wanted.check(first)
    found = plan(experiment, **{**axes, "seeds": wanted.most_seeds})
    return found, PrecisionSchedule(dict(wanted.metrics), first, wanted.most_seeds, found.size)


def _searched(
    experiment: Experiment, search: SaturationSearch, axes: Mapping[str, Any]
) -> tuple[Plan, Schedule]:
    values = search.values()
    shares = load_shares(experiment, Base(experiment).tree(), search.loads)
    found = plan(experiment, loads=load_points(values, shares), **axes)
    others = [key for key in found.parameters if is_load(key) and key not in shares]
    if others and not search.loads:
        raise InputError(
            f"{others[0]}: loads are found by the search for saturation: vary something else, or name the loads of the "
            "search (--load KEY)"
        )
    return found, BisectionSchedule(
        shares, tuple(values), axes["seeds"] or 1, found.size, search.latency_factor, search.points_per_round
    )


class Due(Iterator[int]):
    """Numbers of points as they may run. It ends when none may begin before another is done, and may then go on:
    executors ask again after each result.
    """

    def __init__(self, schedule: Schedule, rows: Callable[[], Rows]) -> None:
        self._schedule = schedule
        self._rows = rows
        self._begun: set[int] = set()
        self._queue: list[int] = []
        self._seen = -1

    def __next__(self) -> int:
        """The next point.

        Raises:
            StopIteration: none may begin now.
        """
        rows = self._rows()
        if not self._queue and len(rows) != self._seen:
            self._seen = len(rows)
            self._queue = [at for at in self._schedule.due(rows) if at not in self._begun]
        if not self._queue:
            raise StopIteration
        at = self._queue.pop(0)
        self._begun.add(at)
        return at
