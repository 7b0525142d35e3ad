"""What the ranks of a run share in the simulator: checks that cost no simulated time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fabricsim.mpi import constants
from fabricsim.mpi.begin import place_of_program
from fabricsim.mpi.collectives.registry import Selection
from fabricsim.mpi.communicator import Communicator
from fabricsim.mpi.errors import Exception
from fabricsim.mpi.group import Members
from fabricsim.mpi.process import Process


class Shared:
    """State of a run.

    Args:
        hosts_of_ranks: name of the host of each rank.
        selection: algorithms of collectives.
    """

    def __init__(self, hosts_of_ranks: Sequence[str], selection: Selection) -> None:
        self.selection = selection
        self.hosts = list(dict.fromkeys(hosts_of_ranks))
        """Names of the hosts."""
        places = {name: number for number, name in enumerate(self.hosts)}
        self.host_of = [places[name] for name in hosts_of_ranks]
        """Number of the host of each rank."""
        self._collectives: dict[tuple[Any, int, int], list[Any]] = {}
        self._meetings: dict[tuple[int, tuple[int, ...], str], int] = {}
        self._kept: list[Any] = []

    def keep(self, operation: Any) -> None:
        """Keeps the memory of an operation that its program has forgotten."""
        self._kept.append(operation)

    def check_collective(self, process: Process, comm: Communicator, call: str) -> None:
        """Checks that a rank calls the same collective as the others.

        Raises:
            Exception: it does not.
        """
        if comm.size == 1:
            return
        ranks = comm.ranks
        group = len(ranks) if isinstance(ranks, range) else tuple(ranks)
        key = (group, comm.number, comm.collectives)
        first = self._collectives.get(key)
        if first is None:
            self._collectives[key] = [call, process.rank, place_of_program(), 1]
            return
        if first[0] != call:
            raise Exception(
                constants.ERR_OTHER,
                f"ranks differ in collective {comm.collectives} of {comm.name or 'a communicator'}: rank "
                f"{process.rank} calls {call} at {place_of_program()}, rank {first[1]} called {first[0]} at {first[2]}",
            )
        first[3] += 1
        if first[3] == comm.size:
            del self._collectives[key]

    def unfinished(self) -> list[str]:
        """Collectives that not all ranks have called."""
        found = []
        for (group, _, _), (call, rank, place, number) in self._collectives.items():
            size = group if isinstance(group, int) else len(group)
            found.append(
                f"{call}, called by rank {rank} at {place}, has been called by {number} of {size} ranks"
            )
        return found

    def meeting(self, process: Process, members: Members, name: str) -> Communicator:
        """A communicator in which a group agrees on the number of another one, before it has any."""
        key = (process.rank, tuple(members.ranks), name)
        times = self._meetings[key] = self._meetings.get(key, 0) + 1
        found = Communicator(0, members, members.place(process.rank))
        # Its collectives have tags of their own, which no other group of these ranks uses at the same time.
        found.collectives = (hash_of(key[1:]) + times) & 0xFFFF | 0x80000
        return found


def hash_of(value: Any) -> int:
    """A number that is the same in each run."""
    import zlib  # noqa: PLC0415 - rare

    return zlib.crc32(repr(value).encode())
