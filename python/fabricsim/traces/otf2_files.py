"""Check of the files with definitions and events of an OTF2 archive, for what the package `otf2` does not report.

It reads blocks of a fixed size. Behind the end of a file that is cut short it reads what its memory had before. It
leaves out the definitions of a location if their file has no header.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from fabricsim.errors import InputError

_HEADER = 18
"""Bytes of the header of a block: its mark, the byte order, and the numbers of its first and its last event."""
_MARK = 3
_BYTE_ORDERS = b"\x42\x23"
_END = 2
"""Record at the end of each file. Padding of 0 and 1 may follow."""
_PADDING = b"\0\1"
_TAIL = 4096
"""Bytes that are read at a time to find the end."""


def check_files(anchor: Path) -> None:
    """Checks first and last bytes of the files of an archive.

    Args:
        anchor: its anchor file.

    Raises:
        InputError: the file of the global definitions is missing, or a file does not begin with a header, or does not
            end with the mark of its end.
    """
    folder, definitions = anchor.with_suffix(""), anchor.with_suffix(".def")
    if not definitions.is_file():
        raise InputError(f"{anchor}: no OTF2 archive, or damaged: {definitions.name} is missing")
    for path in _files(anchor):
        try:
            problem = _problem(path)
        except OSError as error:
            raise InputError(f"{path}: cannot read: {error.strerror}") from error
        if problem is not None:
            name = path.name if path.parent != folder else f"{folder.name}/{path.name}"
            raise InputError(f"{anchor}: no OTF2 archive, or damaged: {name}: {problem}")


def archive_size(anchor: Path) -> tuple[int, int]:
    """Number of files with definitions or events, and bytes of all files of an archive."""
    sizes = [path.stat().st_size for path in _files(anchor)]
    return len(sizes), anchor.stat().st_size + sum(sizes)


def _files(anchor: Path) -> Iterator[Path]:
    yield anchor.with_suffix(".def")
    folder = anchor.with_suffix("")
    if folder.is_dir():
        with os.scandir(folder) as entries:
            names = sorted(entry.name for entry in entries if entry.name.endswith((".def", ".evt")))
        yield from (folder / name for name in names)


def _problem(path: Path) -> str | None:
    with path.open("rb") as file:
        head = file.read(_HEADER)
        size = file.seek(0, os.SEEK_END)
        if size < _HEADER:
            return f"{size} bytes: shorter than its header of {_HEADER} bytes"
        if head[0] != _MARK or head[1] not in _BYTE_ORDERS:
            return "its first bytes are not those of a header"
        if _last_record(file, size) != _END:
            return f"byte {size}: the file ends without the mark of its end"
    return None


def _last_record(file: IO[bytes], end: int) -> int | None:
    """The last byte before padding; None without one."""
    while end > _HEADER:
        begin = max(end - _TAIL, _HEADER)
        file.seek(begin)
        tail = file.read(end - begin).rstrip(_PADDING)
        if tail:
            return tail[-1]
        end = begin
    return None
