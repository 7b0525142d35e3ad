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
