"""Computations that take the processor time of the program itself (`--compute measured`)."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from fabricsim.errors import InputError

if TYPE_CHECKING:
    from fabricsim.mpi.process import Process

COMPUTATIONS = GIVEN, MEASURED = "given", "measured"
"""Times of computations: what `fabricsim.compute` gives; with processor time as well."""
LARGEST_SCALE = 1e6
"""Largest factor of measured times."""
_CALL = "computation of the program"


def check_computations(times: str, scale: float) -> None:
    """Checks the arguments of a run.

    Raises:
        InputError: `times` is none of `COMPUTATIONS`, or `scale` is not above 0 and at most `LARGEST_SCALE`.
    """
    if times not in COMPUTATIONS:
        raise InputError(f"compute = {times!r}: must be {' or '.join(COMPUTATIONS)}")
    if not 0 < scale <= LARGEST_SCALE:
        raise InputError(f"compute_scale = {scale!r}: must be above 0, and at most {LARGEST_SCALE:,.0f}")


class Stopwatch:
    """Processor time of a rank's program between calls of MPI.

    All ranks are in one thread and take turns in calls of MPI only, so that the thread's time between two calls of a
    rank is that rank's.

    Args:
        endpoint: its `compute` lets time pass.
        scale: simulated time for each second.
    """

    def __init__(self, endpoint: Any, scale: float) -> None:
        self._endpoint, self._scale = endpoint, scale
        self._since: int | None = None
        """Nanoseconds of the thread at which the program went on."""

    def start(self) -> None:
        """The program goes on."""
        self._since = time.thread_time_ns()

    def stop(self) -> None:
        """The program calls MPI."""
        since, self._since = self._since, None
        if since is not None:
            taken = round((time.thread_time_ns() - since) * 1000 * self._scale)
            self._endpoint.compute(taken, _CALL)


class MeasuredEndpoint:
    """The endpoint of a rank whose computations are measured.

    Uses of the endpoint outside calls of MPI that a rank makes, such as the end of a buffered send, end a computation
    as well.

    Args:
        process: the rank, whose endpoint this one takes the place of.
        scale: simulated time for each second of processor time.
    """

    def __init__(self, process: Process, scale: float) -> None:
        self._inner = process.endpoint
        self._process = process
        self.rank, self.size = process.rank, process.size
        process.stopwatch = Stopwatch(self._inner, scale)

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._inner, name)
        if name not in _USES:
            return found
        process = self._process

        def use(*args: Any, **kwargs: Any) -> Any:
            if process.depth:
                return found(*args, **kwargs)
            process.enter_call()
            try:
                return found(*args, **kwargs)
            finally:
                process.leave_call()

        setattr(self, name, use)
        return use


_USES = (
    *("isend", "irecv", "probe", "wait_probe", "imrecv", "test"),
    *("send", "receive", "complete", "wait_some"),
    *("wait", "free", "cancel", "progress", "close"),
)
"""What lets time pass, or other ranks go on."""
