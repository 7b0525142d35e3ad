"""Fabricsim: packet-level simulation of lossless interconnects.

```python
import fabricsim as fs

run = fs.run("experiments/thesis/a-off.toml", set={"run.duration": "10 ms"})
run.flows
```
"""

from fabricsim import spec
from fabricsim.bound import Bound, bound
from fabricsim.errors import FabricsimError, InputError, NativeMissingError, StoreError
from fabricsim.native import schema, version
from fabricsim.results import Result
from fabricsim.run import NotStoredError, Progress, load, run
from fabricsim.spec import Experiment, as_experiment
from fabricsim.sweep import Saturation, SweepResult, load_sweep, saturation, sweep
from fabricsim.tune import TuneResult, load_tune, opensm_options, tune

__all__ = [
    "Bound",
    "Experiment",
    "FabricsimError",
    "InputError",
    "NativeMissingError",
    "NotStoredError",
    "Progress",
    "Result",
    "Saturation",
    "StoreError",
    "SweepResult",
    "TuneResult",
    "as_experiment",
    "bound",
    "load",
    "load_sweep",
    "load_tune",
    "opensm_options",
    "run",
    "saturation",
    "schema",
    "spec",
    "sweep",
    "tune",
    "version",
]
