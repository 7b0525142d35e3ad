"""The build that `fabricsim --version` says: the linker's identifier of the compiled module."""

from __future__ import annotations

import io
import re
import struct

import pytest

from fabricsim.native import build, build_id


def elf(*segments: tuple[int, bytes]) -> bytes:
    """An ELF file of 64 bits with these segments: type and content."""
    place = 64 + 56 * len(segments)
    headers, contents = b"", b""
    for kind, content in segments:
        headers += struct.pack(
            "<IIQQQQQQ", kind, 4, place + len(contents), 0, 0, len(content), len(content), 4
        )
        contents += content
    head = (
        b"\x7fELF\x02\x01\x01"
        + bytes(9)
        + struct.pack("<HHIQQQIHHH", 3, 62, 1, 0, 64, 0, 0, 64, 56, len(segments))
    )
    return head.ljust(64, b"\0") + headers + contents


def note(name: bytes, kind: int, value: bytes) -> bytes:
    padded = (part.ljust((len(part) + 3) // 4 * 4, b"\0") for part in (name, value))
    return struct.pack("<III", len(name), len(value), kind) + b"".join(padded)


BUILD = bytes(range(20))


@pytest.mark.parametrize(
    ("content", "found"),
    [
        (elf((1, b"code"), (4, note(b"GNU\0", 5, b"xx") + note(b"GNU\0", 3, BUILD))), BUILD.hex()),
        (elf((4, note(b"GNU\0", 1, BUILD)), (4, note(b"GNU\0", 3, BUILD))), BUILD.hex()),
        (elf((4, note(b"Go\0", 3, BUILD))), ""),
        (elf((1, note(b"GNU\0", 3, BUILD))), ""),
        (elf(), ""),
        (b"\x7fELF\x01\x01" + bytes(60), ""),
        (b"MZ", ""),
        (b"", ""),
    ],
)
def test_the_build_of_a_file(content: bytes, found: str) -> None:
    assert build_id(io.BytesIO(content)) == found


@pytest.mark.usefixtures("real")
def test_the_build_is_that_of_the_compiled_module() -> None:
    assert re.fullmatch("[0-9a-f]{12}|", build())
