"""Performance counters of routers as a short table."""

from __future__ import annotations

from rich.console import Console

from fabricsim import catalogue
from fabricsim.cli.layout import narrow
from fabricsim.cli.numbers import fixed, percent
from fabricsim.frames import lists_of, records
from fabricsim.results import Result


def print_routers(result: Result, console: Console) -> None:
    """The counters by direction, if the run has them; ages only where packets age."""
    counters = lists_of(result.frames, "router_dimensions")
    if counters is None:
        return
    aged = any(age > 0 for age in counters["age_mean"])
    names = ["direction", "granted", "stalled_per_packet", "blocked_per_packet", "queueing_cycles"]
    headings = [entry.label.replace(" ", "\n", 1) for entry in catalogue.some("router_dimensions", *names)]
    if aged:
        headings += ["mean\nage", *(f"age\n{low}-{low + 63}" for low in range(0, 256, 64))]
    table = narrow("routers, in cycles of their clock", texts=headings[:1], numbers=headings[1:])
    for row in records(counters):
        cells = [str(row["direction"]), f"{row['granted']:,}"]
        cells += [
            fixed(row[name], 1) for name in ("stalled_per_packet", "blocked_per_packet", "queueing_cycles")
        ]
        if aged:
            groups = [row[f"age_{low}_{low + 63}"] for low in range(0, 256, 64)]
            cells += [
                fixed(row["age_mean"], 1),
                *(percent(count / max(row["granted"], 1)) for count in groups),
            ]
        table.add_row(*cells)
    console.print(table)
