"""The pictures that belong to a folder of results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from matplotlib.figure import Figure

from fabricsim.errors import InputError
from fabricsim.plots.congestion import congestion, has_congestion
from fabricsim.plots.latency import latency_cdf, load_latency
from fabricsim.plots.links import links
from fabricsim.plots.parameters import over_parameters
from fabricsim.plots.routers import has_counts, routers
from fabricsim.plots.theme import Format, save
from fabricsim.plots.throughput import throughput
from fabricsim.plots.tuning import importance, trials
from fabricsim.results import Result
from fabricsim.run import load
from fabricsim.store import read_manifest
from fabricsim.sweep import SweepResult, load_sweep
from fabricsim.tune import TuneResult, load_tune

PLOTS: dict[str, tuple[Callable[[Result], Figure], tuple[str, ...]]] = {
    "throughput": (throughput, ("series",)),
    "links": (links, ("links", "nodes")),
    "latency": (latency_cdf, ("latency",)),
    "congestion": (congestion, ("congestion_trees",)),
    "routers": (routers, ("router_dimensions",)),
}
"""Plots of a run by name, with the tables that they need."""


SWEEP_METRICS = ("accepted_load", "latency_ns.mean")
"""What is drawn of a sweep in which no load varies."""


def draw(result: Result, name: str) -> Figure:
    """One of a run's plots by name.

    Raises:
        InputError: there is no such plot, or the run lacks a table for it.
    """
    if name not in PLOTS:
        raise InputError(f"there is no plot {name!r}; there are: {', '.join(PLOTS)}")
    return PLOTS[name][0](result)


def save_plots(result: Result, out: Path, format: Format = "png") -> list[Path]:
    """Draws all plots that the run has tables for into the folder `out`.

    Raises:
        StoreError: one can not be written.
    """
    empty = {"congestion": not has_congestion(result), "routers": not has_counts(result)}
    able = [
        name
        for name, (_, tables) in PLOTS.items()
        if all(table in result.frames for table in tables) and not empty.get(name)
    ]
    return [save(draw(result, name), out / f"{name}.{format}") for name in able]


def save_sweep_plots(
    result: SweepResult, out: Path, format: Format = "png", metrics: Sequence[str] | None = None
) -> list[Path]:
    """Draws a sweep into the folder `out`: `metrics` over its parameters.

    Without `metrics`, latency and accepted load over the load where one varies, else the same over the parameters.

    Raises:
        InputError: the sweep has no such metric, or nothing to draw.
        StoreError: a picture can not be written.
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
        StoreError: a picture can not be written.
    """
    figures = {"trials": trials(result)}
    if len(result.importances):
        figures["importances"] = importance(result)
    return [save(figure, out / f"{name}.{format}") for name, figure in figures.items()]


def plot_folder(
    folder: Path, out: Path | None = None, format: Format = "png", metrics: Sequence[str] | None = None
) -> list[Path]:
    """Draws the plots of a run's, a sweep's or a study's folder into `out`, by default into the folder itself.

    Raises:
        InputError: it is not a folder of results, or `metrics` are asked for that it does not have.
        StoreError: a plot can not be written.
    """
    out = folder if out is None else out
    kind = read_manifest(folder).get("kind")
    if kind == "sweep":
        return save_sweep_plots(load_sweep(folder), out, format, metrics)
    if metrics:
        raise InputError(f"{folder}: this is no sweep: metrics are drawn over the parameters of a sweep")
    if kind == "tune":
        return save_tune_plots(load_tune(folder), out, format)
    return save_plots(load(folder), out, format)
