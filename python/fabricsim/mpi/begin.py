"""Start of collectives: the check that all ranks call the same one, the algorithm, and the places of the data."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

from fabricsim.mpi import constants
from fabricsim.mpi.arguments import require_kind, require_whole
from fabricsim.mpi.buffers import Block
from fabricsim.mpi.collectives.channel import Channel, Reduction
from fabricsim.mpi.communicator import Communicator
from fabricsim.mpi.errors import Exception
from fabricsim.mpi.layout import Layout
from fabricsim.mpi.operations import CollectiveOperation, Schedule
from fabricsim.mpi.ops import Op, Operator
from fabricsim.mpi.process import Process, current

_PACKAGE = str(Path(__file__).parents[1])
Views = list[memoryview]
Start = Callable[[], CollectiveOperation]
"""Starts a collective whose arguments have been checked, with the contents that its buffers have then."""


def begin(
    comm: Communicator, name: str, key: str, schedule: Callable[[Channel], Schedule], finish: Any = None
) -> CollectiveOperation:
    """Starts a collective.

    Args:
        comm: the communicator.
        name: the call, as all ranks must make it: "Bcast".
        key: arguments that must be the same at all ranks: "root=0".
        schedule: the algorithm.
        finish: called at the end.

    Raises:
        Exception: another rank calls another collective.
    """
    process = current()
    comm.collectives += 1
    call = f"{name}({key})"
    process.shared.check_collective(process, comm, call)
    channel = Channel(process, comm, call)
    operation = CollectiveOperation(call, channel, schedule(channel), finish)
    operation.start(process)
    return operation


def run(operation: CollectiveOperation) -> None:
    """Waits for a collective.

    Raises:
        Exception: a message was longer than expected.
    """
    if not operation.is_done:
        current().wait_all([operation], operation.call)
    if operation.error:
        raise Exception(operation.error, operation.call)


def run_now(start: Start) -> None:
    """Starts a collective, and waits for it.

    Raises:
        Exception: a message was longer than expected.
    """
    process = current()
    process.is_blocked = not process.schedules
    try:
        operation = start()
    finally:
        process.is_blocked = False
    run(operation)


def place_of_program() -> str:
    """File and line of the program's call."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if not frame.f_code.co_filename.startswith(_PACKAGE):
            return f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}"
        frame = frame.f_back
    return "its program"


def check_root(comm: Communicator, root: int) -> None:
    """Raises ERR_ROOT for a root that there is not."""
    if type(root) is not int:
        require_whole(root, "root", constants.ERR_ROOT)
    if not 0 <= root < comm.size:
        raise Exception(constants.ERR_ROOT, f"root = {root}: must be 0 to {comm.size - 1}")


def algorithm(process: Process, operation: str, n: int, size: int, count: int, commutes: bool = True) -> Any:
    """The selected algorithm and its segment."""
    return process.shared.selection.choose(operation, n, size, count, commutes)


def writable(block: Block) -> tuple[memoryview, Callable[[], None]]:
    """Bytes of a block that may be read and written, and the function that brings them back to their places."""
    if block.layout.is_contiguous or not block.nbytes:
        view, _ = block.target()
        return view, _nothing
    data = memoryview(bytearray(block.pack()))
    return data, lambda: block.unpack(data)


def _nothing() -> None:
    pass


def targets(blocks: Sequence[Block]) -> tuple[Views, Callable[[], None]]:
    """As `writable`, of several blocks."""
    made = [writable(block) for block in blocks]

    backs = [back for _, back in made if back is not _nothing]

    def finish() -> None:
        for back in backs:
            back()

    return [view for view, _ in made], finish


def check_messages(blocks: Sequence[Block]) -> None:
    """Raises what is wrong with blocks that are sent."""
    for block in blocks:
        block.check("a message")


def check_receives(blocks: Sequence[Block]) -> None:
    """Raises what is wrong with blocks that are received."""
    for block in blocks:
        block.check("a receive")


def check_room(source: Block, target: Block) -> None:
    """Raises ERR_TRUNCATE if the own block does not fit in its place."""
    if source.nbytes > target.nbytes:
        raise Exception(
            constants.ERR_TRUNCATE, f"the own block has {source.nbytes} bytes, its place has {target.nbytes}"
        )


def copy(source: memoryview, target: memoryview) -> None:
    """Copies the own block."""
    target[: len(source)] = source


def reduction(op: Op, layout: Layout) -> Reduction:
    """How an operation combines packed elements of a type."""
    require_kind(op, Op, "op", constants.ERR_OP)
    operator: Operator = op._operator()
    operator.check(layout)
    size = layout.size or 1
    if layout.is_contiguous:

        def combine(a: memoryview, b: memoryview) -> None:
            operator.apply(a, b, layout, len(a) // size)

    else:

        def combine(a: memoryview, b: memoryview) -> None:
            count = len(a) // size
            first, second = _spread(layout, a, count), _spread(layout, b, count)
            operator.apply(memoryview(first), memoryview(second), layout, count)
            b[:] = layout.pack(_origin(layout, second, count), count)

    return Reduction(size, combine, operator.commutes)


def _spread(layout: Layout, packed: memoryview, count: int) -> bytearray:
    low, high = layout.span(count)
    places = bytearray(high - low)
    layout.unpack(packed, _origin(layout, places, count), count)
    return places


def _origin(layout: Layout, places: bytearray, count: int) -> int:
    from fabricsim.mpi.memory import Memory  # noqa: PLC0415 - rare

    return Memory.of(places).address - layout.span(count)[0]
