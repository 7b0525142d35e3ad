"""Access to the compiled module. It is loaded on first use, so that reading results works without it."""

from __future__ import annotations

import importlib
import importlib.util
import json
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, TypeVar, cast

from fabricsim.errors import InputError, NativeMissingError

if TYPE_CHECKING:
    from fabricsim.native_types import Native

T = TypeVar("T")

_PT_NOTE = 4
_NT_GNU_BUILD_ID = 3
POLL_S = 0.1
"""Seconds between two checks for a signal."""


def native() -> Native:
    """The module `fabricsim._native`."""
    try:
        return cast("Native", importlib.import_module("fabricsim._native"))
    except ModuleNotFoundError as error:
        raise NativeMissingError(
            "the compiled part of fabricsim is missing: in a checkout run `make run` once, "
            "else install the package again with pip"
        ) from error


def waited(work: Callable[[], T]) -> T:
    """Returns or raises what `work` does. It runs in a thread, so that this one notices Ctrl-C meanwhile."""
    results: list[T] = []
    errors: list[BaseException] = []

    def do() -> None:
        try:
            results.append(work())
        except BaseException as error:  # raised again by the thread that waits
            errors.append(error)

    thread = threading.Thread(target=do, name="fabricsim", daemon=True)
    thread.start()
    while thread.is_alive():
        thread.join(POLL_S)
    for error in errors:
        raise error
    return results[0]


@contextmanager
def bad_input() -> Iterator[None]:
    """Turns errors that the engine reports about its input into `InputError`."""
    error_type = native().NativeError
    try:
        yield
    except error_type as error:
        raise InputError(str(error)) from error


def version() -> str:
    """Version of the engine."""
    return native().version()


def build() -> str:
    """Build identifier of the compiled module, 12 hexadecimal digits; empty if its file has none.

    It is the linker's note `NT_GNU_BUILD_ID` in an ELF file of 64 bits: two builds have the same only if all bytes of
    their code are the same.
    """
    path = module_file()
    if path is None:
        return ""
    try:
        with path.open("rb") as file:
            return build_id(file)[:12]
    except (OSError, struct.error):
        return ""


def module_file() -> Path | None:
    """File of the compiled module; None if there is none."""
    spec = importlib.util.find_spec("fabricsim._native")
    return None if spec is None or spec.origin is None else Path(spec.origin)


def build_id(file: BinaryIO) -> str:
    """The build identifier of an ELF file; empty if it is none, or has no identifier."""
    head = file.read(64)
    if head[:6] != b"\x7fELF\x02\x01":  # of 64 bits, the lowest byte first
        return ""
    (offset,), (size, count) = struct.unpack_from("<Q", head, 32), struct.unpack_from("<HH", head, 54)
    file.seek(offset)
    segments = file.read(size * count)
    for at in range(0, size * count, size):
        (kind,), (place,), (length,) = (
            struct.unpack_from(form, segments, at + by) for form, by in (("<I", 0), ("<Q", 8), ("<Q", 32))
        )
        if kind == _PT_NOTE:
            file.seek(place)
            if found := _note(file.read(length)):
                return found
    return ""


def _note(notes: bytes) -> str:
    """The build identifier among the notes of a segment."""
    at = 0
    while at + 12 <= len(notes):
        name, value, kind = struct.unpack_from("<III", notes, at)
        begin = at + 12 + (name + 3) // 4 * 4
        if kind == _NT_GNU_BUILD_ID and notes[at + 12 : at + 12 + name] == b"GNU\0":
            return notes[begin : begin + value].hex()
        at = begin + (value + 3) // 4 * 4
    return ""


def schema() -> dict[str, Any]:
    """The JSON Schema of an experiment file."""
    return cast("dict[str, Any]", json.loads(native().schema()))
