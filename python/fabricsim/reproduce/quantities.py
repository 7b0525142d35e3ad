"""Functions of expressions over the runs of a figure."""

from __future__ import annotations

import importlib.util
import inspect
import math
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from fabricsim.errors import InputError
from fabricsim.lazy import pandas as pd
from fabricsim.results import Result, flatten, host_rates
from fabricsim.selection import (
    ends,
    to_ns,  # for the seeds' own quantities
)

Runs = Mapping[str, Result]
HOOKS = "quantities.py"
HOOKS_OF_RANKS = "rank_quantities.py"
"""The same for runs of rank programs: figures without any do not depend on it."""
HOOKS_OF_VERBS = "verbs_quantities.py"
"""The same for runs of programs of verbs."""


def accepted(
    runs: Runs, flow: str = "*", *, after: str = "0 ns", before: str = "", run: str | None = None
) -> float:
    """Mean accepted throughput, Gb/s, of all flows `source->destination` that match, between two simulated times."""
    table = chosen(runs, run).series
    rows = table[matching(table, flow)]
    times = table["time_ns"].drop_duplicates().sort_values()
    first, last = to_ns(after), to_ns(before) if before else math.inf
    inside = times[(times >= first) & (times < last)]
    if inside.empty:
        raise InputError(f"no time bin of the run lies between {after} and {before or 'its end'}")
    return float(rows[rows["time_ns"].isin(inside)]["gbps"].sum() / len(inside))


def share(
    runs: Runs,
    flow: str,
    *,
    after: str = "0 ns",
    before: str = "",
    of: float | None = None,
    run: str | None = None,
) -> float:
    """`accepted` as a fraction of the destination's link rate, or of the rate `of`, Gb/s."""
    if of is None:
        rates = host_rates(chosen(runs, run))
        destination = ends(flow)[1]
        if destination not in rates:
            raise InputError(f"the link rate of {destination!r} is not known: give it as of=RATE in Gb/s")
        of = float(rates[destination])
    return accepted(runs, flow, after=after, before=before, run=run) / of


def value(runs: Runs, name: str, *, run: str | None = None) -> Any:
    """A scalar of the summary by dotted name: `value("latency_ns.mean")`."""
    scalars = flatten(chosen(runs, run).manifest["summary"])
    if name not in scalars:
        raise InputError(f"the summary has no {name!r}; it has: {', '.join(scalars)}")
    return scalars[name]


def cell(runs: Runs, table: str, column: str, row: str = "", *, run: str | None = None) -> Any:
    """A value of a table: of the row whose first column is `row`, or of the flow `source->destination`."""
    frame = chosen(runs, run).table(table)
    if column not in frame:
        raise InputError(f"table {table!r} has no column {column!r}; it has: {', '.join(frame.columns)}")
    is_flow = "->" in row and {"source", "destination"} <= set(frame.columns)
    rows = frame if not row else frame[matching(frame, row) if is_flow else frame.iloc[:, 0] == row]
    if len(rows) != 1:
        raise InputError(f"{len(rows)} rows of table {table!r} match {row!r}, not one")
    return rows[column].iloc[0].item() if hasattr(rows[column].iloc[0], "item") else rows[column].iloc[0]


def offered_load(runs: Runs, *, run: str | None = None) -> Any:
    """Offered load of the whole network, a fraction of the hosts' links."""
    return value(runs, "offered_load", run=run)


def accepted_load(runs: Runs, *, run: str | None = None) -> Any:
    """Accepted load of the whole network, a fraction of the hosts' links."""
    return value(runs, "accepted_load", run=run)


def latency(runs: Runs, which: str = "mean", *, run: str | None = None) -> Any:
    """Packet latency, ns: `mean`, `p50`, `p99`, `p999` or `max`."""
    return value(runs, f"latency_ns.{which}", run=run)


def near(runs: Runs, a: float, b: float, tolerance: float) -> bool:
    """True if `a` is `b` within a relative tolerance; for claims."""
    return abs(a - b) <= tolerance * abs(b)


_FUNCTIONS = (accepted, share, value, cell, offered_load, accepted_load, latency, near)
_PLAIN: dict[str, Callable[..., Any]] = {"abs": abs, "max": max, "min": min, "sqrt": math.sqrt}


def functions(
    runs: Runs, hooks: Mapping[str, Callable[..., Any]] | None = None
) -> dict[str, Callable[..., Any]]:
    """All functions for expressions, bound to a figure's runs; `hooks` are the seed's own."""
    bound = {f.__name__: partial(f, runs) for f in _FUNCTIONS}
    own = {name: partial(f, runs) for name, f in (hooks or {}).items()}
    return {**_PLAIN, **bound, **own}


def load_hooks(folder: Path, file: str = HOOKS) -> dict[str, Callable[..., Any]]:
    """The public functions of a file in the seed's folder; each takes the runs by name first."""
    path = folder / file
    if not path.exists():
        return {}
    spec = importlib.util.spec_from_file_location(
        f"fabricsim_{path.stem}_{folder.name.replace('-', '_')}", path
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    members = inspect.getmembers(module, inspect.isfunction)
    return {name: f for name, f in members if f.__module__ == module.__name__ and not name.startswith("_")}


def chosen(runs: Runs, run: str | None) -> Result:
    """The run that is named, else the first."""
    name = next(iter(runs)) if run is None else run
    if name not in runs:
        raise InputError(f"the figure has no run {name!r}; it has: {', '.join(runs)}")
    return runs[name]


def matching(table: pd.DataFrame, flow: str) -> pd.Series[bool]:
    """Rows of the flow.

    Raises:
        InputError: none do.
    """
    source, destination = ends(flow)
    found = pd.Series(True, index=table.index)
    for column, name in (("source", source), ("destination", destination)):
        if name != "*":
            found &= table[column] == name
    if not found.any():
        raise InputError(f"the run has no flow {flow!r}")
    return found
