"""Standard output and standard error that never end the program.

A character that the encoding lacks is written as its escape. When the reader of a pipe has gone, or the terminal, the
rest is dropped: the reader has what it needs. Any other failure, such as a full device, is reported at the end by
`Streams.failure`.
"""

from __future__ import annotations

import errno
import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import IO, Any, TextIO

_GONE = {errno.EPIPE, errno.EIO, errno.ECONNRESET, errno.ENXIO}
"""Nothing reads any more: a closed pipe or socket, a terminal that was hung up."""


class _Raw(io.FileIO):
    """A file descriptor that accepts everything; the first failure is noted."""

    def __init__(self, descriptor: int) -> None:
        super().__init__(descriptor, "w", closefd=False)
        self.error: OSError | None = None

    def write(self, data: Any, /) -> int:
        if self.error is None:
            try:
                return super().write(data) or 0
            except OSError as error:
                self.error = error
        return memoryview(data).nbytes


class Streams:
    """The streams of one call of the command line."""

    def __init__(self) -> None:
        self._raw: dict[str, _Raw] = {}

    def failure(self) -> str | None:
        """Reason why standard output is incomplete; None if it is complete, or if its reader has gone."""
        raw = self._raw.get("stdout")
        if raw is None or raw.error is None or raw.error.errno in _GONE:
            return None
        return f"standard output cannot be written: {raw.error.strerror}"

    def _wrap(self, name: str) -> TextIO:
        old: TextIO = getattr(sys, name)
        with suppress(OSError, ValueError, AttributeError):
            old.flush()
        try:
            raw = self._raw[name] = _Raw(old.fileno())
        except (OSError, ValueError, AttributeError):
            return old  # no file: a notebook, a test
        return io.TextIOWrapper(
            io.BufferedWriter(raw),
            encoding=old.encoding,
            errors="backslashreplace",
            line_buffering=name == "stderr" or os.isatty(raw.fileno()),
        )


@contextmanager
def lenient() -> Iterator[Streams]:
    """Replaces the standard streams while entered."""
    streams = Streams()
    before = (sys.stdout, sys.stderr)
    sys.stdout, sys.stderr = streams._wrap("stdout"), streams._wrap("stderr")
    try:
        yield streams
    finally:
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):
                stream.flush()
        sys.stdout, sys.stderr = before


def is_unicode(stream: IO[str]) -> bool:
    """True if it takes every character."""
    return (getattr(stream, "encoding", None) or "utf-8").lower().replace("_", "-").startswith("utf")
