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


def job_bounds(experiment: str | Path | Experiment, *, set: Mapping[str, Any] | None = None) -> pd.DataFrame:
    """Lower bounds on the time of each job: on a network on which messages meet at no link but those of hosts.

    The columns: `job`, `ranks`, `iterations`, `time_ns` (of all iterations), `iteration_ns` (its mean), `compute_ns`
    (computing of the rank that ends last, in an iteration), `exposed_ns` (`iteration_ns` without `compute_ns`),
    `link_ns` (time in an iteration in which the busiest link of a host carries messages).

    Args:
        experiment: an experiment file, or an `Experiment`.
        set: values to replace, by key.

    Raises:
        InputError: the experiment is invalid, has no jobs, or its jobs send too many messages.
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
    return cast("list[dict[str, Any]]", found)
