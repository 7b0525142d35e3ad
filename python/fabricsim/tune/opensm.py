"""Settings of congestion control for a fabric manager."""

from __future__ import annotations

from pathlib import Path

from fabricsim.spec import Experiment, as_experiment


def opensm_options(experiment: str | Path | Experiment) -> str:
    """Lines for OpenSM's options file (`opensm -F FILE`) with the congestion control of the experiment.

    Raises:
        InputError: the experiment is wrong, has no InfiniBand congestion control, or a value that OpenSM cannot hold.
    """
    return as_experiment(experiment).export("opensm")
