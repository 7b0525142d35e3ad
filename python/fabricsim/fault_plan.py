"""Failures of an experiment's own: those before the run, and those of its fault plan."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from fabricsim.native import native

KINDS = ("link", "switch")
REROUTES = "faults.reroute_after"
"""Key of the time from a failure to routes around it."""
Failed = Mapping[str, frozenset[str]]
"""Names of links and of switches."""


@dataclass(frozen=True)
class FaultPlan:
    """Failures by time."""

    before: Failed
    """Those before the run: `links.failed`, `switches.failed`."""
    plan: list[dict[str, Any]]
    """The entries of `faults.plan`."""

    @classmethod
    def of(cls, facts: Mapping[str, Any]) -> FaultPlan:
        """Those of an experiment with all its defaults."""
        before = {
            kind: frozenset((facts.get(section) or {}).get("failed") or ())
            for kind, section in zip(KINDS, ("links", "switches"), strict=True)
        }
        return cls(before, [dict(entry) for entry in (facts.get("faults") or {}).get("plan") or ()])

    def failed(self, at_ps: int) -> dict[str, frozenset[str]]:
        """Links and switches that carry nothing at a time, by the names that the file has for them."""
        found = {kind: set(self.before[kind]) for kind in KINDS}
        for entry in self.plan:
            if _has_failed(entry, at_ps):
                found[_kind(entry)].add(str(entry[_kind(entry)]))
        return {kind: frozenset(names) for kind, names in found.items()}

    def largest(self, from_ps: int) -> list[Failed]:
        """What has failed at a time from `from_ps` on, without sets that are a part of another."""
        times = [from_ps, *(begin for entry in self.plan if (begin := _begin(entry)) > from_ps)]
        sets = {tuple(self.failed(at)[kind] for kind in KINDS) for at in times}
        kept = [
            one
            for one in sets
            if not any(
                one != other and all(a <= b for a, b in zip(one, other, strict=True)) for other in sets
            )
        ]
        return [dict(zip(KINDS, one, strict=True)) for one in kept]

    def before_failure(
        self, kind: str, name: str, from_ps: int, same: Callable[[str], str]
    ) -> list[dict[str, Any]]:
        """The entries of the plan in a run in which something fails for good at a time: it fails no more later, and a
        cable of it that has failed already does not come back.

        `same`: the usual name of a link or a switch.
        """
        kept = []
        for entry in self.plan:
            if _kind(entry) != kind or same(str(entry[kind])) != name:
                kept.append(entry)
            elif _has_failed(entry, from_ps):
                kept.append({key: value for key, value in entry.items() if key != "until"})
            elif _begin(entry) < from_ps:
                kept.append(entry)
        return kept


def no_routes(message: str) -> str:
    """The reason in a message about `REROUTES`, without advice about that key, which the file does not have."""
    reason = message.partition(f"{REROUTES}: ")[2] or message
    return reason.replace("leave `faults.reroute_after` out, or set", "set").removesuffix(
        " (set on top of the file)"
    )


def _has_failed(entry: Mapping[str, Any], at_ps: int) -> bool:
    """True if nothing crosses it at a time: without its flow control alone a link carries packets until its credits
    run out.
    """
    return entry.get("loses", "all") == "all" and _begin(entry) <= at_ps < _end(entry)


def _kind(entry: Mapping[str, Any]) -> str:
    return "link" if entry.get("link") is not None else "switch"


def _begin(entry: Mapping[str, Any]) -> int:
    return native().parse_time(str(entry["at"]))


def _end(entry: Mapping[str, Any]) -> float:
    until = entry.get("until")
    return float("inf") if until is None else native().parse_time(str(until))
