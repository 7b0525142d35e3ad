"""The LogGP model: a network without contention, with ideal matching.

A message of s bytes occupies its sender's processor for o and its sender's interface for g + (s-1) G. Its first byte
is at the receiver o + L after the start, its last one (s-1) G later if that interface is free. The receive costs o when
the rank is in MPI (Alexandrov et al., LogGP, SPAA 1995; order of events as in LogGOPSim). A send completes when its
sender's processor is free, for its bytes are copied; a synchronous one L after the receiver matched it. Every message
is eager.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from fabricsim.errors import InputError
from fabricsim.mpi.endpoint import ANY, SYNCHRONOUS, Arrival, Steps
from fabricsim.mpi.networks.clock import Clock
from fabricsim.native import bad_input, native
from fabricsim.native_types import NativePrograms
from fabricsim.programs import Scheduler

LONGEST_POLL_PS = 1_000_000
"""Longest time of a poll that finds nothing: 1 us."""
LEAST_POLL_PS = 1000
"""Shortest time of a poll that finds nothing, if the overhead is less."""
_KEYS = ("L", "o", "g", "G")


@dataclass(frozen=True)
class LogGP:
    """Parameters, in picoseconds: latency, overhead, gap between messages, gap for each byte.

    The defaults are round numbers of an FDR InfiniBand: 1 us, 100 ns, 10 ns, 6.4 GB/s.
    """

    L: int = 1_000_000
    o: int = 100_000
    g: int = 10_000
    G: float = 156.25

    @staticmethod
    def parse(text: str) -> LogGP:
        """Parameters of a text such as "L=1us,o=100ns,g=10ns,G=0.2"; plain numbers are nanoseconds.

        Raises:
            InputError: a key is unknown, or a value is no time.
        """
        values: dict[str, float] = {}
        for part in text.split(",") if text else []:
            key, separator, value = part.partition("=")
            if not separator or key not in _KEYS:
                raise InputError(
                    f"loggp:{text}: {part!r} is no parameter: use {', '.join(_KEYS)}, as in L=1us,G=0.2"
                )
            if key in values:
                raise InputError(f"loggp:{text}: {key} is given twice")
            values[key] = _picoseconds(text, key, value)
        times = {key: round(value) for key, value in values.items() if key != "G"}
        return replace(LogGP(**times), G=values.get("G", LogGP.G))


def _picoseconds(text: str, key: str, value: str) -> float:
    try:
        number = float(value)
    except ValueError:
        try:
            with bad_input():
                return native().parse_time(value)
        except InputError as error:
            raise InputError(f"loggp:{text}: {key}: {error}") from None
    if not 0 <= number < 1e12:
        raise InputError(f"loggp:{text}: {key} = {value}: must be a time of 0 or more, in nanoseconds")
    return number * 1000


class _Send:
    """A message between its start and its receive."""

    __slots__ = ("data", "length", "request", "source", "sync", "tag")

    def __init__(self, source: int, tag: int, data: bytes, request: _Request | None) -> None:
        self.source, self.tag, self.data, self.length = source, tag, data, len(data)
        self.request = request
        """The sender's request, if the send is synchronous."""


class _Request:
    __slots__ = ("arrival", "buffer", "context", "source", "tag")

    def __init__(self) -> None:
        self.arrival: Arrival | None = None
        self.buffer: memoryview | None = None
        self.source = self.tag = self.context = 0


class LogGPNetwork:
    """Ranks that exchange messages as LogGP says."""

    def __init__(self, parameters: LogGP | None = None, polling_limit: int = 100_000_000_000) -> None:
        self.parameters = parameters or LogGP()
        self._polling_limit = polling_limit

    def described(self) -> dict[str, dict[str, float]]:
        """The network in results: its parameters in nanoseconds."""
        return {"loggp": {key: getattr(self.parameters, key) / 1000 for key in _KEYS}}

    def open(self, names: Sequence[str]) -> tuple[Scheduler, list[LogGPEndpoint]]:
        """A scheduler, and the endpoint of each rank."""
        clock = Clock(len(names), self._polling_limit)
        scheduler = Scheduler(cast("NativePrograms", clock), names)
        endpoints: list[LogGPEndpoint] = []
        for rank in range(len(names)):
            endpoints.append(LogGPEndpoint(self.parameters, clock, scheduler, rank, endpoints))
        for endpoint in endpoints:
            endpoint.size = len(names)
        return scheduler, endpoints

    def finish(self) -> Any:
        """There are no tables."""
        return None


class LogGPEndpoint(Steps):
    """Place of a rank. See `fabricsim.mpi.endpoint.Endpoint`."""

    def __init__(
        self,
        parameters: LogGP,
        clock: Clock,
        scheduler: Scheduler,
        rank: int,
        all_of_them: list[LogGPEndpoint],
    ) -> None:
        self.rank, self.size = rank, 0
        self._model, self._clock, self._scheduler = parameters, clock, scheduler
        self._all = all_of_them
        self._numbers = itertools.count(1)
        self._requests: dict[int, _Request] = {}
        self._posted: dict[int, deque[_Request]] = {}
        """Receives without a message, by context, oldest first."""
        self._unexpected: dict[int, deque[_Send]] = {}
        """Messages without a receive, by context, oldest first."""
        self._arrived: deque[tuple[int, _Send]] = deque()
        """Messages that are here, with their context, and have not been matched."""
        self._taken: dict[int, _Send] = {}
        self._send_free = self._receive_free = 0
        self._least = min(max(parameters.o, LEAST_POLL_PS), LONGEST_POLL_PS)
        self._poll = self._least
        self._woken = 0

    def now(self) -> int:
        """Simulated time in picoseconds."""
        return self._clock.time

    def woken(self) -> int:
        """Time at which the last wait or poll ended, in picoseconds; 0 before the first."""
        return self._woken

    def compute(self, picoseconds: int, call: str) -> None:
        """Lets time pass without progress."""
        if picoseconds > 0:
            self._scheduler.suspend(self.rank, picoseconds, [], call)

    def isend(self, data: memoryview, dest: int, tag: int, context: int, mode: int, call: str) -> int:
        """Starts a send."""
        model, clock = self._model, self._clock
        request = _Request()
        message = _Send(self.rank, tag, bytes(data), request if mode == SYNCHRONOUS else None)
        start = max(clock.time, self._send_free)
        self.compute(start - clock.time + model.o, call)
        serialisation = round(max(0, message.length - 1) * model.G)
        self._send_free = start + model.g + serialisation
        receiver = self._all[dest]
        clock.at(start + model.o + model.L, lambda: receiver._first_byte(context, message, serialisation))
        if mode != SYNCHRONOUS:
            request.arrival = Arrival(self.rank, tag, message.length)
        return self._add(request)

    def irecv(self, buffer: memoryview, source: int, tag: int, context: int, call: str) -> int:
        """Starts a receive."""
        request = _Request()
        request.buffer, request.source, request.tag, request.context = buffer, source, tag, context
        self._match_arrived(call)
        message = self._find(source, tag, context, take=True)
        if message is None:
            self._posted.setdefault(context, deque()).append(request)
        else:
            self._complete(request, message, call)
        return self._add(request)

    def probe(self, source: int, tag: int, context: int, take: bool, call: str) -> tuple[Arrival, int] | None:
        """The first message that matches, or None after the time of a poll."""
        self._match_arrived(call)
        message = self._find(source, tag, context, take)
        if message is None:
            self._look(call)
            return None
        return self._probed(message, take)

    def wait_probe(self, source: int, tag: int, context: int, take: bool, call: str) -> tuple[Arrival, int]:
        """Waits for a message that matches."""
        self._match_arrived(call)
        while (message := self._find(source, tag, context, take)) is None:
            self._suspend(call)
            self._match_arrived(call)
        return self._probed(message, take)

    def imrecv(self, buffer: memoryview, message: int, call: str) -> int:
        """Starts the receive of a message that a probe took."""
        request = _Request()
        request.buffer = buffer
        self._complete(request, self._taken.pop(message), call)
        return self._add(request)

    def test(self, requests: Sequence[int], call: str) -> list[Arrival | None]:
        """Arrivals of the requests that are complete. If none is, the time of a poll passes."""
        self._match_arrived(call)
        found = [self._requests[number].arrival for number in requests]
        if requests and not any(found):
            self._look(call)
            self._match_arrived(call)
            return [self._requests[number].arrival for number in requests]
        self._poll = self._least
        return found

    def wait(self, requests: Sequence[int], call: str) -> None:
        """Waits until at least one request is complete."""
        self._poll = self._least
        waiting = [self._requests[number] for number in requests]
        self._match_arrived(call)
        while not any(request.arrival for request in waiting):
            self._suspend(call)
            self._match_arrived(call)

    def is_complete(self, request: int) -> bool:
        """True if a request is complete. It takes no time."""
        return self._requests[request].arrival is not None

    def free(self, request: int) -> None:
        """Forgets a request."""
        self._requests.pop(request, None)

    def cancel(self, request: int) -> None:
        """Completes a receive that has not matched, as cancelled."""
        one = self._requests[request]
        posted = self._posted.get(one.context)
        if one.arrival is None and one.buffer is not None and posted and one in posted:
            posted.remove(one)
            one.arrival = Arrival(one.source, one.tag, 0, cancelled=True)

    def progress(self, call: str) -> None:
        """Matches the messages that are here."""
        self._match_arrived(call)

    def close(self, call: str) -> None:
        """Nothing is in progress that needs this rank: every message is eager."""
        self._match_arrived(call)

    def _add(self, request: _Request) -> int:
        number = next(self._numbers)
        self._requests[number] = request
        return number

    def _look(self, call: str) -> None:
        """A poll in vain: an overhead, repeated ones up to 1 us. It ends when a message comes."""
        self._scheduler.poll(self.rank, self._poll, [], call)
        self._woken = self._clock.time
        self._poll = min(2 * self._poll, LONGEST_POLL_PS)

    def _suspend(self, call: str) -> None:
        """Waits until a message or an acknowledgement is here."""
        self._scheduler.suspend(self.rank, None, [], call)
        self._woken = self._clock.time

    def _first_byte(self, context: int, message: _Send, serialisation: int) -> None:
        """The first byte of a message is at this interface."""
        clock = self._clock
        begin = max(clock.time, self._receive_free)
        self._receive_free = begin + self._model.g + serialisation
        arrives = begin + serialisation
        if arrives == clock.time:
            self._arrive(context, message)
        else:
            clock.at(arrives, lambda: self._arrive(context, message))

    def _arrive(self, context: int, message: _Send) -> None:
        self._arrived.append((context, message))
        self._clock.wake(self.rank)

    def _match_arrived(self, call: str) -> None:
        """Matches messages in the order of their arrival. Each that finds a receive costs an overhead."""
        while self._arrived:
            context, message = self._arrived.popleft()
            posted = self._posted.get(context)
            for request in posted or ():
                if request.source in (ANY, message.source) and request.tag in (ANY, message.tag):
                    assert posted is not None
                    posted.remove(request)
                    self._complete(request, message, call)
                    break
            else:
                self._unexpected.setdefault(context, deque()).append(message)

    def _find(self, source: int, tag: int, context: int, take: bool) -> _Send | None:
        """The oldest unexpected message that matches."""
        waiting = self._unexpected.get(context)
        for message in waiting or ():
            if source in (ANY, message.source) and tag in (ANY, message.tag):
                if take:
                    assert waiting is not None
                    waiting.remove(message)
                return message
        return None

    def _probed(self, message: _Send, take: bool) -> tuple[Arrival, int]:
        number = 0
        if take:
            number = next(self._numbers)
            self._taken[number] = message
        return Arrival(message.source, message.tag, message.length), number

    def _complete(self, request: _Request, message: _Send, call: str) -> None:
        """Delivers a message into its receive's buffer."""
        self.compute(self._model.o, call)
        buffer = request.buffer
        assert buffer is not None
        fits = min(len(buffer), message.length)
        buffer[:fits] = message.data[:fits]
        request.arrival = Arrival(message.source, message.tag, message.length, message.length > fits)
        if (sender := message.request) is not None:
            endpoint, tag, length = self._all[message.source], message.tag, message.length
            self._clock.at(
                self._clock.time + self._model.L, lambda: endpoint._acknowledged(sender, tag, length)
            )

    def _acknowledged(self, request: _Request, tag: int, length: int) -> None:
        request.arrival = Arrival(self.rank, tag, length)
        self._clock.wake(self.rank)
