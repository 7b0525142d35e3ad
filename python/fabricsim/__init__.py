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
from importlib.util import find_spec as _find_spec
from types import ModuleType as _ModuleType
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

if _TYPE_CHECKING:
    from fabricsim import mpi, spec, verbs
    from fabricsim.age_parameters import AgeParameters, age_parameters
    from fabricsim.bound import Bound, bound, job_bounds
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
    from fabricsim.sweep import (
        Precision,
        Saturation,
        SaturationSearch,
        SweepResult,
        load_sweep,
        saturation,
        sweep,
    )
    from fabricsim.tune import TuneResult, load_tune, opensm_options, tune
    from fabricsim.viewer import view
    from fabricsim.what_if import WhatIf, what_if

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
    "Precision",
    "Progress",
    "Result",
    "Saturation",
    "SaturationSearch",
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
    "job_bounds",
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
    "view",
    "what_if",
]


_PLACES = {
    "age_parameters": ("AgeParameters", "age_parameters"),
    "bound": ("Bound", "bound", "job_bounds"),
    "capture": ("Capture", "capture"),
    "compare": ("Comparison", "compare"),
    "errors": ("FabricsimError", "InputError", "NativeMissingError", "StoreError"),
    "graphs": ("Topology",),
    "mpi": ("compute",),
    "native": ("schema", "version"),
    "own_routes": ("Network", "forwarding_tables"),
    "own_traffic": ("run_messages",),
    "report": ("report",),
    "results": ("Result",),
    "run": ("NotStoredError", "Progress", "load", "run"),
    "session": ("Session", "Snapshot"),
    "spec": ("Experiment", "as_experiment"),
    "sweep": (
        "Precision",
        "Saturation",
        "SaturationSearch",
        "SweepResult",
        "load_sweep",
        "saturation",
        "sweep",
    ),
    "tune": ("TuneResult", "load_tune", "opensm_options", "tune"),
    "viewer": ("view",),
    "what_if": ("WhatIf", "what_if"),
}
"""Names by the modules that have them. A module is imported when a name of it is used: all of them take a second."""
_MODULES = {name: module for module, names in _PLACES.items() for name in names}


def __getattr__(name: str) -> _Any:
    """A name or a module of the package, when it is used first."""
    if (module := _MODULES.get(name)) is not None:
        value = getattr(_import_module(f"{__name__}.{module}"), name)
    elif not name.startswith("_") and _find_spec(f"{__name__}.{name}") is not None:
        value = _import_module(f"{__name__}.{name}")
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


class _Package(_ModuleType):
    """The import of the module `fabricsim.run` does not hide the function of that name."""

    def __setattr__(self, name: str, value: object) -> None:
        if name not in _MODULES or not isinstance(value, _ModuleType):
            super().__setattr__(name, value)


_sys.modules[__name__].__class__ = _Package
