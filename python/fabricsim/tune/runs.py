"""One run of a study: what is handed to a worker, and what comes back."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from fabricsim.errors import FabricsimError, InputError, InterruptedBuildError
from fabricsim.memory import Allowance
from fabricsim.run import run
from fabricsim.spec import Experiment
from fabricsim.sweep import Stop
from fabricsim.tune.metrics import Measured, Which, measure

BASELINE = -1
"""In the place of a trial's number: the experiment as it is."""


@dataclass(frozen=True)
class Task:
    """One run, with the metrics to compute."""

    trial: int
    place: int
    """Among the runs of the trial."""
    experiment: Experiment
    metrics: tuple[Which, ...]


@dataclass(frozen=True)
class Run:
    """Result of a run."""

    scenario: str
    seed: int
    values: tuple[float, ...] = ()
    """The metrics', in order; none if it failed."""
    error: str = ""
    """Reason of the failure."""
    refused: bool = False
    """True if it failed since something in the experiment is wrong, or a metric is not there."""
    fingerprint: str = ""
    wall_s: float = 0.0

    def as_dict(self) -> dict[str, Any]:
        """For storing."""
        return asdict(self)

    @classmethod
    def of(cls, stored: dict[str, Any]) -> Run:
        """From what was stored."""
        return cls(**{**stored, "values": tuple(stored["values"])})


@dataclass(frozen=True)
class Answer:
    """A run's outcome before it has a scenario and a seed."""

    values: tuple[float, ...] = ()
    error: str = ""
    refused: bool = False
    fingerprint: str = ""
    wall_s: float = 0.0


def work(task: Task, stop: Stop, allowed: Allowance | None = None) -> Answer | None:
    """Runs and measures, in a worker. None if it was stopped.

    Raises:
        KeyboardInterrupt: it was interrupted by hand.
    """
    try:
        result = run(task.experiment, memory=allowed, stop=stop)
        if stopped := result.manifest.get("stopped"):
            return Answer(error=str(stopped))
        if result.status == "interrupted":
            if not stop():
                raise KeyboardInterrupt
            return None
        fingerprint, wall_s = str(result.manifest.get("fingerprint")), float(result.manifest["wall_s"])
        if result.status != "ok":
            error = f"the run ended with status {result.status!r}"
            return Answer(error=error, fingerprint=fingerprint, wall_s=wall_s)
        if defect := result.manifest["summary"].get("defect"):
            error = f"a defect of the simulator, please report it: {defect}"
            return Answer(error=error, fingerprint=fingerprint, wall_s=wall_s)
        measured = Measured(result, task.experiment)
        values = tuple(measure(measured, which) for which in task.metrics)
        return Answer(values, fingerprint=fingerprint, wall_s=wall_s)
    except InterruptedBuildError:
        return None
    except FabricsimError as problem:
        return Answer(error=str(problem), refused=isinstance(problem, InputError))
