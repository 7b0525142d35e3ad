"""Matrices of demands."""

from __future__ import annotations

import csv
import math
from pathlib import Path
from typing import NamedTuple

from fabricsim.errors import InputError


class Demand(NamedTuple):
    """A demand between two nodes."""

    source: str
    """Description or GUID of the sender."""
    destination: str
    """The same of the receiver."""
    weight: float
    place: str = ""
    """File and line, for messages."""


def read_matrix(path: Path | str) -> list[Demand]:
    """Reads demands from a CSV file: lines `SENDER,RECEIVER,WEIGHT`; the weight is 1 where it is left out.

    Raises:
        InputError: the file cannot be read, has no demand, or a line has other columns.
    """
    try:
        with Path(path).open(newline="", encoding="utf-8") as file:
            rows = list(enumerate(csv.reader(file, skipinitialspace=True), start=1))
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"{path}: it cannot be read: {getattr(error, 'strerror', None) or 'not UTF-8 text'}"
        ) from error
    demands = [_demand(path, number, row) for number, row in rows if row and not row[0].startswith("#")]
    if not demands:
        raise InputError(
            f"{path}: no demand is in it: expected lines SENDER,RECEIVER or SENDER,RECEIVER,WEIGHT"
        )
    return demands


def _demand(path: Path | str, number: int, cells: list[str]) -> Demand:
    row = [cell.strip() for cell in cells]
    if len(row) not in {2, 3}:
        raise InputError(
            f"{path}:{number}: {len(row)} columns: expected SENDER,RECEIVER or SENDER,RECEIVER,WEIGHT"
        )
    try:
        weight = float(row[2]) if len(row) == 3 else 1.0
    except ValueError:
        raise InputError(f"{path}:{number}: the weight {row[2]!r} is no number") from None
    if not 0 <= weight < math.inf:
        raise InputError(f"{path}:{number}: the weight is {row[2]}: must be a number of 0 or more")
    return Demand(row[0], row[1], weight, f"{path}:{number}")
