"""Reader of OTF2 archives, as Score-P and other measurement systems write them, by the package `otf2`.

The package is a C library without protection against damaged files, and prints messages and tracebacks of its own to
standard error. So it reads in a separate process with limits of memory and processor time: if that ends early, the
reader reports one error.
"""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from fabricsim.errors import FabricsimError, InputError
from fabricsim.traces.otf2_anchor import check_anchor
from fabricsim.traces.otf2_files import archive_size, check_files

_FAULTS = {"SIGABRT", "SIGBUS", "SIGFPE", "SIGILL", "SIGSEGV", "SIGSYS", "SIGTRAP"}
"""Signals that end a process because of an error in it."""
_LEAST_MEMORY = 1 << 30
_MEMORY_PER_BYTE = 256
"""A request that does not end takes about 300 bytes, its event 4; a definition about 1 KB and 10."""
_BLOCKS_PER_FILE = 3
"""Blocks of memory that the package has for each file of events."""
_LEAST_TIME_S = 10
_BYTES_PER_S = 10_000
"""A tenth of the rate at which small events are read."""


@dataclass(frozen=True)
class Calls:
    """Calls of the ranks of a trace, as `_native.trace_of_calls` takes them."""

    ranks: list[bytes]
    """Records of six 64-bit numbers: kind, peer or root, tag, bytes or ns, communicator, request."""
    groups: dict[int, list[int]]
    """Ranks of the communicators from 1 on; number 0 has all ranks."""


def read_otf2(path: Path | str) -> Calls:
    """Reads the calls of an archive.

    Args:
        path: its anchor file, such as `traces.otf2`.

    Raises:
        InputError: the package `otf2` is not installed, there is no such archive, it is damaged, it has no MPI, or
            one-sided communication.
        FabricsimError: the process that reads it was ended from outside.
    """
    if importlib.util.find_spec("otf2") is None:
        raise InputError("OTF2 archives are read by the package otf2: pip install otf2")
    if not Path(path).is_file():
        raise InputError(f"{path}: there is no such file: expected the anchor file of an archive, NAME.otf2")
    block = check_anchor(Path(path))
    check_files(Path(path))
    count, size = archive_size(Path(path))
    memory = _LEAST_MEMORY + _MEMORY_PER_BYTE * size + _BLOCKS_PER_FILE * block * count
    return _read_in_process(str(path), memory, _LEAST_TIME_S + size // _BYTES_PER_S)


def _read_in_process(path: str, memory: int, seconds: int) -> Calls:
    # The process finds the same packages. Ctrl-C does not reach its session: this process gets it, and kills the other.
    folders = os.pathsep.join(folder or os.getcwd() for folder in sys.path)
    command = [sys.executable, "-P", "-m", "fabricsim.traces.otf2_process", path, str(memory), str(seconds)]
    with subprocess.Popen(  # noqa: S603 - this interpreter
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=os.environ | {"PYTHONPATH": folders},
        start_new_session=True,
    ) as process:
        try:
            found = _received(process.stdout)
        except BaseException:
            process.kill()
            raise
    if found is None:
        raise _end(path, process.returncode, seconds)
    return found


def _received(pipe: IO[bytes] | None) -> Calls | None:
    """Calls that the process writes: a line of JSON, and the records. None if it ended before."""
    line = pipe.readline() if pipe is not None else b""
    if pipe is None or not line.endswith(b"\n"):
        return None
    head: dict[str, Any] = json.loads(line)
    if "error" in head:
        raise InputError(head["error"])
    ranks = []
    for size in head["sizes"]:
        ranks.append(pipe.read(size))
        if len(ranks[-1]) < size:
            return None
    return Calls(ranks, {int(number): members for number, members in head["groups"].items()})


def _end(path: str, code: int, seconds: int) -> FabricsimError:
    """The error of a process that ended before it had written the calls."""
    if code >= 0:
        return FabricsimError(f"{path}: the process that reads the archive ended with exit code {code}")
    name = signal.Signals(-code).name
    if name == "SIGXCPU":
        problem = f"the package otf2 has not read it after {seconds} s of processor time"
        return InputError(f"{path}: no OTF2 archive, or damaged: {problem}")
    if name in _FAULTS:
        return InputError(f"{path}: no OTF2 archive, or damaged: the package otf2 crashes with {name}")
    return FabricsimError(f"{path}: the process that reads the archive was ended by {name}")
