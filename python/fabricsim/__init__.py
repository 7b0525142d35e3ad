"""Fabricsim: packet-level simulation of lossless interconnects.

```python
import fabricsim as fs

run = fs.run("experiments/thesis/a.toml", set={"run.duration": "10 ms"})
run.flows
```
"""

import sys as _sys

if _sys.argv[:1] == ["-m"] and _sys.orig_argv[-len(_sys.argv)] == "fabricsim":
    # `python -m fabricsim` imports this before `__main__`: Ctrl-C during the imports below is no traceback.
    from fabricsim_command import end_at_signals as _end_at_signals

    _end_at_signals()

from importlib import import_module as _import_module
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

from fabricsim import spec
from fabricsim.age_parameters import AgeParameters, age_parameters
from fabricsim.bound import Bound, bound
from fabricsim.capture import Capture, capture
from fabricsim.compare import Comparison, compare
from fabricsim.errors import FabricsimError, InputError, NativeMissingError, StoreError
from fabricsim.graphs import Topology
from fabricsim.native import schema, version
from fabricsim.own_routes import Network, forwarding_tables
from fabricsim.own_traffic import run_messages
from fabricsim.report import report
from fabricsim.results import Result
from fabricsim.run import NotStoredError, Progress, load, run
from fabricsim.session import Session, Snapshot
from fabricsim.spec import Experiment, as_experiment
from fabricsim.sweep import Saturation, SweepResult, load_sweep, saturation, sweep
from fabricsim.tune import TuneResult, load_tune, opensm_options, tune
from fabricsim.what_if import WhatIf, what_if

if _TYPE_CHECKING:
    from fabricsim import mpi, verbs
    from fabricsim.mpi import compute

__all__ = [
    "AgeParameters",
    "Bound",
    "Capture",
    "Comparison",
    "Experiment",
    "FabricsimError",
    "InputError",
    "NativeMissingError",
    "Network",
    "NotStoredError",
    "Progress",
    "Result",
    "Saturation",
    "Session",
    "Snapshot",
    "StoreError",
    "SweepResult",
    "Topology",
    "TuneResult",
    "WhatIf",
    "age_parameters",
    "as_experiment",
    "bound",
    "capture",
    "compare",
    "compute",
    "forwarding_tables",
    "load",
    "load_sweep",
    "load_tune",
    "mpi",
    "opensm_options",
    "report",
    "run",
    "run_messages",
    "saturation",
    "schema",
    "spec",
    "sweep",
    "tune",
    "verbs",
    "version",
    "what_if",
]


def __getattr__(name: str) -> _Any:
    """Modules of programs are loaded when they are used: they take as long as all others together."""
    if name in {"mpi", "verbs"}:
        return _import_module(f"fabricsim.{name}")
    if name == "compute":
        return _import_module("fabricsim.mpi").compute
    raise AttributeError(f"module 'fabricsim' has no attribute {name!r}")
