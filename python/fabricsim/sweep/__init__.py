"""Sweeps: an experiment at many points, on this machine or on a cluster."""

from fabricsim.sweep.bisection import SaturationSearch
from fabricsim.sweep.executors import Executor, dask, local, slurm
from fabricsim.sweep.plan import Plan, grid, is_load, plan
from fabricsim.sweep.points import SweepResult, load_sweep, sweep
from fabricsim.sweep.pool import Stop, never, work_through
from fabricsim.sweep.precision import Precision
from fabricsim.sweep.saturation import Saturation, saturation

__all__ = [
    "Executor",
    "Plan",
    "Precision",
    "Saturation",
    "SaturationSearch",
    "Stop",
    "SweepResult",
    "dask",
    "grid",
    "is_load",
    "load_sweep",
    "local",
    "never",
    "plan",
    "saturation",
    "slurm",
    "sweep",
    "work_through",
]
