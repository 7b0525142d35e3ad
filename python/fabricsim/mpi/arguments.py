"""Checks of the types of arguments: an error names the argument, its value, and what is allowed."""

from __future__ import annotations

from collections.abc import Iterable
from operator import index
from typing import Any

from fabricsim.mpi import constants
from fabricsim.mpi.errors import Exception

MOST_INT = 2**31 - 1
"""Largest number of C's type int, which arguments of MPI have."""


def require_whole(value: object, what: str, code: int = constants.ERR_ARG) -> None:
    """Raises an error of the class `code` for a number that is no whole number."""
    try:
        index(value)  # type: ignore[arg-type]
    except TypeError:
        raise Exception(code, f"{what} = {value!r}: must be a whole number") from None


def whole_numbers(values: Any, what: str, code: int = constants.ERR_ARG) -> list[int]:
    """A list of whole numbers. Raises an error of the class `code` for anything else."""
    if not isinstance(values, Iterable):
        raise Exception(code, f"{what} = {values!r}: must be a list of whole numbers")
    found = list(values)
    for one in found:
        require_whole(one, f"an element of {what}", code)
    return [index(one) for one in found]


def require_int(value: object, what: str) -> int:
    """Returns a whole number as MPI's type int has it. Raises ERR_ARG for anything else."""
    require_whole(value, what)
    found = index(value)  # type: ignore[arg-type]
    if not -MOST_INT - 1 <= found <= MOST_INT:
        raise Exception(constants.ERR_ARG, f"{what} = {found}: must be {-MOST_INT - 1} to {MOST_INT}")
    return found


def require_kind(value: object, kind: type, what: str, code: int = constants.ERR_ARG) -> None:
    """Raises an error of the class `code` for an argument of another type."""
    if not isinstance(value, kind):
        raise Exception(code, f"{what} = {value!r}: must be of the type MPI.{kind.__name__}")
