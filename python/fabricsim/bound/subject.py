"""Experiments with equal bounds."""

from __future__ import annotations

import re
from dataclasses import replace

from fabricsim.spec import Experiment

_NO_INFLUENCE = (
    "congestion_control.",
    "tune.",
    "measure.",
    "sweep.",
    "title",
    "description",
    "run.partitions",
)
"""Keys that bounds do not depend on, or their beginnings."""
_DRAWN = re.compile(r"""random-permutation|placement\W+random|^"?random"?$""")
"""The pattern, and the placement of ranks, that depend on the seed."""


def subject(experiment: Experiment) -> Experiment:
    """The experiment without what is set on top of it and has no influence on its bound: equal for equal bounds."""
    drawn = any(
        _DRAWN.search(text) for text in (experiment.text, *(value for _, value in experiment.overrides))
    )
    without = _NO_INFLUENCE if drawn else (*_NO_INFLUENCE, "seed")
    overrides = tuple(pair for pair in experiment.overrides if not pair[0].startswith(without))
    return replace(experiment, overrides=overrides)
