"""Processes that `mpirun` has started, and that advance one run together: they exchange bytes by mpi4py."""

from __future__ import annotations

import array
import enum
import json
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from fabricsim.errors import InputError
from fabricsim.native import build, native, version

if TYPE_CHECKING:
    from pathlib import Path

    from fabricsim.native_types import NativeControl, NativeOutcome, Overrides
    from fabricsim.spec import Experiment

END_PS = 2**64 - 1
"""The latest time."""
PART = 2**30
"""Largest number of bytes that a process sends, or gets, in one call of MPI, whose counts have 31 bits."""


class Stage(enum.Enum):
    """What a process is at."""

    BEFORE = enum.auto()
    """It builds its network."""
    RUNS = enum.auto()
    DONE = enum.auto()


class Team:
    """All processes of `MPI_COMM_WORLD`."""

    def __init__(self, mpi: Any) -> None:
        """`mpi`: the module `mpi4py.MPI`."""
        self._mpi = mpi
        self._world = mpi.COMM_WORLD
        self.rank: int = self._world.Get_rank()
        """Number of this process, from 0."""
        self.size: int = self._world.Get_size()
        """Number of processes."""
        self._stage = Stage.BEFORE

    def exchange(self, messages: Sequence[bytes]) -> list[bytes]:
        """Sends a message to each process, and returns those of all; both in order of ranks.

        All processes call this equally often.
        """
        longest = max(map(len, messages))
        # With its length each message brings that of the longest of its sender, so that all know the number of parts.
        told = array.array("q", (number for message in messages for number in (len(message), longest)))
        known = array.array("q", bytes(8 * 2 * self.size))
        self._world.Alltoall(told, known)
        lengths, longest = known[::2], max(known[1::2])
        each = max(1, PART // self.size)
        received = [bytearray() for _ in range(self.size)]
        for at in range(0, longest, each):
            self._exchange_parts(
                [message[at : at + each] for message in messages], lengths, received, at, each
            )
        return [bytes(message) for message in received]

    def _exchange_parts(
        self,
        parts: list[bytes],
        lengths: Sequence[int],
        received: list[bytearray],
        at: int,
        each: int,
    ) -> None:
        counts = [min(max(length - at, 0), each) for length in lengths]
        into = bytearray(sum(counts))
        byte = self._mpi.BYTE
        self._world.Alltoallv([b"".join(parts), [len(part) for part in parts], byte], [into, counts, byte])
        start = 0
        for message, count in zip(received, counts, strict=True):
            message.extend(into[start : start + count])
            start += count

    def simulate(
        self,
        experiment: tuple[str, str, str, Overrides],
        control: NativeControl,
        memory: int | None,
        begin: Callable[[], None],
    ) -> NativeOutcome:
        """Runs an experiment to its end, with the other processes. All have its results.

        Calls `begin` once its network is built.

        Raises:
            InputError: the run has features with which it cannot be divided, or the processes have different ones.
        """
        run = native().SteppedRun(*experiment, control, memory, 1, self.size)
        self.agree(None)
        run.join(self)
        begin()
        while run.advance_to(END_PS):
            pass
        outcome = run.result()
        self._stage = Stage.DONE
        return outcome

    def agree(self, failure: str | None) -> None:
        """Says that this process is ready to run, or why it is not, and waits for the others. Each does so once.

        Raises:
            InputError: another one is not.
        """
        self._stage = Stage.RUNS
        build_here = f"{version()} {build()}"
        told = self.exchange([json.dumps([build_here, failure]).encode()] * self.size)
        for rank, (its_build, its_failure) in enumerate(map(json.loads, told)):
            if failure is None and its_failure is not None:
                raise InputError(f"process {rank}: {its_failure}")
            if failure is None and its_build != build_here:
                raise InputError(
                    f"--mpi: process {rank} has fabricsim {its_build}, this one {build_here}: all need the same"
                )

    @contextmanager
    def guarded(self) -> Iterator[None]:
        """If this process raises, all end: before the run with what it says, later at once, as others wait for it."""
        try:
            yield
        except BaseException as error:
            if self.size == 1 or self._stage is Stage.DONE:
                raise
            if self._stage is Stage.BEFORE:
                with suppress(InputError):
                    self.agree(str(error) or type(error).__name__)
            elif not isinstance(error, InputError):
                traceback.print_exc()
                sys.stderr.flush()
                self._world.Abort(1)
            if self.rank == 0:
                raise
            # The first process says it. The others end as if all were well, so that `mpirun` lets it.
            raise SystemExit(0) from error


def team() -> Team:
    """The processes that `mpirun` has started; one if it has not.

    Raises:
        InputError: mpi4py, or MPI, is not installed.
    """
    try:
        from mpi4py import MPI  # noqa: PLC0415 - it starts MPI
    except (ImportError, RuntimeError) as error:
        raise InputError(
            f"--mpi: mpi4py cannot be used ({error}): pip install 'fabricsim[mpi]', and install an MPI, "
            "such as the packages openmpi-bin or mpich"
        ) from None
    return Team(MPI)


def refuse_of_several(experiment: Experiment, checkpoint: str | Path | None) -> None:
    """Raises InputError for what a run of several processes does not have: checkpoints, and threads of each."""
    if checkpoint is not None:
        raise InputError("--mpi: checkpoints are those of one process: leave one of both out")
    of_run = experiment.written().get("run")
    threads = of_run.get("threads", 1) if isinstance(of_run, Mapping) else 1
    if isinstance(threads, int) and threads > 1:
        raise InputError(
            f"{experiment.file}: run.threads: with --mpi each process has one thread: leave it out"
        )


@contextmanager
def joined(wanted: bool) -> Iterator[Team | None]:
    """The processes of `mpirun` if `wanted`. If one raises, all end."""
    if not wanted:
        yield None
        return
    processes = team()
    with processes.guarded():
        yield processes
