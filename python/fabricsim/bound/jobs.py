"""Lower bounds on the time of jobs, computed without simulation."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from fabricsim.errors import InputError
from fabricsim.lazy import pandas as pd
from fabricsim.native import bad_input, native, waited
from fabricsim.spec import Experiment, as_experiment

RANGE_NS = 2**64 / 1e3
"""Times are below: 18,446,744 s, 213 days."""


def job_bounds(experiment: str | Path | Experiment, *, set: Mapping[str, Any] | None = None) -> pd.DataFrame:
    """Lower bounds on the time of each job: on a network on which messages meet at no link but those of hosts.

    The columns: `job`, `ranks`, `iterations`, `time_ns` (of all iterations), `iteration_ns` (its mean), `compute_ns`
    (computing of the rank that ends last, in an iteration), `exposed_ns` (`iteration_ns` without `compute_ns`),
    `link_ns` (time in an iteration in which the busiest link of a host carries messages).

    Args:
        experiment: an experiment file, or an `Experiment`.
        set: values to replace, by key.

    Raises:
        InputError: the experiment is invalid, has no jobs, or its jobs send too many messages or take more than 213
            days.
    """
    return pd.DataFrame(rows(as_experiment(experiment, set)))


def rows(experiment: Experiment) -> list[dict[str, Any]]:
    """The same as a list of rows."""
    with bad_input():
        found = json.loads(waited(lambda: native().job_bounds(*experiment.arguments())))
    if found is None:
        text = "jobs: they send more than 4,000,000 messages: lower `iterations`, or bound a smaller job"
        raise InputError(f"{experiment.file}: {text}")
    if not found:
        raise InputError(f"{experiment.file}: jobs: there is none: add a [[jobs]] entry")
    if late := [job["job"] for job in found if _is_out_of_range(job)]:
        raise InputError(
            f"{experiment.file}: jobs: the least time of {late[0]} is beyond {RANGE_NS / 1e9:,.0f} s (213 days), "
            "the range of times: lower `iterations`, its computing, or its messages"
        )
    return cast("list[dict[str, Any]]", found)


def _is_out_of_range(job: Mapping[str, Any]) -> bool:
    """True if a time of all iterations is the largest one that there is."""
    totals = (job["iterations"] * job[f"{name}_ns"] for name in ("iteration", "compute", "link"))
    return bool(max(totals) >= RANGE_NS * (1 - 1e-9))
