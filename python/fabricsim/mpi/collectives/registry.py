"""All algorithms of collectives by name, and the selection of a run."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any

from fabricsim.errors import InputError
from fabricsim.mpi.collectives import (
    allgather,
    allreduce,
    alltoall,
    barrier,
    bcast,
    gather,
    neighbourhood,
    reduce,
    reduce_scatter,
    scan,
)
from fabricsim.mpi.collectives.decisions import SETS

ALGORITHMS: dict[str, dict[str, Any]] = {
    "barrier": barrier.ALGORITHMS,
    "bcast": bcast.ALGORITHMS,
    "reduce": reduce.ALGORITHMS,
    "allreduce": allreduce.ALGORITHMS,
    "reduce_scatter": reduce_scatter.ALGORITHMS,
    "reduce_scatter_block": reduce_scatter.ALGORITHMS,
    "allgather": allgather.ALGORITHMS,
    "allgatherv": allgather.ALGORITHMS,
    "gather": gather.ALGORITHMS,
    "gatherv": {"linear": gather.linear},
    "scatter": gather.SCATTER,
    "scatterv": {"linear": gather.scatter_linear},
    "alltoall": alltoall.ALGORITHMS,
    "alltoallv": {"linear": alltoall.linear, "pairwise": alltoall.pairwise},
    "alltoallw": {"linear": alltoall.linear, "pairwise": alltoall.pairwise},
    "scan": scan.ALGORITHMS,
    "exscan": scan.ALGORITHMS,
    "neighbourhood": neighbourhood.ALGORITHMS,
}
"""Algorithms by operation."""
IN_ORDER = {
    "reduce": reduce.IN_ORDER,
    "allreduce": allreduce.IN_ORDER,
    "reduce_scatter": reduce_scatter.IN_ORDER,
    "reduce_scatter_block": reduce_scatter.IN_ORDER,
}
"""Algorithms for operations that do not commute. Another one that is selected is not used for these."""
_SEGMENTS = {
    "pipeline": 65536,
    "binary": 32768,
    "split_binary": 1024,
    "segmented_ring": 1 << 20,
    "linear_sync": 1024,
}
"""Bytes of a segment of algorithms that are selected by name."""


class Selection:
    """Algorithms of a run.

    Args:
        base: set of decisions, `openmpi` or `mpich`.
        by_name: algorithm by operation, which replaces the decision.

    Raises:
        InputError: a name is unknown.
    """

    def __init__(self, base: str = "openmpi", by_name: Mapping[str, str] | None = None) -> None:
        if base not in SETS:
            raise InputError(f"collectives {base!r}: must be one of {', '.join(SETS)}")
        self._decisions, self._named = SETS[base], dict(by_name or {})
        for operation, name in self._named.items():
            _check("collective", operation, ALGORITHMS)
            _check(f"algorithm of {operation}", name, ALGORITHMS[operation])

    def choose(self, operation: str, n: int, size: int, count: int, commutes: bool = True) -> tuple[Any, int]:
        """The algorithm's function, and bytes of a segment."""
        name, segment = self._decisions[operation](n, size, count, commutes)
        named = self._named.get(operation)
        if named is not None and (commutes or named in IN_ORDER.get(operation, (named,))):
            name, segment = named, _SEGMENTS.get(named, 0)
        return ALGORITHMS[operation][name], segment


def _check(what: str, name: str, known: Mapping[str, Any]) -> None:
    if name not in known:
        near = difflib.get_close_matches(name, known, 1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise InputError(f"{what} {name!r}: must be one of {', '.join(known)}{hint}")
