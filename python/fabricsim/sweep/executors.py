"""Execution of many runs: in local processes, on a Dask cluster, or as Slurm jobs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol, TypeVar

from fabricsim import cores
from fabricsim.sweep.pool import OnDone, OnLost, Stop, Work, never, work_through

T = TypeVar("T")
R = TypeVar("R")
Say = Callable[[str], None]


def silent(message: str) -> None:
    """A `say` that discards its text."""


class Executor(Protocol):
    """Executes many tasks, several at a time."""

    def work_through(
        self,
        tasks: Iterable[T],
        work: Work[T, R],
        on_done: OnDone[T, R],
        *,
        stop: Stop = never,
        on_lost: OnLost[T] | None = None,
    ) -> bool:
        """Calls `work(task, stop)` for every task, and `on_done(task, result)` once for each, in the caller's thread.

        Tasks are taken from the iterable when there is room for them, so it may be a generator that creates a task from
        the results so far. On a stop, or Ctrl-C, no more tasks begin and running ones are notified by their own `stop`;
        what they return then is handed over as well. A task whose worker dies is repeated.

        Args:
            tasks: what to work on; can be pickled.
            work: a function of a module (other processes import it). What it raises ends everything and is raised here,
                so let it return its failures.
            on_done: takes a task and its result, in the order in which they are done.
            stop: asked about ten times a second.
            on_lost: takes a task that was given up because its worker died repeatedly, and the reason.

        Returns:
            Whether all tasks were done: False after a stop.

        Raises:
            InputError: the cluster cannot be reached, or its fabricsim is another.
            FabricsimError: the cluster was lost, or a task was given up and there is no `on_lost`.
        """
        ...


@dataclass(frozen=True)
class _Local:
    jobs: int | None

    def processes(self, tasks: int | None) -> int:
        """Number of processes of this machine that work at once on these tasks; None: an unknown number of tasks."""
        jobs = self.jobs or cores.available()
        return jobs if tasks is None else max(1, min(jobs, tasks))

    def work_through(
        self,
        tasks: Iterable[T],
        work: Work[T, R],
        on_done: OnDone[T, R],
        *,
        stop: Stop = never,
        on_lost: OnLost[T] | None = None,
    ) -> bool:
        return work_through(tasks, work, on_done, jobs=self.jobs, stop=stop, on_lost=on_lost)


def processes(executor: Executor, tasks: int | None = None) -> int | None:
    """Processes of this machine that an executor keeps at work; None if its workers are on other machines."""
    return executor.processes(tasks) if isinstance(executor, _Local) else None


def local(jobs: int | None = None) -> Executor:
    """Processes of this machine, by default one for each processor. With one job all happens in this process.

    In a script, use it under `if __name__ == "__main__":`, since worker processes import the script.
    """
    return _Local(jobs)


def dask(address: str, *, say: Say = silent) -> Executor:
    """The workers of a running Dask scheduler, `tcp://host:8786`. They need the same fabricsim, and the same files.

    Raises:
        InputError: Dask is not installed, nothing answers at the address, or a worker has another fabricsim.
    """
    from fabricsim.sweep.cluster import DaskExecutor  # noqa: PLC0415 - an optional part of the installation

    return DaskExecutor(address, say)


def slurm(options: Mapping[str, str] | None = None, *, say: Say = silent) -> Executor:
    """Jobs of a Slurm cluster, submitted when work begins and cancelled when it ends.

    Args:
        options: see `fabricsim.sweep.slurm.OPTIONS`: `{"partition": "batch", "jobs": "10"}`.
        say: receives the reason for waiting.

    Raises:
        InputError: an option is wrong, dask-jobqueue is not installed, or there is no Slurm.
    """
    from fabricsim.sweep.slurm import SlurmExecutor  # noqa: PLC0415 - an optional part of the installation

    return SlurmExecutor(options or {}, say)
