"""Endpoint of a rank that records what the rank does: calls, messages, waits and computations.

It is between MPI's objects and any network, so that the record is the same kind on all of them. Reading the time is all
that it does to the endpoint below: a run with a record takes the same simulated time as one without.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from fabricsim.ranks.log import CALC, DONE, POST, SEND, Computation, RankLog, Receive, Send, Wait


def _outside() -> bool:
    return False


class Recorder:
    """An endpoint with the interface of `fabricsim.mpi.endpoint.Endpoint`.

    Args:
        inner: the endpoint of a network.
        log: record of the rank.
    """

    def __init__(self, inner: Any, log: RankLog) -> None:
        self._inner, self._log = inner, log
        self.rank, self.size = inner.rank, inner.size
        log.host = str(getattr(inner, "host", f"rank{inner.rank}"))
        self.in_call: Callable[[], bool] = _outside
        """True inside a call of MPI that its caller records; other uses of the endpoint count as calls of their own."""
        self._open: dict[int, Send | Receive] = {}
        """Operations that are not complete, by request."""
        self._taken: dict[int, Receive] = {}
        self._wait: Wait | None = None
        """Wait whose operation the next test shows."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def now(self) -> int:
        """Simulated time in picoseconds."""
        return int(self._inner.now())

    def compute(self, picoseconds: int, call: str) -> None:
        """Lets time pass without progress."""
        log, begin = self._log, self.now()
        log.steps.append((CALC, picoseconds))
        self._inner.compute(picoseconds, call)
        end = self.now()
        log.computations.append(Computation(begin, end, len(log.steps) - 1))
        if self.in_call():
            log.nested += end - begin
        log.end = end

    def isend(self, data: memoryview, dest: int, tag: int, context: int, mode: int, call: str) -> int:
        """Starts a send."""
        log = self._log
        begin, number = self.now(), len(log.steps)
        send = Send(self.rank, dest, tag, context, data.nbytes, begin, number, len(log.calls))
        log.sends.append(send)
        log.steps.append((SEND, send))
        request = int(self._inner.isend(data, dest, tag, context, mode, call))
        send.end = self.now()
        self._open[request] = send
        self._ends("Isend", send.begin)
        return request

    def irecv(self, buffer: memoryview, source: int, tag: int, context: int, call: str) -> int:
        """Starts a receive."""
        begin = self.now()
        receive = self._receive(source, tag, context, begin)
        request = int(self._inner.irecv(buffer, source, tag, context, call))
        self._open[request] = receive
        self._ends("Irecv", begin)
        return request

    def probe(self, source: int, tag: int, context: int, take: bool, call: str) -> Any:
        """Makes progress once, and returns the first message that matches."""
        begin = self.now()
        found = self._inner.probe(source, tag, context, take, call)
        self._probed(found, context, take, begin)
        self._ends("Iprobe", begin)
        return found

    def wait_probe(self, source: int, tag: int, context: int, take: bool, call: str) -> Any:
        """Waits for a message that matches."""
        begin = self.now()
        found = self._inner.wait_probe(source, tag, context, take, call)
        self._probed(found, context, take, begin)
        self._ends("Probe", begin)
        return found

    def imrecv(self, buffer: memoryview, message: int, call: str) -> int:
        """Starts the receive of a message that a probe took."""
        begin = self.now()
        request = int(self._inner.imrecv(buffer, message, call))
        self._open[request] = self._taken.pop(message)
        self._ends("Imrecv", begin)
        return request

    def test(self, requests: Sequence[int], call: str) -> Any:
        """Makes progress once, and returns the arrivals of requests that are complete."""
        begin = self.now()
        arrivals = self._inner.test(requests, call)
        wait = self._wait or self._waited(begin)
        self._wait = None
        end = self.now()
        for request, arrival in zip(requests, arrivals, strict=True):
            operation = None if arrival is None else self._open.pop(request, None)
            if operation is not None:
                self._done(operation, arrival, end)
                if wait is not None and wait.ended_by is None:
                    wait.ended_by = operation
        self._ends("Test", begin)
        return arrivals

    def wait(self, requests: Sequence[int], call: str) -> None:
        """Waits until at least one request is complete."""
        begin = self.now()
        self._inner.wait(requests, call)
        self._wait = self._waited(begin)
        self._ends("Wait", begin)

    def free(self, request: int) -> None:
        """Forgets a request."""
        self._open.pop(request, None)
        self._inner.free(request)

    def cancel(self, request: int) -> None:
        """Completes a receive that has not matched."""
        self._inner.cancel(request)

    def progress(self, call: str) -> None:
        """Makes progress once."""
        begin = self.now()
        self._inner.progress(call)
        self._ends("progress", begin)

    def close(self, call: str) -> None:
        """Completes what is in progress."""
        begin = self.now()
        self._inner.close(call)
        self._ends("Finalize", begin)

    def _receive(self, source: int, tag: int, context: int, posted: int) -> Receive:
        log = self._log
        receive = Receive(self.rank, source, tag, context, posted, len(log.steps), len(log.calls))
        log.receives.append(receive)
        log.steps.append((POST, receive))
        return receive

    def _waited(self, begin: int) -> Wait | None:
        """The wait of a use of the endpoint since `begin`; None if it only worked."""
        log, woken = self._log, int(self._inner.woken())
        if woken <= begin:
            return None
        wait = Wait(begin, woken, len(log.steps), len(log.calls))
        log.waits.append(wait)
        return wait

    def _done(self, operation: Send | Receive, arrival: Any, now: int) -> None:
        operation.done = now
        if isinstance(operation, Receive):
            operation.is_cancelled = arrival.cancelled
            if not arrival.cancelled:
                operation.source, operation.tag = arrival.source, arrival.tag
                operation.bytes = arrival.length
        self._log.steps.append((DONE, operation))

    def _probed(self, found: Any, context: int, take: bool, begin: int) -> None:
        wait = self._waited(begin)
        if found is None:
            return
        arrival, number = found
        receive = self._receive(arrival.source, arrival.tag, context, begin)
        receive.bytes = arrival.length
        if take:
            self._taken[number] = receive
        else:
            receive.is_peek = True
        if wait is not None:
            wait.ended_by = receive

    def _ends(self, name: str, begin: int) -> None:
        """A use of the endpoint ends. Outside calls it is a call, unless it took no time."""
        if not self.in_call():
            end = self.now()
            if end > begin or name == "Finalize":
                self._log.call(name, begin, end)
