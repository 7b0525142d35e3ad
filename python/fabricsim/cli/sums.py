"""Flows of a run summed up by source, destination or group of hosts: `run --by`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from fabricsim.cli.layout import narrow
from fabricsim.cli.numbers import fixed, nanoseconds, rate
from fabricsim.errors import InputError
from fabricsim.results import Result, finite
from fabricsim.shares import above_rate, rates_of_hosts
from fabricsim.spec import Experiment
from fabricsim.sums import SUMMED_BY, extremes, keys_of, require_sums, summed_by

if TYPE_CHECKING:
    from fabricsim.lazy import pandas as pd

By = Annotated[
    list[str] | None,
    typer.Option(
        "--by",
        metavar=f"<{'|'.join(SUMMED_BY)}>",
        help="Also give sums of flows by source, destination, or pair of the file's groups of hosts. Repeatable.",
    ),
]
MOST_SUMS = 12
"""Rows that are printed: half of them those with the largest throughput, half those with the smallest."""


def check_by(by: list[str] | None, experiment: Experiment) -> tuple[str, ...]:
    """The sums that are requested, each once.

    Raises:
        InputError: a sum has another name, or no run of the experiment can have it.
    """
    names = summed_by(by, "--by")
    if names:
        require_sums(names, experiment.written(), experiment.file, "--by")
    return names


class SumsOf:
    """The requested sums of a run."""

    def __init__(self, result: Result, names: tuple[str, ...]) -> None:
        self.tables: dict[str, pd.DataFrame] = {}
        self.unknown: InputError | None = None
        """Reason why one is missing."""
        for name in names:
            try:
                self.tables[name] = result.by(name)
            except InputError as error:
                self.unknown = InputError(f"--by {name}: {error}")
        self._rates = rates_of_hosts(result.frames) if "destination" in self.tables else {}

    def as_dict(self) -> dict[str, Any]:
        """For `run --json`."""
        found = {name: table.reset_index().to_dict("records") for name, table in self.tables.items()}
        return {"by": finite(found)} if found else {}

    def print(self, console: Console) -> None:
        """A table for each sum, the largest throughput first."""
        for name, table in self.tables.items():
            _print_one(table, name, console, self._rates if name == "destination" else {})


def headings(by: str) -> list[str]:
    """The headings of the columns of keys."""
    return [key.removesuffix("_group") for key in keys_of(by)]


Column = tuple[str, Callable[[Any], str]]
"""Heading, and a cell of a value."""
COLUMNS: dict[str, Column] = {
    "flows": ("flows", lambda value: f"{value:,}"),
    "offered_gbps": ("offered\nGb/s", rate),
    "accepted_gbps": ("accepted\nGb/s", rate),
    "latency_mean_ns": ("mean\nlatency", nanoseconds),
    "latency_p99_ns": ("largest p99\nof a flow", nanoseconds),
    "jain": ("Jain", lambda value: fixed(value, 2)),
}


def _print_one(sums: pd.DataFrame, name: str, console: Console, rates: Mapping[str, float]) -> None:
    """`rates`: of the links of which the throughput is, by key."""
    found = extremes(sums, MOST_SUMS).reset_index()
    half, note = len(found), None
    if len(sums) > len(found):
        half = MOST_SUMS // 2
        note = f"the {half} largest and the {half} smallest of {len(sums):,}; --json has all"
    accepted = dict(zip(found[keys_of(name)[0]], found["accepted_gbps"], strict=True))
    shares = (accepted[host] / gbps for host, gbps in rates.items() if host in accepted)
    note = "\n".join(filter(None, (note, above_rate(shares)))) or None
    columns = dict(COLUMNS)
    if found["offered_gbps"].isna().all():
        del columns["offered_gbps"]
    table = narrow(
        f"by {name}", note, texts=headings(name), numbers=(heading for heading, _ in columns.values())
    )
    for number, row in enumerate(found.to_dict("records")):
        if number == half:
            table.add_section()
        cells = (shown(row[column]) for column, (_, shown) in columns.items())
        table.add_row(*(str(row[end]) for end in keys_of(name)), *cells)
    console.print(table)
