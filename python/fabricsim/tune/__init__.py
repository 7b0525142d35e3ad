"""The tuner: the best values of some keys of an experiment, by what it asks for."""

from fabricsim.tune.metrics import METRICS
from fabricsim.tune.opensm import opensm_options
from fabricsim.tune.result import TuneResult, load_tune
from fabricsim.tune.study import Progress
from fabricsim.tune.tuner import tune

__all__ = ["METRICS", "Progress", "TuneResult", "load_tune", "opensm_options", "tune"]
