"""The command `compare`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from fabricsim.absent_columns import absent_columns_named
from fabricsim.cli.console import output, tell
from fabricsim.cli.numbers import fixed, percent, shown
from fabricsim.cli.pictures import Drawing, LabelOption, StyleOption, WidthOption, drawing_if
from fabricsim.cli.repeated import repeat
from fabricsim.cli.repeated_tables import of_entries, print_sets
from fabricsim.cli.state import Json, Seeds, show
from fabricsim.cli.sums import By, check_by
from fabricsim.cli.sums_tables import print_compared_sums
from fabricsim.compare import Comparison, compare_repeated, is_set, is_sweep
from fabricsim.compare import compare as compare_runs
from fabricsim.compare.comparison import MOST_RUNS
from fabricsim.compare.settings import experiment_of, is_missing
from fabricsim.compare.totals import FIRST, entry
from fabricsim.errors import InputError
from fabricsim.frames import missing
from fabricsim.results import few_looks
from fabricsim.run import load
from fabricsim.shown import number_of
from fabricsim.store import read_manifest
from fabricsim.sums import summed_by
from fabricsim.sweep import SweepResult

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_FLOWS = 16
"""Flows that are printed; --json has all."""
FORMATS = (".png", ".svg", ".pdf")
_SHOWN = ("congestion.",)
_OF_JOBS = (".done", ".iteration_ns.mean", ".exposed_ns")
_OF_ROUTERS = (".queueing_cycles", ".stalled_per_packet")
"""Of the counters of routers; --json has all."""


def compare(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN RUN...", help="Two or more run folders.")],
    seeds: Seeds = None,
    by: By = None,
    json: Json = False,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="PICTURE",
            help="Draw throughput over time there: .png, .svg or .pdf; with several --by, a picture for each.",
        ),
    ] = None,
    style: StyleOption = "screen",
    width: WidthOption = None,
    label: LabelOption = None,
) -> None:
    """Put runs side by side: what their experiments differ in, and who gets which throughput in each.

    With --seeds each run's experiment is repeated, and each difference is compared with chance; so are folders of
    `run --seeds`.
    """
    if out is not None and out.suffix not in FORMATS:
        raise InputError(
            f"{out}: pictures are {', '.join(FORMATS)}: choose a name that ends with one of them"
        )
    sums = summed_by(by, "--by")
    pictures = drawing_if(out is not None, "--out", style, width, label)
    if seeds is not None or any(map(is_set, runs)):
        _compare_sets(runs, seeds, sums, json, out, pictures)
        return
    found = compare_runs(runs)
    with absent_columns_named(found.runs):
        for name in sums:
            found.by(name)  # of runs without it, the message comes before all tables
        show(json, lambda: found.as_dict(sums), lambda: print_comparison(found, output(), sums))
        if out is not None and pictures is not None:
            from fabricsim.plots.comparison import comparison  # noqa: PLC0415 - matplotlib takes long to import

            _draw(lambda name: comparison(found, by=name), out, sums, pictures, json)


def _compare_sets(
    runs: list[Path],
    seeds: int | None,
    by: tuple[str, ...],
    json: bool,
    out: Path | None,
    pictures: Drawing | None,
) -> None:
    """Sets of repetitions, those of runs created here."""
    if not 2 <= len(runs) <= MOST_RUNS:
        raise InputError(f"{len(runs)} sets cannot be compared: give 2 to {MOST_RUNS}")
    if seeds is None and not all(map(is_sweep, runs)):
        single = next(run for run in runs if not is_sweep(run))
        read_manifest(single)
        raise InputError(
            f"{single}: this is one run, and others are repeated: repeat it with `fabricsim run --seeds N`"
        )
    if seeds is not None and any(map(is_sweep, runs)):
        already = next(run for run in runs if is_sweep(run))
        raise InputError(
            f"{already}: this is repeated already, and --seeds repeats single runs: leave it out, or give single runs"
        )
    labels = None if seeds is None else compare_runs(runs).labels
    sets: list[Path | SweepResult] = list(runs)
    if seeds is not None:
        experiments = [experiment_of(load(run)) for run in runs]
        for experiment in experiments:
            check_by(list(by), experiment)
        sets = [repeat(each, seeds, out=None, force=False, memory=None, by=by) for each in experiments]
    found = compare_repeated(sets, labels, by)
    show(json, found.as_dict, lambda: print_sets(found, output()))
    if out is not None and pictures is not None:
        from fabricsim.plots.sets_of_seeds import sets_of_seeds  # noqa: PLC0415 - matplotlib takes long to import

        _draw(lambda name: sets_of_seeds(found, by=name), out, by, pictures, json)


def _draw(
    draw: Callable[[str | None], Figure], out: Path, by: Sequence[str], pictures: Drawing, json: bool
) -> None:
    """One picture; of several sums one for each, whose names end with the name of the sum: `out-by-group.svg`."""
    from fabricsim.plots import save  # noqa: PLC0415 - matplotlib takes long to import

    say = tell if json else output().print
    with pictures.look():
        for name in by or (None,):
            path = out.with_stem(f"{out.stem}-by-{name}") if len(by) > 1 else out
            say(f"picture: {save(draw(name), path)}")


def print_comparison(found: Comparison, console: Console, by: Sequence[str] = ()) -> None:
    """Settings, sums `by`, flows and totals side by side."""
    marks = _marks(len(found.labels))
    for mark, label, run in zip(marks, found.labels, found.runs, strict=True):
        is_named = label == str(run.folder) or label.endswith((f"({run.folder})", f": {run.folder}"))
        names = [] if run.folder is None or is_named else [str(run.folder)]
        names += [] if run.status == "ok" else [run.status]
        more = f"  ({', '.join(names)})" if names else ""
        console.print(f"{mark}: {label}{more}", markup=False)
    if len(found.differences) > 1:
        console.print(_differences(found, marks))
    entries = of_entries(found.totals.index)
    if entries:
        console.print(_totals(found, marks, entries, "by entry: what differs"))
    for name in by:
        print_compared_sums(found, name, marks, console)
    if found.note:
        console.print(found.note, markup=False)
    else:
        console.print(_flows(found, marks))
    for label, count in {} if found.note else found.missing.items():
        mark = marks[found.labels.index(label)]
        console.print(f"not shown, since not in all of the others: {number_of(count, 'flow')} of {mark}")
    if len(found.totals):
        others = [name for name in map(str, found.totals.index) if name not in entries and _is_shown(name)]
        console.print(_totals(found, marks, others, "totals that differ"))
    for mark, run in zip(marks, found.runs, strict=True):
        if "congestion_flows" in run.frames and (note := few_looks(run)):
            console.print(f"{mark}: {note}", markup=False)


def _marks(count: int) -> list[str]:
    return [chr(ord("A") + number) for number in range(count)]


def _differences(found: Comparison, marks: list[str]) -> Table:
    table = Table(title="settings that differ")
    table.add_column("key")
    for mark in marks:
        table.add_column(mark)
    for key, values in found.differences.iterrows():
        table.add_row(str(key), *("-" if is_missing(value) else str(value) for value in values))
    return table


def _flows(found: Comparison, marks: list[str]) -> Table:
    flows = found.flows
    rows, note = flows, None
    if len(flows) > MOST_FLOWS:
        change = (found.quantity("ratio") - 1.0).abs().max(axis=1).fillna(0.0)
        rows = flows.loc[change.nlargest(MOST_FLOWS).index]
        note = f"the {MOST_FLOWS} of {len(flows):,} flows with the largest change; --json has all"
    what = "at end: of the destination's link, in the last tenth"
    table = Table(title=_title(found), caption=f"{what}; {note}" if note else what)
    table.add_column("source")
    table.add_column("destination")
    columns = [
        ("accepted_gbps", "\nGb/s", fixed),
        ("final_destination_share", "\nat end", percent),
        ("ratio", f"/{marks[0]}", _ratio),
    ]
    cells = []
    for quantity, heading, form in columns:
        for mark, label in zip(marks, found.labels, strict=True):
            if (quantity, label) in flows and not flows[quantity, label].isna().all():
                table.add_column(f"{mark}{heading}", justify="right")
                cells.append((quantity, label, form))
    for pair, row in rows.iterrows():
        assert isinstance(pair, tuple)
        table.add_row(*map(str, pair), *(form(row[quantity, label]) for quantity, label, form in cells))
    return table


def _title(found: Comparison) -> str:
    """The experiments' title, if they have one in common."""
    titles = {run.title for run in found.runs}
    return f"{titles.pop()}: accepted throughput" if len(titles) == 1 else "accepted throughput"


def _ratio(value: Any) -> str:
    return "-" if missing(value) else f"{value:.2f}"


def _totals(found: Comparison, marks: list[str], names: list[str], title: str) -> Table:
    table = Table(title=title)
    table.add_column("")
    for mark in marks:
        table.add_column(mark, justify="right")
    for name in names:
        of = entry(name, found.entry_names)
        table.add_row(of.heading, *(shown(value, of) for value in found.totals.loc[name]))
    return table


def _is_shown(name: str) -> bool:
    return name in FIRST or name.startswith(_SHOWN) or name.endswith((*_OF_ROUTERS, *_OF_JOBS))
