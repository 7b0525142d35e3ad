"""MPI of simulated ranks: programs in Python with the names of mpi4py."""

from fabricsim.mpi.errors import Abort, DeadlockError, RankError, UnfinishedError
from fabricsim.mpi.run import MpiRun, compute, run
from fabricsim.mpi.script import run_script

__all__ = ["Abort", "DeadlockError", "MpiRun", "RankError", "UnfinishedError", "compute", "run", "run_script"]
