"""The section `[tune]` as typed values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

Grouping = Literal["flow", "group", "total"]


@dataclass(frozen=True)
class TuneParameter:
    """A range, `low` to `high`, or `choices`. Values are numbers, or texts with units."""

    low: int | float | str | None = None
    high: int | float | str | None = None
    scale: Literal["linear", "log"] | None = None
    integer: bool | None = None
    step: int | float | str | None = None
    choices: list[Any] | None = None


@dataclass(frozen=True)
class TuneObjective:
    """A metric to maximise or minimise."""

    metric: str
    goal: Literal["maximize", "minimize"]
    weight: float | None = None
    name: str | None = None
    flows: list[str] | None = None
    after: str | None = None
    before: str | None = None
    by: Grouping | None = None


@dataclass(frozen=True)
class TuneConstraint:
    """A metric that has limits."""

    metric: str
    at_least: float | None = None
    at_most: float | None = None
    name: str | None = None
    flows: list[str] | None = None
    after: str | None = None
    before: str | None = None
    by: Grouping | None = None


@dataclass(frozen=True)
class TuneReport:
    """A metric that is recorded."""

    metric: str
    name: str | None = None
    flows: list[str] | None = None
    after: str | None = None
    before: str | None = None
    by: Grouping | None = None


@dataclass(frozen=True)
class TuneScenario:
    """A variant of the experiment that the setting must serve as well."""

    name: str
    set: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Tune:
    """Objectives and parameters of `fabricsim tune`."""

    parameters: Mapping[str, TuneParameter]
    objectives: list[TuneObjective]
    constraints: list[TuneConstraint] | None = None
    report: list[TuneReport] | None = None
    scenarios: list[TuneScenario] | None = None
    seeds: list[int] | None = None
    aggregate: Literal["mean", "worst"] | None = None
    sampler: Literal["auto", "tpe", "nsga-ii", "random", "grid"] | None = None
    sampler_seed: int | None = None
    trials: int | None = None
    window: int | None = None
    starts: list[Mapping[str, Any]] | None = None
    fresh_seeds: int | None = None
    confidence: float | None = None
