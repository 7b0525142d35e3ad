"""Collectives and their plain computations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fabricsim as fs
from fabricsim.mpi import MPI
from fabricsim.mpi.collectives.registry import ALGORITHMS

COUNTS = list(range(1, 34))
FAST = "loggp:L=10,o=1,g=1,G=0"
OPS: dict[str, tuple[Any, Callable[..., Any]]] = {
    "SUM": (MPI.SUM, np.add),
    "PROD": (MPI.PROD, np.multiply),
    "MAX": (MPI.MAX, np.maximum),
    "MIN": (MPI.MIN, np.minimum),
    "BXOR": (MPI.BXOR, np.bitwise_xor),
    "LAND": (MPI.LAND, np.logical_and),
    "LOR": (MPI.LOR, np.logical_or),
    "LXOR": (MPI.LXOR, np.logical_xor),
    "BAND": (MPI.BAND, np.bitwise_and),
    "BOR": (MPI.BOR, np.bitwise_or),
}


def operands(ranks: int, count: int, dtype: str) -> Any:
    return np.random.default_rng(ranks * 1000 + count).integers(0, 3, (ranks, count)).astype(dtype)


def choices(operation: str) -> list[Any]:
    return [pytest.param(name, id=f"{operation}-{name}") for name in ALGORITHMS[operation]]


def check(program: Callable[[], Any], ranks: int, operation: str, algorithm: str) -> fs.mpi.MpiRun:
    return fs.mpi.run(program, ranks, FAST, collectives={operation: algorithm})


def combined(given: Any, op: Any) -> Any:
    result = given[0].copy()
    for one in given[1:]:
        result = op(result, one).astype(given.dtype)
    return result
