"""What a search for saturation found, and the precision of repetitions, as text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Console

from fabricsim.cli.layout import key_heading, narrow
from fabricsim.cli.numbers import fixed, nanoseconds, percent, plain
from fabricsim.sweep import SweepResult
from fabricsim.sweep.table import entry as entry_of

MOST_ROWS = 100
MOST_NAMED = 5
"""Points without the requested precision that are named."""
_REASONS = {"accepted": "accepted load", "latency": "latency", "deadlock": "deadlock"}


def print_search(result: SweepResult, console: Console) -> None:
    """The saturation point of each combination, and the number of runs that the search took."""
    found = result.saturation()
    rows = found.to_dict("records")
    left_out = f"the first {MOST_ROWS} of {len(rows)} combinations" if len(rows) > MOST_ROWS else None
    table = narrow(
        f"{result.title}: saturation",
        left_out,
        texts=[key_heading(key, result.parameters) for key in result.others],
        numbers=(
            "saturation\npoint",
            "accepted\nthere",
            "latency\nthere",
            "zero-load\nlatency",
            "highest\naccepted",
            "runs",
        ),
    )
    table.add_column("saturated\nby")
    for row in rows[:MOST_ROWS]:
        parameters = (plain(row[key]) for key in result.others)
        loads = [fixed(row["load"], _digits(result)), fixed(row["accepted"])]
        times = [nanoseconds(row["latency_ns"]), nanoseconds(row["zero_load_ns"])]
        table.add_row(*parameters, *loads, *times, fixed(row["throughput"]), plain(row["runs"]), _reason(row))
    console.print(table)
    if len(found):
        means = f"; means of {len(result.seeds)} seeds decide" if result.repeated else ""
        grid = int(found["grid_runs"].sum())
        console.print(
            f"{int(found['runs'].sum()):,} runs; a grid of the same tolerance takes {grid:,}{means}",
            markup=False,
        )


def _digits(result: SweepResult) -> int:
    """Decimals of the loads of the grid, three at least."""
    values = result.manifest["schedule"]["values"]
    return max(3, *(len(str(value).partition(".")[2]) for value in values[:2]))


def _reason(row: Mapping[Any, Any]) -> str:
    if row["message"]:
        return f"failed: {row['message']}"
    if not row["reached"]:
        return "not saturated"
    lowest = "lowest load: " if row["load"] == 0.0 else ""
    return f"{lowest}{_REASONS[row['reason']]}"


def print_precision(result: SweepResult, console: Console) -> None:
    """The points whose intervals are wider than requested, if a precision was; and the number of runs."""
    if not result.manifest.get("schedule"):
        return
    found = result.precision()
    wide = found[~found["reached"].astype(bool)]
    names = dict.fromkeys(zip(found["metric"], found["requested"], strict=True))
    entry_names = result.entry_names
    wanted = ", ".join(
        f"{entry_of(str(name), entry_names).label} ± {percent(value)}" for name, value in names
    )
    most = result.manifest["size"]
    console.print(f"requested: {wanted}; {len(result.points):,} runs of {most:,} at most", markup=False)
    for row in wide.head(MOST_NAMED).to_dict("records"):
        of = ", ".join(f"{key} {plain(row[key])}" for key in result.varied)
        name = f"{of + ': ' if of else ''}{entry_of(str(row['metric']), entry_names).label}"
        console.print(
            f"not reached: {name} ± {percent(row['precision'])} with {row['seeds']} seeds",
            style="yellow",
            markup=False,
        )
    if len(wide) > MOST_NAMED:
        console.print(f"not reached: and {len(wide) - MOST_NAMED} more", style="yellow", markup=False)
