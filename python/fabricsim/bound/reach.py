"""Links that a group of flows may cross if packets choose their route."""

from __future__ import annotations

from scipy import sparse

from fabricsim.bound.problem import Problem, Tie, Wholes
from fabricsim.lazy import numpy as np


class Reach:
    """Finds the links that can limit a group."""

    def __init__(self, problem: Problem, tie: Tie) -> None:
        self._problem, self._tie = problem, tie
        self._fixed = sparse.csc_array(problem.crossings)
        if problem.arcs is not None:
            self._by_tail = np.argsort(problem.arcs.tail, kind="stable")
            self._tails = problem.arcs.tail[self._by_tail]

    def links(self, group: int) -> Wholes:
        """The links that packets of a group may cross, each once."""
        shares = self._tie.shares
        flows = shares.indices[shares.indptr[group] : shares.indptr[group + 1]]
        found = [self._fixed[:, flows].indices]
        if self._problem.arcs is not None:
            found.append(self._chosen(set(self._problem.entry_states[flows].tolist()) - {-1}))
        return np.unique(np.concatenate(found)).astype(np.int64)

    def _chosen(self, states: set[int]) -> Wholes:
        arcs = self._problem.arcs
        assert arcs is not None
        seen, open_, links = set(states), list(states), []
        while open_:
            state = open_.pop()
            first, last = np.searchsorted(self._tails, [state, state + 1])
            on = self._by_tail[first:last]
            links.append(arcs.link[on])
            new = set(arcs.head[on].tolist()) - seen - {-1}
            seen |= new
            open_.extend(new)
        return np.concatenate(links) if links else np.empty(0, dtype=np.int64)
