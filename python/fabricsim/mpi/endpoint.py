"""Matched messages of bytes between ranks: the interface of MPI's objects to a network.

Everything above it (datatypes, pickling, communicators, collectives) is the same on every network. Matching and
protocols are below.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple, Protocol

from fabricsim.programs import Scheduler

ANY = -1
"""Any source, any tag."""

STANDARD, BUFFERED, SYNCHRONOUS, READY = range(4)
"""Modes of a send."""


class Arrival(NamedTuple):
    """Description of a message: the result of a receive or of a probe."""

    source: int
    """World rank of the sender."""
    tag: int
    length: int
    """Bytes of the message as sent."""
    truncated: bool = False
    """The buffer was too small: only the bytes that fit were written."""
    cancelled: bool = False


Fields = tuple[int, int, int, bool, bool]
"""Fields of an `Arrival`."""
arrival_of: Callable[[Fields], Arrival] = partial(tuple.__new__, Arrival)
"""An arrival of its fields: without the call of a function of Python that `Arrival` would be."""


class Endpoint(Protocol):
    """Place of one rank in a network.

    Calls take simulated time as the network's model says, and other ranks run meanwhile. A context is a whole number
    of 0 or more: messages match only within theirs. Matching is non-overtaking for each source and context. `call`
    describes the caller in the report of a deadlock: `Recv(source=3, tag=7)`.
    """

    rank: int
    size: int

    waits_for: Sequence[int]
    """World ranks for which the rank waits in `send` or `receive`, while it does."""

    def isend(self, data: memoryview, dest: int, tag: int, context: int, mode: int, call: str) -> int:
        """Starts a send and returns a request.

        `data` are contiguous bytes, which the protocol reads when it copies or transfers them. The request completes
        when they may be reused; a synchronous one after the receiver matched.
        """
        ...

    def irecv(self, buffer: memoryview, source: int, tag: int, context: int, call: str) -> int:
        """Starts a receive into contiguous writable bytes and returns a request. Source and tag may be `ANY`."""
        ...

    def send(self, data: memoryview, dest: int, tag: int, context: int, mode: int, call: str) -> None:
        """Sends: `isend`, and `complete` of its request."""
        ...

    def receive(
        self, buffer: memoryview, source: int, tag: int, context: int, call: str, peers: Sequence[int]
    ) -> Fields:
        """Receives: `irecv`, and `complete` of its request, whose arrival's fields are returned.

        `peers`: world ranks that may send the message.
        """
        ...

    def exchange(
        self,
        received: tuple[memoryview, int],
        sent: tuple[memoryview, int],
        tag: int,
        context: int,
        call: str,
        waits: bool,
    ) -> tuple[list[int], Sequence[Fields]]:
        """Starts a receive and a send: `irecv`, and a standard `isend`, each of a buffer and a rank.

        Returns their requests. With `waits` a network may also wait for both; then it returns no requests, but the
        arrivals' fields.
        """
        ...

    def has_received(self) -> bool:
        """True if the receive of an exchange that waits is complete. It takes no time."""
        ...

    def probe(self, source: int, tag: int, context: int, take: bool, call: str) -> tuple[Arrival, int] | None:
        """Makes progress once, and returns the first message that matches, or None.

        With `take` the message takes no further part in matching: the second value is its number for `imrecv`.
        """
        ...

    def wait_probe(self, source: int, tag: int, context: int, take: bool, call: str) -> tuple[Arrival, int]:
        """Waits for a message that matches. See `probe`."""
        ...

    def imrecv(self, buffer: memoryview, message: int, call: str) -> int:
        """Starts the receive of a message that a probe took."""
        ...

    def test(self, requests: Sequence[int], call: str) -> list[Arrival | None]:
        """Makes progress once, which takes the time of a poll. Returns the arrival of each request that is complete.

        The number of a complete request is valid until `free`. Of sends the arrival has the own rank as source.
        """
        ...

    def wait(self, requests: Sequence[int], call: str) -> None:
        """Waits, making progress, until at least one request is complete."""
        ...

    def complete(self, request: int, call: str) -> Arrival:
        """Waits until a request is complete, and forgets it."""
        ...

    def wait_some(self, requests: Sequence[int], call: str) -> list[tuple[int, Arrival]]:
        """Waits until at least one request is complete. Forgets those that are, and returns them.

        A network may wait for the others as well, if the rank would do nothing else than that.
        """
        ...

    def is_complete(self, request: int) -> bool:
        """True if a request is complete. It takes no time."""
        ...

    def free(self, request: int) -> None:
        """Forgets a request. One that is not complete still completes."""
        ...

    def cancel(self, request: int) -> None:
        """Completes a receive that has not matched, as cancelled. Other requests are not changed."""
        ...

    def progress(self, call: str) -> None:
        """Makes progress once."""
        ...

    def now(self) -> int:
        """Simulated time in picoseconds."""
        ...

    def woken(self) -> int:
        """Time at which the last wait inside a call ended, in picoseconds; what follows in the call is work.

        0 before the first wait. A call that did not wait leaves it as it was.
        """
        ...

    def compute(self, picoseconds: int, call: str) -> None:
        """Lets time pass without progress."""
        ...

    def close(self, call: str) -> None:
        """Ends the use of the network by this rank: completes what is still in progress."""
        ...


class Steps:
    """Calls that consist of others, for endpoints that have no shorter way."""

    waits_for: Sequence[int] = ()

    def send(
        self: Endpoint, data: memoryview, dest: int, tag: int, context: int, mode: int, call: str
    ) -> None:
        """Sends, and waits until the memory may be reused."""
        request = self.isend(data, dest, tag, context, mode, call)
        self.waits_for = (dest,)
        self.complete(request, call)
        self.waits_for = ()

    def receive(
        self: Endpoint,
        buffer: memoryview,
        source: int,
        tag: int,
        context: int,
        call: str,
        peers: Sequence[int],
    ) -> Fields:
        """Receives, and waits for the message."""
        request = self.irecv(buffer, source, tag, context, call)
        self.waits_for = peers
        arrival = self.complete(request, call)
        self.waits_for = ()
        return arrival

    def exchange(
        self: Endpoint,
        received: tuple[memoryview, int],
        sent: tuple[memoryview, int],
        tag: int,
        context: int,
        call: str,
        waits: bool,
    ) -> tuple[list[int], Sequence[Fields]]:
        """Starts a receive and a send."""
        buffer, source = received
        data, dest = sent
        first = self.irecv(buffer, source, tag, context, call)
        return [first, self.isend(data, dest, tag, context, STANDARD, call)], ()

    def has_received(self) -> bool:
        """False: none waits."""
        return False

    def complete(self: Endpoint, request: int, call: str) -> Arrival:
        """Waits until a request is complete, and forgets it."""
        while True:
            for _, arrival in self.wait_some([request], call):
                return arrival

    def wait_some(self: Endpoint, requests: Sequence[int], call: str) -> list[tuple[int, Arrival]]:
        """Waits until at least one request is complete, and forgets those that are."""
        self.wait(requests, call)
        arrivals = zip(requests, self.test(requests, call), strict=True)
        found = [(request, arrival) for request, arrival in arrivals if arrival is not None]
        for request, _ in found:
            self.free(request)
        return found


class Network(Protocol):
    """A network that ranks use."""

    def open(self, names: Sequence[str]) -> tuple[Scheduler, list[Any]]:
        """A scheduler whose programs are the ranks in order, and their endpoints."""
        ...

    def finish(self) -> Any:
        """Result of the network after the ranks have ended: of a fabric its `Result`; None without tables."""
        ...
