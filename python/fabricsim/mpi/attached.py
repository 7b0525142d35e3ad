"""Memory of buffered sends that a program attaches, to a communicator or to its rank."""

from __future__ import annotations

from typing import Any

from fabricsim.mpi import constants
from fabricsim.mpi.communicator import Space
from fabricsim.mpi.errors import Exception
from fabricsim.mpi.memory import Memory, buffer
from fabricsim.mpi.operations import CombinedOperation, DoneOperation, Operation
from fabricsim.mpi.process import current
from fabricsim.mpi.request import Request


def attach(owner: Any, name: str, buf: Any) -> None:
    """Attaches memory of buffered sends."""
    if getattr(owner, name) is not None:
        raise Exception(constants.ERR_BUFFER, "a buffer is attached already: call Detach_buffer before")
    automatic = buf is constants.BUFFER_AUTOMATIC
    capacity = None if automatic else (0 if buf is None else Memory.of(buf, writable=True).nbytes)
    setattr(owner, name, Space(buf, capacity))


def detach(owner: Any, name: str) -> Any:
    """Detaches memory of buffered sends, after they are complete."""
    space: Space | None = getattr(owner, name)
    if space is None:
        return None
    space.flush(current(), "Detach_buffer()")
    setattr(owner, name, None)
    if space.capacity is None or space.given is None:
        return space.given
    return space.given if isinstance(space.given, buffer) else buffer.frombuffer(space.given)


def flush(owner: Any, name: str) -> None:
    """Waits for buffered sends."""
    space: Space | None = getattr(owner, name)
    if space is not None:
        space.flush(current(), "Flush_buffer()")


def iflush(owner: Any, name: str) -> Request:
    """A request that completes with the buffered sends."""
    space: Space | None = getattr(owner, name)
    parts: list[Operation] = [DoneOperation("Iflush_buffer()")]
    if space is not None:
        space.settle()
        # Each send belongs to two operations, of which either may find it complete.
        space.flush(current(), "Iflush_buffer()")
    made: Request = Request._of(CombinedOperation("Iflush_buffer()", parts))
    return made
