"""Work spread over local processes, stoppable, with results handed over as they come."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sized
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import resource_tracker
from typing import Any, Generic, TypeVar

from fabricsim import cores
from fabricsim.errors import FabricsimError

T = TypeVar("T")
R = TypeVar("R")
Stop = Callable[[], bool]
Work = Callable[[T, Stop], R]
OnDone = Callable[[T, R], None]
OnLost = Callable[[T, str], None]
POLL_S = 0.1
MOST_LOSSES = 3
"""Number of times that a task may crash its worker process; the last time it runs alone."""
_FOR_THE_PARENT = (signal.SIGINT, signal.SIGHUP)
"""Signals that a terminal sends to all processes of a command."""


def never() -> bool:
    """A stop condition that is never true."""
    return False


def work_through(
    tasks: Iterable[T],
    work: Work[T, R],
    on_done: OnDone[T, R],
    *,
    jobs: int | None = None,
    stop: Stop = never,
    on_lost: OnLost[T] | None = None,
) -> bool:
    """Calls `work(task, stop)` for every task and `on_done(task, result)` for each result, as they come.

    See `fabricsim.sweep.executors.Executor`. With one job all happens in this process. Where there are fewer tasks than
    jobs, a run may use several cores.
    """
    all_jobs = jobs or cores.available()
    jobs = min(all_jobs, len(tasks)) if isinstance(tasks, Sized) else all_jobs
    each = all_jobs // max(1, jobs)
    if jobs > 1:
        return _Pool(jobs, stop, work, on_done, on_lost, cores_each=each).run(iter(tasks))
    with cores.limited(each):
        return _work_here(tasks, work, on_done, stop)


def _work_here(tasks: Iterable[T], work: Work[T, R], on_done: OnDone[T, R], stop: Stop) -> bool:
    for task in tasks:
        if stop():
            return False
        try:
            on_done(task, work(task, stop))
        except KeyboardInterrupt:
            return False
    return not stop()


class _Pool(Generic[T, R]):
    """Local processes. When one is killed all are replaced, and what they worked on begins again."""

    def __init__(
        self,
        jobs: int,
        stop: Stop,
        work: Work[T, R],
        on_done: OnDone[T, R],
        on_lost: OnLost[T] | None,
        *,
        cores_each: int = 1,
    ) -> None:
        self._jobs = jobs
        self._cores_each = cores_each
        self._stop = stop
        self._work = work
        self._on_done = on_done
        self._on_lost = on_lost
        self._context = multiprocessing.get_context("spawn")
        with _signals_held():
            _start_tracker()
            self._event = self._context.Event()
            self._started = self._context.Event()
            self._executor = self._new_executor()
        self._again: deque[tuple[int, T]] = deque()
        self._losses: Counter[int] = Counter()
        self._futures: dict[Future[R], tuple[int, T]] = {}

    def _new_executor(self) -> ProcessPoolExecutor:
        return ProcessPoolExecutor(
            self._jobs,
            self._context,
            initializer=_start_worker,
            initargs=(self._event, self._started, self._cores_each),
        )

    def run(self, tasks: Iterator[T]) -> bool:
        numbered = enumerate(tasks)
        try:
            try:
                while self._submit(numbered):
                    self._collect()
            except KeyboardInterrupt:
                self._halt()
                while self._futures:
                    self._collect()
        except BaseException:
            self._halt()
            raise
        finally:
            self._executor.shutdown()
        return not self._event.is_set()

    def _submit(self, tasks: Iterator[tuple[int, T]]) -> bool:
        """Assigns a task to every idle process; returns True if any task is running."""
        while not self._event.is_set() and len(self._futures) < self._jobs:
            if self._stop():
                self._halt()
                break
            if self._again and self._losses[self._again[0][0]] == MOST_LOSSES - 1:
                if not self._futures:
                    self._begin(self._again.popleft())
                break
            task = self._again.popleft() if self._again else next(tasks, None)
            if task is None:
                break
            self._begin(task)
        return bool(self._futures)

    def _begin(self, task: tuple[int, T]) -> None:
        try:
            with _signals_held():
                future = self._executor.submit(_call, self._work, task[1])
            self._futures[future] = task
        except BrokenProcessPool:
            self._again.appendleft(task)
            self._replace()

    def _collect(self) -> None:
        done, _ = wait(self._futures, POLL_S, FIRST_COMPLETED)
        broken = False
        for future in done:
            number, task = self._futures.pop(future)
            try:
                result = future.result()
            except BrokenProcessPool:
                self._lose(number, task)
                broken = True
            else:
                self._on_done(task, result)
        if broken:
            self._replace()
        if self._stop():
            self._halt()

    def _lose(self, number: int, task: T) -> None:
        self._losses[number] += 1
        if self._losses[number] < MOST_LOSSES:
            self._again.append((number, task))
            return
        message = "its worker process was killed repeatedly, perhaps because memory ran out"
        if self._on_lost is None:
            raise FabricsimError(message.replace("its", "a task's", 1) + ": try fewer with --jobs")
        self._on_lost(task, message)

    def _replace(self) -> None:
        if not self._started.is_set():
            raise FabricsimError(
                'worker processes cannot start; in a script, begin work under `if __name__ == "__main__":`'
            )
        self._executor.shutdown()
        self._executor = self._new_executor()

    def _halt(self) -> None:
        """No task begins any more; `_futures` keeps the running ones, which are notified to stop."""
        self._event.set()
        for future in [future for future in self._futures if future.cancel()]:
            del self._futures[future]


class _Worker:
    """Arguments of a worker process at its start."""

    stop: Stop = staticmethod(never)


def _start_worker(event: Any, started: Any, cores_each: int) -> None:
    _Worker.stop = event.is_set
    cores.limit(cores_each)
    started.set()
    for number in _FOR_THE_PARENT:  # it hears them, and sets the event
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _FOR_THE_PARENT)
    threading.Thread(target=_end_with_parent, name="parent", daemon=True).start()


def _end_with_parent() -> None:
    """Ends this process when its parent has ended, however that came: nothing would take the result."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


@contextmanager
def _signals_held() -> Iterator[None]:
    """Signals for the parent wait. Processes that start here begin with them held, so that none reaches them before
    they ignore it.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _FOR_THE_PARENT)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _start_tracker() -> None:
    """Starts the process of `multiprocessing` that removes semaphores after a process that was killed, quietly."""
    before = os.environ.get("PYTHONWARNINGS")
    os.environ["PYTHONWARNINGS"] = "ignore::UserWarning:multiprocessing.resource_tracker"
    try:
        resource_tracker.ensure_running()
    finally:
        del os.environ["PYTHONWARNINGS"]
        if before is not None:
            os.environ["PYTHONWARNINGS"] = before


def _call(work: Work[T, R], task: T) -> R:
    return work(task, _Worker.stop)
