"""How near a run comes to what its topology and routing allow."""

from __future__ import annotations

from functools import lru_cache

from fabricsim.spec import Experiment
from fabricsim.tune.metrics.run import Measured, Which

_NO_INFLUENCE = ("seed", "congestion_control.", "tune.", "measure.")
"""Keys that bounds do not depend on, or their beginnings."""


def bound_fraction(run: Measured, which: Which) -> float:
    """Accepted throughput of all flows over the largest total that the topology and the routing allow."""
    accepted = float(run.throughput(which)["gbps"].sum())
    overrides = [pair for pair in run.experiment.overrides if not pair[0].startswith(_NO_INFLUENCE)]
    experiment = Experiment(run.experiment.text, run.experiment.file, run.experiment.base, tuple(overrides))
    return accepted / _total(experiment)


@lru_cache(maxsize=64)
def _total(experiment: Experiment) -> float:
    from fabricsim.bound import bound  # noqa: PLC0415 - brings a solver, which few studies need

    return bound(experiment).total_gbps
