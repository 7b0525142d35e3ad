"""OTF2 archives for tests: written by the package `otf2`, replayed, and compared with GOAL schedules."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fabricsim.traces import Trace

otf2 = pytest.importorskip("otf2")

NETWORK = "loggp:L=1000,o=100,g=10,G=1,S=1000"


class Archive:
    """Ranks that write their events."""

    def __init__(self, trace: Any, count: int, paradigm: Any) -> None:
        self.definitions = trace.definitions
        self.paradigm = paradigm
        root = trace.definitions.system_tree_node("machine")
        self.writers = []
        for rank in range(count):
            group = trace.definitions.location_group(f"rank {rank}", system_tree_parent=root)
            self.writers.append(trace.event_writer("thread 0", group=group))
        self.locations = tuple(trace.definitions.locations)
        of = {"paradigm": otf2.Paradigm.MPI}
        self.definitions.group("", otf2.GroupType.COMM_LOCATIONS, members=self.locations, **of)
        self.world = self.communicator(self.locations)
        self.own = self.definitions.comm(
            "self", self.definitions.group("", otf2.GroupType.COMM_SELF, members=(), **of)
        )
        self.regions: dict[str, Any] = {}

    def communicator(self, members: tuple[Any, ...]) -> Any:
        kind = otf2.GroupType.COMM_GROUP
        group = self.definitions.group("", kind, paradigm=otf2.Paradigm.MPI, members=members)
        return self.definitions.comm("", group)

    def call(self, rank: int, name: str, begin: int, end: int, *events: tuple[Any, ...]) -> None:
        """A call from `begin` to `end` in us, with events at its end: the name of a method, and its arguments."""
        if name not in self.regions:
            self.regions[name] = self.definitions.region(name, paradigm=self.paradigm)
        writer = self.writers[rank]
        writer.enter(begin, self.regions[name])
        for event, *arguments in events:
            getattr(writer, event)(end, *arguments)
        writer.leave(end, self.regions[name])


def archive(folder: Path, count: int, fill: Callable[[Archive], None], paradigm: str = "MPI") -> Path:
    """An archive with a timer of 1 us."""
    place = folder / "archive"
    with otf2.writer.open(str(place), timer_resolution=1_000_000) as trace:
        fill(Archive(trace, count, getattr(otf2.Paradigm, paradigm)))
    return place / "traces.otf2"


def replayed(path: Path) -> list[float]:
    found = Trace.read(path, "otf2").replay(NETWORK)
    assert found.is_complete, (found.unmatched, found.unfinished)
    return found.ends_ns


def as_goal(folder: Path, text: str) -> list[float]:
    path = folder / "same.goal"
    path.write_text(text)
    return Trace.read(path, "goal").replay(NETWORK).ends_ns
