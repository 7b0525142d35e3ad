"""Objectives, constraints and parameters of an experiment's `[tune]`."""

from __future__ import annotations

import hashlib
import itertools
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from fabricsim.errors import InputError
from fabricsim.metric_names import MetricNames
from fabricsim.native import version
from fabricsim.spec import Experiment
from fabricsim.spec.values import require_apart, same_key, toml_value
from fabricsim.tune.metrics import Which, require
from fabricsim.tune.parameters import Parameter, parameter

Settings = Mapping[str, Any]
"""Keys of the experiment and their values."""
_METRICS = ("objectives", "constraints", "report")
"""Keys of `[tune]` with metrics."""
_LATER = ("trials", "fresh_seeds", "confidence")
"""Keys of `[tune]` that may change when a study goes on."""


@dataclass(frozen=True)
class Wanted:
    """A metric that has a say, or is reported."""

    name: str
    which: Which
    maximize: bool | None = None
    """For objectives: which way is better."""
    weight: float | None = None
    at_least: float | None = None
    at_most: float | None = None

    @property
    def has_limits(self) -> bool:
        """True if it is a constraint."""
        return self.at_least is not None or self.at_most is not None

    @property
    def worst(self) -> str:
        """The worst of the values of several runs: "least", "largest", or "none" for what is only reported."""
        if self.maximize is None and not self.has_limits:
            return "none"
        up = self.maximize if self.maximize is not None else self.at_least is not None
        return "least" if up else "largest"

    def excess(self, value: float) -> float:
        """Violation of the limits by a value; 0 or less: it keeps them."""
        below = -math.inf if self.at_least is None else self.at_least - value
        above = -math.inf if self.at_most is None else value - self.at_most
        return max(below, above)


@dataclass(frozen=True)
class Axis:
    """One objective of the optimiser: one that was given, or the sum of those with weights."""

    name: str
    maximize: bool
    members: tuple[Wanted, ...]

    def value(self, metrics: Mapping[str, float]) -> float:
        """From the values of the metrics."""
        if len(self.members) == 1 and self.members[0].weight is None:
            return metrics[self.members[0].name]
        signed = ((m.weight or 1.0) * (1.0 if m.maximize else -1.0) * metrics[m.name] for m in self.members)
        return sum(signed)


@dataclass(frozen=True)
class Scenario:
    """A variant of the experiment."""

    name: str
    values: Settings


class Problem:
    """A study's parameters, objectives, constraints, and the runs of each setting."""

    def __init__(self, experiment: Experiment, precision: float | None = None) -> None:
        """Reads the experiment.

        Raises:
            InputError: it has no `[tune]`, or that is wrong, or the precision is out of range.
        """
        if precision is not None and not 0.0 < precision < 1.0:
            raise InputError(f"precision = {precision:g}: must be above 0 and below 1, such as 0.02 or 2%")
        self.experiment = experiment
        self.precision = precision
        """Half-width of the differences' intervals, over the baseline's value, at which the comparison on fresh seeds
        ends; None: it takes all of them.
        """
        self.facts = experiment.check()
        if not (tune := self.facts.get("tune")):
            raise InputError(
                f"{experiment.file}: there is nothing to tune: it has no [tune] section with parameters and objectives"
            )
        self._tune: dict[str, Any] = tune
        self.parameters: list[Parameter] = [
            self._about("parameters", parameter, key, given) for key, given in tune["parameters"].items()
        ]
        found = _named([_wanted(given) for key in _METRICS for given in tune.get(key, [])])
        self.metrics = list({wanted.name: wanted for wanted in reversed(found)}.values())[::-1]
        """Each metric once, although several objectives and constraints may be about it."""
        self.objectives = [wanted for wanted in found if wanted.maximize is not None]
        self.constraints = [wanted for wanted in found if wanted.has_limits]
        self.axes = _axes(self.objectives)
        given = tune.get("scenarios") or [{"name": "as it is"}]
        self.scenarios = [Scenario(str(s["name"]), s.get("set", {})) for s in given]
        self.seeds: list[int] = tune.get("seeds") or [int(self.facts["seed"])]
        self.starts = [self._start(start) for start in tune.get("starts", [])]

    @property
    def trials(self) -> int:
        """Settings to try."""
        wanted = int(self._tune["trials"])
        return min(wanted, self.grid_size) if self.sampler == "grid" else wanted

    @property
    def grid_size(self) -> int:
        """Start points and all combinations of values."""
        return len(self.starts) + math.prod(len(p.all()) for p in self.parameters)

    @property
    def sampler(self) -> str:
        """Sampler that chooses settings: `tpe`, `nsga-ii`, `random` or `grid`."""
        named = str(self._tune["sampler"])
        return ("tpe" if len(self.axes) == 1 else "nsga-ii") if named == "auto" else named

    @property
    def sampler_seed(self) -> int:
        return int(self._tune["sampler_seed"])

    @property
    def window(self) -> int:
        """Settings in progress at once."""
        return int(self._tune["window"])

    @property
    def confidence(self) -> float:
        return float(self._tune["confidence"])

    @property
    def fresh_seeds(self) -> list[int]:
        """Seeds for the comparison at the end: those that follow the largest of `seeds`."""
        first = max(self.seeds) + 1
        return list(range(first, first + int(self._tune["fresh_seeds"])))

    def identity(self) -> str:
        """The same for experiments whose studies give the same trials."""
        tune = {key: value for key, value in self._tune.items() if key not in _LATER}
        text = json.dumps({**self.facts, "tune": tune, "version": version()}, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()

    def check_parameters(self) -> None:
        """Makes sure that each parameter is a key with some values that the experiment takes.

        Raises:
            InputError: it is not.
        """
        for one, other in itertools.combinations(self.parameters, 2):
            require_apart(one.key, other.key, self.facts, f"{self.experiment.file}: tune.parameters")
        for item in self.parameters:
            problems: list[str] = []
            for value in item.examples():
                try:
                    self.experiment.with_values({item.key: value}).check()
                except InputError as error:
                    problems.append(str(error))
                else:
                    break
            else:
                raise InputError(f"{problems[0]}: it is a parameter of [tune]")
        for scenario in self.scenarios:
            self._about(f"scenario {scenario.name!r}", self.experiment.with_values(scenario.values).check)
            self._check_scenario(scenario)

    def _check_scenario(self, scenario: Scenario) -> None:
        """Makes sure that a scenario sets no parameter: the parameter's value would replace its own.

        Raises:
            InputError: it does.
        """
        varied = {same_key(self.facts, item.key): item.key for item in self.parameters}
        for key in scenario.values:
            if parameter := varied.get(same_key(self.facts, key)):
                raise InputError(
                    f"{self.experiment.file}: tune.scenario {scenario.name!r}: {key} is the parameter {parameter}: "
                    "a scenario cannot set it"
                )

    def check_metrics(self) -> None:
        """Makes sure that runs of each scenario may have the metrics.

        Raises:
            InputError: a metric, or a name in it, is unknown.
        """
        for scenario in self.scenarios:
            names = MetricNames(self.experiment.with_values(scenario.values))
            for wanted in self.metrics:
                try:
                    require(wanted.which, names)
                except InputError as error:
                    where = f": scenario {scenario.name!r}" if len(self.scenarios) > 1 else ""
                    raise InputError(f"{self.experiment.file}: tune{where}: {error}") from None

    def grid_point(self, number: int) -> dict[str, Any]:
        """The `number`-th combination of values, as drawn; the last parameter runs fastest."""
        values = itertools.product(*(p.all() for p in self.parameters))
        point = next(itertools.islice(values, number, None))
        return dict(zip((p.key for p in self.parameters), point, strict=True))

    def settings(self, drawn: Mapping[str, Any]) -> dict[str, Any]:
        """The drawn values as values of the experiment."""
        return {p.key: p.value(drawn[p.key]) for p in self.parameters}

    def variants(self, settings: Settings, seeds: Sequence[int]) -> list[tuple[Scenario, int, Experiment]]:
        """The experiments that a setting is judged by: each scenario with each seed."""
        found = []
        for scenario, seed in itertools.product(self.scenarios, seeds):
            values = {**scenario.values, **settings, "seed": seed}
            found.append((scenario, seed, self.experiment.with_values(values)))
        return found

    def aggregate(self, wanted: Wanted, values: Sequence[float]) -> float:
        """One value of a metric from those of several runs."""
        if self._tune["aggregate"] == "mean" or wanted.worst == "none":
            return math.fsum(values) / len(values)
        return min(values) if wanted.worst == "least" else max(values)

    def excess(self, constraint: Wanted, runs: Sequence[Sequence[float]]) -> float:
        """Violation of a constraint by runs, each with a value of each metric; 0 or less: they keep it."""
        at = next(n for n, metric in enumerate(self.metrics) if metric.name == constraint.name)
        values = [run[at] for run in runs]
        if self._tune["aggregate"] == "mean":
            return constraint.excess(math.fsum(values) / len(values))
        return max(constraint.excess(value) for value in values)

    def _start(self, start: Settings) -> dict[str, Any]:
        known = {p.key: p for p in self.parameters}
        return {key: self._about(f"starts: {key}", known[key].drawn, value) for key, value in start.items()}

    def _about(self, what: str, call: Any, *arguments: Any) -> Any:
        try:
            return call(*arguments)
        except InputError as error:
            text = str(error).removeprefix(f"{self.experiment.file}: ")
            raise InputError(f"{self.experiment.file}: tune.{what}: {text}") from None


def _wanted(given: Mapping[str, Any]) -> Wanted:
    which = Which(
        metric=str(given["metric"]),
        flows=tuple(given.get("flows", ())),
        after=given.get("after"),
        before=given.get("before"),
        by=given.get("by"),
    )
    return Wanted(
        name=str(given.get("name") or ""),
        which=which,
        maximize=given["goal"] == "maximize" if "goal" in given else None,
        weight=given.get("weight"),
        at_least=given.get("at_least"),
        at_most=given.get("at_most"),
    )


def _named(wanted: Sequence[Wanted]) -> list[Wanted]:
    """Each with a name: the one given, the metric's, or the metric's with what is meant.

    Those that are about the same have the same, unless they were given others.
    """
    taken: dict[str, tuple[Which, str]] = {}
    found = []
    for item in wanted:
        numbered = (f"{item.which.label} #{number}" for number in itertools.count(2))
        names = itertools.chain([item.name or item.which.metric, item.which.label], numbered)
        name = next(name for name in names if _about_the_same(taken.get(name), item))
        taken.setdefault(name, (item.which, item.worst))
        found.append(replace(item, name=name))
    return found


def _about_the_same(taken: tuple[Which, str] | None, item: Wanted) -> bool:
    """True if a name is free, or is that of the same metric of several runs."""
    return taken is None or (taken[0] == item.which and item.worst in (taken[1], "none"))


def _axes(objectives: Sequence[Wanted]) -> list[Axis]:
    summed = tuple(item for item in objectives if item.weight is not None)
    alone = [Axis(item.name, bool(item.maximize), (item,)) for item in objectives if item.weight is None]
    return [*([Axis("weighted sum", True, summed)] if summed else []), *alone]


def shown(settings: Settings) -> str:
    """Settings on one line."""
    return ", ".join(f"{key} = {toml_value(value)}" for key, value in settings.items())
