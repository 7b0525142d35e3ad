"""Traces of MPI programs: read in several formats, replayed on networks, written as GOAL schedules.

`Trace.read("run.goal", "goal").replay("loggp:L=1000,o=100,g=10,G=0").end_ns` is the time that the program takes there.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fabricsim.traces.jobs import Jobs
    from fabricsim.traces.player import Player, play
    from fabricsim.traces.records import Record, write_records
    from fabricsim.traces.trace import FORMATS, Replay, Trace

__all__ = ["FORMATS", "Jobs", "Player", "Record", "Replay", "Trace", "play", "write_records"]

_MODULES = {
    "FORMATS": "trace",
    "Jobs": "jobs",
    "Player": "player",
    "Record": "records",
    "Replay": "trace",
    "Trace": "trace",
    "play": "player",
    "write_records": "records",
}
"""Modules of the names. Each is imported when a name of it is used: the process that reads an archive needs none."""


def __getattr__(name: str) -> Any:
    """A name of the package, when it is used first."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
