"""Execution of the points of a sweep."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from fabricsim.errors import FabricsimError, InterruptedBuildError
from fabricsim.memory import Allowance
from fabricsim.results import scalars
from fabricsim.run import run
from fabricsim.spec import Experiment
from fabricsim.sweep.executors import Executor
from fabricsim.sweep.pool import Stop
from fabricsim.sweep.schedule import Due, Schedule
from fabricsim.sweep.state import SweepState
from fabricsim.sweep.sums import sums_of_run
from fabricsim.sweep.table import FAILED

Task = tuple[int, Experiment]


def run_points(
    experiment: Experiment,
    state: SweepState,
    executor: Executor,
    allowed: Allowance,
    on_point: Callable[[int, int], None] | None,
    stop: Stop,
) -> None:
    """Runs the points that are not done; with a schedule, those that it chooses, until it chooses none or a stop."""
    # workers on other machines have another current directory
    experiment = replace(experiment, base=os.path.abspath(experiment.base))

    def done(task: Task, row: dict[str, Any] | None) -> None:
        if row is not None:
            state.add(task[0], row)
            if on_point:
                on_point(state.done, state.expected)

    if on_point:
        on_point(state.done, state.expected)
    work = partial(run_point, allowed=allowed, by=state.by)
    while todo := state.todo():
        before = state.done
        tasks = (
            _Tasks(experiment, state, todo)
            if state.schedule is None
            else _DueTasks(experiment, state, state.schedule)
        )
        if not executor.work_through(
            tasks, work, done, stop=stop, on_lost=lambda task, message: done(task, _failed(message))
        ):
            return
        assert state.done > before, "an executor left out a task"


def _task(experiment: Experiment, state: SweepState, at: int) -> Task:
    return at, experiment.with_overrides([*state.points[at].items()])


class _DueTasks(Iterator[Task]):
    """The points that a schedule chooses, as results come."""

    def __init__(self, experiment: Experiment, state: SweepState, schedule: Schedule) -> None:
        self._experiment = experiment
        self._state = state
        self._due = Due(schedule, lambda: state.rows)

    def __next__(self) -> Task:
        return _task(self._experiment, self._state, next(self._due))


class _Tasks(Sequence[Task]):
    """The points to run, created on demand."""

    def __init__(self, experiment: Experiment, state: SweepState, todo: Sequence[int]) -> None:
        self._experiment = experiment
        self._state = state
        self._todo = todo

    def __len__(self) -> int:
        return len(self._todo)

    def __getitem__(self, number: Any) -> Any:
        return _task(self._experiment, self._state, self._todo[number])


def run_point(
    task: Task, stop: Stop, allowed: Allowance | None = None, by: Sequence[str] = ()
) -> dict[str, Any] | None:
    """The row of one point: status, message, the scalars of its summary, and sums of its flows. None if it was stopped.

    Raises:
        KeyboardInterrupt: it was interrupted by hand.
    """
    try:
        result = run(task[1], memory=allowed, stop=stop)
    except (KeyboardInterrupt, SystemExit):
        raise
    except InterruptedBuildError:
        return None
    except (FabricsimError, MemoryError) as error:
        return _failed(str(error) or "there is not enough memory for this point")
    except BaseException as error:  # a panic of the engine is no Exception
        return _failed(f"internal error: {type(error).__name__}: {error}")
    if stopped := result.manifest.get("stopped"):
        return _failed(str(stopped))
    if result.status == "interrupted":
        if not stop():
            raise KeyboardInterrupt
        return None
    summary = result.manifest["summary"]
    if defect := summary.get("defect"):
        return _failed(f"a defect of the simulator, please report it: {defect}")
    sums = sums_of_run(result, by)
    return {
        **scalars(summary),
        **sums,
        "status": result.status,
        "message": "; ".join(summary.get("deadlock") or ()) or sums.get("message", ""),
        "wall_s": result.manifest["wall_s"],
    }


def _failed(message: str) -> dict[str, Any]:
    return {"status": FAILED, "message": message}
