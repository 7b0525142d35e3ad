"""Maximum total throughput, and max-min fair rates over all routes, by linear programs (HiGHS).

Variables are the rates of the groups and, if packets choose their route by load, the load of each arc. Every link
carries at most its rate; in every state as much leaves as comes in.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from scipy import sparse

from fabricsim.bound.filling import OWN_DEMAND, Rates
from fabricsim.bound.problem import Problem, Reals, Tie, Wholes
from fabricsim.bound.reach import Reach
from fabricsim.bound.result import SolverError
from fabricsim.lazy import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_SLACK = 1e-7
"""Relative tolerance of the solver: smaller values count as zero."""
_STEP = 1e-4
"""Relative rise of its level below which a group is at its bottleneck."""


_MANY = 5000
"""Number of variables from which the interior-point method is faster."""
Flags: TypeAlias = "NDArray[np.bool_]"


@dataclass(frozen=True)
class Program:
    """The constraints, in units of the fastest link's rate. Variables: rates of groups, then loads of arcs."""

    groups: int
    size: int
    scale: float
    links: sparse.csr_array
    """Rows: links that can be full."""
    rows: Wholes
    """Indices of those groups."""
    all_links: int
    capacity: Reals
    states: sparse.csr_array | None
    upper: Reals
    until: float
    """Deadline, by `time.monotonic`."""

    @classmethod
    def of(cls, problem: Problem, tie: Tie, limit_s: float) -> Program:
        """The program of an experiment's traffic, to be solved within `limit_s` seconds in all."""
        scale = float(problem.capacity.max())
        use = sparse.csr_array(problem.crossings @ tie.shares)
        upper = tie.demand / scale
        states = None
        groups = len(upper)
        if problem.arcs is not None:
            states = _conservation(problem, tie)
            arcs = problem.arcs
            rows = sparse.coo_array(
                (arcs.weight, (arcs.link, np.arange(len(arcs.link)))), shape=(use.shape[0], len(arcs.link))
            )
            use = sparse.csr_array(sparse.hstack([use, rows]))
            upper = np.concatenate([upper, np.full(len(arcs.link), np.inf)])
        capacity = problem.capacity / scale
        # Links that all the traffic together does not fill constrain nothing.
        at_most = use @ np.where(np.isfinite(upper), upper, 0.0)
        if problem.arcs is not None:
            at_most[np.unique(problem.arcs.link)] = np.inf
        tight = np.flatnonzero(at_most > capacity)
        until = time.monotonic() + limit_s
        return cls(
            groups, len(upper), scale, use[tight], tight, len(capacity), capacity[tight], states, upper, until
        )

    def solve(self, gain: Reals, more: sparse.csr_array | None = None, **bounds: Reals) -> Any:
        """Maximises `gain` times the variables, of which `more` rows may be at most 0 on top."""
        lower, upper = bounds.get("lower", np.zeros(self.size)), bounds.get("upper", self.upper)
        extra = len(gain) - self.size
        links = sparse.csr_array(sparse.hstack([self.links, sparse.csr_array((self.links.shape[0], extra))]))
        states = self.states
        if states is not None and extra:
            states = sparse.csr_array(sparse.hstack([states, sparse.csr_array((states.shape[0], extra))]))
        limits = self.capacity
        if more is not None:
            links = sparse.csr_array(sparse.vstack([links, more]))
            limits = np.concatenate([limits, np.zeros(more.shape[0])])
        from scipy.optimize import linprog  # noqa: PLC0415 - takes 0.2 s, of which other commands know nothing

        left = self.until - time.monotonic()
        if left <= 0.0:
            raise SolverError(_late(self))
        answer = linprog(
            -gain,
            A_ub=links if links.shape[0] else None,
            b_ub=limits if links.shape[0] else None,
            A_eq=states,
            b_eq=None if states is None else np.zeros(states.shape[0]),
            bounds=np.column_stack([lower, upper]),
            method="highs-ds" if self.size < _MANY else "highs-ipm",
            options={"time_limit": left},
        )
        if answer.status != 0:
            raise SolverError(_why(answer, self))
        return answer


def maximum(problem: Problem, tie: Tie, limit_s: float) -> Reals:
    """Rates of the groups with the largest total, Gb/s. Where several have it, which one is the solver's choice."""
    program = Program.of(problem, tie, limit_s)
    if problem.arcs is None and program.links.shape[0] == 0:
        return tie.demand.copy()
    gain = np.concatenate([tie.gain, np.zeros(program.size - program.groups)])
    answer = program.solve(gain)
    rates: Reals = np.clip(answer.x[: program.groups] * program.scale, 0.0, tie.demand)
    return rates


def fair(problem: Problem, tie: Tie, limit_s: float) -> Rates:
    """Max-min fair rates over all routes that packets may choose.

    The level of all groups that can rise is raised as far as it goes; then those that cannot go on, however the
    others give way, keep it (D. Nace, M. Pioro, "Max-min fairness and its applications to routing and
    load-balancing in communication networks: a tutorial", IEEE Communications Surveys 10(4), 2008).
    """
    program, reach = Program.of(problem, tie, limit_s), Reach(problem, tie)
    demand = program.upper[: program.groups]
    if maximum(problem, tie, limit_s).sum() >= tie.demand.sum() * (1.0 - _SLACK):
        return Rates(tie.demand.copy(), np.full(program.groups, OWN_DEMAND, dtype=np.int64))
    rising = np.ones(program.groups, dtype=bool)
    rates = np.zeros(program.groups)
    bottleneck = np.full(program.groups, OWN_DEMAND, dtype=np.int64)
    while rising.any():
        level, blocked, tightness = _next_level(program, rising, rates)
        rates[blocked] = np.minimum(level, demand[blocked])
        for group in np.flatnonzero(blocked & (rates < demand * (1.0 - _SLACK))):
            links = reach.links(int(group))
            bottleneck[group] = links[np.argmax(tightness[links])]
        rising &= ~blocked
    return Rates(rates * program.scale, bottleneck)


def _next_level(program: Program, rising: Flags, rates: Reals) -> tuple[float, Flags, Reals]:
    """The level that all rising groups reach, which of them go no further, and how tight each link is."""
    groups, size, known = program.groups, program.size, ~rising
    lower, upper = np.zeros(size + 1), np.append(program.upper, np.inf)
    lower[:groups][known] = upper[:groups][known] = rates[known]
    answer = program.solve(np.append(np.zeros(size), 1.0), _above(rising, size), lower=lower, upper=upper)
    level = float(answer.x[size])
    prices = -answer.ineqlin.marginals[program.rows.size :]
    # Who can rise a little, all at once? If the step is small, all who can alone can together.
    lower, upper = lower[:size], upper[:size]
    lower[:groups][rising] = np.minimum(upper[:groups][rising], level * (1.0 - _SLACK))
    upper[:groups][rising] = np.minimum(upper[:groups][rising], level * (1.0 + _STEP))
    gain = np.zeros(size)
    gain[:groups] = rising
    answer = program.solve(gain, lower=lower, upper=upper)
    blocked = rising & (answer.x[:groups] < level * (1.0 + _STEP / 2))
    # What the level's price hangs on cannot rise: at least one of them.
    blocked[np.flatnonzero(rising)[prices > _SLACK]] = True
    tightness = np.zeros(program.all_links)
    free = program.capacity - program.links @ answer.x
    tightness[program.rows] = (free <= _SLACK * program.capacity) - answer.ineqlin.marginals
    return level, blocked, tightness


def _above(rising: Flags, size: int) -> sparse.csr_array:
    """Rows for: the level, the variable `size`, is at most the rate of each rising group."""
    groups = np.flatnonzero(rising)
    rows, ones = np.arange(len(groups)), np.ones(len(groups))
    columns = np.concatenate([groups, np.full(len(groups), size)])
    entries = (np.concatenate([-ones, ones]), (np.concatenate([rows, rows]), columns))
    return sparse.csr_array(sparse.coo_array(entries, shape=(len(groups), size + 1)))


def _conservation(problem: Problem, tie: Tie) -> sparse.csr_array:
    """States by variables: what comes in less what leaves."""
    arcs = problem.arcs
    assert arcs is not None
    flows = np.flatnonzero(problem.entry_states >= 0)
    enter = sparse.coo_array(
        (np.ones(len(flows)), (problem.entry_states[flows], flows)), shape=(arcs.states, len(problem.flows))
    )
    number = np.arange(len(arcs.tail))
    inside = arcs.head >= 0
    values = np.concatenate([np.ones(int(inside.sum())), -np.ones(len(number))])
    rows = np.concatenate([arcs.head[inside], arcs.tail])
    columns = np.concatenate([number[inside], number])
    move = sparse.coo_array((values, (rows, columns)), shape=(arcs.states, len(number)))
    return sparse.csr_array(sparse.hstack([sparse.csr_array(enter) @ tie.shares, move]))


def _why(answer: Any, program: Program) -> str:
    if answer.status == 1:
        return _late(program)
    return f"the linear program ({_size(program)}) was not solved: {answer.message}"


def _late(program: Program) -> str:
    return (
        f"the linear program ({_size(program)}) was not solved in the time that it may take: allow more (--limit), "
        "or bound a smaller network or fewer flows"
    )


def _size(program: Program) -> str:
    return f"{program.groups:,} rates, {program.links.shape[0]:,} links that can be full"
