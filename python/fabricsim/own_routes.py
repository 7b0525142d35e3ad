"""Forwarding tables from a function in Python."""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fabricsim.errors import InputError
from fabricsim.spec import Experiment, as_experiment

__all__ = ["Network", "forwarding_tables"]

NONE = 255
"""Entry of a table that stands for none."""


@dataclass(frozen=True)
class Network:
    """Switches, hosts and cables of an experiment, for functions that route."""

    switches: list[str]
    hosts: list[str]
    neighbours: Mapping[str, Mapping[str, list[int]]] = field(repr=False)
    """By switch, and by neighbour (switch or host): the switch's ports that lead there, ascending."""
    coordinates: Mapping[str, list[int]] = field(repr=False)
    """By switch; of a file without coordinates where the switch is drawn."""

    @classmethod
    def of(cls, experiment: Experiment) -> Network:
        """The network of an experiment.

        Raises:
            InputError: the experiment is wrong.
        """
        # Its tables may not be there yet.
        graph = tomllib.loads(experiment.with_values({"routing": {}}).export("toml"))
        neighbours: dict[str, dict[str, list[int]]] = {switch["name"]: {} for switch in graph["switch"]}
        for link in graph["link"]:
            for one, other in (("a", "b"), ("b", "a")):
                if f"{one}_port" in link:
                    neighbours[link[one]].setdefault(link[other], []).append(link[f"{one}_port"])
        for ports in neighbours.values():
            for list_ in ports.values():
                list_.sort()
        return cls(
            [switch["name"] for switch in graph["switch"]],
            [host["name"] for host in graph["host"]],
            neighbours,
            {switch["name"]: switch["coordinates"] for switch in graph["switch"]},
        )

    def switch_of(self, host: str) -> str:
        """The switch of a host."""
        return next(switch for switch, ports in self.neighbours.items() if host in ports)


def forwarding_tables(
    experiment: str | Path | Experiment,
    next_hop: Callable[[Network, str, str], str | int],
    *,
    file: str | Path,
    set: Mapping[str, Any] | None = None,
) -> Experiment:
    """The experiment with forwarding tables that a function computes.

    They are read and checked as those of any file: holes, loops, and deadlock, which `describe` and runs report with
    the cycle. The function is not called in a run.

    Args:
        experiment: an experiment file, or an `Experiment`.
        next_hop: called as `next_hop(network, switch, host)` for each switch and each host that is not its own.
            Returns the neighbour to which the switch sends packets for the host, or one of the switch's ports (of
            parallel cables, a neighbour means the first).
        file: where the tables are written, in the format of `fabricsim export --format fdbs`.
        set: values to replace, by key.

    Raises:
        InputError: the experiment is wrong, `next_hop` is no function or returns something that is no neighbour and
            no port, or the file cannot be written.
    """
    if not callable(next_hop):
        raise InputError(f"forwarding_tables: next_hop is {type(next_hop).__name__}: must be a function")
    experiment = as_experiment(experiment, set)
    network = Network.of(experiment)
    rows = []
    for switch in network.switches:
        own = network.neighbours[switch]
        row = [
            own[host][0] if host in own else _port(network, switch, host, next_hop) for host in network.hosts
        ]
        # No host has LID 0.
        rows.append(f"{switch}: {' '.join(map(str, [NONE, *row]))}\n")
    path = Path(file).absolute()
    try:
        path.write_text("".join(rows), encoding="utf-8")
    except OSError as error:
        raise InputError(f"{path}: the tables cannot be written: {error.strerror}") from None
    return experiment.with_values({"routing.algorithm": "table", "routing.tables": str(path)})


def _port(
    network: Network, switch: str, host: str, next_hop: Callable[[Network, str, str], str | int]
) -> int:
    own = network.neighbours[switch]
    where = f"next_hop at {switch} for {host}"
    try:
        hop = next_hop(network, switch, host)
    except Exception as error:
        error.add_note(f"forwarding_tables: raised by {where}; no tables were written")
        raise
    if isinstance(hop, str):
        if hop not in own:
            near = difflib.get_close_matches(hop, own, n=1)
            hint = f"; did you mean {near[0]}?" if near else f"; its neighbours are {', '.join(own)}"
            raise InputError(f"{where}: {hop} is no neighbour{hint}")
        return own[hop][0]
    ports = sorted(port for ports in own.values() for port in ports)
    if not isinstance(hop, int) or isinstance(hop, bool) or hop not in ports:
        raise InputError(
            f"{where}: {hop!r} is no neighbour and no port: its ports are {ports[0]} to {ports[-1]}"
        )
    return hop
