"""Jobs over time: when each iteration ran."""

from __future__ import annotations

from matplotlib.figure import Figure

from fabricsim.errors import InputError
from fabricsim.plots.entities import entry_colours
from fabricsim.plots.theme import head, new_figure, style, time_scale
from fabricsim.results import Result

MOST_JOBS = 40
"""Jobs that are drawn, in the order of the experiment."""


def jobs(result: Result) -> Figure:
    """A bar for each iteration that all ranks of a job have done, from the first rank's begin to the last one's end.

    Raises:
        InputError: the run has no jobs, or none has done an iteration.
    """
    table = result.jobs
    if table.empty:
        raise InputError("no job has done an iteration in this run, so there is nothing to draw")
    scale, unit = time_scale(float(table["end_ns"].max()))
    names = [str(name) for name in dict.fromkeys(table["job"])][:MOST_JOBS]
    colours = entry_colours(result, names)
    with style():
        figure = new_figure(7.0, 1.4 + 0.35 * len(names))
        axes = figure.add_subplot()
        for place, name in enumerate(names):
            own = table[table["job"] == name]
            begins = own["start_ns"].to_numpy(float) / scale
            bars = list(zip(begins, own["time_ns"].to_numpy(float) / scale, strict=True))
            axes.broken_barh(
                bars, (place - 0.35, 0.7), facecolors=colours[place], edgecolors="white", linewidth=0.8
            )
        axes.set_yticks(range(len(names)), names)
        axes.invert_yaxis()
        axes.set_xlim(left=0.0)
        axes.set(xlabel=f"time ({unit})")
        axes.grid(visible=False, axis="y")
        head(figure, f"{result.title}: iterations of jobs")
    return figure


def has_iterations(result: Result) -> bool:
    """True if there is anything to draw."""
    table = result.frames.get("jobs")
    return table is not None and not table.empty
