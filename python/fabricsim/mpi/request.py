"""`MPI.Request`, `MPI.Prequest`, `MPI.Grequest`: waiting and testing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fabricsim.mpi import constants
from fabricsim.mpi.errors import Exception
from fabricsim.mpi.handles import Handle, Null
from fabricsim.mpi.operations import Operation
from fabricsim.mpi.persistent import GeneralizedOperation
from fabricsim.mpi.process import current, measured, running
from fabricsim.mpi.several import fill, first_done, grow, is_waiting, settle_all, text_of
from fabricsim.mpi.status import Status, check_status


class _NoOperation(Null):
    """What `REQUEST_NULL` refers to: it is never active."""

    __slots__ = ()
    is_inactive = True


class Request(Handle):
    """A non-blocking operation."""

    NULL = _NoOperation("MPI_REQUEST_NULL")

    @classmethod
    def _class_of(cls, ref: Any) -> Any:
        return Prequest if getattr(ref, "persistent", None) is not None and cls is Request else cls

    def _settle(self, status: Status | None) -> Any:
        """Ends a complete operation: fills the status and returns the object that was received."""
        one: Operation = self._ref
        if one.is_inactive:
            if status is not None:
                status._clear()
            return None
        result = one.result
        if one.persistent is not None:
            one.is_inactive = True
        else:
            self._ref = self.NULL
            if type(one) is GeneralizedOperation:
                one.release()
        error, call = one.error, one.call
        if status is not None:
            status._set(one.source, one.tag, error, one.nbytes, one.cancelled)
        if error:
            raise Exception(error, call)
        return result() if callable(result) and not one.cancelled else None

    def _peek(self, status: Status | None) -> bool:
        if status is not None:
            check_status(status)
        if not is_waiting(self):
            if status is not None:
                status._clear()
            return True
        one: Operation = self._ref
        if not one.is_done:
            current().advance([one], f"Get_status of {one.call}")
        if one.is_done and status is not None:
            status._set(one.source, one.tag, one.error, one.nbytes, one.cancelled)
        return one.is_done

    def _wait(self, status: Status | None) -> Any:
        if status is not None:
            check_status(status)
        one: Operation = self._ref
        if not one.is_inactive and not one.is_done:
            running().wait_all([one], f"Wait of {one.call}")
        return self._settle(status)

    def _test(self, status: Status | None) -> tuple[bool, Any]:
        if status is not None:
            check_status(status)
        if is_waiting(self) and not self._ref.is_done:
            current().advance([self._ref], text_of("Test", [self]))
            if not self._ref.is_done:
                return False, None
        return True, self._settle(status)

    @measured
    def Wait(self, status: Status | None = None) -> bool:
        """Waits for completion."""
        self._wait(status)
        return True

    @measured
    def Test(self, status: Status | None = None) -> bool:
        """True if the operation is complete, which ends it."""
        return self._test(status)[0]

    @measured
    def Get_status(self, status: Status | None = None) -> bool:
        """True if the operation is complete. It is not ended."""
        return self._peek(status)

    get_status = Get_status

    @measured
    def wait(self, status: Status | None = None) -> Any:
        """Waits, and returns the object that was received."""
        return self._wait(status)

    @measured
    def test(self, status: Status | None = None) -> tuple[bool, Any]:
        """Whether the operation is complete, and the object that was received."""
        return self._test(status)

    @classmethod
    def _waitany(cls, requests: Sequence[Request], status: Status | None) -> tuple[int, Any]:
        if status is not None:
            check_status(status)
        waiting = [request._ref for request in requests if is_waiting(request)]
        if not waiting:
            if status is not None:
                status._clear()
            return constants.UNDEFINED, None
        current().wait_any(waiting, text_of("Waitany", requests))
        index = first_done(requests)
        return index, requests[index]._settle(status)

    @classmethod
    def _testany(cls, requests: Sequence[Request], status: Status | None) -> tuple[int, bool, Any]:
        if status is not None:
            check_status(status)
        waiting = [request._ref for request in requests if is_waiting(request)]
        if not waiting:
            if status is not None:
                status._clear()
            return constants.UNDEFINED, True, None
        if not any(one.is_done for one in waiting):
            current().advance(waiting, text_of("Testany", requests))
        if not any(one.is_done for one in waiting):
            return constants.UNDEFINED, False, None
        index = first_done(requests)
        return index, True, requests[index]._settle(status)

    @classmethod
    @measured
    def Waitany(cls, requests: Sequence[Request], status: Status | None = None) -> int:
        """Waits for one of several; returns its index."""
        return cls._waitany(requests, status)[0]

    @classmethod
    @measured
    def Testany(cls, requests: Sequence[Request], status: Status | None = None) -> tuple[int, bool]:
        """Index of one that is complete, and whether there is one."""
        return cls._testany(requests, status)[:2]

    @classmethod
    @measured
    def waitany(cls, requests: Sequence[Request], status: Status | None = None) -> tuple[int, Any]:
        """Waits for one of several; returns its index and the object that was received."""
        return cls._waitany(requests, status)

    @classmethod
    @measured
    def testany(cls, requests: Sequence[Request], status: Status | None = None) -> tuple[int, bool, Any]:
        """Index of one that is complete, whether there is one, and the object that was received."""
        return cls._testany(requests, status)

    @classmethod
    @measured
    def Get_status_any(cls, requests: Sequence[Request], status: Status | None = None) -> tuple[int, bool]:
        """Index of one that is complete, and whether there is one. It is not ended."""
        active = [request for request in requests if is_waiting(request)]
        if not active:
            if status is not None:
                status._clear()
            return constants.UNDEFINED, True
        current().advance([request._ref for request in active], text_of("Get_status_any", requests))
        if not any(request._ref.is_done for request in active):
            return constants.UNDEFINED, False
        index = first_done(requests)
        requests[index]._peek(status)
        return index, True

    get_status_any = Get_status_any

    @classmethod
    def _waitall(cls, requests: Sequence[Request], statuses: Any) -> list[Any]:
        waiting = [request._ref for request in requests if is_waiting(request)]
        current().wait_all(waiting, text_of("Waitall", requests))
        return settle_all(requests, statuses)

    @classmethod
    def _testall(cls, requests: Sequence[Request], statuses: Any) -> tuple[bool, list[Any] | None]:
        waiting = [one for request in requests if is_waiting(request) and not (one := request._ref).is_done]
        if waiting:
            current().advance(waiting, text_of("Testall", requests))
            if not all(one.is_done for one in waiting):
                if isinstance(statuses, list):
                    grow(statuses, len(requests))
                return False, None
        return True, settle_all(requests, statuses)

    @classmethod
    @measured
    def Waitall(cls, requests: Sequence[Request], statuses: Any = None) -> bool:
        """Waits for all."""
        cls._waitall(requests, statuses)
        return True

    @classmethod
    @measured
    def Testall(cls, requests: Sequence[Request], statuses: Any = None) -> bool:
        """True if all are complete, which ends them."""
        return cls._testall(requests, statuses)[0]

    @classmethod
    @measured
    def waitall(cls, requests: Sequence[Request], statuses: Any = None) -> list[Any]:
        """Waits for all; returns the objects that were received."""
        return cls._waitall(requests, statuses)

    @classmethod
    @measured
    def testall(cls, requests: Sequence[Request], statuses: Any = None) -> tuple[bool, list[Any] | None]:
        """Whether all are complete, and the objects that were received."""
        return cls._testall(requests, statuses)

    @classmethod
    @measured
    def Get_status_all(cls, requests: Sequence[Request], statuses: Any = None) -> bool:
        """True if all are complete. They are not ended."""
        found: list[Status] = [Status() for _ in requests]
        is_done = all(request._peek(status) for request, status in zip(requests, found, strict=True))
        if is_done:
            fill(statuses, found)
        return is_done

    get_status_all = Get_status_all

    @classmethod
    def _some(
        cls, requests: Sequence[Request], statuses: Any, waits: bool
    ) -> tuple[list[int] | None, list[Any] | None]:
        waiting = [request._ref for request in requests if is_waiting(request)]
        if not waiting:
            return None, None
        if not any(one.is_done for one in waiting):
            if waits:
                current().wait_any(waiting, text_of("Waitsome", requests))
            else:
                current().advance(waiting, text_of("Testsome", requests))
        indices = [
            index for index, request in enumerate(requests) if is_waiting(request) and request._ref.is_done
        ]
        return indices, settle_all([requests[index] for index in indices], statuses)

    @classmethod
    @measured
    def Waitsome(cls, requests: Sequence[Request], statuses: Any = None) -> list[int] | None:
        """Waits for at least one; returns the indices of those that are complete."""
        return cls._some(requests, statuses, waits=True)[0]

    @classmethod
    @measured
    def Testsome(cls, requests: Sequence[Request], statuses: Any = None) -> list[int] | None:
        """Indices of those that are complete, which ends them."""
        return cls._some(requests, statuses, waits=False)[0]

    @classmethod
    @measured
    def waitsome(cls, requests: Sequence[Request], statuses: Any = None) -> tuple[Any, Any]:
        """Waits for at least one; returns indices and objects."""
        return cls._some(requests, statuses, waits=True)

    @classmethod
    @measured
    def testsome(cls, requests: Sequence[Request], statuses: Any = None) -> tuple[Any, Any]:
        """Indices and objects of those that are complete."""
        return cls._some(requests, statuses, waits=False)

    @classmethod
    @measured
    def Get_status_some(cls, requests: Sequence[Request], statuses: Any = None) -> list[int] | None:
        """Indices of those that are complete. They are not ended."""
        active = [request for request in requests if is_waiting(request)]
        if not active:
            return None
        current().advance([request._ref for request in active], text_of("Get_status_some", requests))
        indices = [
            index for index, request in enumerate(requests) if is_waiting(request) and request._ref.is_done
        ]
        found = [Status() for _ in indices]
        for index, status in zip(indices, found, strict=True):
            requests[index]._peek(status)
        fill(statuses, found)
        return indices

    get_status_some = Get_status_some

    @measured
    def Cancel(self) -> None:
        """Cancels a receive that has no message. Sends are not cancelled."""
        if not is_waiting(self):
            raise Exception(constants.ERR_REQUEST, "Cancel: the request is not active")
        process, one = current(), self._ref
        cancel = getattr(one, "cancel", None)
        if cancel is not None:
            cancel()
            return
        for number in list(one.pending):
            process.endpoint.cancel(number)
        if one.pending:
            process.advance([one], f"Cancel of {one.call}")

    cancel = Cancel

    def Free(self) -> None:
        """Forgets the operation, which still completes."""
        if self._ref is self.NULL:
            raise Exception(constants.ERR_REQUEST, "Free: the request is MPI.REQUEST_NULL")
        one, self._ref = self._ref, self.NULL
        release = getattr(one, "release", None)
        if release is not None:
            release()
        if one.pending and not hasattr(one, "start"):
            current().shared.keep(one)


class Prequest(Request):
    """A persistent operation, which can be started again and again."""

    def __new__(cls, request: Any = None) -> Any:
        made = super().__new__(cls, request)
        if made._ref is not cls.NULL and made._ref.persistent is None:
            raise TypeError("expecting a persistent request")
        return made

    @measured
    def Start(self) -> None:
        """Starts the operation."""
        self._start()

    def _start(self) -> None:
        if self._ref is self.NULL or not self._ref.is_inactive:
            raise Exception(constants.ERR_REQUEST, "Start: the request is none, or active")
        self._ref.restart()

    @classmethod
    @measured
    def Startall(cls, requests: Sequence[Prequest]) -> None:
        """Starts several operations."""
        for request in requests:
            request._start()


class Grequest(Request):
    """An operation that the program completes."""

    def __new__(cls, request: Any = None) -> Any:
        made = super().__new__(cls, request)
        if made._ref is not cls.NULL and not isinstance(made._ref, GeneralizedOperation):
            raise TypeError("expecting a generalized request")
        return made

    @classmethod
    def Start(
        cls,
        query_fn: Any = None,
        free_fn: Any = None,
        cancel_fn: Any = None,
        args: Any = None,
        kargs: Any = None,
    ) -> Any:
        """Starts an operation."""
        return cls._of(
            GeneralizedOperation(query_fn, free_fn, cancel_fn, tuple(args or ()), dict(kargs or {}))
        )

    def Complete(self) -> None:
        """The operation is complete."""
        self._ref.complete(None)

    def complete(self, obj: Any = None) -> None:
        """The operation is complete, with an object as its result."""
        self._ref.complete(obj)


REQUEST_NULL = Request._constant(Request.NULL, "REQUEST_NULL")
