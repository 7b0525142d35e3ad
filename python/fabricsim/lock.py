"""One process at a time writes a folder of results. The lock is the operating system's: it ends with its process."""

from __future__ import annotations

import errno
import json
import os
import shlex
import socket
import sys
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from fabricsim.errors import InputError

if TYPE_CHECKING:
    from filelock import BaseFileLock

_NO_LOCKS = {errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP}
"""Errors of a file system without locks."""
MOST_COMMAND = 120
"""Characters of a command line that a message shows."""


class FolderTakenError(InputError):
    """A folder cannot be used, since it exists or another process uses it. Another name may be free."""


class FolderLock:
    """The right to write a folder, from `acquire` to `release`.

    The lock file lies beside the folder, since the folder may be replaced by another; inside it if nothing can be
    created beside it, since then it cannot be replaced either. It is removed at the end. On a file system without
    locks there is none.
    """

    def __init__(self, folder: str | Path) -> None:
        self._folder = Path(folder)
        real = Path(os.path.realpath(folder))
        beside = real.parent / f".{real.name}.lock"
        inside = real.is_dir() and not os.access(real.parent, os.W_OK)
        self._path = real / ".lock" if inside else beside
        self._lock: BaseFileLock | None = None

    def acquire(self) -> FolderLock:
        """Takes the lock.

        Raises:
            FolderTakenError: another process has it, or another part of this one.
            InputError: the lock file cannot be written.
        """
        from filelock import FileLock, Timeout  # noqa: PLC0415 - only for commands that write

        lock = FileLock(self._path, blocking=False, thread_local=False, fallback_to_soft=False)
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            lock.acquire()
            self._path.write_text(json.dumps(_this_process()), encoding="utf-8")
        except Timeout:
            raise FolderTakenError(
                f"{self._folder}: in use by {self._owner()}: wait for it, stop it, or choose another folder with --out"
            ) from None
        except NotImplementedError:
            return self
        except OSError as error:
            lock.release()
            if error.errno in _NO_LOCKS:
                return self
            raise InputError(
                f"{self._folder}: results cannot be written there: {error.strerror}; choose another folder with --out"
            ) from None
        self._lock = lock
        return self

    def release(self) -> None:
        """Gives the lock up. Harmless without it."""
        lock, self._lock = self._lock, None
        if lock is not None:
            self._path.unlink(missing_ok=True)  # first: who opens the file later must not get this one
            lock.release()

    def __enter__(self) -> FolderLock:
        return self.acquire()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()

    def _owner(self) -> str:
        try:
            found = json.loads(self._path.read_text(encoding="utf-8"))
            number, command, host = int(found["pid"]), str(found["command"]), str(found["host"])
        except (OSError, ValueError, KeyError, TypeError):
            return "another process"
        where = "" if host == socket.gethostname() else f" on {host}"
        return f"process {number}{where} ({command})"


def _this_process() -> dict[str, Any]:
    words = [Path(sys.argv[0]).name or "python", *sys.argv[1:]] if sys.argv else ["python"]
    if words[0] == "__main__.py":
        words[0] = Path(sys.argv[0]).parent.name
    command = shlex.join(words)
    if len(command) > MOST_COMMAND:
        command = f"{command[:MOST_COMMAND]} ..."
    return {"pid": os.getpid(), "command": command, "host": socket.gethostname()}
