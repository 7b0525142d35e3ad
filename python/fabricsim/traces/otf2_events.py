"""Reader of the events of OTF2 archives. It runs in a separate process, `otf2_process`.

Sizes of collective operations are those that Score-P states (`scorep_mpi_coll_bytes_*`): what goes to all counts
once for each rank.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fabricsim.errors import InputError

_COMPUTE, _SEND, _RECEIVE, _WAIT = range(4)
_COLLECTIVES = (
    "barrier", "bcast", "reduce", "allreduce", "gather", "scatter", "allgather", "alltoall", "reduce_scatter", "scan",
)  # fmt: skip
"""Kinds of records from 4 on."""
_OPERATIONS = {
    "BARRIER": "barrier",
    "BCAST": "bcast",
    "REDUCE": "reduce",
    "ALLREDUCE": "allreduce",
    "GATHER": "gather",
    "GATHERV": "gather",
    "SCATTER": "scatter",
    "SCATTERV": "scatter",
    "ALLGATHER": "allgather",
    "ALLGATHERV": "allgather",
    "ALLTOALL": "alltoall",
    "ALLTOALLV": "alltoall",
    "ALLTOALLW": "alltoall",
    "REDUCE_SCATTER": "reduce_scatter",
    "REDUCE_SCATTER_BLOCK": "reduce_scatter",
    "SCAN": "scan",
    "EXSCAN": "scan",
}
"""Operations of OTF2 that move data. The others make or free something, and count as barriers."""
_INTERRUPTED = "INTERRUPTED_BY_CALLBACK"
"""Error of the C library after an exception in Python, which it does not name."""
_INVALID = "a definition or an event has an invalid value or reference"
_ONE_SIDED = ("RmaPut", "RmaGet", "RmaAtomic")
_SELF = -1
"""A communicator of one rank."""


@dataclass
class _Rank:
    """A rank while its events are read."""

    number: int
    records: array[int] = field(default_factory=lambda: array("q"))
    depth: int = 0
    """MPI calls that it is in."""
    left: int | None = None
    """Time of its last return from one, in ticks."""
    requests: dict[int, int] = field(default_factory=dict)
    """Requests that have not ended, with the place of the record of a receive or a collective, or -1."""
    known: dict[int, int] = field(default_factory=dict)
    """Numbers of requests in records, by those of the trace, which come again."""
    issued: int = 0
    probed: dict[int, Any] = field(default_factory=dict)
    """Messages that a matched probe has found."""
    exchanged: list[int] = field(default_factory=list)
    """Sends of `MPI_Sendrecv`, which end with it."""

    def add(self, kind: int, peer: int, tag: int, amount: int, communicator: int, request: int = -1) -> None:
        self.records.extend((kind, peer, tag, amount, communicator, request))

    def issue(self, request: int, place: int) -> int:
        """The number of a request that begins."""
        self.requests[request] = place
        self.known[request] = self.issued
        self.issued += 1
        return self.issued - 1

    def move_last(self, place: int) -> None:
        """Moves the last record to a place, and replaces the one that is there."""
        self.records[place : place + 6] = self.records[-6:]
        del self.records[-6:]

    def wait(self, number: int) -> None:
        self.add(_WAIT, 0, 0, 0, 0, number)


def read_events(otf2: Any, path: str) -> tuple[list[array[int]], dict[int, list[int]]]:
    """Reads the events of an archive.

    Args:
        otf2: the package.
        path: its anchor file.

    Returns:
        Records of the ranks, and the members of the communicators from 1 on; see `fabricsim.traces.otf2.Calls`.

    Raises:
        InputError: the archive is damaged, has no MPI, or one-sided communication.
    """
    with _damage(path), otf2.reader.open(path) as trace:
        return _Reader(path, trace).read()


@contextmanager
def _damage(path: str) -> Iterator[None]:
    """Every error about a damaged archive becomes one message.

    The package has several kinds of errors and no common one. Definitions and events that it returns may lack what
    they refer to.
    """
    try:
        yield
    except (InputError, MemoryError):
        raise
    except Exception as error:
        text = " ".join(f"{type(error).__name__}: {error}".split())
        if _INTERRUPTED in text:
            text = _INVALID
        elif type(error).__module__.partition(".")[0] == "_otf2":
            text = text.removeprefix("Error: ")
        else:
            text = f"{_INVALID} ({text})"
        raise InputError(f"{path}: no OTF2 archive, or damaged: {text}") from error


class _Reader:
    """Reads the events of an archive in the order of their times."""

    def __init__(self, path: str, trace: Any) -> None:
        self.path = path
        self.trace = trace
        resolution = trace.definitions.clock_properties.timer_resolution
        if resolution < 1:
            raise InputError(f"{path}: {resolution} ticks of the timer in a second: must be 1 or more")
        self.ns_per_tick = 1e9 / resolution
        world = [group for group in trace.definitions.groups if _is_world(group)]
        if not world:
            raise InputError(f"{path}: the archive has no MPI ranks")
        self.ranks = {location: _Rank(number) for number, location in enumerate(world[0].members)}
        self.communicators: dict[int, int] = {}
        self.members: dict[int, list[int]] = {0: list(range(len(self.ranks)))}
        self.mpi_regions: dict[int, bool] = {}

        self.check_files()

    def check_files(self) -> None:
        """Checks that the ranks have the files of their events, and all or none those of their definitions."""
        folder = Path(self.path).with_suffix("")
        events = [folder / f"{location._ref}.evt" for location in self.ranks]
        definitions = [path.with_suffix(".def") for path in events]
        required = events + (definitions if any(path.is_file() for path in definitions) else [])
        for path in required:
            if not path.is_file():
                raise InputError(
                    f"{self.path}: no OTF2 archive, or damaged: {folder.name}/{path.name} is missing"
                )

    def read(self) -> tuple[list[array[int]], dict[int, list[int]]]:
        for location, event in self.trace.events:
            rank = self.ranks.get(location)
            if rank is None:
                continue
            name = type(event).__name__
            take = _EVENTS.get(name)
            if take is not None:
                try:
                    take(self, rank, event)
                except OverflowError as error:
                    raise InputError(
                        f"{self.path}: rank {rank.number}: {event}: a number beyond 2^63"
                    ) from error
            elif name in _ONE_SIDED:
                raise InputError(
                    f"{self.path}: rank {rank.number}: {name}: one-sided communication is not replayed"
                )
        if all(rank.left is None for rank in self.ranks.values()):
            raise InputError(f"{self.path}: the archive has no calls of MPI (regions with the paradigm MPI)")
        for rank in self.ranks.values():
            _drop_unfinished(rank)
        groups = {number: members for number, members in self.members.items() if number > 0}
        return [rank.records for rank in self.ranks.values()], groups

    def enter(self, rank: _Rank, event: Any) -> None:
        if not self.is_mpi(event.region):
            return
        if rank.depth == 0 and rank.left is not None and event.time > rank.left:
            rank.add(_COMPUTE, 0, 0, round((event.time - rank.left) * self.ns_per_tick), 0)
        rank.depth += 1

    def leave(self, rank: _Rank, event: Any) -> None:
        if not self.is_mpi(event.region):
            return
        # A trace may begin within a call.
        rank.depth = max(rank.depth - 1, 0)
        rank.left = event.time
        for number in rank.exchanged:
            rank.wait(number)
        rank.exchanged.clear()

    def is_mpi(self, region: Any) -> bool:
        reference = region._ref
        found = self.mpi_regions.get(reference)
        if found is None:
            found = self.mpi_regions[reference] = _name(region.paradigm) == "MPI"
        return found

    def send(self, rank: _Rank, event: Any) -> None:
        """A send that blocks. With a receive in the same call the two are one exchange, so it ends with the call."""
        number = rank.issued
        rank.issued += 1
        rank.exchanged.append(number)
        self.message(rank, _SEND, event, event.receiver, number)

    def isend(self, rank: _Rank, event: Any) -> None:
        self.message(rank, _SEND, event, event.receiver, rank.issue(event.request_id, -1))

    def receive(self, rank: _Rank, event: Any) -> None:
        self.message(rank, _RECEIVE, event, event.sender, -1)

    def receive_request(self, rank: _Rank, event: Any) -> None:
        """A receive begins: who sends is known when it ends."""
        place = len(rank.records)
        number = rank.issue(event.request_id, place)
        rank.add(_RECEIVE, 0, 0, 0, 0, number)

    def ireceive(self, rank: _Rank, event: Any) -> None:
        place = rank.requests.pop(event.request_id, None)
        if place is None:
            return
        number = rank.known.pop(event.request_id)
        self.message(rank, _RECEIVE, event, event.sender, number)
        rank.move_last(place)
        rank.wait(number)

    def probe(self, rank: _Rank, event: Any) -> None:
        rank.probed[event.message_id] = event

    def matched_receive(self, rank: _Rank, event: Any) -> None:
        """A receive of the message that a probe has found, which states its envelope."""
        found = rank.probed.pop(event.message_id, None)
        if found is not None:
            self.message(rank, _RECEIVE, found, found.sender, -1, event.msg_length)

    def matched_request(self, rank: _Rank, event: Any) -> None:
        found = rank.probed.pop(event.message_id, None)
        if found is not None:
            place = len(rank.records)
            self.message(rank, _RECEIVE, found, found.sender, rank.issue(event.request_id, place), 0)

    def matched_end(self, rank: _Rank, event: Any) -> None:
        place = rank.requests.pop(event.request_id, None)
        if place is not None:
            rank.records[place + 3] = event.msg_length
            rank.wait(rank.known.pop(event.request_id))

    def end(self, rank: _Rank, event: Any) -> None:
        if rank.requests.pop(event.request_id, None) is not None:
            rank.wait(rank.known.pop(event.request_id))

    def cancel(self, rank: _Rank, event: Any) -> None:
        place = rank.requests.pop(event.request_id, None)
        rank.known.pop(event.request_id, None)
        if place is not None and place >= 0:
            _erase(rank, place)

    def collective_request(self, rank: _Rank, event: Any) -> None:
        """A collective begins that does not block. Its end states which one."""
        place = len(rank.records)
        number = rank.issue(event.request_id, place)
        rank.add(_COMPUTE, 0, 0, 0, 0, number)

    def collective_complete(self, rank: _Rank, event: Any) -> None:
        """A collective that does not block ends. If it began before the trace, it is read as one that blocks."""
        place = rank.requests.pop(event.request_id, None)
        if place is None:
            self.collective(rank, event)
            return
        number, before = rank.known.pop(event.request_id), len(rank.records)
        self.collective(rank, event, number)
        if len(rank.records) > before:
            rank.move_last(place)
            rank.wait(number)

    def collective(self, rank: _Rank, event: Any, request: int = -1) -> None:
        communicator = self.communicator(event.communicator)
        if communicator == _SELF:
            return
        operation = _name(event.collective_op)
        kind = _OPERATIONS.get(operation, "barrier")
        members = self.members[communicator]
        if rank.number not in members:
            raise InputError(
                f"{self.path}: rank {rank.number} is no member of communicator {event.communicator}"
            )
        root = event.root if event.root < len(members) else 0
        me = members.index(rank.number)
        block = _block(operation, event.size_sent, event.size_received, len(members), me == root)
        rank.add(4 + _COLLECTIVES.index(kind), root, 0, block, communicator, request)

    def message(
        self, rank: _Rank, kind: int, event: Any, peer: int, request: int, length: int | None = None
    ) -> None:
        communicator = self.communicator(event.communicator)
        if communicator == _SELF:
            communicator, peer = 0, rank.number
        tag = event.tag if hasattr(event, "tag") else event.msg_tag
        rank.add(kind, peer, tag, event.msg_length if length is None else length, communicator, request)

    def communicator(self, of: Any) -> int:
        """Its number: 0 for one with all ranks in order."""
        reference = of._ref
        known = self.communicators.get(reference)
        if known is not None:
            return known
        if not hasattr(of, "group"):
            raise InputError(f"{self.path}: communicator {of.name!r}: intercommunicators are not replayed")
        members = [self.ranks[location].number for location in of.group.members if location in self.ranks]
        if _name(of.group.group_type) == "COMM_SELF" or not members:
            number = _SELF
        elif members == self.members[0]:
            number = 0
        else:
            number = len(self.members)
            self.members[number] = members
        self.communicators[reference] = number
        return number


def _is_world(group: Any) -> bool:
    return _name(group.group_type) == "COMM_LOCATIONS" and _name(group.paradigm) == "MPI"


def _name(value: object) -> str:
    """Name of a value of one of the package's enumerations, which have it in their `repr` alone."""
    return repr(value).rpartition(".")[2]


def _erase(rank: _Rank, place: int) -> None:
    """A receive that never ended becomes a computation of no time."""
    rank.records[place : place + 6] = array("q", (_COMPUTE, 0, 0, 0, 0, -1))


def _drop_unfinished(rank: _Rank) -> None:
    for place in rank.requests.values():
        if place >= 0:
            _erase(rank, place)


def _block(operation: str, sent: int, received: int, ranks: int, is_root: bool) -> int:
    """A rank's own block in bytes: what it contributes, or, of a broadcast or scatter, what it gets."""
    if operation in ("BCAST", "SCATTER", "SCATTERV"):
        return 0 if is_root else received
    if operation in ("REDUCE", "GATHER", "GATHERV"):
        return sent
    if operation == "REDUCE_SCATTER":
        return _part(received, ranks)
    if operation == "SCAN":
        return _scan_block(sent + received, ranks)
    if operation == "EXSCAN":
        return (sent + received) // max(ranks - 1, 1)
    return _part(sent, ranks)


def _scan_block(total: int, ranks: int) -> int:
    """Rank i has sent `ranks - i` blocks and received `i + 1`; in place one less of both."""
    return total // (ranks + 1) if total % (ranks + 1) == 0 else total // max(ranks - 1, 1)


def _part(total: int, ranks: int) -> int:
    """One of as many equal blocks as there are ranks, or, in place, one less."""
    if total % ranks == 0 or ranks == 1:
        return total // ranks
    return total // (ranks - 1) if total % (ranks - 1) == 0 else -(-total // ranks)


_EVENTS: dict[str, Callable[[_Reader, _Rank, Any], None]] = {
    "Enter": _Reader.enter,
    "Leave": _Reader.leave,
    "MpiSend": _Reader.send,
    "MpiIsend": _Reader.isend,
    "MpiIsendComplete": _Reader.end,
    "MpiRecv": _Reader.receive,
    "MpiIrecvRequest": _Reader.receive_request,
    "MpiIrecv": _Reader.ireceive,
    "MpiRequestCancelled": _Reader.cancel,
    "MpiProbe": _Reader.probe,
    "MpiMrecv": _Reader.matched_receive,
    "MpiImrecvRequest": _Reader.matched_request,
    "MpiImrecv": _Reader.matched_end,
    "MpiCollectiveEnd": _Reader.collective,
    "NonBlockingCollectiveRequest": _Reader.collective_request,
    "NonBlockingCollectiveComplete": _Reader.collective_complete,
}
