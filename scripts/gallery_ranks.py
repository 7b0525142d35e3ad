"""Gallery: programs of MPI's ranks."""

from __future__ import annotations

import contextlib
import io
import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from math import exp, log
from pathlib import Path

from gallery_shared import ROOT, Shown, axis, table
from matplotlib.figure import Figure

import fabricsim as fs
from fabricsim.plots.legends import legend
from fabricsim.plots.theme import COLOURS, new_figure, plain_log, style

PROGRAM = ROOT / "experiments/programs/fft.py"
RANKS, SIZE, FLOPS = 16, 256, 1e11
PLACEMENTS = {
    "near": [f"H{2 * rank}" for rank in range(RANKS)],
    "far": [f"H{4 * rank}" for rank in range(RANKS)],
}
ENGINE, PATHS, CONTROL, ARBITER = (
    "routing.engine",
    "routing.paths",
    "congestion_control.algorithm",
    "switch.arbiter",
)
Case = tuple[str, str, str, str, str]
"""Engine, paths, congestion control, arbiter, placement."""
READING = """
The slowest of the {count} settings takes {slowest} µs and the fastest {fastest} µs, {ratio:.0f} times less, with the
same program and the same links. The transform takes {engines} (geometric means): `dfsssp`
spreads paths over the virtual lanes, `minhop` has all on one. With `minhop` and one path for each pair of hosts,
near ranks take {plain} µs, {oldest} µs with `oldest-first`, and {control} µs with congestion control;
packets that take turns over four paths overtake each other, {copies} are retransmitted in all runs and {timeouts}
time-outs end, against {ordered} and {ordered_timeouts} with `hashed`.
"""


@dataclass(frozen=True)
class Measured:
    """One run."""

    time_us: float
    """Time of the transform."""
    retransmitted: int
    """Packets."""
    timeouts: int


def measured(file: Path, case: Case) -> Measured:
    """Runs the program in one setting."""
    engine, paths, control, arbiter, placement = case
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        run = fs.mpi.run_script(
            PROGRAM,
            RANKS,
            file,
            args=[str(SIZE)],
            flops_per_second=FLOPS,
            placement=PLACEMENTS[placement],
            set={ENGINE: engine, PATHS: paths, CONTROL: control, ARBITER: arbiter},
        )
    found = re.search(r": ([\d.]+) us", printed.getvalue())
    assert found is not None
    pairs = run.result.table("verbs_queue_pairs")
    return Measured(float(found[1]), int(pairs["retransmitted"].sum()), int(pairs["timeouts"].sum()))


def geometric(times: Mapping[Case, float], engine: str) -> float:
    """Geometric mean of the times with one engine."""
    own = [log(time) for case, time in times.items() if case[0] == engine]
    return exp(sum(own) / len(own))


def rank_program(file: Path) -> Shown:
    """Time of the transform by all five choices."""
    axes_of = [axis(file, key) for key in (ENGINE, PATHS, CONTROL, ARBITER)]
    engines, paths, controls, arbiters = axes_of
    cases: list[Case] = list(product(*axes_of, PLACEMENTS))
    runs = {case: measured(file, case) for case in cases}
    times = {case: run.time_us for case, run in runs.items()}
    columns, lines = list(product(controls, arbiters)), list(product(engines, paths, PLACEMENTS))
    values = {
        column: [times[engine, path, *column, placement] for engine, path, placement in lines]
        for column in columns
    }
    names = [", ".join(line) for line in lines]
    rows = [
        [name, *(f"{own[number]:.0f} µs" for own in values.values())] for number, name in enumerate(names)
    ]
    header = ["engine, paths, placement", *map(", ".join, columns)]
    first = ("minhop", "hashed")
    reading = READING.format(
        count=len(times),
        ratio=max(times.values()) / min(times.values()),
        slowest=f"{max(times.values()):.0f}",
        fastest=f"{min(times.values()):.0f}",
        engines=" and ".join(f"{geometric(times, name):.0f} µs with `{name}`" for name in engines),
        plain=f"{times[*first, 'none', 'round-robin', 'near']:.0f}",
        oldest=f"{times[*first, 'none', 'oldest-first', 'near']:.0f}",
        control=f"{times[*first, 'infiniband', 'round-robin', 'near']:.0f}",
        copies=sum(run.retransmitted for case, run in runs.items() if case[1] == "in-turn"),
        timeouts=sum(run.timeouts for case, run in runs.items() if case[1] == "in-turn"),
        ordered=sum(run.retransmitted for case, run in runs.items() if case[1] == "hashed"),
        ordered_timeouts=sum(run.timeouts for case, run in runs.items() if case[1] == "hashed"),
    )
    return Shown(_commands(), table(header, rows), reading, _picture(names, values))


def _picture(names: list[str], values: Mapping[tuple[str, str], list[float]]) -> Figure:
    with style():
        figure = new_figure(7.0, 3.8)
        axes = figure.add_subplot()
        for number, (column, own) in enumerate(values.items()):
            places = [row + 0.14 * (number - 1.5) for row in range(len(own))]
            axes.plot(own, places, "os^D"[number], color=COLOURS[number], label=", ".join(column))
        axes.set_yticks(range(len(names)), names)
        axes.invert_yaxis()
        axes.set_xscale("log")
        plain_log(axes.xaxis)
        axes.set(xlabel="time of the transform (µs)")
        legend(figure, title="congestion control, arbiter", below=True)
        axes.set_title(f"{RANKS} ranks transform {SIZE} x {SIZE} numbers beside other jobs")
    return figure


def _commands() -> list[str]:
    near = ",".join(PLACEMENTS["near"])
    command = f"fabricsim mpi run -n {RANKS} --experiment FILE --flops {FLOPS:.0e} --placement {near}"
    script = f"experiments/programs/fft.py {SIZE}"
    return [
        f"{command} {script}",
        f"{command} --set routing.engine=dfsssp --set switch.arbiter=oldest-first {script}",
    ]
