"""Work on the workers of a Dask scheduler. The only module that imports distributed, and only when used."""

from __future__ import annotations

import importlib.metadata
import itertools
import logging
import queue
import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Generic, TypeVar

from fabricsim import cores
from fabricsim.errors import FabricsimError, InputError
from fabricsim.sweep.pool import POLL_S, OnDone, OnLost, Stop, Work, never

T = TypeVar("T")
R = TypeVar("R")
CONNECT_S = 5.0
"""Seconds to wait for a scheduler."""
STARTS = 3
"""Attempts to start the event loop of a client."""
IN_FLIGHT_PER_THREAD = 2
"""Tasks given to the scheduler per thread of its workers: one at work and one in reserve."""
FEWEST_IN_FLIGHT = 4
LOOK_S = 1.0
"""Seconds between two checks of the workers."""
GATHER_S = 10.0
"""Seconds for the way of one result."""


class DaskExecutor:
    """See `fabricsim.sweep.executors.dask`."""

    def __init__(self, address: str, say: Any) -> None:
        self._address = address
        self._say = say
        with closing(connect(address)) as client:
            check_versions(client)

    def work_through(
        self,
        tasks: Iterable[T],
        work: Work[T, R],
        on_done: OnDone[T, R],
        *,
        stop: Stop = never,
        on_lost: OnLost[T] | None = None,
    ) -> bool:
        """See `fabricsim.sweep.executors.Executor`."""
        with closing(connect(self._address)) as client:
            return work_with(client, tasks, work, on_done, stop=stop, on_lost=on_lost, say=self._say)


def import_distributed() -> Any:
    """The module `distributed`.

    Raises:
        InputError: it is not installed.
    """
    try:
        import distributed  # noqa: PLC0415 - an optional part of the installation
    except ModuleNotFoundError as error:
        raise InputError(
            f"Dask is not installed (no module {error.name}): pip install 'fabricsim[cluster]'"
        ) from None
    for name in ("distributed", "distributed.client", "distributed.core"):
        logging.getLogger(name).setLevel(logging.CRITICAL)  # its error becomes one message of ours
    return distributed


def connect(address: str) -> Any:
    """A client of the scheduler at an address.

    Raises:
        InputError: there is none, or it is not an address, or the machine cannot start a thread in time.
    """
    distributed = import_distributed()
    try:
        # Before a client begins: one that is refused its address stays half started, and complains when Python ends.
        distributed.comm.get_address_host(address)
        return _client(distributed, address)
    except (OSError, TimeoutError, ValueError) as error:
        reason = "nothing answers" if isinstance(error, OSError | TimeoutError) else str(error)
        raise InputError(
            f"{address}: there is no Dask scheduler there ({reason}); start one with `dask scheduler` and give the "
            "address that it prints, for example tcp://10.0.0.1:8786"
        ) from None
    except AssertionError:
        raise InputError(
            f"{address}: the client of the Dask scheduler did not start in time; this machine is overloaded"
        ) from None


def _client(distributed: Any, address: str) -> Any:
    """A client whose event loop has started.

    distributed asserts that the thread of its event loop runs after 10 s. On a machine that is overloaded or was
    suspended it does not, and nothing is wrong with the scheduler.
    """
    for _ in range(STARTS - 1):
        with suppress(AssertionError):
            return distributed.Client(address, timeout=CONNECT_S, set_as_default=False)
    return distributed.Client(address, timeout=CONNECT_S, set_as_default=False)


@contextmanager
def closing(client: Any) -> Iterator[Any]:
    """Closes the client at the end, even if its scheduler is gone."""
    try:
        yield client
    finally:
        with suppress(Exception):
            client.close(timeout=CONNECT_S)


def work_with(
    client: Any,
    tasks: Iterable[T],
    work: Work[T, R],
    on_done: OnDone[T, R],
    *,
    stop: Stop,
    on_lost: OnLost[T] | None,
    say: Any,
) -> bool:
    """`Executor.work_through` with a client."""
    check_versions(client)
    return _Flight(client, work, on_done, stop, on_lost, say).run(iter(tasks))


def check_versions(client: Any) -> None:
    """Compares the fabricsim of all workers that are there with the client's. Tasks compare again where they run.

    Raises:
        InputError: a worker has another one, or none.
        FabricsimError: the scheduler went away meanwhile.
    """
    ours = installed()
    try:
        found = client.run(importlib.metadata.version, "fabricsim", on_error="return")
    except OSError:
        raise FabricsimError(_LOST) from None
    for worker, theirs in found.items():
        if theirs != ours:
            missing = isinstance(theirs, importlib.metadata.PackageNotFoundError)
            raise InputError(_other_version(worker, "none" if missing else str(theirs), ours))


def _other_version(worker: str, theirs: str, ours: str) -> str:
    return (
        f"the Dask worker {worker} has another fabricsim ({theirs}) than this machine ({ours}): "
        "install the same version in the workers' environment"
    )


def installed() -> str:
    """The version of this fabricsim."""
    return importlib.metadata.version("fabricsim")


class _Flight(Generic[T, R]):
    """The tasks that the scheduler has been given and that are not done."""

    def __init__(
        self,
        client: Any,
        work: Work[T, R],
        on_done: OnDone[T, R],
        stop: Stop,
        on_lost: OnLost[T] | None,
        say: Any,
    ) -> None:
        self._client = client
        self._work = work
        self._on_done = on_done
        self._stop = stop
        self._on_lost = on_lost
        self._say = say
        self._token = uuid.uuid4().hex
        self._numbers = itertools.count()
        self._tasks: dict[str, tuple[Any, T]] = {}
        self._ready: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._stopped = False
        self._waits = False
        self._threads = 0
        self._next_look = 0.0

    def run(self, tasks: Iterator[T]) -> bool:
        try:
            try:
                while self._submit(tasks):
                    self._collect()
            except KeyboardInterrupt:
                self._halt()
                while self._tasks:
                    self._collect()
        except BaseException:
            with suppress(Exception):
                self._halt()
            raise
        return not self._stopped

    def _submit(self, tasks: Iterator[T]) -> bool:
        if not self._stopped and self._stop():
            self._halt()
        while not self._stopped and len(self._tasks) < self._room():
            try:
                task = next(tasks)
            except StopIteration:
                break
            key = f"fabricsim-{self._token}-{next(self._numbers)}"
            future = self._give(_call, self._work, task, self._token, installed(), key=key, pure=False)
            self._tasks[key] = (future, task)
            future.add_done_callback(self._ready.put)
        return bool(self._tasks)

    def _give(self, *task: Any, **options: Any) -> Any:
        """The future of a task that is given to the scheduler."""
        try:
            return self._client.submit(*task, **options)
        except Exception:
            if self._client.status != "running":
                raise FabricsimError(_LOST) from None
            raise

    def _room(self) -> int:
        """Maximum number of tasks at the scheduler at once."""
        if time.monotonic() >= self._next_look:
            self._next_look = time.monotonic() + LOOK_S
            self._threads = sum(self._ask(self._client.nthreads).values())
            if (self._threads == 0) != self._waits:
                self._waits = self._threads == 0
                if self._waits:
                    self._say("the Dask scheduler has no worker: waiting for one")
        return max(FEWEST_IN_FLIGHT, IN_FLIGHT_PER_THREAD * self._threads)

    def _ask(self, question: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        """Answer of the scheduler."""
        try:
            return question(*arguments, **options)
        except OSError:
            raise FabricsimError(_LOST) from None

    def _collect(self) -> None:
        with suppress(queue.Empty):
            self._take(self._ready.get(timeout=POLL_S))
        if self._client.status != "running":
            raise FabricsimError(_LOST)
        if self._stopped and time.monotonic() >= self._next_look:
            self._halt()  # workers may have come or gone since
        if not self._stopped and self._stop():
            self._halt()

    def _take(self, future: Any) -> None:
        """Hands the result of a future over; one whose worker died with it is repeated and comes back later."""
        if future.key not in self._tasks:
            return
        from distributed.scheduler import KilledWorker  # noqa: PLC0415 - see above

        _, task = self._tasks[future.key]
        try:
            result = future.result(timeout=GATHER_S)
        except TimeoutError:
            future.add_done_callback(self._ready.put)
            return
        except KilledWorker:
            del self._tasks[future.key]
            self._lose(task)
            return
        except Exception:
            if future.status != "error":  # not the task failed but the way of its result
                raise FabricsimError(_LOST) from None
            raise
        del self._tasks[future.key]
        if result is not None:
            self._on_done(task, result[0])

    def _lose(self, task: T) -> None:
        message = "its Dask worker died repeatedly, perhaps because memory ran out"
        if self._on_lost is None:
            raise FabricsimError(message.replace("its", "a task's", 1))
        self._on_lost(task, message)

    def _halt(self) -> None:
        """Withdraws tasks that have not begun; notifies the rest to stop."""
        self._stopped = True
        self._next_look = time.monotonic() + LOOK_S
        self._ask(self._client.run, _note_stop, self._token, on_error="ignore")
        given = {key for keys in self._ask(self._client.processing).values() for key in keys}
        waiting = [key for key, (future, _) in self._tasks.items() if not (key in given or future.done())]
        self._ask(self._client.cancel, [self._tasks.pop(key)[0] for key in waiting], force=True)


_LOST = "the connection to the Dask scheduler was lost; what was done until then is kept"

_stopped_tokens: set[str] = set()
"""In a worker: tasks that were notified to stop."""


def _note_stop(token: str) -> None:
    _stopped_tokens.add(token)


def _call(work: Work[T, R], task: T, token: str, version: str) -> tuple[R] | None:
    """In a worker: the result; None if the work was stopped before it began."""
    from distributed import get_worker  # noqa: PLC0415 - this is a worker

    if installed() != version:
        raise InputError(_other_version(get_worker().address, installed(), version))
    if token in _stopped_tokens:
        return None
    cores.limit(1)  # the others are for other tasks
    return (work(task, lambda: token in _stopped_tokens),)
