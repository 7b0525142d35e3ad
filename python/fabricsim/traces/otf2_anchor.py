"""Check of the anchor file of an OTF2 archive before the package `otf2` reads it, which believes the numbers in it.

The format is additive: later versions have fields behind those that are read here.
"""

from __future__ import annotations

import struct
from pathlib import Path

from fabricsim.errors import InputError

_BYTE_ORDERS = {0x42: "<", 0x23: ">"}
_MAGIC = b"OTF2\0"
_NUMBERS = "BBBBB QQ BB QQ"
"""Versions of anchor, trace and library; sizes of chunks; substrate, compression; locations, global definitions."""
_BLOCK_OF_EVENTS = 12
"""First byte of the size of chunks of events."""
_LARGEST_BLOCK = 16 << 20
"""Larger ones are refused by the package."""
_FIRST_WITH_PROPERTIES = 2
_UNCOMPRESSED = 1
_LEAST_PROPERTY = 2
"""Bytes of a property with an empty name and an empty value."""
_LEAST_DEFINITION = 2
"""Bytes of the kind and the length of a definition."""


def check_anchor(path: Path) -> int:
    """Checks the numbers in an anchor file.

    Args:
        path: the file.

    Returns:
        Bytes of the blocks in which the package reads events.

    Raises:
        InputError: a number cannot be right: it is larger than the archive has place for.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: cannot read: {error.strerror}") from error
    problem = _problem(path, content)
    if problem is not None:
        raise InputError(f"{path}: no OTF2 archive, or damaged: {problem}")
    (block,) = struct.unpack_from(_BYTE_ORDERS[content[1]] + "Q", content, _BLOCK_OF_EVENTS)
    return min(int(block), _LARGEST_BLOCK)


def _problem(path: Path, content: bytes) -> str | None:
    order = _BYTE_ORDERS.get(content[1]) if len(content) > 1 else None
    if order is None or content[2 : 2 + len(_MAGIC)] != _MAGIC:
        return "its first bytes are not those of an anchor file"
    numbers = struct.Struct(order + _NUMBERS)
    place = 2 + len(_MAGIC)
    if len(content) < place + numbers.size:
        return f"byte {len(content)}: the file ends within its numbers"
    fields = numbers.unpack_from(content, place)
    version, compression, locations, definitions = fields[0], fields[8], fields[9], fields[10]
    if locations > definitions:
        return f"{locations} locations: more than the {definitions} definitions"
    if compression == _UNCOMPRESSED and (problem := _of_definitions(path.with_suffix(".def"), definitions)):
        return problem
    return _of_texts(content, place + numbers.size, order, version)


def _of_definitions(path: Path, count: int) -> str | None:
    """The number of definitions compared with the size of their file."""
    if not path.is_file() or count * _LEAST_DEFINITION <= (size := path.stat().st_size):
        return None
    return f"{count} definitions: {path.name} has {size} bytes"


def _of_texts(content: bytes, place: int, order: str, version: int) -> str | None:
    """The names of machine and creator, the description, and the properties."""
    for _ in range(3):
        end = content.find(0, place)
        if end < 0:
            return f"byte {place}: a text without an end"
        place = end + 1
    if version < _FIRST_WITH_PROPERTIES:
        return None
    if len(content) < place + 4:
        return f"byte {place}: the file ends before the number of properties"
    (count,) = struct.unpack_from(order + "I", content, place)
    rest = len(content) - place - 4
    if count * _LEAST_PROPERTY > rest:
        return f"byte {place}: {count} properties in the {rest} bytes that follow"
    return None
