"""The traffic at one time and the links that it crosses, as sparse matrices."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from scipy import sparse

from fabricsim.lazy import numpy as np
from fabricsim.lazy import pandas as pd
from fabricsim.native import bad_input, native, waited
from fabricsim.spec import Experiment

if TYPE_CHECKING:
    from numpy.typing import NDArray

Reals: TypeAlias = "NDArray[np.float64]"
Wholes: TypeAlias = "NDArray[np.int64]"


@dataclass(frozen=True)
class Arcs:
    """All routes of packets that choose by load: from states (a packet for a destination at a switch) to states.

    A flow enters at a state and is split over the arcs at will. Each array has an entry for each arc.
    """

    states: int
    tail: Wholes
    head: Wholes
    """-1: arrived."""
    link: Wholes
    weight: Reals
    """Bits on the link for each that takes the arc."""


@dataclass(frozen=True)
class Problem:
    """Flows with their offered loads, links with their capacities, and the links that flows cross."""

    flows: pd.DataFrame
    """`source`, `destination`, `entry`, `demand_gbps`."""
    links: pd.DataFrame
    """`link`, `class`, `gbps`."""
    crossings: sparse.csr_array
    """Links by flows: bits on the link for each of the flow's. Without the arcs."""
    entry_states: Wholes
    """State in which each flow enters the arcs; -1 if it does not."""
    arcs: Arcs | None
    trees: Wholes
    """Number of the tree on which switches replicate a flow's packets for a multicast group; -1 for flows without one.
    Flows of a tree are the same packets and have one rate: each counts with its part of the links that they share."""
    facts: dict[str, Any]
    """The time and other scalars."""

    @property
    def demand(self) -> Reals:
        """Offered load of each flow, Gb/s."""
        return self.flows["demand_gbps"].to_numpy(dtype=float)

    @property
    def capacity(self) -> Reals:
        """Capacity of each link, Gb/s."""
        return self.links["gbps"].to_numpy(dtype=float)


@dataclass(frozen=True)
class Tie:
    """Groups of flows whose rates stay in fixed proportions. The rate of a group is the one at which it is sent."""

    shares: sparse.csc_array
    """Flows by groups: the flow's rate for each Gb/s of the group's. Columns add up to 1, and to more if switches
    replicate packets."""
    demand: Reals
    """Offered load of each group, Gb/s."""

    @property
    def gain(self) -> Reals:
        """Gb/s received for each Gb/s of a group's rate."""
        return np.asarray(self.shares.sum(axis=0), dtype=float).ravel()

    @classmethod
    def none(cls, problem: Problem) -> Tie:
        """Every flow is a group of its own; those of a tree are one."""
        first = _first_of_tree(problem)
        group = (np.cumsum(first) - 1).astype(np.int64)
        ones = np.ones(len(group))
        matrix = sparse.csc_array(
            (ones, (np.arange(len(group)), group)), shape=(len(group), int(first.sum()))
        )
        return cls(matrix, problem.demand[first])

    @classmethod
    def senders(cls, problem: Problem) -> Tie:
        """The flows of a host are a group: their proportions are those of its messages."""
        senders, of_flow = np.unique(problem.flows["source"].to_numpy(), return_inverse=True)
        sent = np.where(_first_of_tree(problem), problem.demand, 0.0)
        demand: Reals = np.bincount(of_flow, weights=sent, minlength=len(senders)).astype(float)
        rows = np.arange(len(of_flow))
        shares = problem.demand / demand[of_flow]
        matrix = sparse.csc_array((shares, (rows, of_flow)), shape=(len(rows), len(senders)))
        return cls(matrix, demand)


def _first_of_tree(problem: Problem) -> NDArray[np.bool_]:
    """True for flows without a tree, and for the first of each tree; those of a tree follow one another."""
    trees = problem.trees
    first: NDArray[np.bool_] = (trees < 0) | (trees != np.concatenate([[-1], trees[:-1]]))
    return first


def read_problem(experiment: Experiment, at: str | None) -> Problem:
    """The traffic of an experiment at the time `at`, or when most flows are active.

    Raises:
        InputError: the experiment is invalid, nothing is sent, or there are too many flows.
    """
    with bad_input():
        text, tables = waited(lambda: native().demands(*experiment.arguments(), at))
    facts = json.loads(text)
    columns = {
        name: {column: _values(kind, values) for column, _, _, kind, values in table}
        for name, table in tables
    }
    flows, links, crossings = columns["flows"], columns["links"], columns["crossings"]
    hosts = np.array(facts.pop("hosts"), dtype=object)
    entries = np.array(facts.pop("entries"), dtype=object)
    shape = (len(links["gbps"]), len(flows["demand_gbps"]))
    matrix = sparse.coo_array((crossings["weight"], (crossings["link"], crossings["flow"])), shape=shape)
    return Problem(
        flows=pd.DataFrame(
            {
                "source": hosts[flows["source"]],
                "destination": hosts[flows["destination"]],
                "entry": entries[flows["entry"]],
                "entry_number": flows["entry"],
                "demand_gbps": flows["demand_gbps"],
            }
        ),
        links=pd.DataFrame({name: links[name] for name in ("link", "class", "gbps")}),
        crossings=sparse.csr_array(matrix),
        entry_states=flows["state"],
        arcs=_arcs(columns.get("arcs")),
        trees=flows["tree"],
        facts=facts,
    )


def _arcs(table: dict[str, Any] | None) -> Arcs | None:
    if table is None:
        return None
    states = int(max(table["tail"].max(initial=-1), table["head"].max(initial=-1))) + 1
    return Arcs(states, table["tail"], table["head"], table["link"], table["weight"])


def _values(kind: str, values: Any) -> Any:
    return values if kind == "str" else np.frombuffer(values, dtype=f"<{kind}").copy()
