"""All metrics by name."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from dataclasses import dataclass

from fabricsim.catalogue import FRACTION, is_known, key, sum_parts
from fabricsim.errors import InputError
from fabricsim.metric_names import MetricNames
from fabricsim.results import scalars
from fabricsim.selection import Flows
from fabricsim.sums import groups_in, key_text, nearest, nearest_metric, sum_name
from fabricsim.tune.metrics.bound import bound_fraction
from fabricsim.tune.metrics.fairness import fairness
from fabricsim.tune.metrics.jobs import job_time
from fabricsim.tune.metrics.latency import latency_mean, latency_p99, latency_p999
from fabricsim.tune.metrics.oscillation import oscillation
from fabricsim.tune.metrics.run import Measured, Which
from fabricsim.tune.metrics.throughput import hot_spot_utilisation, throughput, victim_rate
from fabricsim.tune.metrics.transport import (
    completion_mean,
    completion_p99,
    completion_p999,
    dropped_share,
    reordered_share,
)


@dataclass(frozen=True)
class Metric:
    """A function that computes a number from a run."""

    of: Callable[[Measured, Which], float]
    """Raises InputError if the run lacks the data."""
    key: str = ""
    """Key of the summary whose unit it has; empty for pure numbers."""
    options: tuple[str, ...] = ("flows", "after", "before")
    """Fields of `Which` that it uses."""


METRICS: dict[str, Metric] = {
    "throughput": Metric(throughput, "accepted_gbps"),
    "victim_rate": Metric(victim_rate, "accepted_load"),
    "hot_spot_utilisation": Metric(hot_spot_utilisation, "accepted_load"),
    "fairness": Metric(fairness, "jain", options=("flows", "after", "before", "by")),
    "latency_mean": Metric(latency_mean, "latency_ns.mean", options=("flows",)),
    "latency_p99": Metric(latency_p99, "latency_ns.p99", options=("flows",)),
    "latency_p999": Metric(latency_p999, "latency_ns.p999", options=("flows",)),
    "job_time": Metric(job_time, "job_time_ns", options=()),
    "completion_mean": Metric(completion_mean, "transport.completion_ns.mean", options=("flows",)),
    "completion_p99": Metric(completion_p99, "transport.completion_ns.p99", options=("flows",)),
    "completion_p999": Metric(completion_p999, "transport.completion_ns.p999", options=("flows",)),
    "reordered_share": Metric(reordered_share, "transport.reordered_share", options=()),
    "dropped_share": Metric(dropped_share, "transport.dropped_share", options=()),
    "oscillation": Metric(oscillation, options=("flows", "after", "before", "by")),
    "bound_fraction": Metric(bound_fraction, options=("after", "before")),
}


def measure(run: Measured, which: Which) -> float:
    """The value of a metric, of a scalar of the summary, or of a sum of flows.

    Raises:
        InputError: the run does not measure it, or has no value for it.
    """
    metric = METRICS.get(which.metric)
    given = [name for name in ("flows", "after", "before", "by") if getattr(which, name)]
    if refused := [name for name in given if name not in (metric.options if metric else ())]:
        raise InputError(f"{which.metric} is not of single flows or times: it has no `{refused[0]}`")
    value = _scalar(run, which.metric) if metric is None else metric.of(run, which)
    if not math.isfinite(value):
        raise InputError(f"{which.label}: this run has no value of it")
    return value


def _scalar(run: Measured, name: str) -> float:
    if (parts := sum_parts(name)) is not None:
        return _sum(run, *parts)
    found = scalars(run.result.manifest["summary"])
    numbers = {item: value for item, value in found.items() if not isinstance(value, str)}
    if name not in numbers:
        raise InputError(_unknown(name, numbers))
    return math.nan if numbers[name] is None else float(numbers[name])


def require(which: Which, names: MetricNames) -> None:
    """Refuses a metric that no run of an experiment has, before one runs.

    Raises:
        InputError: there is no such metric, or its flows, or names in it, are unknown.
    """
    name = which.metric
    if name not in METRICS and not is_known(name) and sum_parts(name) is None:
        raise InputError(_unknown(name))
    if problem := names.unknown(name):
        raise InputError(f"{name}: {problem}")
    flows = Flows(names.facts)
    for entry in which.flows:
        flows.require(entry, lambda: names.hosts)


def _unknown(name: str, numbers: Collection[str] = ()) -> str:
    return (
        f"no run measures {name!r}: it is none of the metrics {', '.join(METRICS)}, "
        f"no number of the summary, and no sum of flows{nearest_metric(name, [*METRICS, *numbers])}"
    )


def _sum(run: Measured, by: str, key: str, column: str) -> float:
    """A sum of flows: `destination.H9.accepted_gbps`, `group.senders->others.latency_mean_ns`."""
    try:
        table = run.result.by(by, groups_in(run.facts) if by == "group" else None)
    except InputError as error:
        raise InputError(f"{sum_name(by, key, column)}: {error}") from None
    rows = {key_text(name): value for name, value in table[column].items()}
    if key not in rows:
        raise InputError(f"the run has no flows of {by} {key!r}{nearest(key, rows)}")
    return float(rows[key])


def unit(name: str) -> str:
    """The unit of a metric, or of a scalar of the summary; empty for pure numbers."""
    metric = METRICS.get(name)
    of = key(metric.key if metric else name).unit
    return "" if of == FRACTION else of
