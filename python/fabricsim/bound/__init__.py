"""How much an experiment's traffic could get at best: without simulating anything."""

from fabricsim.bound.compute import bound
from fabricsim.bound.program import SolverError
from fabricsim.bound.result import Bound

__all__ = ["Bound", "SolverError", "bound"]
