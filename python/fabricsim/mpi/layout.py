"""Layouts of datatypes in memory: the bytes of an element, and how they are packed."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from fabricsim.lazy import numpy as np
from fabricsim.mpi import constants
from fabricsim.mpi.errors import Exception
from fabricsim.mpi.handles import Referent
from fabricsim.mpi.memory import view_of

_FEW_PIECES = 8


class Layout(Referent):
    """A datatype.

    Args:
        segments: offset and length of each run of bytes, in order of the type map.
        units: size and number of the basic elements, in order.
        bounds: lower and upper bound.
        basic: numpy's type of the elements on which predefined operations work; None if they do not.
    """

    __slots__ = (
        *("size", "segments", "units", "lb", "ub", "basic", "code", "name", "align", "combiner", "contents"),
        *("attributes", "is_contiguous", "_index", "is_predefined", "committed"),
    )

    def __init__(
        self,
        segments: Iterable[tuple[int, int]],
        units: Sequence[tuple[int, int]],
        bounds: tuple[int, int],
        basic: np.dtype[Any] | None = None,
        align: int = 1,
    ) -> None:
        self.segments = _merged(segments)
        self.units = tuple(units)
        self.size = sum(length for _, length in self.segments)
        self.lb, self.ub = bounds
        self.basic, self.align = basic, align
        self.code: str | None = None
        self.name = ""
        self.combiner = "NAMED"
        self.contents: tuple[list[int], list[int], list[Any]] = ([], [], [])
        self.attributes: dict[int, Any] = {}
        self.is_predefined = False
        self.committed = False
        """True if messages may have elements of the type."""
        self.is_contiguous = (
            self.size == self.ub - self.lb
            and self.lb == 0
            and (not self.segments or self.segments == [(0, self.size)])
        )
        self._index: tuple[int, Any] | None = None

    def check_committed(self) -> None:
        """Raises ERR_TYPE if the type is not committed."""
        if not self.committed:
            raise Exception(
                constants.ERR_TYPE, f"the datatype ({self.combiner}) is not committed: call Commit()"
            )

    @property
    def extent(self) -> int:
        """Distance of elements in bytes."""
        return self.ub - self.lb

    @property
    def true_lb(self) -> int:
        """Offset of the first byte."""
        return min((offset for offset, _ in self.segments), default=0)

    @property
    def true_extent(self) -> int:
        """Distance from the first byte to the end of the last one."""
        return max((offset + length for offset, length in self.segments), default=0) - self.true_lb

    def span(self, count: int) -> tuple[int, int]:
        """First offset and end of the bytes of several elements, from the address of the first."""
        if count == 0 or self.size == 0:
            return 0, 0
        if self.is_contiguous:
            return 0, count * self.size
        low = self.true_lb + min(0, (count - 1) * self.extent)
        high = self.true_lb + self.true_extent + max(0, (count - 1) * self.extent)
        return low, high

    def pack(self, address: int, count: int) -> memoryview:
        """Bytes of elements, in the order of the type map. Those of a contiguous type are not copied."""
        total = count * self.size
        if self.is_contiguous or total == 0:
            return view_of(address, total, False)
        if count * len(self.segments) <= _FEW_PIECES:
            packed, at = bytearray(total), 0
            for base, length in self._pieces(address, count):
                packed[at : at + length] = view_of(base, length, False)
                at += length
            return memoryview(packed)
        items, places = self._places(address, count)
        return memoryview(items[places].view(np.uint8)).cast("B")

    def unpack(self, data: memoryview, address: int, count: int) -> None:
        """Writes packed bytes, all or the first ones, to their places."""
        total = min(len(data), count * self.size)
        if total == 0:
            return
        if self.is_contiguous:
            view_of(address, total, True)[:] = data[:total]
        elif total < count * self.size or count * len(self.segments) <= _FEW_PIECES:
            at = 0
            for base, length in self._pieces(address, count):
                part = min(length, total - at)
                if part <= 0:
                    break
                view_of(base, part, True)[:] = data[at : at + part]
                at += part
        else:
            items, places = self._places(address, count, writable=True)
            items[places] = np.frombuffer(data[:total], items.dtype)

    def _pieces(self, address: int, count: int) -> Iterable[tuple[int, int]]:
        """Address and length of each run of bytes."""
        for element in range(count):
            base = address + element * self.extent
            for offset, length in self.segments:
                yield base + offset, length

    def _places(self, address: int, count: int, writable: bool = False) -> tuple[Any, Any]:
        """The memory as items of the largest possible size, and the indices of those of the elements."""
        if self._index is None:
            first = self.segments[0][0]
            grain = math.gcd(self.extent, *(length for _, length in self.segments))
            grain = math.gcd(grain, *(offset - first for offset, _ in self.segments)) or 1
            runs = [
                np.arange((offset - first) // grain, (offset - first + length) // grain)
                for offset, length in self.segments
            ]
            self._index = grain, np.concatenate(runs)
        grain, index = self._index
        first = self.segments[0][0]
        low, high = self.span(count)
        shift = (first - low) // grain
        places = index[None, :] + (np.arange(count) * (self.extent // grain))[:, None] + shift
        memory = np.frombuffer(view_of(address + low, high - low, writable), np.dtype(f"V{grain}"))
        return memory, places.ravel()

    def elements(self, nbytes: int) -> int | None:
        """Number of basic elements of packed bytes; None: the last one is not whole."""
        if self.size == 0:
            return 0
        whole, rest = divmod(nbytes, self.size)
        count = whole * sum(number for _, number in self.units)
        for size, number in self.units:
            if rest < size * number:
                return count + rest // size if rest % size == 0 else None
            count, rest = count + number, rest - size * number
        return count


def _merged(segments: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Runs of bytes of which none follows its predecessor directly."""
    merged: list[tuple[int, int]] = []
    for offset, length in segments:
        if length == 0:
            continue
        if merged and merged[-1][0] + merged[-1][1] == offset:
            merged[-1] = (merged[-1][0], merged[-1][1] + length)
        else:
            merged.append((offset, length))
    return merged


def combined(blocks: Sequence[tuple[int, int, Layout]], padded: bool = False) -> Layout:
    """The layout of blocks, each of a number of elements of a type at an offset in bytes.

    Args:
        blocks: offset, number of elements, type.
        padded: the extent is rounded up to the alignment of the basic elements, as that of a C struct.
    """
    segments: list[tuple[int, int]] = []
    units: list[tuple[int, int]] = []
    lows, highs = [], []
    for offset, count, layout in blocks:
        if count == 0:
            continue
        last = offset + (count - 1) * layout.extent
        lows.append(min(offset, last) + layout.lb)
        highs.append(max(offset, last) + layout.ub)
        if layout.is_contiguous:
            segments.append((offset, count * layout.size))
        else:
            for element in range(count):
                base = offset + element * layout.extent
                segments.extend((base + start, length) for start, length in layout.segments)
        if len(layout.units) == 1:
            units.append((layout.units[0][0], layout.units[0][1] * count))
        else:
            units.extend(layout.units * count)
    low, high = min(lows, default=0), max(highs, default=0)
    align = max((layout.align for _, count, layout in blocks if count), default=1)
    if padded:
        high += -(high - low) % align
    return Layout(segments, _united(units), (low, high), align=align)


def _united(units: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    united: list[tuple[int, int]] = []
    for size, number in units:
        if united and united[-1][0] == size:
            united[-1] = (size, united[-1][1] + number)
        else:
            united.append((size, number))
    return united


def resized(layout: Layout, lb: int, extent: int) -> Layout:
    """The same bytes with other bounds."""
    return Layout(layout.segments, layout.units, (lb, lb + extent), align=layout.align)


def basic(code: str | None, size: int, name: str, dtype: Any, align: int | None = None) -> Layout:
    """A predefined type of one element, or of a value and an index."""
    made = np.dtype(dtype) if dtype is not None else None
    alignment = align or (made.alignment if made is not None else size) or 1
    layout = Layout([(0, size)], [(size, 1)], (0, size), made, alignment)
    layout.code, layout.name, layout.is_predefined = code, name, True
    layout.committed = True
    return layout


def pair(value: str, name: str) -> Layout:
    """A predefined type of a value and an index, of MINLOC and MAXLOC."""
    padded = np.dtype([("value", value), ("index", "i")], align=True)
    first = np.dtype(value).itemsize
    at = padded.fields["index"][1] if padded.fields else first
    # The bytes behind the index of the last element need not be memory of the program.
    dtype = np.dtype({"names": ["value", "index"], "formats": [value, "i"], "offsets": [0, at]})
    made = Layout([(0, first), (at, 4)], [(first, 1), (4, 1)], (0, padded.itemsize), dtype, padded.alignment)
    made.name, made.is_predefined, made.committed = name, True, True
    return made
