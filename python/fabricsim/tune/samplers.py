"""Ways to choose the next setting. Adding one is one function and one line in `SAMPLERS`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from fabricsim.lazy import numpy as np
from fabricsim.tune.problem import Problem

if TYPE_CHECKING:
    from optuna.samplers import BaseSampler

STARTUP = 10
"""Random settings before TPE has a say."""
POPULATION = 20
"""Settings of a generation of NSGA-II: less than Optuna's 50, since a study of 100 trials has to see a few of them."""


def _tpe(problem: Problem, seed: int) -> BaseSampler:
    from optuna.samplers import TPESampler  # noqa: PLC0415 - takes long

    return TPESampler(seed=seed, multivariate=True, constant_liar=True, n_startup_trials=STARTUP)


def _nsga_ii(problem: Problem, seed: int) -> BaseSampler:
    from optuna.samplers import NSGAIISampler  # noqa: PLC0415 - takes long

    return NSGAIISampler(seed=seed, population_size=POPULATION)


def _random(problem: Problem, seed: int) -> BaseSampler:
    from optuna.samplers import RandomSampler  # noqa: PLC0415 - takes long

    return RandomSampler(seed=seed)


SAMPLERS: dict[str, Callable[[Problem, int], BaseSampler]] = {
    "tpe": _tpe,
    "nsga-ii": _nsga_ii,
    "random": _random,
    "grid": _random,  # not asked: every point is given
}


def sampler(problem: Problem, number: int) -> BaseSampler:
    """The sampler that chooses setting `number`.

    Each setting has a sampler with a random stream of its own, so that what it chooses depends on the seed and on the
    results so far, not on whether the study was interrupted.
    """
    stream = np.random.SeedSequence([problem.sampler_seed, number])
    return SAMPLERS[problem.sampler](problem, int(stream.generate_state(1)[0]))
