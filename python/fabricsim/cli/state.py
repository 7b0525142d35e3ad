"""Common code of the commands: options, reading, the two ways to print a result."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from fabricsim.cli.console import caution, output, settings, tell
from fabricsim.cli.streams import is_unicode
from fabricsim.errors import InputError
from fabricsim.results import finite
from fabricsim.spec import Experiment, parse_assignment
from fabricsim.statistics import FEWEST_REPETITIONS, MOST_SEEDS
from fabricsim.store import in_free_folder

if TYPE_CHECKING:
    from fabricsim.sweep.executors import Executor

T = TypeVar("T")
RUNS = Path("runs")
"""Folder of results without --out."""

EXIT_CODES = {"ok": 0, "deadlock": 3, "interrupted": 130}
"""Exit code by status of a run."""


ExperimentFile = Annotated[Path, typer.Argument(metavar="FILE", help="An experiment file (TOML).")]
Set = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Replace a value: --set traffic.0.load=0.4. Repeatable."),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object on standard output, nothing else.")]
Out = Annotated[
    Path | None, typer.Option("--out", metavar="DIR", help="Write the results there; by default below runs/.")
]
Force = Annotated[bool, typer.Option("--force", help="Replace a folder of results that exists.")]
Memory = Annotated[
    str | None,
    typer.Option(
        "--memory",
        metavar="SIZE",
        help="Most memory that runs may take, all together: 16GiB. By default what is available.",
    ),
]
Seeds = Annotated[
    int | None,
    typer.Option(
        "--seeds",
        metavar="N",
        min=FEWEST_REPETITIONS,
        max=MOST_SEEDS,
        help="Repeat with N seeds (the experiment's, and those after it): means with 95 % confidence intervals.",
    ),
]
Jobs = Annotated[
    int | None, typer.Option("--jobs", min=1, help="Processes; by default one for each processor.")
]
Dask = Annotated[
    str | None,
    typer.Option(
        "--dask", metavar="ADDRESS", help="Run on the workers of this Dask scheduler: tcp://host:8786."
    ),
]
Slurm = Annotated[bool, typer.Option("--slurm", help="Run in jobs of this Slurm cluster.")]
SlurmOptions = Annotated[
    list[str] | None,
    typer.Option(
        "--slurm-option",
        metavar="NAME=VALUE",
        help="jobs, cores, memory, walltime, partition, account, interface or directive. Repeatable.",
    ),
]


def read(file: Path, assignments: list[str] | None) -> Experiment:
    """The experiment of a command line; `-` is standard input."""
    experiment = _standard_input() if str(file) == "-" else Experiment.from_file(file)
    return experiment.with_overrides([parse_assignment(text) for text in assignments or []])


def _standard_input() -> Experiment:
    try:
        text = sys.stdin.buffer.read().decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"standard input: it is no text in UTF-8: {error}") from error
    return Experiment(text, "stdin")


def in_folder(out: Path | None, name: str, work: Callable[[Path], T]) -> T:
    """Returns what `work` does for the folder of results: the given one, else a new one of this name."""
    return in_free_folder(RUNS, name, work) if out is None else work(out)


def executor(jobs: int | None, dask: str | None, slurm: bool, slurm_options: list[str] | None) -> Executor:
    """Executor of the runs of a command line.

    Raises:
        InputError: the options do not go together, or the cluster's are wrong.
    """
    from fabricsim.sweep import executors  # noqa: PLC0415 - most commands have none

    on_slurm = slurm or bool(slurm_options)
    if (jobs is not None) + (dask is not None) + on_slurm > 1:
        raise InputError("--jobs, --dask and --slurm exclude each other: give one of them")
    if dask is not None:
        return executors.dask(dask, say=tell)
    if on_slurm:
        return executors.slurm(dict(map(parse_assignment, slurm_options or [])), say=tell)
    return executors.local(jobs)


def print_json(value: Any) -> None:
    """One JSON value on standard output."""
    text = json.dumps(finite(value), indent=1, ensure_ascii=not is_unicode(sys.stdout))
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


class JsonList:
    """A JSON list on standard output that grows by parts. The text is that of `print_json` for all elements."""

    def __init__(self) -> None:
        self._is_empty = True

    def extend(self, values: Sequence[Any]) -> None:
        """Prints further elements."""
        for value in values:
            text = json.dumps(finite(value), indent=1, ensure_ascii=not is_unicode(sys.stdout))
            sys.stdout.write("[\n " if self._is_empty else ",\n ")
            sys.stdout.write(text.replace("\n", "\n "))
            self._is_empty = False

    def end(self) -> None:
        """Prints the end of the list."""
        sys.stdout.write("[]\n" if self._is_empty else "\n]\n")
        sys.stdout.flush()


def tell_results(folder: Path, as_json: bool) -> Callable[[str], None]:
    """Reports the folder of the results; returns a function that reports further files."""
    settings.results = folder
    say: Callable[[str], None] = tell if as_json else output().print
    say(f"results: {folder}")
    return say


def warn(experiment: Experiment) -> list[str]:
    """Warnings about an experiment, on standard error and as texts.

    Raises:
        InputError: it is invalid.
    """
    found = experiment.warnings()
    for text in found:
        caution(f"{experiment.file}: {text}")
    return found


def show(as_json: bool, value: Callable[[], Any], table: Callable[[], None]) -> None:
    """Prints a result as JSON or for people."""
    if as_json:
        print_json(value())
    else:
        table()
