"""Memory limits of runs: given by the user, or the available memory."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from fabricsim.errors import InputError
from fabricsim.native import native

_UNITS = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_SIZE = re.compile(r"(?P<number>\d+(\.\d+)?) ?(?P<prefix>[kKMGT]?)(?P<binary>i?)B")
_MOST = 2**64 - 1
"""Largest limit, in bytes."""
RESERVE = 256 * 2**20
"""Bytes that a run without a limit leaves to the machine: it needs them to write results."""


@dataclass(frozen=True)
class Allowance:
    """Memory limits of a run."""

    estimate: int | None = None
    """Most bytes by the estimate before it starts; None: what is available then."""
    resident: int | None = None
    """Most bytes of its process while it runs; None: until the machine has no more."""

    def left(self) -> int | None:
        """Most bytes, by the estimate, of a copy of a run of this process; None: what is available then."""
        if self.resident is None:
            return self.estimate
        return max(self.resident - (resident_bytes() or 0), 1)

    def exceeded(self) -> str | None:
        """Reason why a run cannot go on; None if it can."""
        if self.resident is not None:
            used = resident_bytes()
            if used is None or used <= self.resident:
                return None
            return (
                f"out of memory: the process takes {_in_words(used)}, and {_in_words(self.resident)} are "
                "allowed; allow more with --memory, or make the experiment smaller"
            )
        left = native().available_memory()
        if left is None or left >= RESERVE:
            return None
        return (
            f"out of memory: only {_in_words(left)} are left for this process; run fewer at once, or make the "
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
        raise InputError(f"memory {memory}: must be more than 0, for example 16 GiB or 500 MB")
    if most > _MOST:
        raise InputError(f"memory {memory}: must be less than 16 EiB")
    return Allowance(most, most)


def shared(memory: str | int | None, processes: int | None) -> Allowance:
    """Limit of each of several processes of this machine; None: they are on other machines.

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


def _in_words(size: int) -> str:
    """A number of bytes in the largest binary unit of which it has one or more."""
    for exponent, prefix in ((4, "T"), (3, "G"), (2, "M"), (1, "K")):
        if size >= 1024**exponent:
            return f"{size / 1024**exponent:.2f} {prefix}iB"
    return f"{size} B"


def _bytes_of(text: str) -> int:
    if re.fullmatch(r"0+(\.0+)?", text.strip()):
        return 0  # nothing, in any unit
    found = _SIZE.fullmatch(text.strip())
    if found is None:
        raise InputError(f"memory {text!r}: give a number and a unit, such as 16 GiB or 500 MB")
    prefix = found["prefix"].replace("K", "k")
    if found["binary"] and not prefix:
        raise InputError(f"memory {text!r}: give a number and a unit, such as 16 GiB or 500 MB")
    unit = 1024 ** "kMGT".find(prefix) * 1024 if found["binary"] else _UNITS[prefix]
    return int(float(found["number"]) * unit)
