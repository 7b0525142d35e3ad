"""Checksums of the files in a folder of results: `SHA256SUMS`, as `sha256sum --check` reads it.

A damaged file is found before it is read, so that no wrong number comes of it. A file without an entry is not checked.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable
from pathlib import Path

from fabricsim.errors import StoreError

FILE = "SHA256SUMS"
_LINE = re.compile(r"([0-9a-f]{64})  (\S.*)")
_ATTEMPTS = 5
"""Times that a file is read which another process may replace meanwhile."""

Sums = dict[str, list[str]]
"""The checksums that each file may have: two while it is replaced."""


def digest(path: Path) -> str:
    """The checksum of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def verify(path: Path) -> None:
    """Compares a file with the checksums in its folder.

    Raises:
        StoreError: it is another than the one that was written.
    """
    for _ in range(_ATTEMPTS):
        try:
            found = digest(path)
        except OSError:
            return  # for its reader to report
        expected = _read(path.parent).get(path.name)
        if expected is None or found in expected:
            return
    raise StoreError(
        f"{path}: damaged or edited: its checksum is not the one in {FILE}; restore it, or remove its line there to "
        "use it as it is"
    )


def require(folder: Path, needed: Callable[[str], bool]) -> None:
    """Checks that the files that have a checksum and are needed, by name, are there.

    Raises:
        StoreError: one is missing, or the checksums are damaged.
    """
    for name in sorted(_read(folder)):
        if not needed(name):
            continue
        path = folder / name
        # Another process writes a new file beside its place and renames it, so that one of both is there.
        if not path.with_name(f".{name}").exists() and not path.exists():
            raise StoreError(
                f"{path}: missing, although {FILE} lists it; restore it, or remove its line there to read the folder "
                "without it"
            )


def write(folder: Path, names: Iterable[str]) -> None:
    """Writes the checksums of files; those of other files stay.

    Raises:
        OSError: they cannot be written.
    """
    _write(folder, _known(folder) | {name: [digest(folder / name)] for name in names})


def forget(folder: Path, name: str) -> None:
    """Removes the checksum of a file that is about to change.

    Raises:
        OSError: it cannot be written.
    """
    sums = _known(folder)
    if sums.pop(name, None) is not None:
        _write(folder, sums)


def replace(path: Path, write: Callable[[Path], None]) -> None:
    """Replaces a file, whole or not at all, and its checksum. `write` writes to the path that it is given.

    Raises:
        OSError: it cannot be written.
    """
    folder, name = path.parent, path.name
    temporary = path.with_name(f".{name}")
    write(temporary)
    new = digest(temporary)
    sums = _known(folder)
    # A process that is killed in between leaves a file that has one of both.
    _write(folder, sums | {name: [*sums.get(name, [])[-1:], new]})
    temporary.replace(path)
    _write(folder, sums | {name: [new]})


def _known(folder: Path) -> Sums:
    """The checksums so far; none if their file is damaged, since it is written anew."""
    try:
        return _read(folder)
    except StoreError:
        return {}


def _read(folder: Path) -> Sums:
    path = folder / FILE
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        raise StoreError(f"{path}: it cannot be read: {error.strerror}") from error
    sums: Sums = {}
    for number, line in enumerate(lines, 1):
        found = _LINE.fullmatch(line)
        if found is None:
            raise StoreError(
                f"{path}, line {number}: damaged: expected a checksum and the name of a file; remove the line to use "
                "that file unchecked"
            )
        sums.setdefault(found[2], []).append(found[1])
    return sums


def _write(folder: Path, sums: Sums) -> None:
    lines = [f"{value}  {name}\n" for name in sorted(sums) for value in sums[name]]
    temporary = folder / f".{FILE}"
    temporary.write_text("".join(lines), encoding="utf-8")
    temporary.replace(folder / FILE)
