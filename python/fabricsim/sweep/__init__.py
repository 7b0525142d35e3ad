"""Sweeps: an experiment over a grid of values."""

from fabricsim.sweep.grid import grid
from fabricsim.sweep.points import SweepResult, is_load, load_sweep, sweep
from fabricsim.sweep.pool import Stop, never, work_through
from fabricsim.sweep.saturation import Saturation, saturation

__all__ = [
    "Saturation",
    "Stop",
    "SweepResult",
    "grid",
    "is_load",
    "load_sweep",
    "never",
    "saturation",
    "sweep",
    "work_through",
]
