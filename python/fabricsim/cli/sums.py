"""Flows of a run summed up by source, destination or group of hosts: `run --by`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated, Any

import typer
from rich.console import Console

from fabricsim.cli.layout import narrow
from fabricsim.cli.numbers import fixed, nanoseconds, rate
from fabricsim.errors import InputError
from fabricsim.hosts import Groups
from fabricsim.results import Result, finite
from fabricsim.spec import Experiment

NAMES = ("source", "destination", "group")
By = Annotated[
    list[str] | None,
    typer.Option(
        "--by",
        metavar=f"<{'|'.join(NAMES)}>",
        help="Also print sums of flows by source, destination, or pair of the file's groups of hosts. Repeatable.",
    ),
]
MOST_SUMS = 12
"""Rows that are printed: half of them those with the largest throughput, half those with the smallest."""


@dataclass(frozen=True)
class Sums:
    """Requested sums."""

    names: tuple[str, ...] = ()
    groups: Groups = field(default_factory=dict)


def check_by(by: list[str] | None, experiment: Experiment, seeds: int | None) -> Sums:
    """The sums that are requested, each once.

    Raises:
        InputError: a sum has another name, the experiment has no groups of hosts, or it is repeated.
    """
    for name in by or ():
        if name not in NAMES:
            raise InputError(f"--by {name}: must be {', '.join(NAMES[:-1])} or {NAMES[-1]}")
    if by and seeds is not None:
        raise InputError("--by is for single runs: leave out --seeds")
    groups = (experiment.written().get("groups") or {}) if by and "group" in by else {}
    if by and "group" in by and not groups:
        raise InputError(f"--by group: {experiment.file} has no [groups] of hosts")
    return Sums(tuple(dict.fromkeys(by or ())), groups)


def sums_as_dict(result: Result, of: Sums) -> dict[str, Any]:
    """The sums for `run --json`."""
    found = {name: result.by(name, of.groups).reset_index().to_dict("records") for name in of.names}
    return {"by": finite(found)} if found else {}


def print_sums(result: Result, of: Sums, console: Console) -> None:
    """A table for each sum, the largest throughput first."""
    for name in of.names:
        _print_one(result, name, of.groups, console)


_Column = tuple[str, Callable[[Any], str]]


def _print_one(result: Result, name: str, groups: Groups, console: Console) -> None:
    found = result.by(name, groups).sort_values("accepted_gbps", ascending=False, kind="stable").reset_index()
    ends = ["source_group", "destination_group"] if name == "group" else [name]
    half, note = len(found), None
    if len(found) > MOST_SUMS:
        half = MOST_SUMS // 2
        note = f"the {half} largest and the {half} smallest of {len(found):,}; --json has all"
        found = found.iloc[[*range(half), *range(len(found) - half, len(found))]]
    columns: dict[str, _Column] = {
        "flows": ("flows", lambda value: f"{value:,}"),
        "offered_gbps": ("offered\nGb/s", rate),
        "accepted_gbps": ("accepted\nGb/s", rate),
        "latency_mean_ns": ("mean\nlatency", nanoseconds),
        "latency_p99_ns": ("largest p99\nof a flow", nanoseconds),
        "jain": ("Jain", lambda value: fixed(value, 2)),
    }
    if found["offered_gbps"].isna().all():
        del columns["offered_gbps"]
    table = narrow(
        f"by {name}",
        note,
        texts=[end.removesuffix("_group") for end in ends],
        numbers=(heading for heading, _ in columns.values()),
    )
    for number, row in enumerate(found.to_dict("records")):
        if number == half:
            table.add_section()
        cells = (shown(row[column]) for column, (_, shown) in columns.items())
        table.add_row(*(str(row[end]) for end in ends), *cells)
    console.print(table)
