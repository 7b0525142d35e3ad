"""The command `tune`."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TaskID, TextColumn
from rich.progress import Progress as Bar
from rich.table import Table

from fabricsim.catalogue import entry_parts, sum_parts
from fabricsim.catalogue import key as key_of
from fabricsim.cli.console import complain, errors, output, tell
from fabricsim.cli.interrupt import INTERRUPTED, Interrupt
from fabricsim.cli.layout import key_heading, narrow
from fabricsim.cli.numbers import percent, significant
from fabricsim.cli.one_unit import in_one_unit, scale_of
from fabricsim.cli.pictures import Drawing, FormatOption, LabelOption, StyleOption, WidthOption, drawing
from fabricsim.cli.progress import Pace
from fabricsim.cli.schedules import fraction
from fabricsim.cli.state import (
    Dask,
    ExperimentFile,
    Force,
    Jobs,
    Json,
    Memory,
    Out,
    Set,
    Slurm,
    SlurmOptions,
    executor,
    in_folder,
    show,
    tell_results,
    warn,
)
from fabricsim.cli.swept import read_single
from fabricsim.durations import seconds
from fabricsim.lazy import pandas as pd
from fabricsim.spec import toml_value
from fabricsim.tune import Progress, TuneResult
from fabricsim.tune import tune as run_study
from fabricsim.tune.tuner import OPENSM_FILE

OnTrial = Callable[[Progress], None] | None
OnFresh = Callable[[int, int], None] | None
MOST_ROWS = 12
"""Settings of a front that are printed."""


def tune(
    file: ExperimentFile,
    set: Set = None,
    trials: Annotated[
        int | None, typer.Option("--trials", min=1, help="Settings to try, instead of the file's number.")
    ] = None,
    jobs: Jobs = None,
    dask: Dask = None,
    slurm: Slurm = False,
    slurm_option: SlurmOptions = None,
    memory: Memory = None,
    storage: Annotated[
        str | None,
        typer.Option(
            "--storage", metavar="URL", help="Optuna's database; by default a file in the results' folder."
        ),
    ] = None,
    study: Annotated[
        str | None,
        typer.Option("--study", metavar="NAME", help="Name of the study there; by default the experiment's."),
    ] = None,
    precision: Annotated[
        str | None,
        typer.Option(
            "--precision",
            metavar="P",
            help="End the comparison on fresh seeds, after 5 or more, once all intervals are at most ± P, such as 2%.",
        ),
    ] = None,
    format: FormatOption = "png",
    style: StyleOption = "screen",
    width: WidthOption = None,
    label: LabelOption = None,
    out: Out = None,
    json: Json = False,
    force: Force = False,
) -> None:
    r"""Find the best values of some keys, by what the experiment's \[tune] asks for; a study that was stopped goes
    on in the same folder.

    Exit code: 0 done, 1 every trial failed, 130 interrupted.
    """
    pictures = drawing(style, width, label, format)
    experiment = read_single(file, set)
    warn(experiment)
    if trials is not None:
        experiment = experiment.with_overrides([("tune.trials", str(trials))])
    where = executor(jobs, dask, slurm, slurm_option)
    with Interrupt() as interrupt, _progress() as (on_progress, on_confirm):
        result = in_folder(
            out,
            f"{experiment.name}-tune",
            lambda folder: run_study(
                experiment,
                executor=where,
                memory=memory,
                out=folder,
                force=force,
                storage=storage,
                study=study,
                precision=None if precision is None else fraction(precision),
                on_progress=on_progress,
                on_confirm=on_confirm,
                stop=interrupt.asked,
            ),
        )
    folder = result.folder
    assert folder is not None
    show(json, result.as_dict, lambda: print_study(result, output()))
    _finish(result, folder, json, pictures)


def _finish(result: TuneResult, folder: Path, json: bool, pictures: Drawing) -> None:
    say = tell_results(folder, json)
    if result.manifest["opensm"] is not None:
        say(f"for OpenSM: {folder / OPENSM_FILE}")
    if not result.complete:
        tell(
            f"{result.manifest['done']} of {result.manifest['size']} trials are done; give --out {folder} to go on"
        )
        raise typer.Exit(INTERRUPTED)
    from fabricsim.plots import save_tune_plots  # noqa: PLC0415 - matplotlib takes long to import

    with pictures.look():
        for picture in save_tune_plots(result, folder, pictures.format):
            say(f"picture: {picture}")


@contextmanager
def _progress() -> Iterator[tuple[OnTrial, OnFresh]]:
    """Bars for the trials, with time left and best so far, and for the runs with fresh seeds."""
    if not errors.is_terminal:
        yield None, None
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[left]}"),
        TextColumn("{task.fields[best]}"),
    )
    with Bar(*columns, console=errors, transient=True) as bar:
        trials = bar.add_task("trials", total=None, left="", best="")
        fresh = bar.add_task("fresh seeds", total=None, left="", best="", visible=False)
        paces = {task: Pace(time.monotonic) for task in (trials, fresh)}

        def update(task: TaskID, done: int, total: int, best: str) -> None:
            left = paces[task].left(done, total)
            told = "" if left is None else f"{seconds(left)} left"
            bar.update(task, completed=done, total=total, left=told, best=best, visible=True)

        def on_trial(progress: Progress) -> None:
            update(trials, progress.done, progress.trials, _best_so_far(progress))

        def on_fresh(done: int, total: int) -> None:
            update(fresh, done, total, "")

        yield on_trial, on_fresh


def _best_so_far(progress: Progress) -> str:
    failed = f"; {progress.failed} failed" if progress.failed else ""
    if progress.best is None:
        return ("none keeps the constraints yet" if progress.done else "") + failed
    values = ", ".join(significant(value, 5) for value in progress.best.values)
    return f"best {values} (trial {progress.best.number}){failed}"


def print_study(result: TuneResult, console: Console) -> None:
    """The front, the best setting, what it gains, and which parameters matter."""
    if len(result.front):
        console.print(_front(result) if len(result.objectives) > 1 else _best(result))
    if result.best is None:
        _print_broken(result, console)
    else:
        heading = _print_no_gain(result, console)
        console.print(f"{heading}:", markup=False)
        for key, value in result.best["settings"].items():
            console.print(f"  --set '{key}={toml_value(value)}'", markup=False)
    if len(result.gains):
        console.print(_gains(result))
        _print_no_difference(result, console)
        _print_precision(result, console)
    for name, holds in result.manifest["holds"].items():
        if not holds:
            complain(f"on the fresh seeds the best setting breaks the constraint {name}")
    if len(result.importances):
        console.print(_importances(result.importances))
    if failed := result.manifest["failed"]:
        complain(
            f"{failed} of {result.manifest['done']} trials failed, the first: {result.manifest['problem']}"
        )
    elif result.manifest["problem"]:
        complain(f"best setting and experiment could not be compared: {result.manifest['problem']}")


def _print_no_gain(result: TuneResult, console: Console) -> str:
    """Prints that no setting is better than the experiment as it is, if so. Returns what to call the best setting."""
    assert result.best is not None
    tried, trial = int(result.manifest["done"]), result.best["trial"]
    if not result.improves_on_search:
        (row,) = result.trials[result.trials["trial"] == trial].to_dict("records")
        was: Mapping[str, Any] = result.baseline or {}
        rows = [
            (name, _unit(result, name), [float(was[name]), float(row[name])])
            for name in result.objective_columns
        ]
        none = "the only setting tried is not" if tried == 1 else f"none of the {tried:,} settings tried is"
        what = f"{none} better than the experiment as it is"
    elif not result.improves_on_fresh_seeds:
        names = [objective["name"] for objective in result.objectives]
        rows = [
            (str(row["metric"]), str(row["unit"]), [row["baseline"], row["best"]])
            for row in result.gains.to_dict("records")
            if row["metric"] in names
        ]
        what = "on the fresh seeds the best setting is not better than the experiment as it is"
    else:
        return "best setting"
    console.print(f"{what}: {'; '.join(_beside(result, *row) for row in rows)}", markup=False)
    return f"best of the settings tried (trial {trial})"


def _beside(result: TuneResult, name: str, unit: str, values: list[float]) -> str:
    """An objective of the experiment as it is and of the best setting."""
    (was, best), unit = in_one_unit(values, unit)
    of = f" {unit}" if unit else ""
    return f"{_text(result, name)} {was}{of} as it is, {best}{of} with the best of them"


def _print_precision(result: TuneResult, console: Console) -> None:
    """The metrics whose intervals are wider than requested, if a precision was."""
    if (precision := result.manifest.get("precision")) is None:
        return
    rows = result.gains.to_dict("records")
    wide = [
        str(row["metric"]) for row in rows if row["high"] - row["low"] > 2 * precision * abs(row["baseline"])
    ]
    seeds = len(result.manifest["fresh_seeds"])
    if wide:
        console.print(
            f"with {seeds} seeds, intervals of {', '.join(wide)} are wider than ± {percent(precision)} of the value "
            "as it is: allow more with --set tune.fresh_seeds=N",
            style="yellow",
            markup=False,
        )
    else:
        console.print(f"all intervals are at most ± {percent(precision)} of the value as it is", markup=False)


def _print_broken(result: TuneResult, console: Console) -> None:
    found: Mapping[str, Any] | None = result.manifest["least_broken"]
    if found is None:
        return
    complain("no setting that was tried keeps all constraints")
    metrics = ", ".join(f"{name} {significant(value, 5)}" for name, value in found["metrics"].items())
    console.print(f"nearest is trial {found['trial']}: {metrics}", markup=False)


def _of_best(result: TuneResult) -> str:
    """The best setting in headings: it need not be better than the experiment as it is."""
    return "best" if result.improves_on_search and result.improves_on_fresh_seeds else "best tried"


def _best(result: TuneResult) -> Table:
    """The best setting beside the experiment as it is, on the seeds of the search."""
    (row,) = result.front.to_dict("records")
    title = f"{result.title}: {_of_best(result)} (trial {row['trial']})"
    table = narrow(title, texts=[""], numbers=["as it is", _of_best(result)])
    baseline = result.baseline
    for at, name in enumerate([*result.parameters, *result.columns]):
        if at == len(result.parameters):
            table.add_section()
        values = [None if baseline is None else baseline[name], row[name]]
        cells, unit = in_one_unit(values, _unit(result, name))
        table.add_row(f"{_text(result, name)} ({unit})" if unit else _text(result, name), *cells)
    return table


def _front(result: TuneResult) -> Table:
    """The Pareto front: parameters, objectives, and what has limits."""
    rows = result.front
    note = f"the first {MOST_ROWS} of {len(rows)}" if len(rows) > MOST_ROWS else None
    table = narrow(f"{result.title}: Pareto front", note)
    limits = [c["name"] for c in result.manifest["constraints"] if c["name"] not in result.objective_columns]
    columns = ["trial", *result.parameters, *result.objective_columns, *limits]
    was = result.baseline
    shown: list[Any] = [*rows.head(MOST_ROWS).to_dict("records"), *([] if was is None else [was])]
    cells = []
    for name in columns:
        texts, unit = in_one_unit([row[name] for row in shown], _unit(result, name))
        table.add_column(_heading(result, name, unit), justify="right")
        cells.append(texts)
    for row, texts_of in zip(shown, zip(*cells, strict=True), strict=True):
        if row is was:
            table.add_section()
        table.add_row("as it is" if row is was else texts_of[0], *texts_of[1:])
    return table


def _unit(result: TuneResult, name: str) -> str:
    return str(result.trials.attrs.get("columns", {}).get(name, ("", ""))[0])


def _heading(result: TuneResult, name: str, unit: str) -> str:
    head = key_heading(name, result.parameters) if name in result.parameters else _text(result, name)
    return f"{head}\n{unit}" if unit else head


def _text(result: TuneResult, name: str) -> str:
    """A metric in words, if it is a figure of an entry, a job, or a sum of flows; others have short names."""
    if entry_parts(name):
        return key_of(name, result.entry_names).label
    return key_of(name).label if sum_parts(name) else name


def _gains(result: TuneResult) -> Table:
    count = len(result.manifest["fresh_seeds"])
    level = percent(result.manifest["confidence"]).replace(".0%", "%")
    heading = "best setting" if _of_best(result) == "best" else "best setting tried"
    table = narrow(
        f"{heading} and experiment as it is, on the same {count} fresh seeds",
        texts=["metric"],
        numbers=["as it is", _of_best(result), "difference", f"{level} interval", "relative"],
    )
    for row in result.gains.to_dict("records"):
        scale, unit = scale_of([row["baseline"], row["best"]], str(row["unit"]))
        values = [significant(row[key] / scale, 5) for key in ("baseline", "best")]
        difference, low, high = (_signed(row[key] / scale) for key in ("difference", "low", "high"))
        interval = f"{low} to {high}"
        relative = "-" if row["relative"] is None else f"{row['relative']:+.1%}"
        name = _text(result, str(row["metric"]))
        table.add_row(f"{name} ({unit})" if unit else name, *values, difference, interval, relative)
    return table


def _print_no_difference(result: TuneResult, console: Console) -> None:
    """The metrics whose difference is no larger than chance."""
    rows = result.gains.to_dict("records")
    names = [
        _text(result, str(row["metric"]))
        for row in rows
        if row["low"] <= 0.0 <= row["high"] and row["low"] < row["high"]
    ]
    if names:
        level = percent(result.manifest["confidence"]).replace(".0%", "%")
        console.print(
            f"no difference of {'; '.join(names)}: the {level} interval contains zero; more fresh seeds may show one",
            markup=False,
        )


def _signed(value: float) -> str:
    return f"{'-' if value < 0.0 else '+'}{significant(abs(value))}"


def _importances(found: pd.DataFrame) -> Table:
    names = [name for name in found.columns if name != "parameter"]
    table = narrow("what matters", texts=["parameter"], numbers=map(str, names))
    for row in found.sort_values(names[0], ascending=False, kind="stable").to_dict("records"):
        table.add_row(str(row["parameter"]), *(percent(row[name]) for name in names))
    return table
