"""Work spread over local processes, stoppable, with results handed over as they come."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from typing import Any, TypeVar

from fabricsim.errors import FabricsimError

T = TypeVar("T")
R = TypeVar("R")
Stop = Callable[[], bool]
POLL_S = 0.1


def never() -> bool:
    """The stop that does not come."""
    return False


def work_through(
    tasks: Sequence[T],
    work: Callable[[T, Stop], R],
    on_done: Callable[[T, R], None],
    *,
    jobs: int | None = None,
    stop: Stop = never,
) -> bool:
    """Calls `work(task, stop)` for every task and `on_done(task, result)` for each result, as they come.

    With one job all happens in this process. `work` has to be a function of a module. On a stop, or Ctrl-C, no more
    tasks begin and those at work are told; returns whether all tasks were done.
    """
    jobs = min(jobs or os.cpu_count() or 1, len(tasks))
    if jobs > 1:
        return _Pool(jobs, stop).run(tasks, work, on_done)
    for task in tasks:
        if stop():
            return False
        try:
            on_done(task, work(task, stop))
        except KeyboardInterrupt:
            return False
    return not stop()


class _Pool:
    def __init__(self, jobs: int, stop: Stop) -> None:
        context = multiprocessing.get_context("spawn")
        self._stop = stop
        self._event = context.Event()
        self._executor = ProcessPoolExecutor(
            jobs, context, initializer=_start_worker, initargs=(self._event,)
        )

    def run(self, tasks: Sequence[T], work: Callable[[T, Stop], R], on_done: Callable[[T, R], None]) -> bool:
        with self._executor:
            futures: dict[Future[R], T] = {}
            try:
                futures.update((self._executor.submit(_call, work, task), task) for task in tasks)
                self._collect(futures, on_done)
            except KeyboardInterrupt:
                self._halt(futures)
                self._collect(futures, on_done)
            except BaseException:
                self._halt(futures)
                raise
        return not self._event.is_set()

    def _collect(self, futures: dict[Future[R], T], on_done: Callable[[T, R], None]) -> None:
        while futures:
            done, _ = wait(futures, POLL_S, FIRST_COMPLETED)
            for future in done:
                on_done(futures.pop(future), _result(future))
            if self._stop() and not self._event.is_set():
                self._halt(futures)

    def _halt(self, futures: dict[Future[R], T]) -> None:
        """No task begins any more; `futures` keeps those at work, which are told to stop."""
        self._event.set()
        for future in [future for future in futures if future.cancel()]:
            del futures[future]


def _result(future: Future[R]) -> R:
    try:
        return future.result()
    except BrokenProcessPool as error:
        raise FabricsimError(
            "a worker process was killed, perhaps for want of memory: try fewer with --jobs"
        ) from error


class _Worker:
    """What a worker process was given when it started."""

    stop: Stop = staticmethod(never)


def _start_worker(event: Any) -> None:
    _Worker.stop = event.is_set
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent hears it and sets the event


def _call(work: Callable[[T, Stop], R], task: T) -> R:
    return work(task, _Worker.stop)
