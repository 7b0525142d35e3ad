"""`MPI.Datatype`."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

from fabricsim.lazy import numpy as np
from fabricsim.mpi import absent, constants, layout
from fabricsim.mpi.attributes import Attributes
from fabricsim.mpi.errors import Exception
from fabricsim.mpi.handles import Handle, Null
from fabricsim.mpi.layout import Layout
from fabricsim.mpi.memory import Memory, view_of


def _whole(values: Sequence[int]) -> list[int]:
    return [operator.index(value) for value in values]


class Datatype(Handle, Attributes):
    """A type of elements in memory."""

    NULL = Null("MPI_DATATYPE_NULL")

    def _layout(self) -> Layout:
        if self._ref is self.NULL:
            raise Exception(constants.ERR_TYPE, "the datatype is MPI.DATATYPE_NULL")
        found: Layout = self._ref
        return found

    _data = _layout

    def Get_size(self) -> int:
        """Bytes of an element."""
        return self._layout().size

    size = property(Get_size)

    def Get_extent(self) -> tuple[int, int]:
        """Lower bound and extent in bytes."""
        return self._layout().lb, self._layout().extent

    def Get_true_extent(self) -> tuple[int, int]:
        """Offset of the first byte, and distance from it to the end of the last."""
        return self._layout().true_lb, self._layout().true_extent

    extent = property(lambda self: self._layout().extent)
    lb = property(lambda self: self._layout().lb)
    ub = property(lambda self: self._layout().ub)
    true_extent = property(lambda self: self._layout().true_extent)
    true_lb = property(lambda self: self._layout().true_lb)
    true_ub = property(lambda self: self._layout().true_lb + self._layout().true_extent)

    def _derived(
        self,
        made: Layout,
        combiner: str,
        integers: Sequence[int],
        addresses: Sequence[int],
        types: Sequence[Any],
    ) -> Any:
        made.combiner, made.contents = (
            combiner,
            (list(integers), list(addresses), [one._ref for one in types]),
        )
        return type(self)._of(made)

    def Dup(self) -> Any:
        """The same type again."""
        old = self._layout()
        made = Layout(old.segments, old.units, (old.lb, old.ub), old.basic, old.align)
        made.code, made.committed = old.code, old.committed
        made.attributes = self._copied_attributes()
        return self._derived(made, "DUP", [], [], [self])

    Clone = Create_dup = Dup

    def Create_contiguous(self, count: int) -> Any:
        """`count` elements, one after the other."""
        _not_negative("count", count)
        made = layout.combined([(0, count, self._layout())])
        return self._derived(made, "CONTIGUOUS", [count], [], [self])

    def Create_vector(self, count: int, blocklength: int, stride: int) -> Any:
        """Blocks at a distance in elements."""
        _not_negative("count", count, blocklength)
        one = self._layout()
        made = layout.combined([(k * stride * one.extent, blocklength, one) for k in range(count)])
        return self._derived(made, "VECTOR", [count, blocklength, stride], [], [self])

    def Create_hvector(self, count: int, blocklength: int, stride: int) -> Any:
        """Blocks at a distance in bytes."""
        _not_negative("count", count, blocklength)
        made = layout.combined([(k * stride, blocklength, self._layout()) for k in range(count)])
        return self._derived(made, "HVECTOR", [count, blocklength], [stride], [self])

    def Create_indexed(self, blocklengths: Sequence[int], displacements: Sequence[int]) -> Any:
        """Blocks at distances in elements."""
        lengths, places = _blocks(blocklengths, displacements)
        one = self._layout()
        made = layout.combined([(d * one.extent, n, one) for n, d in zip(lengths, places, strict=True)])
        return self._derived(made, "INDEXED", [len(lengths), *lengths, *places], [], [self])

    def Create_hindexed(self, blocklengths: Sequence[int], displacements: Sequence[int]) -> Any:
        """Blocks at distances in bytes."""
        lengths, places = _blocks(blocklengths, displacements)
        made = layout.combined([(d, n, self._layout()) for n, d in zip(lengths, places, strict=True)])
        return self._derived(made, "HINDEXED", [len(lengths), *lengths], places, [self])

    def Create_indexed_block(self, blocklength: int, displacements: Sequence[int]) -> Any:
        """Blocks of one length at distances in elements."""
        places, one = _whole(displacements), self._layout()
        made = layout.combined([(d * one.extent, blocklength, one) for d in places])
        return self._derived(made, "INDEXED_BLOCK", [len(places), blocklength, *places], [], [self])

    def Create_hindexed_block(self, blocklength: int, displacements: Sequence[int]) -> Any:
        """Blocks of one length at distances in bytes."""
        places = _whole(displacements)
        made = layout.combined([(d, blocklength, self._layout()) for d in places])
        return self._derived(made, "HINDEXED_BLOCK", [len(places), blocklength], places, [self])

    @classmethod
    def Create_struct(
        cls, blocklengths: Sequence[int], displacements: Sequence[int], datatypes: Sequence[Any]
    ) -> Any:
        """Blocks of several types at distances in bytes."""
        lengths, places = _blocks(blocklengths, displacements)
        if len(datatypes) != len(lengths):
            raise ValueError(f"expecting {len(lengths)} items, got {len(datatypes)}")
        blocks = [(d, n, t._layout()) for n, d, t in zip(lengths, places, datatypes, strict=True)]
        made = layout.combined(blocks, padded=True)
        made.combiner = "STRUCT"
        made.contents = ([len(lengths), *lengths], places, [one._ref for one in datatypes])
        return cls._of(made)

    def Create_subarray(
        self,
        sizes: Sequence[int],
        subsizes: Sequence[int],
        starts: Sequence[int],
        order: int = constants.ORDER_C,
    ) -> Any:
        """A part of an array, with the whole array's extent."""
        sizes, subsizes, starts = _whole(sizes), _whole(subsizes), _whole(starts)
        if not len(sizes) == len(subsizes) == len(starts):
            raise ValueError(f"expecting {len(sizes)} items, got {len(subsizes)} and {len(starts)}")
        for whole, part, start in zip(sizes, subsizes, starts, strict=True):
            if not (1 <= part <= whole and 0 <= start <= whole - part):
                raise Exception(constants.ERR_ARG, f"subarray of {part} from {start} of an axis of {whole}")
        one = self._layout()
        grid = np.arange(math.prod(sizes)).reshape(sizes, order="C" if order == constants.ORDER_C else "F")
        chosen = grid[tuple(slice(a, a + n) for a, n in zip(starts, subsizes, strict=True))]
        places = chosen.ravel(order="C" if order == constants.ORDER_C else "F").tolist()
        inner = layout.combined([(place * one.extent, 1, one) for place in places])
        made = layout.resized(inner, 0, math.prod(sizes) * one.extent)
        return self._derived(made, "SUBARRAY", [len(sizes), *sizes, *subsizes, *starts, order], [], [self])

    def Create_darray(self, *args: Any, **kwargs: Any) -> Any:
        """Not there: use `Create_subarray`."""
        raise NotImplementedError("MPI.Datatype.Create_darray is not simulated: use Create_subarray")

    def Create_resized(self, lb: int, extent: int) -> Any:
        """The same type with other bounds."""
        return self._derived(layout.resized(self._layout(), lb, extent), "RESIZED", [], [lb, extent], [self])

    Resized = Create_resized

    def Commit(self) -> Any:
        """Allows messages with elements of the type, and returns it."""
        self._layout().committed = True
        return self

    def Free(self) -> None:
        """Forgets the type. Messages in progress keep theirs."""
        if self._layout().is_predefined:
            raise Exception(constants.ERR_TYPE, f"{self._ref.name} is predefined and cannot be freed")
        self._delete_attributes()
        self._ref = self.NULL

    def Get_envelope(self) -> tuple[int, int, int, int, int]:
        """Numbers of integers, addresses, counts and types of the constructor, and the constructor."""
        integers, addresses, types = self._layout().contents
        return (
            len(integers),
            len(addresses),
            0,
            len(types),
            constants.COMBINERS.index(self._layout().combiner),
        )

    envelope = property(Get_envelope)

    def Get_contents(self) -> tuple[list[int], list[int], list[int], list[Any]]:
        """Arguments of the constructor."""
        integers, addresses, types = self._layout().contents
        if self._layout().combiner == "NAMED":
            raise Exception(constants.ERR_TYPE, "a predefined type has no contents")
        return list(integers), list(addresses), [], [_handle_of(one) for one in types]

    contents = property(Get_contents)

    def decode(self) -> tuple[Any, str, dict[str, Any]]:
        """The type of which this one is made, the name of the constructor, and its arguments."""
        combiner = self._layout().combiner
        if combiner == "NAMED":
            return self, combiner, {}
        integers, addresses, _, types = self.Get_contents()
        base = types[0] if len(types) == 1 else DATATYPE_NULL
        return base, combiner, _arguments(combiner, integers + addresses, types)

    def __reduce__(self) -> Any:
        if self and self._layout().combiner != "NAMED":
            return _created, self.decode()
        return super().__reduce__()

    combiner = property(lambda self: self.Get_envelope()[-1])
    is_named = property(lambda self: self._layout().combiner == "NAMED")
    is_predefined = property(lambda self: self._ref is self.NULL or self._layout().is_predefined)

    def Get_name(self) -> str:
        """Name."""
        return self._ref.name if self else "MPI_DATATYPE_NULL"

    def Set_name(self, name: str) -> None:
        """Sets the name."""
        self._layout().name = name

    name = property(Get_name, Set_name)

    def tocode(self) -> str:
        """Code of the type: "d"."""
        code = self._layout().code
        if code is None:
            raise ValueError("cannot map to character code or type string")
        return code

    @classmethod
    def fromcode(cls, code: str) -> Any:
        """The predefined type of a code such as "d" or "f8"."""
        return lookup(code)

    typechar = property(lambda self: self._layout().code)
    typestr = property(lambda self: _typestr(self._layout()))

    def Pack_size(self, count: int, comm: Any) -> int:
        """Bytes of packed elements."""
        return self._layout().size * count

    def Pack(self, inbuf: Any, outbuf: Any, position: int, comm: Any) -> int:
        """Packs elements into memory from a position, and returns the position behind them."""
        source, target = Memory.of(inbuf), Memory.of(outbuf, writable=True)
        one = self._layout()
        one.check_committed()
        count = source.nbytes // one.extent if one.extent > 0 else 0
        packed = one.pack(source.address, count)
        if position < 0 or position + len(packed) > target.nbytes:
            raise Exception(constants.ERR_TRUNCATE, f"Pack: {len(packed)} bytes do not fit at {position}")
        view_of(target.address + position, len(packed), True)[:] = packed
        return position + len(packed)

    def Unpack(self, inbuf: Any, position: int, outbuf: Any, comm: Any) -> int:
        """Unpacks elements from a position in memory, and returns the position behind them."""
        source, target = Memory.of(inbuf), Memory.of(outbuf, writable=True)
        one = self._layout()
        one.check_committed()
        count = target.nbytes // one.extent if one.extent > 0 else 0
        total = count * one.size
        if position < 0 or position + total > source.nbytes:
            raise Exception(constants.ERR_TRUNCATE, f"Unpack: there are not {total} bytes at {position}")
        one.unpack(view_of(source.address + position, total, False), target.address, count)
        return position + total

    @classmethod
    def Match_size(cls, typeclass: int, size: int) -> Any:
        """The predefined type of a class and size."""
        kind = {
            constants.TYPECLASS_INTEGER: "i",
            constants.TYPECLASS_REAL: "f",
            constants.TYPECLASS_COMPLEX: "c",
        }
        return lookup(f"{kind.get(typeclass, '?')}{size}")


def _not_negative(name: str, *values: int) -> None:
    for value in values:
        if value < 0:
            raise Exception(constants.ERR_ARG, f"{name} = {value}: must be 0 or more")


def _blocks(lengths: Sequence[int], places: Sequence[int]) -> tuple[list[int], list[int]]:
    first, second = _whole(lengths), _whole(places)
    if len(first) != len(second):
        raise ValueError(f"expecting {len(first)} items, got {len(second)}")
    _not_negative("block length", *first)
    return first, second


def _arguments(combiner: str, numbers: list[int], types: list[Any]) -> dict[str, Any]:
    """Arguments of a constructor by name, of the integers and addresses that it keeps."""
    scalars = {
        "DUP": (),
        "CONTIGUOUS": ("count",),
        "VECTOR": ("count", "blocklength", "stride"),
        "HVECTOR": ("count", "blocklength", "stride"),
        "RESIZED": ("lb", "extent"),
    }
    if combiner in scalars:
        return dict(zip(scalars[combiner], numbers, strict=True))
    count, rest = numbers[0], numbers[1:]
    if combiner in ("INDEXED_BLOCK", "HINDEXED_BLOCK"):
        return {"blocklength": rest[0], "displacements": rest[1:]}
    if combiner == "SUBARRAY":
        parts = [rest[count * part : count * (part + 1)] for part in range(3)]
        return {**dict(zip(("sizes", "subsizes", "starts"), parts, strict=True)), "order": rest[-1]}
    found: dict[str, Any] = {"blocklengths": rest[:count], "displacements": rest[count:]}
    return found | {"datatypes": types} if combiner == "STRUCT" else found


def _created(base: Datatype, combiner: str, arguments: dict[str, Any]) -> Any:
    """A derived type again, as `Datatype.decode` describes it."""
    return getattr(base, f"Create_{combiner.lower()}")(**arguments).Commit()


def _typestr(one: Layout) -> str | None:
    dtype = one.basic
    return (
        None if dtype is None or dtype.names else {"b": "b1"}.get(dtype.kind, f"{dtype.kind}{dtype.itemsize}")
    )


def _handle_of(one: Layout) -> Datatype:
    found = Handle._constants.get(id(one))
    handle: Datatype = found[0] if found else Datatype._of(one)
    return handle


DATATYPE_NULL = Datatype._constant(Datatype.NULL, "DATATYPE_NULL")
CODES: dict[str, Datatype] = {}
"""Predefined types by their codes; `fabricsim.mpi.predefined` fills it."""


def lookup(code: Any) -> Datatype:
    """The predefined type of a code.

    Raises:
        KeyError: there is none.
    """
    found = CODES.get(code)
    if found is None:
        raise KeyError(f"cannot map {code!r} to MPI datatype")
    return found


absent.add(Datatype, absent.OF_DATATYPE)
