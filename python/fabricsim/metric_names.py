"""Names of groups, hosts, traffic entries and jobs in metrics, checked before anything runs."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from fabricsim.catalogue import entry_parts, sum_parts
from fabricsim.errors import InputError
from fabricsim.spec import Experiment
from fabricsim.sums import implicit_group, nearest

_HOST = re.compile(r"^\[\[host\]\]\n(name = .*)$", re.MULTILINE)
_PLAIN = re.compile(r'name = "([^"\\]*)"')

NEEDS = {
    "transport": "transport.mode",
    "queue_pairs": "queue_pairs",
    "subnet": "subnet_manager",
    "congestion": "congestion_control.algorithm",
    "job_time_ns": "jobs",
}
"""Parts of the results that not every run has, and the section or key of the experiment that they need."""
OF_REQUESTS = ("answered_per_s", "round_trip_ns")
"""Figures of entries of the traffic list that have responses."""


@dataclass(frozen=True)
class Unknown:
    """The reason why no run of an experiment has a metric."""

    text: str
    name: str = ""
    known: tuple[str, ...] = ()
    """Names that its metrics may have in place of `name`."""

    def __str__(self) -> str:
        return f"{self.text}{nearest(self.name, self.known)}"


class MetricNames:
    """The names that runs of an experiment may have in their metrics."""

    def __init__(self, experiment: Experiment) -> None:
        self._experiment = experiment

    def unknown(self, metric: str) -> Unknown | None:
        """The reason why no run of the experiment has a metric; None if its names are known.

        Raises:
            InputError: the experiment is invalid.
        """
        if (sum_of := sum_parts(metric)) is not None:
            by, key, _ = sum_of
            known, what = (self._pairs, "pair of groups") if by == "group" else (self.hosts, "host")
            if known is None:
                return None
            if by == "group" and known.count(key) > 1:
                return Unknown(f"group {key!r} is ambiguous: names of these groups contain '->'; rename them")
            return None if key in known else _lacks(what, key, known)
        if (parts := entry_parts(metric)) is None:
            return None
        section, whose, figure = parts
        traffic, jobs = self._entries("traffic"), self._entries("jobs")
        if section == "traffic" and traffic == ["0"] and not jobs:
            return Unknown(f"the only entry of traffic has no name: its figures are the totals, {figure}")
        names, kind = (traffic, "entry of traffic") if section == "traffic" else (jobs, "job")
        return None if whose in names else _lacks(kind, whose, names)

    def absent(self, metric: str) -> Unknown | None:
        """The reason why a run of the experiment does not have the part of the results that a metric is of; None if
        it has.

        Raises:
            InputError: the experiment is invalid.
        """
        if (parts := entry_parts(metric)) is not None:
            section, whose, figure = parts
            asks = section == "traffic" and f"{whose}.response" in self._entries("traffic")
            if asks or not figure.startswith(OF_REQUESTS):
                return None
            return Unknown(f"{section}.{whose} has no responses: give {section}.{whose}.response")
        part = metric.partition(".")[0]
        section, _, key = NEEDS.get(part, "").partition(".")
        given = self.facts.get(section)
        if not section or (given.get(key, "none") != "none" if given and key else given):
            return None
        return Unknown(f"the experiment has no {NEEDS[part]}")

    @cached_property
    def hosts(self) -> list[str] | None:
        """Names of all hosts, which need the topology, but no routes; None if it cannot be written as a graph."""
        try:
            text = self._experiment.export("toml")
        except InputError:
            return None
        # A parser of TOML takes seconds for the graph of a large network.
        found = (_PLAIN.fullmatch(line) or line for line in _HOST.findall(text))
        return [tomllib.loads(one)["name"] if isinstance(one, str) else one[1] for one in found]

    @cached_property
    def facts(self) -> Mapping[str, Any]:
        """The experiment with all its defaults."""
        return self._experiment.check()

    @cached_property
    def _pairs(self) -> list[str]:
        """Pairs of groups as texts; hosts of no group are in the implicit one."""
        groups = self.facts.get("groups", {})
        names = [*groups, implicit_group(groups)]
        return [f"{source}->{destination}" for source in names for destination in names]

    def _entries(self, section: str) -> list[str]:
        """Names of the entries of a list in metrics."""
        found: list[str] = []
        entries: Sequence[Mapping[str, Any]] = self.facts.get(section) or []
        for number, entry in enumerate(entries):
            name = str(entry.get("name") or _unnamed(section, number, entry))
            found.append(f'"{name}"' if "." in name else name)
            if entry.get("response"):
                found.append(f"{found[-1]}.response")
        return found


def _lacks(what: str, name: str, known: Sequence[str]) -> Unknown:
    return Unknown(f"the experiment has no {what} {name!r}", name, tuple(known))


def _unnamed(section: str, number: int, entry: Mapping[str, Any]) -> str:
    """A job without a name has that of its program, an entry of traffic its number."""
    program = entry.get("program")
    if section == "traffic" or not program:
        return str(number)
    return str(next(iter(program)) if isinstance(program, Mapping) else program)
