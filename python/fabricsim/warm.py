"""Runs that begin as copies of one: each process simulates their common beginning once."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Hashable
from dataclasses import dataclass

from fabricsim.memory import Allowance
from fabricsim.native import bad_input, native
from fabricsim.native_types import NativeOutcome, NativeSession
from fabricsim.results import Result
from fabricsim.run import Watch, result_of
from fabricsim.spec import Experiment

KEPT_S = 60.0
"""Seconds for which a process keeps the state after its last use."""


@dataclass(frozen=True)
class Beginning:
    """The part of a run that others share."""

    key: Hashable
    """Equal for runs that are in the same state at `until_ps`."""
    until_ps: int
    """Its end, in picoseconds: nothing in which the runs differ happens at this time or before."""


def run_from(
    beginning: Beginning,
    experiment: Experiment,
    *,
    memory: Allowance,
    stop: Callable[[], bool] | None = None,
    only: Collection[str] | None = None,
) -> Result:
    """Runs an experiment from a copy of the state at the end of `beginning`.

    The first call for a beginning in a process simulates it, with this experiment. The results are those of
    `fabricsim.run`.

    Args:
        beginning: what the experiment has in common with others, which differ in failures to come.
        experiment: the experiment.
        memory: limits of each run; the process keeps the state and runs a copy, so it takes twice as much.
        stop: called about ten times a second; the run is interrupted when it returns True.
        only: names of the tables that the results have; by default all. Series of a long warm-up take long to read.

    Raises:
        InputError: the experiment is wrong or does not fit into memory, or differs in what has already had an effect.
        InterruptedBuildError: `stop` returned True while the network was built or copied.
    """
    watch = _CopyWatch(beginning, experiment, memory, stop)
    with bad_input():
        outcome = watch.outcome()
    return result_of(experiment, outcome, watch.wall_s, watch.stopped, only)


def forget() -> None:
    """Frees the state that this process keeps, unless a run is being built or copied: then a timer frees it later."""
    if _Kept.lock.acquire(blocking=False):
        try:
            _Kept.drop()
        finally:
            _Kept.lock.release()


class _Kept:
    """The state at the end of the last beginning of this process."""

    lock = threading.Lock()
    beginning: Beginning | None = None
    session: NativeSession | None = None
    timer: threading.Timer | None = None

    @classmethod
    def keep(cls, beginning: Beginning, session: NativeSession) -> None:
        cls.drop()
        cls.beginning, cls.session = beginning, session

    @classmethod
    def find(cls, beginning: Beginning) -> NativeSession | None:
        cls.stop_timer()
        return cls.session if cls.beginning == beginning else None

    @classmethod
    def drop(cls) -> None:
        cls.stop_timer()
        cls.beginning = cls.session = None

    @classmethod
    def start_timer(cls) -> None:
        """A worker of a cluster does not end with its work: it frees the memory by itself."""
        cls.stop_timer()
        cls.timer = threading.Timer(KEPT_S, forget)
        cls.timer.daemon = True
        cls.timer.start()

    @classmethod
    def stop_timer(cls) -> None:
        if cls.timer is not None:
            cls.timer.cancel()
            cls.timer = None


class _CopyWatch(Watch):
    """Runs a copy in a thread while this one checks for a stop."""

    def __init__(
        self,
        beginning: Beginning,
        experiment: Experiment,
        allowed: Allowance,
        stop: Callable[[], bool] | None,
    ) -> None:
        super().__init__(experiment, allowed, None, stop)
        self._beginning = beginning

    def _simulate(self) -> NativeOutcome:
        with _Kept.lock:
            session = _Kept.find(self._beginning)
            if session is None:
                session, how = self._begin()
                if how == "stopped":
                    return session.result()
                _Kept.keep(self._beginning, session)
            text, file, _, overrides = self._experiment.arguments()
            try:
                copy = session.fork(text, file, overrides, self._control, self._allowed.estimate)
            finally:
                _Kept.start_timer()
        self._begun = time.monotonic()
        copy.advance_to(None, self._control)
        return copy.result()

    def _begin(self) -> tuple[NativeSession, str]:
        """The state at the end of the beginning, or where it stopped, and the reason for stopping."""
        _Kept.drop()
        arguments = self._experiment.arguments()
        session = native().Session(*arguments, self._control, self._allowed.estimate)
        return session, session.advance_to(self._beginning.until_ps, self._control)
