"""The process that reads an OTF2 archive: `python -m fabricsim.traces.otf2_process ANCHOR BYTES SECONDS`.

It writes a line of JSON to standard output, and then the records of the ranks. What the package `otf2` prints goes to
standard error.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
from array import array
from typing import IO, Any

from fabricsim.errors import InputError
from fabricsim.traces.otf2_events import read_events


def main(path: str, memory: int, seconds: int) -> None:
    """Reads an archive, and writes its calls.

    Args:
        path: its anchor file.
        memory: bytes of address space at most.
        seconds: processor time at most.
    """
    # The package prints to standard error: standard output has the result alone.
    with os.fdopen(os.dup(1), "wb") as output:
        os.dup2(2, 1)
        _limit(memory, seconds)
        try:
            records, groups = read_events(_package(), path)
        except InputError as error:
            _write(output, {"error": str(error)}, [])
        except MemoryError:
            text = f"reading it takes more than {memory >> 20} MiB of memory"
            _write(output, {"error": f"{path}: no OTF2 archive, or damaged: {text}"}, [])
        else:
            _write(output, {"groups": groups}, records)


def _package() -> Any:
    try:
        return importlib.import_module("otf2")
    except (ImportError, OSError) as error:
        raise InputError(f"cannot load the package otf2, which reads OTF2 archives: {error}") from error


def _write(output: IO[bytes], head: dict[str, Any], records: list[array[int]]) -> None:
    head["sizes"] = [len(of) * of.itemsize for of in records]
    output.write(json.dumps(head).encode() + b"\n")
    for of in records:
        output.write(of)
    output.flush()


def _limit(memory: int, seconds: int) -> None:
    """Limits memory and processor time of this process, where the system has such limits. It leaves no core dump."""
    try:
        import resource  # noqa: PLC0415 - Windows has none
    except ImportError:
        return
    for kind, most in (
        (resource.RLIMIT_AS, memory),
        (resource.RLIMIT_CPU, seconds),
        (resource.RLIMIT_CORE, 0),
    ):
        before = resource.getrlimit(kind)
        limits = [most, *(limit for limit in before if limit != resource.RLIM_INFINITY)]
        try:
            resource.setrlimit(kind, (min(limits), before[1]))
        except (OSError, ValueError):
            continue  # systems that know a limit may refuse to set it


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
