"""What the commands share: consoles, options, the two ways to print a result."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from fabricsim.results import finite
from fabricsim.spec import Experiment, parse_assignment

RUNS = Path("runs")
"""Where results go without --out."""

EXIT_CODES = {"ok": 0, "deadlock": 3, "interrupted": 130}
"""What a run's status means for the exit code."""


@dataclass
class Settings:
    """Options that stand before the command."""

    debug: bool = False


settings = Settings()
errors = Console(stderr=True, highlight=False, markup=False, soft_wrap=True)

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


def output() -> Console:
    """Standard output, wide enough for tables when it is no terminal."""
    console = Console(highlight=False, markup=False)
    return console if console.is_terminal else Console(highlight=False, markup=False, width=120)


def read(file: Path, assignments: list[str] | None) -> Experiment:
    """The experiment of a command line."""
    return Experiment.from_file(file).with_overrides([parse_assignment(text) for text in assignments or []])


def print_json(value: Any) -> None:
    """One JSON value on standard output."""
    sys.stdout.write(json.dumps(finite(value), indent=1, ensure_ascii=False) + "\n")
    sys.stdout.flush()


def complain(message: str) -> None:
    """A message on standard error."""
    errors.print(message, style="red", markup=False)


def tell(message: str) -> None:
    """A note on standard error."""
    errors.print(message, markup=False)


def show(as_json: bool, value: Callable[[], Any], table: Callable[[], None]) -> None:
    """Prints a result as JSON or for people."""
    if as_json:
        print_json(value())
    else:
        table()
