"""Names in the metrics of a sweep, checked before its points run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from fabricsim.catalogue import entry_parts, sum_parts
from fabricsim.errors import InputError
from fabricsim.metric_names import NEEDS, MetricNames, Unknown
from fabricsim.spec import Experiment
from fabricsim.sweep.plan import Plan, Point
from fabricsim.sweep.table import LEAST_TIME

_NAMING = ("groups", "topology", "traffic", "jobs")
"""Sections that give names."""
_GIVING = tuple(f"{need}." for need in NEEDS.values())
"""Sections and keys that give a part of the results; of sections all keys do."""


def require_names(metrics: Sequence[str], experiment: Experiment, plan: Plan, where: str) -> None:
    """Refuses metrics of groups, hosts, entries or jobs, and of parts of the results, that no point of a sweep has.

    Raises:
        InputError: one has a name that no point has.
    """
    asked = {_of_run(name): name for name in metrics}
    named = [
        name for name in asked if sum_parts(name) or entry_parts(name) or name.partition(".")[0] in NEEDS
    ]
    if not named:
        return
    left: dict[str, Unknown] = {}
    try:
        for point in _different(plan):
            names = MetricNames(experiment.with_overrides([*point.items()]))
            found = {
                name: problem
                for name in left or named
                if (problem := names.unknown(name) or names.absent(name))
            }
            if not found:
                return
            left = {name: replace(of, known=_more(left.get(name), of)) for name, of in found.items()}
    except InputError:
        return  # the check of the points reports all their mistakes
    for name, problem in left.items():
        raise InputError(f"{where} {asked[name]}: {problem}")


def _of_run(metric: str) -> str:
    """The least time of a job is there if its iterations are."""
    head, end, tail = metric.rpartition(f".{LEAST_TIME}")
    return f"{head}.iteration_ns.mean" if end and not tail else metric


def _more(before: Unknown | None, found: Unknown) -> tuple[str, ...]:
    """Known names of several points, each once."""
    return tuple(dict.fromkeys((*before.known, *found.known) if before else found.known))


def _different(plan: Plan) -> Iterator[Point]:
    """Points that may have names of their own: the first, and those with other values of keys that give names."""
    keys = [key for key in plan.parameters if _gives_names(key)]
    if not keys:
        yield plan.first
        return
    seen = set()
    for point in plan.points():
        values = tuple(point.get(key) for key in keys)
        if values not in seen:
            seen.add(values)
            yield point


def _gives_names(key: str) -> bool:
    section, _, rest = key.partition(".")
    if section not in _NAMING:
        return key in {need.partition(".")[0] for need in _GIVING} or f"{key}.".startswith(_GIVING)
    # of an entry only its name, its responses, or all of it
    naming = rest.endswith((".name", ".program")) or "response" in rest.split(".")
    return naming or section not in ("traffic", "jobs") or "." not in rest
