"""Memory of Python objects with the buffer protocol, DLPack or CUDA's array interface."""

from __future__ import annotations

import ctypes
import operator
from typing import Any

from fabricsim.lazy import numpy as np

_WRITABLE, _FORMAT, _ANY_CONTIGUOUS = 0x0001, 0x0004, 0x0080 | 0x0010 | 0x0008
_READ, _WRITE = 0x100, 0x200


class _PyBuffer(ctypes.Structure):
    """`Py_buffer` of Python's C interface."""

    _fields_ = [
        ("buf", ctypes.c_void_p),
        ("obj", ctypes.c_void_p),
        ("len", ctypes.c_ssize_t),
        ("itemsize", ctypes.c_ssize_t),
        ("readonly", ctypes.c_int),
        ("ndim", ctypes.c_int),
        ("format", ctypes.c_char_p),
        ("shape", ctypes.c_void_p),
        ("strides", ctypes.c_void_p),
        ("suboffsets", ctypes.c_void_p),
        ("internal", ctypes.c_void_p),
    ]


_get_buffer = ctypes.pythonapi.PyObject_GetBuffer
_get_buffer.argtypes = [ctypes.py_object, ctypes.POINTER(_PyBuffer), ctypes.c_int]
_release = ctypes.pythonapi.PyBuffer_Release
_release.argtypes = [ctypes.POINTER(_PyBuffer)]
_release.restype = None
_from_memory = ctypes.pythonapi.PyMemoryView_FromMemory
_from_memory.restype = ctypes.py_object
_from_memory.argtypes = [ctypes.c_void_p, ctypes.c_ssize_t, ctypes.c_int]

CPU = 0
"""Device of memory that programs may read: that of the buffer protocol. Others have the numbers of DLPack."""
_ACCESSIBLE = (CPU, 1, 3, 11, 13)


class Memory:
    """Contiguous bytes that belong to an object, which stays alive with this."""

    __slots__ = ("_bytes", "_view", "address", "device", "format", "itemsize", "nbytes", "owner", "readonly")

    def __init__(
        self,
        owner: Any,
        address: int,
        nbytes: int,
        readonly: bool,
        format: str = "B",
        itemsize: int = 1,
        device: int = CPU,
    ) -> None:
        self.owner, self.address, self.nbytes, self.readonly = owner, address, nbytes, readonly
        self.format, self.itemsize, self.device = format, itemsize, device
        self._view: _PyBuffer | None = None
        self._bytes: memoryview | None = None

    def part(self, address: int, nbytes: int, writable: bool) -> memoryview:
        """A memoryview of some of the bytes. Its object is the owner, if that has a plain buffer.

        The network can tell by it that messages use the same memory.
        """
        if self._bytes is None:
            try:
                self._bytes = memoryview(self.owner).cast("B")
            except (TypeError, ValueError, BufferError):
                self._bytes = memoryview(bytearray())
        if len(self._bytes) != self.nbytes:
            return view_of(address, nbytes, writable)
        begin = address - self.address
        return self._bytes[begin : begin + nbytes]

    def __del__(self) -> None:
        if self._view is not None:
            _release(ctypes.byref(self._view))

    @staticmethod
    def of(value: Any, writable: bool = False, with_format: bool = False) -> Memory:
        """Memory of an object.

        Raises:
            BufferError: it is not contiguous, or not writable.
            TypeError: it has no memory.
        """
        view = _PyBuffer()
        flags = _ANY_CONTIGUOUS | (_WRITABLE if writable else 0) | (_FORMAT if with_format else 0)
        try:
            _get_buffer(value, view, flags)
        except BaseException:
            found = _from_dlpack(value, writable, with_format)
            if found is None:
                found = _from_cuda(value, writable, with_format)
            if found is None:
                raise
            return found
        format = view.format.decode() if with_format and view.format else "B"
        memory = Memory(value, view.buf or 0, view.len, bool(view.readonly), format, view.itemsize)
        memory._view = view
        return memory


def has_memory(value: Any) -> bool:
    """True if an object exposes a buffer in one of the three ways."""
    try:
        memoryview(value).release()
    except TypeError:
        return _has(value, "__dlpack__") or _has(value, "__cuda_array_interface__")
    except BufferError:
        return True
    return True


def _has(value: Any, name: str) -> bool:
    try:
        return hasattr(value, name)
    except Exception:  # of a property
        return False


def view_of(address: int, nbytes: int, writable: bool) -> memoryview:
    """A memoryview of bytes at an address."""
    if nbytes == 0:
        return memoryview(bytearray())
    view: memoryview = _from_memory(address, nbytes, _WRITE if writable else _READ)
    return view


class buffer(np.ndarray[Any, Any]):  # noqa: N801 - mpi4py's name
    """Bytes in memory, as mpi4py's type of this name."""

    _memory: Memory

    def __new__(cls, *args: Any) -> buffer:
        if len(args) > 1:
            raise TypeError("buffer() takes at most one object")
        return cls._of(Memory.of(args[0]) if args else Memory(None, 0, 0, False))

    @classmethod
    def _of(cls, memory: Memory, readonly: bool | None = None) -> buffer:
        if readonly is not None:
            memory.readonly = readonly
        view = view_of(memory.address, memory.nbytes, not memory.readonly)
        made = np.frombuffer(view, np.uint8).view(cls) if memory.nbytes else np.empty(0, np.uint8).view(cls)
        made._memory = memory
        return made

    @staticmethod
    def allocate(nbytes: int, clear: bool = False) -> buffer:
        """New memory. It is zero in any case."""
        if nbytes < 0:
            raise ValueError("expecting non-negative size")
        return buffer._of(Memory.of(bytearray(nbytes), writable=True))

    @staticmethod
    def frombuffer(obj: Any, readonly: bool = False) -> buffer:
        """Memory of an object."""
        return buffer._of(Memory.of(obj, writable=not readonly), readonly)

    @staticmethod
    def fromaddress(address: int, nbytes: int, readonly: bool = False) -> buffer:
        """Memory at an address."""
        if nbytes < 0:
            raise ValueError("expecting non-negative buffer length")
        if nbytes > 0 and address == 0:
            raise ValueError("expecting non-NULL address")
        return buffer._of(Memory(None, address, nbytes, readonly))

    @property
    def address(self) -> int:
        """Address of the first byte."""
        return self._memory.address

    @property
    def obj(self) -> Any:
        """Object whose memory this is."""
        return self._memory.owner

    @property
    def readonly(self) -> bool:
        """True if the bytes must not be written."""
        return self._memory.readonly

    @property
    def format(self) -> str:
        """Format of the elements."""
        return "B"

    def _bytes(self) -> memoryview:
        array: Any = self
        return memoryview(array)

    def _check(self) -> None:
        if self._memory.device not in _ACCESSIBLE:
            raise BufferError("buffer is not CPU-accessible")

    def cast(self, format: str, *shape: Any) -> memoryview:
        """A memoryview with other elements or another shape."""
        self._check()
        bytes_of: Any = self._bytes()
        found: memoryview = bytes_of.cast(format, *shape)
        return found

    def tobytes(self, order: Any = None) -> bytes:
        """A copy of the bytes."""
        self._check()
        return bytes(self._bytes())

    def toreadonly(self) -> buffer:
        """The same memory, not to be written."""
        return buffer._of(Memory(self, self.address, self.nbytes, True))

    def release(self) -> None:
        """Forgets the object."""
        self._memory = Memory(None, 0, 0, False)

    def __getitem__(self, item: Any) -> Any:
        self._check()
        if isinstance(item, slice):
            start, stop, step = item.indices(len(self))
            if step != 1:
                raise IndexError("slice with step not supported")
            length = max(0, stop - start)
            return buffer._of(Memory(self, self.address + start, length, self.readonly))
        return int(self._bytes()[operator.index(item)])

    def __setitem__(self, item: Any, value: Any) -> None:
        self._check()
        if self.readonly:
            raise TypeError("buffer is read-only")
        bytes_of = self._bytes()
        if not isinstance(item, slice):
            bytes_of[operator.index(item)] = value
            return
        start, stop, step = item.indices(len(self))
        if step != 1:
            raise IndexError("slice with step not supported")
        length = max(0, stop - start)
        if hasattr(type(value), "__index__"):
            bytes_of[start : start + length] = bytes([operator.index(value)]) * length
            return
        memory = Memory.of(value)
        if memory.nbytes != length:
            raise ValueError("slice length does not match buffer")
        bytes_of[start : start + length] = view_of(memory.address, length, False)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, buffer):
            return self.tobytes() == other.tobytes()
        try:
            return self.tobytes() == bytes(memoryview(other))  # type: ignore[arg-type]
        except TypeError:
            return NotImplemented

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = None

    def __bool__(self) -> bool:
        return len(self) > 0

    def __repr__(self) -> str:
        return f"<MPI.buffer of {len(self)} bytes>"

    __str__ = __repr__


def _format_of(kind: str, size: int) -> tuple[str, int]:
    """Format and size of an item, of a kind of numpy: ("f", 8)."""
    for code in {"b": "?", "i": "bhilq", "u": "BHILQ", "f": "efdg", "c": "FDG"}.get(kind, ""):
        if np.dtype(code).itemsize == size:
            return code if kind != "c" else f"Z{code.lower()}", size
    return "B", 1


def _from_cuda(value: Any, writable: bool, with_format: bool) -> Memory | None:
    """Memory that an object exposes by CUDA's array interface. It must be readable here."""
    try:
        interface = value.__cuda_array_interface__
    except AttributeError:
        return None
    if not isinstance(interface, dict):
        raise TypeError("__cuda_array_interface__: expecting a dict")
    what = "__cuda_array_interface__"
    data, typestr, shape = interface["data"], interface["typestr"], interface["shape"]
    strides, descr = interface.get("strides"), interface.get("descr")
    _check_types(what, data, typestr, shape, strides, descr)
    address, readonly = data
    itemsize = int(typestr[2:])
    size = int(np.prod(shape, dtype=object)) if shape else 1
    format, item = _format_of(typestr[1:2], itemsize)
    if with_format and typestr[:1] not in ("<", "|"):
        raise BufferError(f"{what}: typestr {typestr!r} with non-native or unknown byte order")
    if interface.get("mask") is not None:
        raise BufferError(f"{what}: cannot handle masked arrays")
    if size < 0:
        raise BufferError(f"{what}: buffer with negative size (shape:{shape})")
    if strides is not None and not _is_contiguous(shape, strides, itemsize):
        raise BufferError(f"{what}: buffer is not contiguous (shape:{shape}, strides:{strides})")
    if readonly and writable:
        raise BufferError(f"{what}: buffer is not writable")
    if descr is not None and (len(descr) != 1 or descr[0] != ("", typestr)):
        import warnings  # noqa: PLC0415 - rare

        warnings.warn(f"{what}: ignoring 'descr' key", RuntimeWarning, stacklevel=2)
    return Memory(value, address or 0, size * itemsize, bool(readonly), format, item, device=2)


def _check_types(what: str, data: Any, typestr: Any, shape: Any, strides: Any, descr: Any) -> None:
    for name, one, expected in (("data", data, tuple), ("typestr", typestr, str), ("shape", shape, tuple)):
        if not isinstance(one, expected):
            raise TypeError(f"{what}: {name}: expecting a {expected.__name__}")
    if not isinstance(strides, tuple | None) or not isinstance(descr, list | None):
        raise TypeError(f"{what}: strides or descr: wrong type")


def _is_contiguous(shape: Any, strides: Any, itemsize: int) -> bool:
    def follows(order: Any) -> bool:
        size = itemsize
        for dimension in order:
            if shape[dimension] > 1 and strides[dimension] != size:
                return False
            size *= shape[dimension]
        return True

    return follows(reversed(range(len(shape)))) or follows(range(len(shape)))


def _from_dlpack(value: Any, writable: bool, with_format: bool) -> Memory | None:
    from fabricsim.mpi.dlpack import memory_of  # noqa: PLC0415 - rare

    return memory_of(value, writable)
