"""The pictures that belong to a folder of results."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from matplotlib.figure import Figure

from fabricsim.crossings import read_packets
from fabricsim.errors import InputError
from fabricsim.lock import FolderLock
from fabricsim.plots.captured import captured
from fabricsim.plots.congestion import congestion, has_congestion
from fabricsim.plots.entries import entries, has_entries
from fabricsim.plots.jobs import has_iterations, jobs
from fabricsim.plots.latency import latency_cdf, load_latency
from fabricsim.plots.links import links
from fabricsim.plots.parameters import over_parameters
from fabricsim.plots.ranks import has_bytes, has_ranks, matrix, timeline
from fabricsim.plots.routers import has_counts, routers
from fabricsim.plots.sequence import fits_sequence, sequence
from fabricsim.plots.theme import Format, save
from fabricsim.plots.throughput import throughput
from fabricsim.plots.transport import completion, has_completions, has_levels, transport
from fabricsim.plots.tuning import importance, trials
from fabricsim.results import Result
from fabricsim.run import load
from fabricsim.store import read_manifest
from fabricsim.sweep import SweepResult, load_sweep
from fabricsim.tune import TuneResult, load_tune

PLOTS: dict[str, tuple[Callable[..., Figure], tuple[str, ...]]] = {
    "entries": (entries, ("entries",)),
    "throughput": (throughput, ("series",)),
    "links": (links, ("links", "nodes")),
    "latency": (latency_cdf, ("latency",)),
    "congestion": (congestion, ("congestion_trees",)),
    "routers": (routers, ("router_dimensions",)),
    "transport": (transport, ("transport_series",)),
    "completion": (completion, ("messages",)),
    "sequence": (sequence, ("exchanges",)),
    "jobs": (jobs, ("jobs",)),
    "timeline": (timeline, ("mpi_timeline", "mpi_times", "mpi_messages", "mpi_path")),
    "matrix": (matrix, ("mpi_matrix", "mpi_times")),
}
"""Plots of a run by name, with the tables that they need."""
_ABLE: dict[str, Callable[[Result], bool]] = {
    "entries": has_entries,
    "congestion": has_congestion,
    "routers": has_counts,
    "jobs": has_iterations,
    "transport": has_levels,
    "completion": has_completions,
    "sequence": fits_sequence,
    "timeline": has_ranks,
    "matrix": has_bytes,
}
"""Plots that need more than a table: whether a run has what they draw."""


@dataclass(frozen=True)
class Part:
    """The part of a run that a plot shows; plots of packets one by one can be of a part."""

    after: str | None = None
    before: str | None = None
    hosts: tuple[str, ...] = ()
    """Hosts whose packets among each other are drawn; none: all."""


WHOLE = Part()
CAPTURES = (".pcapng", ".pcap", ".cap", ".erf")
"""Names of capture files end so."""
_IN_PARTS = ("sequence",)

SWEEP_METRICS = ("accepted_load", "latency_ns.mean")
"""Metrics drawn for a sweep in which no load varies."""


def draw(result: Result, name: str, part: Part = WHOLE) -> Figure:
    """One of a run's plots by name.

    Raises:
        InputError: there is no such plot, the run lacks a table for it, or it cannot be of a part of the run.
    """
    if name not in PLOTS:
        near = difflib.get_close_matches(name, PLOTS, n=1)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise InputError(f"there is no plot {name!r}; there are: {', '.join(PLOTS)}{hint}")
    function = PLOTS[name][0]
    if name in _IN_PARTS:
        return function(result, after=part.after, before=part.before, hosts=part.hosts)
    if part != WHOLE:
        raise InputError(f"{name} is of a whole run: --from, --to and --host are for {', '.join(_IN_PARTS)}")
    return function(result)


def save_plots(
    result: Result, out: Path, format: Format = "png", kinds: Sequence[str] | None = None, part: Part = WHOLE
) -> list[Path]:
    """Draws the plots `kinds`, by default all that the run has tables and room for, into the folder `out`.

    Raises:
        InputError: a requested plot does not exist, or has nothing to show.
        StoreError: one cannot be written.
    """
    if kinds:
        return [save(draw(result, name, part), out / f"{name}.{format}") for name in dict.fromkeys(kinds)]
    able = [
        name
        for name, (_, tables) in PLOTS.items()
        if all(table in result.frames for table in tables) and (name not in _ABLE or _ABLE[name](result))
    ]
    return [save(draw(result, name), out / f"{name}.{format}") for name in able]


def save_sweep_plots(
    result: SweepResult, out: Path, format: Format = "png", metrics: Sequence[str] | None = None
) -> list[Path]:
    """Draws a sweep into the folder `out`: `metrics` over its parameters.

    Without `metrics`, latency and accepted load over the load where one varies, else the same over the parameters.

    Raises:
        InputError: the sweep has no such metric, or nothing to draw.
        StoreError: a picture cannot be written.
    """
    if metrics:
        figures = {name: over_parameters(result, name) for name in metrics}
    elif result.curves():
        figures = {"load-latency": load_latency(result)}
    else:
        figures = {name: over_parameters(result, name) for name in SWEEP_METRICS if name in result.points}
    return [save(figure, out / f"{name}.{format}") for name, figure in figures.items()]


def save_tune_plots(result: TuneResult, out: Path, format: Format = "png") -> list[Path]:
    """Draws a study into the folder `out`: its trials, and the importances of its parameters.

    Raises:
        StoreError: a picture cannot be written.
    """
    figures = {"trials": trials(result)}
    if len(result.importances):
        figures["importances"] = importance(result)
    return [save(figure, out / f"{name}.{format}") for name, figure in figures.items()]


def plot_folder(
    folder: Path,
    out: Path | None = None,
    format: Format = "png",
    metrics: Sequence[str] | None = None,
    kinds: Sequence[str] | None = None,
    part: Part = WHOLE,
    switches: bool = False,
) -> list[Path]:
    """Draws the plots of a run's, a sweep's or a study's folder into `out`, by default into the folder itself.

    Of a capture file it draws the packets, with columns for switches if asked; `out` is then by default its folder.

    Raises:
        InputError: it is not a folder of results or a capture, or it does not have the requested `metrics` or `kinds`.
        FolderTakenError: another process writes the folder, and `out` is not given.
        StoreError: a plot cannot be written.
    """
    if folder.is_file() and folder.suffix in CAPTURES:
        if metrics or kinds:
            raise InputError(f"{folder}: --metric and --kind are for folders of results, and this is a file")
        figure = captured(
            read_packets(folder),
            after=part.after,
            before=part.before,
            hosts=part.hosts,
            switches=switches,
            title=folder.name,
        )
        return [save(figure, (out or folder.parent) / f"{folder.stem}.{format}")]
    if switches:
        raise InputError(f"{folder}: --switches is for captures, and this is a folder of results")
    read_manifest(folder)
    if out is not None:
        return _drawn(folder, out, format, metrics, kinds, part)
    with FolderLock(folder):
        return _drawn(folder, folder, format, metrics, kinds, part)


def _drawn(
    folder: Path,
    out: Path,
    format: Format,
    metrics: Sequence[str] | None,
    kinds: Sequence[str] | None,
    part: Part,
) -> list[Path]:
    kind = read_manifest(folder).get("kind")
    if kind in ("sweep", "tune") and (kinds or part != WHOLE):
        raise InputError(f"{folder}: --kind, --from, --to and --host are for runs, and this is a {kind}")
    if part != WHOLE and not kinds:
        raise InputError(f"--from, --to and --host need --kind {' or '.join(_IN_PARTS)}")
    if kind == "sweep":
        return save_sweep_plots(load_sweep(folder), out, format, metrics)
    if metrics:
        raise InputError(f"{folder}: this is no sweep: metrics are drawn over the parameters of a sweep")
    if kind == "tune":
        return save_tune_plots(load_tune(folder), out, format)
    return save_plots(load(folder), out, format, kinds, part)
