"""Memory that objects expose by DLPack, versions 0 and 1 (https://dmlc.github.io/dlpack)."""

from __future__ import annotations

import ctypes
from typing import Any

from fabricsim.mpi.memory import Memory, _format_of, _is_contiguous

_CPU = 1
_READONLY = 1
_INT, _UINT, _FLOAT, _COMPLEX, _BOOL = 0, 1, 2, 5, 6
_KINDS = {_INT: "i", _UINT: "u", _FLOAT: "f", _COMPLEX: "c", _BOOL: "b"}


class _Tensor(ctypes.Structure):
    """`DLTensor`."""

    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_uint),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class _Versioned(ctypes.Structure):
    """`DLManagedTensorVersioned`."""

    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("manager", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", _Tensor),
    ]


_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.restype = ctypes.c_void_p
_pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
_is_valid = ctypes.pythonapi.PyCapsule_IsValid
_is_valid.argtypes = [ctypes.py_object, ctypes.c_char_p]


def memory_of(value: Any, writable: bool) -> Memory | None:
    """Memory of an object, or None if it has no DLPack.

    Raises:
        BufferError: it is not contiguous, not writable, or malformed.
    """
    try:
        dlpack, device_of = value.__dlpack__, value.__dlpack_device__
    except AttributeError:
        return None
    device, number = device_of()
    if not isinstance(device, int) or not isinstance(number, int):
        raise TypeError("dlpack: a device is two whole numbers")
    stream = {} if device == _CPU else {"stream": -1}
    major, name = 1, b"dltensor_versioned"
    try:
        capsule = dlpack(**stream, max_version=(1, 0), copy=False)
    except TypeError:
        major, name = 0, b"dltensor"
        capsule = dlpack(**stream)
    if not _is_valid(capsule, name):
        raise BufferError("dlpack: invalid capsule object")
    address = _pointer(capsule, name)
    readonly = False
    if major:
        managed = _Versioned.from_address(address)
        if managed.major < major:
            raise BufferError("dlpack: unexpected version")
        tensor, readonly = managed.tensor, bool(managed.flags & _READONLY)
    else:
        tensor = _Tensor.from_address(address)
    elements = _elements(tensor)
    if readonly and writable:
        raise BufferError("dlpack: buffer is not writable")
    nbytes = elements * ((tensor.bits * tensor.lanes + 7) // 8)
    format, itemsize = _format(tensor)
    at = (tensor.data or 0) + tensor.byte_offset
    return Memory(capsule, at, nbytes, readonly, format, itemsize, device)


def _elements(tensor: _Tensor) -> int:
    """Number of elements of a contiguous tensor."""
    ndim: int = tensor.ndim
    if ndim < 0:
        raise BufferError("dlpack: number of dimensions is negative")
    if ndim > 0 and not tensor.shape:
        raise BufferError("dlpack: shape is NULL")
    shape = [tensor.shape[axis] for axis in range(ndim)]
    strides = [tensor.strides[axis] for axis in range(ndim)] if tensor.strides else None
    if any(length < 0 for length in shape):
        raise BufferError("dlpack: shape item is negative")
    if strides is not None:
        if any(stride < 0 for stride in strides):
            raise BufferError("dlpack: strides item is negative")
        if not _is_contiguous(shape, strides, 1):
            raise BufferError("dlpack: buffer is not contiguous")
    elements = 1
    for length in shape:
        elements *= length
    return elements


def _format(tensor: _Tensor) -> tuple[str, int]:
    if tensor.lanes == 2 and tensor.code == _FLOAT:
        return _format_of("c", tensor.bits // 4)
    if tensor.lanes != 1:
        return "B", 1
    return _format_of(_KINDS.get(tensor.code, ""), tensor.bits // 8)
