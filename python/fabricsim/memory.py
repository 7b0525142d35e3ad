"""The memory that runs may take: given by the user, or what the machine has."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from fabricsim.errors import InputError
from fabricsim.native import native

_UNITS = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_SIZE = re.compile(r"(?P<number>\d+(\.\d+)?) ?(?P<prefix>[kKMGT]?)(?P<binary>i?)B")
_GIB = float(2**30)
RESERVE = 256 * 2**20
"""Bytes that a run without a limit leaves to the machine: results have to be written with them."""


@dataclass(frozen=True)
class Allowance:
    """What a run may take."""

    estimate: int | None = None
    """Most bytes by the estimate before it starts; None: what is available then."""
    resident: int | None = None
    """Most bytes of its process while it runs; None: until the machine has no more."""

    def exceeded(self) -> str | None:
        """Why a run cannot go on; None if it can."""
        if self.resident is not None:
            used = resident_bytes()
            if used is None or used <= self.resident:
                return None
            return (
                f"out of memory: the process takes {used / _GIB:.2f} GiB, and {self.resident / _GIB:.2f} GiB are "
                "allowed; allow more with --memory, or make the experiment smaller"
            )
        left = native().available_memory()
        if left is None or left >= RESERVE:
            return None
        return (
            f"out of memory: only {left / _GIB:.2f} GiB are left for this process; run fewer at once, or make the "
            "experiment smaller"
        )


def allowance(memory: str | int | Allowance | None) -> Allowance:
    """From what a caller gives: bytes, or a text such as "16 GiB".

    Raises:
        InputError: it is no size.
    """
    if isinstance(memory, Allowance):
        return memory
    if memory is None:
        return Allowance()
    most = memory if isinstance(memory, int) else _bytes_of(memory)
    if most <= 0:
        raise InputError(f"memory {memory}: must be more than 0")
    return Allowance(most, most)


def shared(memory: str | int | None, processes: int | None) -> Allowance:
    """What each of several processes of this machine may take; None: they are not of this machine.

    Raises:
        InputError: it is no size.
    """
    whole = allowance(memory)
    if processes is None or processes == 1:
        return whole
    if whole.resident is not None:
        part = whole.resident // processes
        return Allowance(part, part)
    available = native().available_memory()
    return Allowance(None if available is None else available // processes)


def resident_bytes() -> int | None:
    """Bytes of memory that this process takes; None if the system does not report it."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except (OSError, ValueError, IndexError):
        return None
    return pages * os.sysconf("SC_PAGE_SIZE")


def _bytes_of(text: str) -> int:
    found = _SIZE.fullmatch(text.strip())
    if found is None:
        raise InputError(f"memory {text!r}: give a number and a unit, such as 16 GiB or 500 MB")
    prefix = found["prefix"].replace("K", "k")
    if found["binary"] and not prefix:
        raise InputError(f"memory {text!r}: give a number and a unit, such as 16 GiB or 500 MB")
    unit = 1024 ** "kMGT".find(prefix) * 1024 if found["binary"] else _UNITS[prefix]
    return int(float(found["number"]) * unit)
