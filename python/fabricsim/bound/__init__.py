"""Upper bounds on an experiment's throughput, computed without simulation."""

from fabricsim.bound.compute import bound
from fabricsim.bound.jobs import job_bounds
from fabricsim.bound.result import Bound, SolverError
from fabricsim.bound.subject import subject

__all__ = ["Bound", "SolverError", "bound", "job_bounds", "subject"]
