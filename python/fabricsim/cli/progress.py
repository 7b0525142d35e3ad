"""Progress on standard error, only when that is a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

from fabricsim.cli.numbers import seconds
from fabricsim.cli.state import errors
from fabricsim.run import Progress


@contextmanager
def run_progress() -> Iterator[Callable[[Progress], None] | None]:
    """A bar for one run: simulated time, packet-hops per second, time left."""
    if not errors.is_terminal:
        yield None
        return
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
    """A bar for a number of runs."""
    if not errors.is_terminal:
        yield None
        return
    columns = (
        TextColumn(what),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Bar(*columns, console=errors, transient=True) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
