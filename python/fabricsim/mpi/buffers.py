"""Messages as programs give them: a buffer, or a list of buffer, count, displacement and datatype, as of mpi4py."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

from fabricsim.mpi import constants
from fabricsim.mpi.datatype import Datatype, lookup
from fabricsim.mpi.errors import Exception
from fabricsim.mpi.layout import Layout
from fabricsim.mpi.memory import Memory, has_memory, view_of
from fabricsim.mpi.predefined import BYTE, of_format


class Block:
    """Elements of one type in memory.

    Args:
        memory: the memory in which they are; None: absolute addresses.
        address: that of the first element.
    """

    __slots__ = ("address", "count", "layout", "memory", "null")

    def __init__(
        self, memory: Memory | None, address: int, count: int, layout: Layout, null: bool = False
    ) -> None:
        self.memory, self.address, self.count, self.layout = memory, address, count, layout
        self.null = null
        """The type is `DATATYPE_NULL`."""

    @property
    def nbytes(self) -> int:
        """Bytes of the packed elements."""
        return self.count * self.layout.size

    def check(self, what: str) -> None:
        """Raises ERR_TYPE for a type that is `DATATYPE_NULL` or not committed, ERR_BUFFER for elements outside of the
        memory.
        """
        if self.null:
            raise Exception(constants.ERR_TYPE, "the datatype is MPI.DATATYPE_NULL")
        self.layout.check_committed()
        if self.memory is None or not self.count:
            return
        low, high = self.layout.span(self.count)
        begin = self.address - self.memory.address
        if begin + low < 0 or begin + high > self.memory.nbytes:
            raise Exception(
                constants.ERR_BUFFER,
                f"{what} of {self.count} elements takes bytes {begin + low} to {begin + high} of a buffer of "
                f"{self.memory.nbytes} bytes",
            )

    def pack(self) -> memoryview:
        """Their bytes. Those of a contiguous type are not copied."""
        found = self._in_place(False)
        if found is not None:
            return found
        self.check("a message")
        return self.layout.pack(self.address, self.count)

    def target(self) -> tuple[memoryview, bool]:
        """Bytes to receive into, and whether `unpack` has to write them to their places afterwards."""
        found = self._in_place(True)
        if found is not None:
            return found, False
        self.check("a receive")
        if self.layout.is_contiguous or not self.nbytes:
            if self.memory is not None:
                return self.memory.part(self.address, self.nbytes, True), False
            return view_of(self.address, self.nbytes, True), False
        return memoryview(bytearray(self.nbytes)), True

    def _in_place(self, writable: bool) -> memoryview | None:
        """Their bytes as they lie in memory, if they lie together and inside of it."""
        memory, layout = self.memory, self.layout
        if memory is None or self.null or not layout.is_contiguous or not layout.committed:
            return None
        begin, length = self.address - memory.address, self.count * layout.size
        if begin < 0 or begin + length > memory.nbytes:
            return None
        return memory.part(self.address, length, writable)

    def unpack(self, data: memoryview) -> None:
        """Writes packed bytes to the elements' places."""
        self.check("a receive")
        self.layout.unpack(data, self.address, self.count)

    def raw(self, writable: bool) -> memoryview:
        """All bytes between the first and the last element, as they lie in memory."""
        self.check("a reduction")
        low, high = self.layout.span(self.count)
        return view_of(self.address + low, high - low, writable)


EMPTY = Block(None, 0, 0, BYTE._ref)

Data = memoryview | Block
"""A message: its bytes, if they lie together, or elements in memory."""
_LISTS = (list, tuple)
_FORMATS = frozenset("?bBhHiIlLqQefdc")
"""Formats of memoryviews of elements that have a predefined type of the same size."""


def data_of(message: Any, writable: bool = False) -> Data:
    """A message of a program: a buffer, [buffer, type], [buffer, count, type], or what `simple` accepts.

    Most messages are arrays of plain numbers. Their bytes are all that a send or a receive needs.

    Raises:
        ValueError, TypeError, KeyError, BufferError: as of `simple`.
    """
    given, count, size = message, None, 0
    if isinstance(message, _LISTS):
        given, count, size = _parts_of_contiguous(message)
    try:
        view = memoryview(given)
        if not (writable and view.readonly):
            if not size:
                if view.format in _FORMATS:
                    return view.cast("B")
            elif count is None:
                if view.nbytes % size == 0:
                    return view.cast("B")
            elif 0 <= count * size <= view.nbytes:
                return view.cast("B")[: count * size]
    except (TypeError, ValueError, BufferError):
        pass  # `simple` knows other kinds of memory, and says what is wrong
    return simple(message, writable)


def _parts_of_contiguous(message: Any) -> tuple[Any, int | None, int]:
    """Buffer, count if there is one, and size of an element of a contiguous type; no buffer: it is another message."""
    if len(message) == 2:
        given, kind = message
        count = None
    elif len(message) == 3 and type(message[1]) is int:
        given, count, kind = message
    else:
        return None, None, 0
    layout = kind._ref if isinstance(kind, Datatype) else None
    if not isinstance(layout, Layout) or not layout.is_contiguous or not layout.committed:
        return None, None, 0
    return given, count, layout.size


def check_data(data: Data, writable: bool = False) -> None:
    """Raises what is wrong with the elements of a message, or of the buffer of a receive."""
    if type(data) is not memoryview:
        data.check("a receive" if writable else "a message")


def target_of(data: Data) -> tuple[memoryview, Block | None]:
    """Bytes to receive into, and the elements to which they are written afterwards, if any."""
    if type(data) is memoryview:
        return data, None
    target, is_packed = data.target()
    return target, data if is_packed else None


def is_bottom(value: Any) -> bool:
    """True if a buffer is given by absolute addresses, or not at all."""
    return value is None or value is constants.BOTTOM


def is_in_place(value: Any) -> bool:
    """True if a buffer is that of the other argument."""
    return value is None or value is constants.IN_PLACE


def _as_datatype(value: Any) -> Datatype:
    return value if isinstance(value, Datatype) else lookup(value)


def _basic(given: Any, type_given: Any, writable: bool) -> tuple[Memory | None, Datatype]:
    if is_bottom(given):
        return None, _as_datatype(type_given)
    memory = Memory.of(given, writable, type_given is None)
    return memory, of_format(memory.format) if type_given is None else _as_datatype(type_given)


def _is_integral(value: Any) -> bool:
    if not hasattr(type(value), "__index__"):
        return False
    try:
        len(value)
    except TypeError:
        pass
    else:
        return False
    try:
        operator.index(value)
    except TypeError:
        return False
    return True


def _parts(message: Any, vector: bool) -> tuple[Any, Any, Any, Any]:
    """Buffer, counts, displacements and type of a message."""
    if isinstance(message, list | tuple):
        pair = (tuple,) if vector else (tuple, list)
        given, counts, places, type_given = (*message, None, None, None)[:4]
        if len(message) == 2:
            type_given = None
            if isinstance(counts, Datatype | str):
                counts, type_given = None, counts
            elif isinstance(counts, pair):
                counts, places = counts
        elif len(message) == 3:
            counts, type_given, places = message[1], message[2], None
            if isinstance(counts, pair):
                counts, places = counts
        elif len(message) != 4:
            raise ValueError("message: expecting 2 to 4 items")
        return given, counts, places, type_given
    if has_memory(message):
        return message, None, None, None
    raise TypeError("message: expecting buffer or list/tuple")


def _extent(datatype: Datatype, what: str) -> int:
    if not datatype:
        raise ValueError(f"message: cannot {what}, datatype is null")
    extent: int = datatype._ref.extent
    if extent <= 0:
        raise ValueError(
            f"message: cannot {what}, datatype extent {extent} (lb:{datatype.lb}, ub:{datatype.ub})"
        )
    return extent


def simple(message: Any, writable: bool = False, blocks: int = 1) -> Block:
    """A message of elements that lie together.

    Args:
        message: buffer, [buffer, type], [buffer, count, type], [buffer, (count, displacement), type] and so on.
        writable: the message will be received.
        blocks: number of blocks of which `count` is the size of one, if it is to be inferred.

    Raises:
        ValueError, TypeError, KeyError, BufferError: as of mpi4py.
    """
    given, count_given, place_given, type_given = _parts(message, vector=False)
    memory, datatype = _basic(given, type_given, writable)
    length = memory.nbytes if memory is not None else 0
    offset = count = 0
    if place_given is not None:
        place = operator.index(place_given)
        if place < 0:
            raise ValueError(f"message: negative displacement {place}")
        if place > 0:
            extent = _extent(datatype, "handle displacement")
            if place * extent > length:
                raise ValueError(
                    f"message: displacement {place} out of bounds, number of datatype entries {length // extent}"
                )
            offset = place * extent
            length -= offset
    if count_given is not None:
        count = operator.index(count_given)
        if count < 0:
            raise ValueError(f"message: negative count {count}")
        if count > 0 and given is None:
            raise ValueError(f"message: buffer is None but count is {count}")
    elif length > 0:
        count = _inferred(length, _extent(datatype, "infer count"), blocks)
    layout = datatype._ref if datatype else BYTE._ref
    return Block(memory, (memory.address if memory else 0) + offset, count, layout, not datatype)


def _inferred(length: int, extent: int, blocks: int) -> int:
    if length % extent:
        raise ValueError(
            f"message: cannot infer count, buffer length {length} is not a multiple of datatype extent {extent}"
        )
    entries = length // extent
    if blocks < 2:
        return entries
    if entries % blocks:
        raise ValueError(
            f"message: cannot infer count, number of entries {entries} is not a multiple of "
            f"required number of blocks {blocks}"
        )
    return entries // blocks


def _checked(values: Sequence[int], blocks: int) -> list[int]:
    found = [operator.index(value) for value in values]
    if len(found) != blocks:
        raise ValueError(f"expecting {blocks} items, got {len(found)}")
    return found


def _check_counts(counts: Sequence[int]) -> None:
    """Raises ERR_COUNT for a negative one."""
    for number, count in enumerate(counts):
        if count < 0:
            raise Exception(constants.ERR_COUNT, f"counts[{number}] = {count}: must be 0 or more")


def vector(message: Any, writable: bool, blocks: int) -> list[Block]:
    """A message of blocks, each with its count and displacement in elements."""
    given, counts_given, places_given, type_given = _parts(message, vector=True)
    memory, datatype = _basic(given, type_given, writable)
    length = memory.nbytes if memory is not None else 0
    if counts_given is None:
        entries = _inferred(length, _extent(datatype, "infer count"), 1) if length > 0 else 0
        counts = [entries // blocks + (entries % blocks > block) for block in range(blocks)]
    elif _is_integral(counts_given):
        counts = [operator.index(counts_given)] * blocks
    else:
        counts = _checked(counts_given, blocks)
    _check_counts(counts)
    if places_given is None:
        places, at = [], 0
        for count in counts:
            places.append(at)
            at += count
    elif _is_integral(places_given):
        places = [operator.index(places_given) * block for block in range(blocks)]
    else:
        places = _checked(places_given, blocks)
    layout = datatype._ref if datatype else BYTE._ref
    base = memory.address if memory else 0
    return [
        Block(memory, base + place * layout.extent, count, layout, not datatype)
        for count, place in zip(counts, places, strict=True)
    ]


def vector_w(message: Any, writable: bool, blocks: int) -> list[Block]:
    """A message of blocks, each with its type, its count, and its displacement in bytes."""
    if len(message) == 2:
        given, types = message
        counts = places = None
    elif len(message) == 3:
        given, (counts, places), types = message
    elif len(message) == 4:
        given, counts, places, types = message
    else:
        raise ValueError("message: expecting 2 to 4 items")
    memory = None
    if is_bottom(given):
        for name, values in (("counts", counts), ("displs", places)):
            if values is None:
                raise ValueError(f"message: BOTTOM requires {name}")
    else:
        memory = Memory.of(given, writable)
    if counts is None or places is None:
        if counts is not places:
            raise ValueError("message: counts and displs must be given together")
        numbers, offsets = [1] * blocks, [0] * blocks
    else:
        numbers, offsets = _checked(counts, blocks), _checked(places, blocks)
        _check_counts(numbers)
    if len(types) != blocks:
        raise ValueError(f"expecting {blocks} items, got {len(types)}")
    base = memory.address if memory else 0
    return [
        Block(memory, base + offset, number, one._layout())
        for number, offset, one in zip(numbers, offsets, types, strict=True)
    ]


def check_pair(source: Block, target: Block) -> None:
    """Raises ValueError if types or counts of a reduction's two buffers differ."""
    if source.layout is not target.layout:
        raise ValueError("mismatch in send and receive MPI datatypes")
    if source.count != target.count:
        raise ValueError(f"mismatch in send count {source.count} and receive count {target.count}")


def repeated(block: Block, blocks: int) -> list[Block]:
    """Blocks that lie one after the other, each like the first."""
    step = block.count * block.layout.extent
    return [
        Block(block.memory, block.address + number * step, block.count, block.layout, block.null)
        for number in range(blocks)
    ]
