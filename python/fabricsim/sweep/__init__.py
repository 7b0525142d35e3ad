"""Sweeps: an experiment at many points, on this machine or on a cluster."""

from fabricsim.sweep.executors import Executor, dask, local, slurm
from fabricsim.sweep.plan import Plan, grid, plan
from fabricsim.sweep.points import SweepResult, is_load, load_sweep, sweep
from fabricsim.sweep.pool import Stop, never, work_through
from fabricsim.sweep.saturation import Saturation, saturation

__all__ = [
    "Executor",
    "Plan",
    "Saturation",
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
