"""Importance of each parameter."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricsim.lazy import pandas as pd
from fabricsim.results import set_column_notes
from fabricsim.tune.problem import Axis, Problem

if TYPE_CHECKING:
    from optuna.study import Study
    from optuna.trial import FrozenTrial

FEWEST = 10
"""Minimum number of trials."""


def importances(problem: Problem, study: Study) -> pd.DataFrame:
    """A row for each parameter, a column for each objective: its part in what sets the best tenth of the trials apart
    (PED-ANOVA, Watanabe et al. 2023); columns add up to 1. Empty where too few trials are done.
    """
    done = [trial for trial in study.get_trials(deepcopy=False) if trial.state.name == "COMPLETE"]
    keys = [item.key for item in problem.parameters]
    found = pd.DataFrame({"parameter": pd.Series(keys, dtype="str")})
    if len(done) < FEWEST:
        return found.iloc[:0]
    for number, axis in enumerate(problem.axes):
        of_axis = _of_axis(study, number, axis)
        found[axis.name] = [of_axis.get(key, 0.0) for key in keys]
    notes = {axis.name: ("", "part in what sets the best tenth of the trials apart") for axis in problem.axes}
    set_column_notes(found, {"parameter": ("", "key of the experiment"), **notes})
    return found


def _of_axis(study: Study, number: int, axis: Axis) -> dict[str, float]:
    from optuna.importance import get_param_importances  # noqa: PLC0415 - takes long

    sign = -1.0 if axis.maximize else 1.0

    def low_is_good(trial: FrozenTrial) -> float:
        return sign * float(trial.values[number])

    return get_param_importances(study, target=low_is_good)
