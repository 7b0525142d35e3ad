"""The saturation point of a network by bisection over the load.

The loads are those of a grid, from a low one to a high one at distances of the tolerance. A round runs some of them.
The next round looks between the first saturated load and the load below it, until the two are neighbours. The result is
that of the whole grid if no load is saturated below one that is not.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from fabricsim.errors import InputError
from fabricsim.spec import Experiment
from fabricsim.sweep.base import value_at
from fabricsim.sweep.saturation import LATENCY_FACTOR, reason
from fabricsim.sweep.table import FAILED

SEARCH = "saturation"
"""Kind of the schedule."""
MOST_LOADS = 100_000
DIGITS = 12
"""Significant digits of a load."""


@dataclass(frozen=True)
class SaturationSearch:
    """A search of the saturation point. Loads are fractions of the sources' link rates."""

    loads: Sequence[str] = ()
    """Keys of the loads that vary, `traffic.0.load`, in proportion; by default those that the file's `[sweep]` varies,
    else the loads of all entries of the traffic list.
    """
    low: float = 0.05
    """Lowest load: its mean latency stands for the zero-load latency."""
    high: float = 1.0
    """Highest load, at most 10."""
    tolerance: float = 0.01
    """Distance of the highest load that is not saturated from the lowest one that is."""
    latency_factor: float = LATENCY_FACTOR
    """Mean latency over zero-load latency above which a load is saturated; infinite: by accepted load alone."""
    points_per_round: int = 1
    """Loads that run at once between two known ones: 1 is bisection. More take more runs and fewer rounds."""

    def values(self) -> list[float]:
        """All loads of the grid.

        Raises:
            InputError: an option is out of range.
        """
        self._check()
        low, high, step = (Fraction(str(value)) for value in (self.low, self.high, self.tolerance))
        count = math.ceil((high - low) / step)
        if count > MOST_LOADS:
            raise InputError(
                f"tolerance = {self.tolerance:g}: more than {MOST_LOADS:,} loads: give a larger one"
            )
        return [float(min(low + step * at, high)) for at in range(count + 1)]

    def _check(self) -> None:
        if not 0.0 < self.low < self.high <= 10.0:
            raise InputError(
                f"loads from {self.low:g} to {self.high:g}: must be above 0, at most 10, and the first below the second"
            )
        if not 0.0 < self.tolerance <= self.high - self.low:
            raise InputError(
                f"tolerance = {self.tolerance:g}: must be above 0 and at most {self.high - self.low:g}, the distance "
                "of the lowest load from the highest one"
            )
        if not self.latency_factor > 1.0:
            raise InputError(f"latency factor = {self.latency_factor:g}: must be above 1, inf for none")
        if not 1 <= self.points_per_round <= 64:
            raise InputError(f"points per round = {self.points_per_round}: must be 1 to 64")


def load_shares(experiment: Experiment, facts: Mapping[str, Any], keys: Sequence[str]) -> dict[str, float]:
    """Keys of the loads that vary together, with their proportion: 1 for the largest.

    `facts` are the values of the experiment, perhaps not checked; without `keys`, the loads of its `[sweep]` or of all
    entries.

    Raises:
        InputError: there is no load to vary, or a key is none.
    """
    for key in keys:
        if not (key.startswith("traffic.") and key.endswith(".load")):
            raise InputError(f"{key}: this is no load: give a key such as traffic.0.load")
    section, entries = facts.get("sweep"), facts.get("traffic")
    swept = [
        key
        for key in (section if isinstance(section, Mapping) else ())
        if key.startswith("traffic.") and key.endswith(".load")
    ]
    known = [
        f"traffic.{at}.load"
        for at, entry in enumerate(entries if isinstance(entries, list) else ())
        if isinstance(entry, Mapping) and entry.get("load") is not None
    ]
    chosen = list(dict.fromkeys(keys or swept or known))
    if not chosen:
        raise InputError(
            f"{experiment.file}: no entry of the traffic list has a load: saturation is searched over loads; "
            "name those that the search gives to entries (--load traffic.0.load)"
        )
    if len(chosen) == 1:
        return {chosen[0]: 1.0}
    given = {key: value_at(facts, key) for key in chosen}
    if missing := [key for key, value in given.items() if not isinstance(value, int | float) or not value]:
        raise InputError(
            f"{missing[0]}: the experiment has no such load, so its proportion to the others is unknown"
        )
    most = max(float(value) for value in given.values())
    return {key: float(value) / most for key, value in given.items()}


def load_points(values: Sequence[float], shares: Mapping[str, float]) -> list[dict[str, str]]:
    """Keys and values of each load of the grid."""
    return [{key: f"{value * share:.{DIGITS}g}" for key, share in shares.items()} for value in values]


@dataclass(frozen=True)
class Bracket:
    """Progress of one search: indices of loads in the grid."""

    low: int
    """The highest load known not to be saturated; -1 if the lowest one is."""
    high: int | None
    """The lowest load known to be saturated; None if none is known."""
    due: tuple[int, ...] = ()
    """Loads that have to run before the search goes on; none if it is done."""
    rounds_left: int = 0
    """Rounds behind that one, at most."""


def bracket(last: int, per_round: int, is_saturated: Callable[[int], bool | None]) -> Bracket:
    """Progress of a search over the loads 0 to `last`; `is_saturated` returns None for a load that has not run."""
    low, high = 0, last
    at = sorted({0, *_between(0, last, per_round), last})
    known: int | None = None
    while True:
        verdicts = {index: is_saturated(index) for index in at}
        if missing := tuple(index for index, verdict in verdicts.items() if verdict is None):
            return Bracket(low, known, missing, _rounds(high - low, per_round) - 1)
        known = next((index for index in at if verdicts[index]), known)
        if known is None:
            return Bracket(last, None)
        high = known
        low = max([index for index in at if index < high], default=low if low < high else -1)
        if high - low <= 1:
            return Bracket(low, high)
        at = _between(low, high, per_round)


def _between(low: int, high: int, count: int) -> list[int]:
    """At most `count` indices between two others, at nearly equal distances."""
    parts = min(count + 1, high - low)
    return [low + (high - low) * part // parts for part in range(1, parts)]


def _rounds(width: int, per_round: int) -> int:
    return max(1, math.ceil(math.log(max(width, 2), per_round + 1) - 1e-9))


@dataclass(frozen=True)
class Level:
    """Results at one load: means over its seeds."""

    offered: float
    accepted: float
    latency: float
    is_stuck: bool
    """True if a seed came to a deadlock."""
    message: str = ""
    """Reason why a seed failed."""

    @classmethod
    def of(cls, rows: Sequence[Mapping[str, Any]]) -> Level:
        """Of the rows of all seeds."""
        failed = next((row for row in rows if row.get("status") == FAILED), None)
        if failed is not None:
            return cls(math.nan, math.nan, math.nan, False, str(failed.get("message") or "it failed"))
        return cls(
            offered=_mean(rows, "offered_load"),
            accepted=_mean(rows, "accepted_load"),
            latency=_mean(rows, "latency_ns.mean"),
            is_stuck=any(row.get("status") == "deadlock" for row in rows),
        )


def _mean(rows: Sequence[Mapping[str, Any]], key: str) -> float:
    values = [float(row[key]) for row in rows if row.get(key) is not None]
    values = [value for value in values if not math.isnan(value)]
    return math.fsum(values) / len(values) if values else math.nan


@dataclass(frozen=True)
class BisectionSchedule:
    """Points of a sweep whose axes end with loads, then perhaps seeds: for each combination of the others a search."""

    shares: Mapping[str, float]
    """Keys of the loads and their proportions."""
    values: tuple[float, ...]
    """The loads of the grid."""
    seeds: int
    """Repetitions of each load."""
    size: int
    """Points of the whole grid."""
    latency_factor: float
    points_per_round: int

    @classmethod
    def of(cls, stored: Mapping[str, Any], size: int) -> BisectionSchedule:
        """From a manifest.

        Raises:
            KeyError, TypeError, ValueError: it is damaged.
        """
        found = cls(
            {str(key): float(share) for key, share in stored["shares"].items()},
            tuple(float(value) for value in stored["values"]),
            int(stored["seeds"]),
            size,
            math.inf if stored["latency_factor"] is None else float(stored["latency_factor"]),
            int(stored["points_per_round"]),
        )
        if min(len(found.values) - 1, found.seeds, found.points_per_round) < 1 or size % found.runs_of_grid:
            raise ValueError(stored)
        return found

    def as_dict(self) -> dict[str, Any]:
        """For the manifest."""
        factor = None if math.isinf(self.latency_factor) else self.latency_factor
        return {
            "kind": SEARCH,
            "shares": dict(self.shares),
            "values": list(self.values),
            "seeds": self.seeds,
            "latency_factor": factor,
            "points_per_round": self.points_per_round,
        }

    @property
    def runs_of_grid(self) -> int:
        """Runs of the grid of the same tolerance, for each combination."""
        return len(self.values) * self.seeds

    @property
    def combinations(self) -> int:
        """Number of searches."""
        return self.size // self.runs_of_grid

    def due(self, rows: Mapping[int, Mapping[str, Any]]) -> list[int]:
        """Points that may run now: rounds of the searches before their later ones."""
        return [
            point
            for combination in range(self.combinations)
            for load in self.search(combination, rows).bracket.due
            for point in self.numbers(combination, load)
            if point not in rows
        ]

    def expected(self, rows: Mapping[int, Mapping[str, Any]]) -> int:
        """Runs that all searches take, those that are done included."""
        left = 0
        for combination in range(self.combinations):
            found = self.search(combination, rows).bracket
            due = [at for load in found.due for at in self.numbers(combination, load) if at not in rows]
            left += len(due) + found.rounds_left * self.points_per_round * self.seeds
        return len(rows) + left

    def numbers(self, combination: int, load: int) -> range:
        """Numbers of the points of one load: one for each seed."""
        first = combination * self.runs_of_grid + load * self.seeds
        return range(first, first + self.seeds)

    def search(self, combination: int, rows: Mapping[int, Mapping[str, Any]]) -> Search:
        """One of the searches, as far as the rows allow."""
        return Search(self, combination, rows)


class Search:
    """A search over the load for one combination of the other parameters."""

    def __init__(
        self, schedule: BisectionSchedule, combination: int, rows: Mapping[int, Mapping[str, Any]]
    ) -> None:
        self._schedule = schedule
        self._combination = combination
        self._rows = rows
        self.message = ""
        """Reason why it cannot go on."""
        found = bracket(len(schedule.values) - 1, schedule.points_per_round, self._is_saturated)
        self.bracket = Bracket(found.low, found.high) if self.message else found

    def level(self, load: int) -> Level | None:
        """Results at one load; None before all its seeds are done."""
        numbers = self._schedule.numbers(self._combination, load)
        if not all(at in self._rows for at in numbers):
            return None
        return Level.of([self._rows[at] for at in numbers])

    def levels(self) -> dict[int, Level]:
        """Results at all loads that have run."""
        found = ((at, self.level(at)) for at in range(len(self._schedule.values)))
        return {at: level for at, level in found if level is not None}

    def reason(self, load: int) -> str:
        """The reason why a load counts as saturated; empty if it does not."""
        level, lowest = self.level(load), self.level(0)
        assert level is not None
        assert lowest is not None
        if level.is_stuck:
            return "deadlock"
        return reason(
            level.offered, level.accepted, level.latency, lowest.latency, self._schedule.latency_factor
        )

    def _is_saturated(self, load: int) -> bool | None:
        level, lowest = self.level(load), self.level(0)
        if level is None or lowest is None:
            return None
        for one, at in ((lowest, 0), (level, load)):
            if not self.message and not one.is_stuck and not one.offered > 0.0:
                what = one.message or "no packet was created: run longer, or begin with a higher load"
                self.message = f"load {self._schedule.values[at]:g}: {what}"
        return None if self.message else bool(self.reason(load))
