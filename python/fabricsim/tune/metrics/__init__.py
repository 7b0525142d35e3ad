"""Metrics of a run for objectives and constraints. Adding one is one function and one line in `METRICS`."""

from fabricsim.tune.metrics.registry import METRICS, Metric, measure, require
from fabricsim.tune.metrics.run import Measured, Which

__all__ = ["METRICS", "Measured", "Metric", "Which", "measure", "require"]
