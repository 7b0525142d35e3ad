"""How much an experiment's traffic could get at best: without simulating anything."""

from fabricsim.bound.compute import bound
from fabricsim.bound.result import Bound, SolverError
from fabricsim.bound.subject import subject

__all__ = ["Bound", "SolverError", "bound", "subject"]
