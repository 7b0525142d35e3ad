"""How a run was divided among threads, and why more did not take part."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from fabricsim.durations import seconds

GIVEN = 100
"""Events of a window, for each thread, from which on threads take part that the experiment asks for."""
MUCH = 0.95
"""Part of the events from which on threads are said to have handled all."""


@dataclass(frozen=True)
class Scaling:
    """How a run was divided. Its results do not depend on it."""

    asked: int = 1
    """Threads that the experiment asks for, or for which the cores would be worth it."""
    partitions: int = 1
    """Partitions of the network."""
    threads: int = 1
    """Threads that might advance them."""
    broadcasts: bool = False
    """True if switches broadcast their loads, for which one thread does all."""
    lookahead_ns: float | None = None
    """Least latency of a link between two partitions, the longest window, in ns; None without such a link."""
    worth: int = 0
    """Events of a window, for each thread, from which on threads take part."""
    windows: int = 0
    """Windows; none are counted with one thread."""
    events: int = 0
    """Events of the run."""
    shared: float = 0.0
    """Part of the events, from 0 to 1, that were handled while threads took part."""
    busiest: float = 1.0
    """Part of the events, from 0 to 1, that the busiest thread had."""
    processes: int = 0
    """Processes that advanced the run together; 0 for one."""
    exchanges: int = 0
    """Windows at whose end processes exchanged what travels between their partitions."""
    letter_bytes: int = 0
    """Bytes that the first process sent to the others then."""
    shares: int = 0
    """Times at which processes shared the states of their partitions."""
    state_bytes: int = 0
    """Bytes that the first process sent to the others then."""

    @classmethod
    def of(cls, manifest: Mapping[str, Any]) -> Scaling:
        """That of a run by its manifest; of older runs, that of one thread."""
        found = manifest.get("scaling") or {}
        return cls(**{field.name: found[field.name] for field in fields(cls) if field.name in found})

    def sentence(self) -> str | None:
        """What threads or processes did, or why they did not take part; None for a run for which none were asked."""
        if self.processes:
            return self._of_processes()
        took_no_part = self.shared < 1.0 - MUCH
        if self.asked < 2 or (took_no_part and self.worth > GIVEN):
            return None
        if self.broadcasts:
            return f"1 of {self.asked}: one thread does all where switches broadcast their loads"
        if self.partitions < 2:
            return f"1 of {self.asked}: the network is not divided, since windows would hold too few events"
        each = self.events / self.windows if self.windows else 0.0
        length = "any length" if self.lookahead_ns is None else f"at most {seconds(self.lookahead_ns * 1e-9)}"
        windows = f"windows of {length} hold {each:,.0f} events"
        if took_no_part:
            least = self.worth * self.threads
            if each < least:
                return f"1 of {self.asked}: {windows}, and {self.threads} threads take part from {least:,} on"
            return f"1 of {self.asked}: {windows}, but the run is short, or stops often, for samples and bins"
        part = "" if self.shared >= MUCH else f" (for {self.shared:.0%} of all events)"
        return f"{self.threads}{part}: {windows}; the busiest thread has {self.busiest:.0%} of them"

    def _of_processes(self) -> str:
        if self.broadcasts:
            return f"{self.processes}: each does all where switches broadcast their loads"
        window = self.letter_bytes / max(self.exchanges, 1)
        share = self.state_bytes / max(self.shares, 1)
        return (
            f"{self.processes}: the first sent {window:,.0f} B in each of {self.exchanges:,} exchanges, and "
            f"{share / 1e6:,.1f} MB in each of {self.shares:,} of states"
        )
