"""Several requests at a time: which of them wait, which are complete, their statuses and failures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fabricsim.mpi import constants
from fabricsim.mpi.errors import Exception
from fabricsim.mpi.status import Status, check_status


def is_waiting(request: Any) -> bool:
    """True if a request is active."""
    try:
        return not request._ref.is_inactive
    except AttributeError:
        raise Exception(
            constants.ERR_REQUEST, f"request = {request!r}: must be of the type MPI.Request"
        ) from None


def text_of(name: str, requests: Sequence[Any]) -> str:
    """A call of several requests, as reports of a deadlock show it."""
    calls = [request._ref.call for request in requests if is_waiting(request)]
    shown = ", ".join(calls[:4])
    return f"{name} of {shown}" + (f" and {len(calls) - 4} more" if len(calls) > 4 else "")


def first_done(requests: Sequence[Any]) -> int:
    """Index of the first active request that is complete."""
    return next(index for index, one in enumerate(requests) if is_waiting(one) and one._ref.is_done)


def grow(statuses: list[Any], size: int) -> None:
    """Adds statuses up to a number."""
    statuses.extend(Status() for _ in range(size - len(statuses)))


def fill(statuses: Any, found: Sequence[Status]) -> None:
    """Copies statuses to those of the caller, as far as there are any."""
    if isinstance(statuses, list):
        grow(statuses, len(found))
    for status, one in zip(statuses or (), found, strict=False):
        check_status(status)
        status.__setstate__(one.__getstate__())


def settle_all(requests: Sequence[Any], statuses: Any) -> list[Any]:
    """Ends complete operations. If one failed, the others are ended as well."""
    objects: list[Any] = []
    found: list[Status] = []
    failures: list[Exception] = []
    for request in requests:
        status = None if statuses is None else Status()
        if status is not None:
            found.append(status)
        try:
            objects.append(request._settle(status))
        except Exception as failure:
            failures.append(failure)
    fill(statuses, found)
    if failures:
        others = f", and {len(failures) - 1} more" if len(failures) > 1 else ""
        raise Exception(constants.ERR_IN_STATUS, f"{failures[0]}{others}") from failures[0]
    return objects
