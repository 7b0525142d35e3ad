"""What the thesis' numbers ask for beyond the common functions. Each function takes the runs by name first."""

from __future__ import annotations

import itertools
import math
from pathlib import Path

import pandas as pd

from fabricsim.reproduce.quantities import Runs, chosen, to_ns
from fabricsim.results import Result
from fabricsim.spec import Experiment

HERE = Path(__file__).parent
MB_PER_GBIT = 125.0
Table = dict[str, list[str]]


def sent(runs: Runs, host: str, *, after: str = "0 s", before: str = "", run: str | None = None) -> float:
    """What a host sends, MB/s: packets by the time their first byte leaves."""
    return _host(chosen(runs, run), "injected_gbps", host, after, before)


def received(runs: Runs, host: str, *, after: str = "0 s", before: str = "", run: str | None = None) -> float:
    """What a host receives, MB/s."""
    return _host(chosen(runs, run), "delivered_gbps", host, after, before)


def _host(result: Result, column: str, host: str, after: str, before: str) -> float:
    table = result.table("hosts_series")
    last = to_ns(before) if before else math.inf
    inside = (table["host"] == host) & (table["time_ns"] >= to_ns(after)) & (table["time_ns"] < last)
    return float(table.loc[inside, column].mean()) * MB_PER_GBIT


def largest_difference(runs: Runs) -> float:
    """Between figures 4.3 and 4.5: the largest difference of a contributor's throughput in a time bin, host links."""
    b1, b2 = (_contributors(runs[name]) for name in ("b1", "b2"))
    return float((b1 - b2).abs().to_numpy().max()) / 8.0


def _contributors(result: Result) -> pd.DataFrame:
    """Throughput over time of the flows to H552, a column for each, Gb/s."""
    table = result.series[result.series["destination"] == "H552"]
    return table.pivot_table(index="time_ns", columns="source", values="gbps")


def rows_as_printed(runs: Runs, file: str, *, skip: str = "") -> int:
    """How many rows of the printed table are the start of ours; `skip` leaves out an entry of ours, `row:LID`."""
    ours = _tables(runs, skip)
    return sum(row == ours[key][: len(row)] for key, row in _printed(file).items())


def entries_as_printed(runs: Runs, file: str, *, skip: str = "") -> int:
    """How many entries, that of LID 0 aside, are those printed at the same place."""
    ours = _tables(runs, skip)
    pairs = (zip(row[1:], ours[key][1:], strict=False) for key, row in _printed(file).items())
    return sum(a == b for a, b in itertools.chain.from_iterable(pairs))


def len_tables(runs: Runs, what: str) -> int:
    """How many `rows` our tables have, or how many `entries` a row has without that of LID 0."""
    tables = _tables(runs)
    return len(tables) if what == "rows" else len(next(iter(tables.values()))) - 1


def fact(runs: Runs, name: str) -> int:
    """What `fabricsim describe` says of the network."""
    return int(_experiment(next(iter(runs.values()))).describe()[name])


def port_sequences_as_printed(runs: Runs, file: str, *, mend: str = "") -> int:
    """How many printed rows have our sequence of ports, however often each is repeated.

    `mend`, `row:LID`, leaves out of our row the run of one port that begins there.
    """
    ours = _tables(runs)
    if mend:
        key, _, lid = mend.partition(":")
        row, at = ours[key], int(lid)
        end = next(i for i in range(at, len(row)) if row[i] != row[at])
        del row[at:end]
    return sum(_sequence(row) == _sequence(ours[key]) for key, row in _printed(file).items())


def orders_that_fit(runs: Runs, file: str) -> int:
    """Of the six orders of three dimensions: with how many the sequences of at least five printed rows come out."""
    printed = _printed(file)
    experiment = _experiment(next(iter(runs.values())))
    orders = [list(order) for order in itertools.permutations(range(3))]
    tables = [_parse(experiment.with_values({"routing.order": order}).export("fdbs")) for order in orders]
    return sum(
        sum(_sequence(row) == _sequence(table[key]) for key, row in printed.items()) >= 5 for table in tables
    )


def _sequence(row: list[str]) -> list[str]:
    return [port for port, _ in itertools.groupby(row)]


def _tables(runs: Runs, skip: str = "") -> Table:
    tables = _parse(_experiment(next(iter(runs.values()))).export("fdbs"))
    if skip:
        key, _, lid = skip.partition(":")
        del tables[key][int(lid)]
    return tables


def _experiment(result: Result) -> Experiment:
    return Experiment.from_text(result.manifest["experiment"], HERE)


def _printed(file: str) -> Table:
    return _parse((HERE / file).read_text(encoding="utf-8"))


def _parse(text: str) -> Table:
    rows = (line.split(":") for line in text.splitlines() if line and not line.startswith("#"))
    return {key: ports.split() for key, ports in rows}
