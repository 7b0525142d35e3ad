"""The pictures that belong to a folder of results."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from matplotlib.figure import Figure

from fabricsim.errors import InputError
from fabricsim.plots.latency import latency_cdf, load_latency
from fabricsim.plots.links import links
from fabricsim.plots.theme import Format, save
from fabricsim.plots.throughput import throughput
from fabricsim.results import Result
from fabricsim.run import load
from fabricsim.store import read_manifest
from fabricsim.sweep import load_sweep

PLOTS: dict[str, tuple[Callable[[Result], Figure], tuple[str, ...]]] = {
    "throughput": (throughput, ("series",)),
    "links": (links, ("links", "nodes")),
    "latency": (latency_cdf, ("latency",)),
}
"""Plots of a run by name, with the tables that they need."""


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
    able = [name for name, (_, tables) in PLOTS.items() if all(t in result.frames for t in tables)]
    return [save(draw(result, name), out / f"{name}.{format}") for name in able]


def plot_folder(folder: Path, out: Path | None = None, format: Format = "png") -> list[Path]:
    """Draws the plots of a run's or a sweep's folder into `out`, by default into the folder itself.

    Raises:
        InputError: it is not a folder of results.
        StoreError: a plot can not be written.
    """
    out = folder if out is None else out
    if read_manifest(folder).get("kind") == "sweep":
        return [save(load_latency(load_sweep(folder)), out / f"load-latency.{format}")]
    return save_plots(load(folder), out, format)
