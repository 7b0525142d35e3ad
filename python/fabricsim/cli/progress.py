"""Progress on standard error, only when that is a terminal."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from fabricsim.cli.console import errors, tell
from fabricsim.durations import seconds
from fabricsim.run import Progress

NOTE_S = 5.0
"""Seconds of building after which it is noted where there is no bar, and again whenever its step changes."""


@contextmanager
def run_progress() -> Iterator[Callable[[Progress], None]]:
    """A bar for one run: simulated time, packet-hops per second, time left. Without a terminal, notes while a large
    network is built.
    """
    if not errors.is_terminal:
        yield BuildNotes()
        return
    from rich.progress import BarColumn, TextColumn  # noqa: PLC0415 - only terminals have bars
    from rich.progress import Progress as Bar  # noqa: PLC0415

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[simulated]}"),
        TextColumn("{task.fields[speed]}"),
        TextColumn("{task.fields[left]}"),
    )
    with Bar(*columns, console=errors, transient=True) as bar:
        task = bar.add_task("building", total=1.0, simulated="", speed="", left="")

        def show(progress: Progress) -> None:
            if progress.is_building:
                bar.update(task, description=progress.phase, left=f"{progress.wall_s:.0f} s")
                return
            left = progress.remaining_s
            bar.update(
                task,
                completed=progress.fraction,
                description=progress.phase,
                simulated=f"{seconds(progress.simulated_s)} of {seconds(progress.total_s)}",
                speed=f"{progress.packet_hops_per_s / 1e6:.2f} M packet-hops/s",
                left="" if left is None else f"{seconds(left)} left",
            )

        yield show


@contextmanager
def count_progress(what: str) -> Iterator[Callable[[int, int], None] | None]:
    """A bar for a number of runs, with the time left at the pace so far.

    The first call sets the number done before, which does not count for the pace.
    """
    if not errors.is_terminal:
        yield None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn  # noqa: PLC0415
    from rich.progress import Progress as Bar  # noqa: PLC0415

    columns = (
        TextColumn(what),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[left]}"),
    )
    with Bar(*columns, console=errors, transient=True) as bar:
        task = bar.add_task(what, total=None, left="")
        pace = Pace(time.monotonic)

        def show(done: int, total: int) -> None:
            left = pace.left(done, total)
            bar.update(
                task, completed=done, total=total, left="" if left is None else f"{seconds(left)} left"
            )

        yield show


class BuildNotes:
    """Reports the step of building a large network that has begun."""

    def __init__(self) -> None:
        self._last = ""

    def __call__(self, progress: Progress) -> None:
        if progress.is_building and progress.wall_s >= NOTE_S and progress.phase != self._last:
            self._last = progress.phase
            tell(f"{progress.phase} ({progress.wall_s:.0f} s so far)")


class Pace:
    """Time left at the pace so far."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._first: tuple[int, float] | None = None

    def left(self, done: int, total: int) -> float | None:
        """Seconds left; None before the second call."""
        now = self._clock()
        if self._first is None:
            self._first = (done, now)
        before, begun = self._first
        return (now - begun) / (done - before) * (total - done) if done > before else None
