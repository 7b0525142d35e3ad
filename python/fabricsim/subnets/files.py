"""Files for the engine."""

from __future__ import annotations

from pathlib import Path

from fabricsim.errors import InputError
from fabricsim.native_types import File


def load(path: Path | str) -> File:
    """Reads a file.

    Raises:
        InputError: it cannot be read.
    """
    try:
        return Path(path).read_bytes(), str(path)
    except OSError as error:
        raise InputError(f"{path}: it cannot be read: {error.strerror}") from error


def load_optional(path: Path | str | None) -> File | None:
    """Reads a file if there is one."""
    return None if path is None else load(path)
