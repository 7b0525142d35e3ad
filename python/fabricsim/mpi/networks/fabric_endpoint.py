"""Place of a rank on the simulated fabric."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NoReturn

from fabricsim.errors import InputError
from fabricsim.mpi.endpoint import STANDARD, Arrival, Fields, arrival_of
from fabricsim.mpi.networks.identities import Identities
from fabricsim.native import bad_input
from fabricsim.native_types import NativeMpiPrograms
from fabricsim.programs import Scheduler

MOST_CONTEXTS = 1 << 16
"""Contexts are numbers of 16 bits in the headers of messages."""
MOST_TAGS = 1 << 31
MOST_BYTES = 1 << 31
"""Longest message of a reliable connection."""
MOST_COPIED = 4096
"""Messages up to this are copied: their memory is in no registration cache, and needs no identity."""


class FabricEndpoint:
    """Place of a rank. See `fabricsim.mpi.endpoint.Endpoint`."""

    def __init__(
        self,
        run: NativeMpiPrograms,
        scheduler: Scheduler,
        identities: Identities,
        rank: int,
        size: int,
        host: str,
    ) -> None:
        self.rank, self.size, self.host = rank, size, host
        self._native, self._scheduler, self._identities = run, scheduler, identities
        self._calls: dict[int, str] = {}
        """The call that started each request."""
        self.waits_for: Sequence[int] = ()
        self.now: Callable[[], int] = run.now
        """Simulated time in picoseconds."""

    def woken(self) -> int:
        """Time at which the last wait inside a call ended, in picoseconds; 0 before the first."""
        return self._native.woken(self.rank)

    def compute(self, picoseconds: int, call: str) -> None:
        """Lets time pass without progress."""
        if picoseconds > 0:
            self._scheduler.suspend(self.rank, picoseconds, [], call)

    def isend(self, data: memoryview, dest: int, tag: int, context: int, mode: int, call: str) -> int:
        """Starts a send."""
        request = self._start_send(data, dest, tag, context, mode, call)
        self._calls[request] = call
        return request

    def irecv(self, buffer: memoryview, source: int, tag: int, context: int, call: str) -> int:
        """Starts a receive."""
        request = self._start_receive(buffer, source, tag, context, call)
        self._calls[request] = call
        return request

    def send(self, data: memoryview, dest: int, tag: int, context: int, mode: int, call: str) -> None:
        """Sends, and waits until the memory may be reused."""
        rank, size, scheduler = self.rank, len(data), self._scheduler
        if size > MOST_BYTES or not (
            0 <= dest < self.size and 0 <= tag < MOST_TAGS and 0 <= context < MOST_CONTEXTS
        ):
            self._refuse(dest, tag, context, call, size=size)
        scheduler.begin(rank, call)
        memory = self._identities.number(data) if size > MOST_COPIED else 0
        self.waits_for = (dest,)
        step = self._native.send_and_wait(rank, data, (dest, tag, context, mode, memory))
        if step != rank:
            scheduler.switch(step)
        self.waits_for = ()

    def receive(
        self, buffer: memoryview, source: int, tag: int, context: int, call: str, peers: Sequence[int]
    ) -> Fields:
        """Receives, and waits for the message."""
        rank, scheduler, native = self.rank, self._scheduler, self._native
        if not (-1 <= source < self.size and -1 <= tag < MOST_TAGS and 0 <= context < MOST_CONTEXTS):
            self._refuse(source, tag, context, call, least=-1)
        if buffer.readonly:
            raise InputError(f"{call}: the buffer of a receive must be writable")
        scheduler.begin(rank, call)
        memory = self._identities.number(buffer) if len(buffer) > MOST_COPIED else 0
        self.waits_for = peers
        step, fields = native.receive_and_wait(rank, buffer, (source, tag, context, memory))
        if fields is None:
            scheduler.switch(step)
            (fields,) = native.finished(rank)
        self.waits_for = ()
        return fields

    def exchange(
        self,
        received: tuple[memoryview, int],
        sent: tuple[memoryview, int],
        tag: int,
        context: int,
        call: str,
        waits: bool,
    ) -> tuple[list[int], Sequence[Fields]]:
        """Starts a receive and a send, of ranks that there are."""
        rank, scheduler, native, number = self.rank, self._scheduler, self._native, self._identities.number
        buffer, source = received
        data, dest = sent
        if len(data) > MOST_BYTES or not (0 <= tag < MOST_TAGS and 0 <= context < MOST_CONTEXTS):
            self._refuse(dest, tag, context, call, size=len(data))
        scheduler.begin(rank, call)
        first = (source, tag, context, number(buffer) if len(buffer) > MOST_COPIED else 0)
        second = (dest, tag, context, STANDARD, number(data) if len(data) > MOST_COPIED else 0)
        if waits:
            self.waits_for = (source,)
        step, *requests = native.exchange(rank, (buffer, first), (data, second), waits)
        if step != rank:
            scheduler.switch(step)
        if waits:
            self.waits_for = ()
            return [], native.finished(rank)
        self._calls[requests[0]] = self._calls[requests[1]] = call
        return requests, ()

    def has_received(self) -> bool:
        """True if the receive of an exchange that waits is complete."""
        return self._native.has_received(self.rank)

    def _start_send(self, data: memoryview, dest: int, tag: int, context: int, mode: int, call: str) -> int:
        rank, size, scheduler = self.rank, len(data), self._scheduler
        if size > MOST_BYTES or not (
            0 <= dest < self.size and 0 <= tag < MOST_TAGS and 0 <= context < MOST_CONTEXTS
        ):
            self._refuse(dest, tag, context, call, size=size)
        scheduler.begin(rank, call)
        memory = self._identities.number(data) if size > MOST_COPIED else 0
        step, request = self._native.send(rank, data, (dest, tag, context, mode, memory))
        if step != rank:
            scheduler.switch(step)
        return request

    def _start_receive(self, buffer: memoryview, source: int, tag: int, context: int, call: str) -> int:
        rank, scheduler = self.rank, self._scheduler
        if not (-1 <= source < self.size and -1 <= tag < MOST_TAGS and 0 <= context < MOST_CONTEXTS):
            self._refuse(source, tag, context, call, least=-1)
        if buffer.readonly:
            raise InputError(f"{call}: the buffer of a receive must be writable")
        scheduler.begin(rank, call)
        memory = self._identities.number(buffer) if len(buffer) > MOST_COPIED else 0
        step, request = self._native.receive(rank, buffer, (source, tag, context, memory))
        if step != rank:
            scheduler.switch(step)
        return request

    def _end_of(self, requests: Sequence[int], is_foreign: bool) -> Sequence[Fields]:
        """Waits for all requests, and forgets them."""
        rank, native = self.rank, self._native
        step = native.wait_all(rank, requests, is_foreign)
        if step != rank:
            self._scheduler.switch(step)
        return native.finished(rank)

    def probe(self, source: int, tag: int, context: int, take: bool, call: str) -> tuple[Arrival, int] | None:
        """Makes progress once, and returns the first message that matches."""
        return self._probe(source, tag, context, take, False, call)

    def wait_probe(self, source: int, tag: int, context: int, take: bool, call: str) -> tuple[Arrival, int]:
        """Waits for a message that matches."""
        found = self._probe(source, tag, context, take, True, call)
        if found is None:
            raise InputError(f"{call}: the wait ended without a message")
        return found

    def _probe(
        self, source: int, tag: int, context: int, take: bool, blocks: bool, call: str
    ) -> tuple[Arrival, int] | None:
        if not (-1 <= source < self.size and -1 <= tag < MOST_TAGS and 0 <= context < MOST_CONTEXTS):
            self._refuse(source, tag, context, call, least=-1)
        self._scheduler.begin(self.rank, call)
        self._follow(self._native.probe(self.rank, (source, tag, context), take, blocks))
        found = self._native.found(self.rank)
        return None if found is None else (Arrival(*found[0]), found[1])

    def imrecv(self, buffer: memoryview, message: int, call: str) -> int:
        """Starts the receive of a message that a probe took."""
        if buffer.readonly:
            raise InputError(f"{call}: the buffer of a receive must be writable")
        self._scheduler.begin(self.rank, call)
        memory = self._identities.number(buffer) if buffer.nbytes > MOST_COPIED else 0
        with bad_input():
            step, request = self._native.receive_taken(self.rank, buffer, message, memory)
        self._calls[request] = call
        self._follow(step)
        return request

    def test(self, requests: Sequence[int], call: str) -> list[Arrival | None]:
        """Makes progress once, unless a request is complete."""
        numbers = list(requests)
        rows = self._native.arrivals(self.rank, numbers)
        if not any(rows):
            self._scheduler.begin(self.rank, call)
            self._follow(self._native.test_requests(self.rank, numbers))
            rows = self._native.arrivals(self.rank, numbers)
        return [None if row is None else arrival_of(row) for row in rows]

    def wait(self, requests: Sequence[int], call: str) -> None:
        """Waits until at least one request is complete."""
        rank, numbers = self.rank, list(requests)
        self._scheduler.begin(rank, call)
        self._follow(self._native.wait_requests(rank, numbers, self._is_foreign(numbers, call)))

    def _is_foreign(self, requests: Sequence[int], call: str) -> bool:
        """True if another call has started one of the requests."""
        return not {call}.issuperset(map(self._calls.get, requests))

    def complete(self, request: int, call: str) -> Arrival:
        """Waits until a request is complete, and forgets it."""
        self._scheduler.begin(self.rank, call)
        is_foreign = self._calls.pop(request, None) != call
        return arrival_of(self._end_of([request], is_foreign)[0])

    def is_complete(self, request: int) -> bool:
        """True if a request is complete. It takes no time."""
        return self._native.arrivals(self.rank, [request])[0] is not None

    def wait_some(self, requests: Sequence[int], call: str) -> list[tuple[int, Arrival]]:
        """Waits until at least one request is complete, and forgets those that are."""
        rank, native, calls, numbers = self.rank, self._native, self._calls, list(requests)
        if not self._is_foreign(numbers, call):
            # Each of several waits would begin as the one before ends, and none is charged: they are one.
            self._scheduler.begin(rank, call)
            rows = self._end_of(numbers, False)
            for number in numbers:
                del calls[number]
            return list(zip(numbers, map(arrival_of, rows), strict=True))
        self.wait(numbers, call)
        found = []
        for number, row in zip(numbers, native.arrivals(rank, numbers), strict=True):
            if row is not None:
                calls.pop(number, None)
                native.free(rank, number)
                found.append((number, arrival_of(row)))
        return found

    def free(self, request: int) -> None:
        """Forgets a request."""
        self._calls.pop(request, None)
        self._native.free(self.rank, request)

    def cancel(self, request: int) -> None:
        """Completes a receive that has not matched."""
        self._native.cancel(self.rank, request)

    def progress(self, call: str) -> None:
        """Makes progress once."""
        self._scheduler.begin(self.rank, call)
        self._follow(self._native.test_requests(self.rank, []))

    def close(self, call: str) -> None:
        """Completes what is in progress."""
        self._scheduler.begin(self.rank, call)
        self._follow(self._native.close(self.rank))

    def _follow(self, step: int) -> None:
        """Lets another program go on if a call says so."""
        if step != self.rank:
            self._scheduler.switch(step)

    def _refuse(
        self, peer: int, tag: int, context: int, call: str, least: int = 0, size: int = 0
    ) -> NoReturn:
        if not least <= peer < self.size:
            raise InputError(f"{call}: rank {peer}: must be {least} to {self.size - 1}")
        if not least <= tag < MOST_TAGS:
            raise InputError(f"{call}: tag {tag}: must be {least} to {MOST_TAGS - 1}")
        if size > MOST_BYTES:
            raise InputError(f"{call}: {size} B: a message has at most {MOST_BYTES} B")
        raise InputError(f"{call}: context {context}: must be 0 to {MOST_CONTEXTS - 1}")
