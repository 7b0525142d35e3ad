"""Operations that start again and again, and those that the program completes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from fabricsim.mpi.operations import Operation
from fabricsim.mpi.status import Status


class PersistentOperation(Operation):
    """A persistent operation: it passes on to the operation that was started last."""

    __slots__ = ("_active",)

    def __init__(self, call: str, starts: Callable[[], Operation]) -> None:
        self._active: Operation | None = None
        super().__init__(call)
        self.persistent, self.is_inactive = starts, True

    def restart(self) -> None:
        """Starts the operation again."""
        self._active = active = self.persistent()
        self.is_inactive, self.call = False, active.call

    # A schedule changes its own requests, also when another call progresses it.
    @property
    def pending(self) -> list[int]:
        """Requests of the active operation."""
        return self._active.pending if self._active is not None else []

    @pending.setter
    def pending(self, value: list[int]) -> None:
        """Only the active operation has requests."""

    @property
    def is_done(self) -> bool:
        """True if the active operation is complete, whose status it then has."""
        active = self._active
        if active is None:
            return True
        if active.is_done:
            self.source, self.tag, self.nbytes = active.source, active.tag, active.nbytes
            self.cancelled, self.error, self.call = active.cancelled, active.error, active.call
        return active.is_done

    @is_done.setter
    def is_done(self, value: bool) -> None:
        """Only the active operation is complete or not."""

    def arrive(self, process: Any, number: int, arrival: Any) -> None:
        """A request of the active operation is complete."""
        assert self._active is not None
        self._active.arrive(process, number, arrival)

    def peers(self) -> Sequence[int]:
        """World ranks for which the active operation waits."""
        return self._active.peers() if self._active is not None else ()


class GeneralizedOperation(Operation):
    """An operation that the program completes."""

    __slots__ = ("_cancel", "_free", "_query")

    def __init__(
        self, query: Any, free: Any, cancel: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        super().__init__("a generalized request")
        self._query, self._free, self._cancel = [
            (lambda *first, function=one: function(*first, *args, **kwargs)) if one is not None else None
            for one in (query, free, cancel)
        ]

    def complete(self, value: Any) -> None:
        """The operation is complete."""
        self.is_done = True
        status = Status()
        if self._query is not None:
            self._query(status)
        self.source, self.tag, self.error = status.source, status.tag, status.error
        self.nbytes, self.cancelled = status.count, status.cancelled if self._cancel is not None else False
        self.result = lambda: value

    def cancel(self) -> None:
        """The program cancels the operation."""
        if self._cancel is not None:
            self._cancel(self.is_done)

    def release(self) -> None:
        """The program frees the operation."""
        if self._free is not None:
            self._free()
