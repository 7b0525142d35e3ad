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

from fabricsim import mpi, spec, verbs
from fabricsim.age_parameters import AgeParameters, age_parameters
from fabricsim.bound import Bound, bound
from fabricsim.capture import Capture, capture
from fabricsim.compare import Comparison, compare
from fabricsim.errors import FabricsimError, InputError, NativeMissingError, StoreError
from fabricsim.graphs import Topology
from fabricsim.mpi import compute
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
]
