"""The pictures that belong to a folder of results."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from matplotlib.figure import Figure

from fabricsim.absent_columns import absent_columns_named
from fabricsim.crossings import read_packets
from fabricsim.errors import InputError
from fabricsim.lock import FolderLock
from fabricsim.plots.captured import captured
from fabricsim.plots.congestion import congestion, has_congestion
from fabricsim.plots.entries import entries, entries_by, has_entries
from fabricsim.plots.heat_map import FEWEST_NODES, has_many_links, heat_map
from fabricsim.plots.jobs import has_iterations, jobs
from fabricsim.plots.latency import has_latencies, latency_cdf, load_latency
from fabricsim.plots.links import MOST_NODES, has_room, links
from fabricsim.plots.parameters import over_parameters
from fabricsim.plots.ranks import has_bytes, has_ranks, matrix, timeline
from fabricsim.plots.routers import has_counts, routers
from fabricsim.plots.seeds import seeds
from fabricsim.plots.sequence import fits_sequence, sequence
from fabricsim.plots.sums import SUM_METRICS, sums_over_parameters
from fabricsim.plots.theme import Format, save
from fabricsim.plots.throughput import has_throughput, throughput, throughput_by
from fabricsim.plots.transport import completion, has_completions, has_levels, transport
from fabricsim.plots.tuning import importance, trials
from fabricsim.results import Result
from fabricsim.run import load
from fabricsim.store import read_manifest
from fabricsim.sums import summed_by
from fabricsim.sweep import SweepResult, load_sweep
from fabricsim.tune import TuneResult, load_tune

PLOTS: dict[str, tuple[Callable[..., Figure], tuple[str, ...]]] = {
    "entries": (entries, ("entries",)),
    "throughput": (throughput, ("series",)),
    "links": (links, ("links", "nodes")),
    "heat-map": (heat_map, ("links", "nodes")),
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
BY_PLOTS: dict[str, Callable[[Result, str], Figure]] = {
    "entries": entries_by,
    "throughput": throughput_by,
}
"""Those of them that can also be of sums of flows by source, destination or group of hosts."""
_NOTHING = "there is nothing to show"
_ABLE: dict[str, tuple[Callable[[Result], bool], str]] = {
    "entries": (has_entries, "at most one entry has packets"),
    "throughput": (has_throughput, "no packet arrived"),
    "links": (has_room, f"more than {MOST_NODES} nodes have no room; heat-map has them"),
    "heat-map": (has_many_links, f"links shows up to {FEWEST_NODES} nodes better; --kind heat-map draws it"),
    "latency": (has_latencies, "no packet arrived"),
    "congestion": (has_congestion, "no flow was rate-limited, and no congestion tree stood"),
    "routers": (has_counts, "nothing passed a router"),
    "jobs": (has_iterations, "no job has done an iteration"),
    "transport": (has_levels, "no packet waited, and no connection was held"),
    "completion": (has_completions, "no message is complete, or there are too many entries"),
    "sequence": (
        fits_sequence,
        "no packet was recorded, or more than have room; give a part by --from, --to, --host",
    ),
    "timeline": (has_ranks, _NOTHING),
    "matrix": (has_bytes, "no rank sent a byte"),
}
"""Plots that need more than a table: whether a run has what they draw, and the reason if it has not."""
_EXPECTED = {"throughput": "series", "latency": "latency"}
"""Plots whose table every run of a fabric has, unless the experiment or its folder leaves it out."""


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
JOB_METRICS = ("job_time_ns", "accepted_load")
"""The same for a sweep of jobs."""


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
    result: Result,
    out: str | Path,
    format: Format = "png",
    kinds: Sequence[str] | None = None,
    part: Part = WHOLE,
) -> list[Path]:
    """Draws the plots `kinds`, by default all that the run has tables and room for, into the folder `out`.

    Raises:
        InputError: a requested plot does not exist, or has nothing to show.
        StoreError: one cannot be written.
    """
    out = Path(out)
    if kinds:
        return [save(draw(result, name, part), out / f"{name}.{format}") for name in dict.fromkeys(kinds)]
    omitted = left_out(result)
    able = [name for name in _with_tables(result) if name not in omitted]
    return [save(draw(result, name), out / f"{name}.{format}") for name in able]


def save_sum_plots(
    result: Result,
    out: str | Path,
    by: Sequence[str],
    format: Format = "png",
    kinds: Sequence[str] | None = None,
) -> list[Path]:
    """Draws sums of flows by "source", "destination" or "group" into the folder `out`: `by-group.png`, and throughput
    over time if the run kept its series, `throughput-by-group.png`.

    `kinds`: only these: "entries", "throughput".

    Raises:
        InputError: a kind cannot be of sums, or the run lacks the data.
        StoreError: one cannot be written.
    """
    for kind in kinds or ():
        if kind not in BY_PLOTS:
            raise InputError(f"{kind} is not of sums: --by is for {' and '.join(BY_PLOTS)}")
    has_series = "series" in result.frames and len(result.series) > 0
    chosen = list(dict.fromkeys(kinds or [kind for kind in BY_PLOTS if kind != "throughput" or has_series]))
    names = {kind: "by" if kind == "entries" else f"{kind}-by" for kind in chosen}
    return [
        save(BY_PLOTS[kind](result, name), Path(out) / f"{names[kind]}-{name}.{format}")
        for name in by
        for kind in chosen
    ]


def left_out(result: Result) -> dict[str, str]:
    """Plots that are not among the pictures of a run although it has the tables, or a table that runs have by default
    is missing, with the reason.
    """
    missing = {
        name: f"the run has no table {table}"
        for name, table in _EXPECTED.items()
        if table not in result.frames and "links" in result.frames
    }
    return missing | {
        name: _ABLE[name][1] for name in _with_tables(result) if name in _ABLE and not _ABLE[name][0](result)
    }


def _with_tables(result: Result) -> list[str]:
    return [name for name, (_, tables) in PLOTS.items() if all(table in result.frames for table in tables)]


def save_sweep_plots(
    result: SweepResult,
    out: Path,
    format: Format = "png",
    metrics: Sequence[str] | None = None,
    by: Sequence[str] = (),
) -> list[Path]:
    """Draws a sweep into the folder `out`: `metrics` over its parameters.

    Without `metrics`, latency and accepted load over the load where one varies, else the same over the parameters, or
    time of jobs and accepted load if there are jobs, as far as a point has them; of repetitions of one point, each seed
    and the means. Then throughput and latency of the sums of flows that the sweep has.

    `by`: these sums only, and `metrics` are columns of theirs.

    Raises:
        InputError: the sweep has no such metric, or nothing to draw.
        StoreError: a picture cannot be written.
    """
    if by:
        figures = _sum_figures(result, by, metrics or SUM_METRICS)
    elif metrics:
        figures = {name: over_parameters(result, name) for name in metrics}
    elif result.repeated and not result.varied:
        figures = {"seeds": seeds(result)}
    elif result.curves():
        figures = {"load-latency": load_latency(result)}
    else:
        known = JOB_METRICS if _has_jobs(result) else SWEEP_METRICS
        has_values = [name for name in known if name in result.points and result.points[name].notna().any()]
        figures = {name: over_parameters(result, name) for name in has_values}
    if not by and not metrics:
        figures |= _sum_figures(result, list(result.sums), SUM_METRICS)
    return [save(figure, out / f"{_file_name(name)}.{format}") for name, figure in figures.items()]


def _file_name(name: str) -> str:
    """A name without what names of files cannot have everywhere: names of hosts and groups may have anything."""
    return re.sub(r'[\x00-\x1f/\\<>:"|?*]+', "-", name.replace("->", " to ")).lstrip(".")


def _sum_figures(result: SweepResult, by: Sequence[str], metrics: Sequence[str]) -> dict[str, Figure]:
    return {
        f"{metric}-by-{name}": sums_over_parameters(result, name, metric) for name in by for metric in metrics
    }


def _has_jobs(result: SweepResult) -> bool:
    """True if all jobs of a point are done."""
    return JOB_METRICS[0] in result.points and bool(result.points[JOB_METRICS[0]].notna().any())


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
    by: str | Sequence[str] | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> list[Path]:
    """Draws the plots of a run's, a sweep's or a study's folder into `out`, by default into the folder itself.

    Of a capture file it draws the packets, with columns for switches if asked; `out` is then by default its folder.
    `by`: of a run or a sweep, sums of flows by "source", "destination" or "group", or several of them; `kinds` or
    `metrics` are then of these. `say` receives the plots that are left out, with the reason.

    Raises:
        InputError: it is not a folder of results or a capture, or it does not have the requested `metrics` or `kinds`.
        FolderTakenError: another process writes the folder, and `out` is not given.
        StoreError: a plot cannot be written, or a table lacks a column.
    """
    if folder.is_file() and folder.suffix in CAPTURES:
        if metrics or kinds or by:
            raise InputError(
                f"{folder}: --metric, --kind and --by are for folders of results, and this is a file"
            )
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
    names = summed_by(by, "--by")
    if out is not None:
        return _drawn(folder, out, format, metrics, kinds, part, names, say)
    with FolderLock(folder):
        return _drawn(folder, folder, format, metrics, kinds, part, names, say)


def _drawn(
    folder: Path,
    out: Path,
    format: Format,
    metrics: Sequence[str] | None,
    kinds: Sequence[str] | None,
    part: Part,
    by: Sequence[str],
    say: Callable[[str], None],
) -> list[Path]:
    kind = read_manifest(folder).get("kind")
    if by and (part != WHOLE or kind == "tune"):
        raise InputError(f"{folder}: --by is for whole runs and for sweeps")
    if kind in ("sweep", "tune") and (kinds or part != WHOLE):
        raise InputError(f"{folder}: --kind, --from, --to and --host are for runs, and this is a {kind}")
    if part != WHOLE and not kinds:
        raise InputError(f"--from, --to and --host need --kind {' or '.join(_IN_PARTS)}")
    if kind == "sweep":
        return save_sweep_plots(load_sweep(folder), out, format, metrics, by)
    if metrics:
        raise InputError(f"{folder}: this is no sweep: metrics are drawn over the parameters of a sweep")
    if kind == "tune":
        return save_tune_plots(load_tune(folder), out, format)
    result = load(folder)
    with absent_columns_named([result]):
        if by:
            return save_sum_plots(result, out, by, format, kinds)
        if not kinds:
            for name, reason in left_out(result).items():
                say(f"not drawn: {name}: {reason}")
        return save_plots(result, out, format, kinds, part)
