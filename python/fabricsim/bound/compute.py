"""From an experiment to its bound."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fabricsim.bound.result import Bound
from fabricsim.native import waited
from fabricsim.spec import Experiment, as_experiment

LIMIT_S = 120.0
"""Seconds that each of the four answers may take."""


def bound(
    experiment: str | Path | Experiment,
    *,
    set: Mapping[str, Any] | None = None,
    at: str | None = None,
    limit_s: float = LIMIT_S,
) -> Bound:
    """Upper bounds on the throughput of an experiment's traffic on its topology and routing. Nothing is simulated.

    Args:
        experiment: an experiment file, or an `Experiment`.
        set: values to replace, by key: `{"traffic.0.load": 0.4}`.
        at: the time of the bound, with its unit (`"0.3 s"`); by default the last part of the measurement in
            which most flows are active.
        limit_s: seconds that each linear program may take.

    Raises:
        InputError: the experiment is invalid, no host sends, or there are too many flows.
        SolverError: a linear program was not solved in time.
    """
    # They need sparse matrices, which take long to import.
    from fabricsim.bound.problem import read_problem  # noqa: PLC0415
    from fabricsim.bound.solve import bound_of  # noqa: PLC0415

    problem = read_problem(as_experiment(experiment, set), at)
    return waited(lambda: bound_of(problem, limit_s))
