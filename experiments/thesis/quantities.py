"""What the thesis' numbers ask for beyond the common functions. Each function takes the runs by name first."""

from __future__ import annotations

import functools
import itertools
import math
import re
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.stats import spearmanr

from fabricsim.bound import bound
from fabricsim.errors import InputError
from fabricsim.reproduce.quantities import Runs, chosen
from fabricsim.results import Result
from fabricsim.selection import to_ns
from fabricsim.spec import Experiment

HERE = Path(__file__).parent
MB_PER_GBIT = 125.0
Reals = npt.NDArray[np.float64]
GB_PER_GBIT = 0.125
LINK_GBPS = 8.0
ALL_STARTED = "0.05 s"
"""From here on all sources of C and D send."""
RATES = (1, 10, 20, 30, 40, 50)
TABLE_4_9 = {
    "20 us": (19.8, 15.0, 14.9, 15.1, 14.8, 14.9),
    "250 us": (24.1, 23.1, 20.7, 18.9, 17.0, 16.2),
    "500 us": (22.8, 24.1, 22.8, 20.9, 20.1, 17.7),
    "750 us": (22.0, 24.3, 23.0, 21.8, 20.7, 19.2),
    "1000 us": (21.2, 24.3, 23.6, 22.5, 21.8, 19.8),
}
"""Average throughput, GB/s, by CCTI_Timer and Marking_Rate."""
Table = dict[str, list[str]]


def total(runs: Runs, *, after: str = "0 s", before: str = "", run: str | None = None) -> float:
    """Mean throughput of the whole network, GB/s: what the thesis prints, with the unit Gbps."""
    curve = _totals(chosen(runs, run), after)
    return float(curve[curve.index < (to_ns(before) if before else math.inf)].mean()) * GB_PER_GBIT


def early(runs: Runs, *, run: str | None = None) -> float:
    """Throughput of the whole network in the first 5 ms, GB/s."""
    table = chosen(runs, run).table("hosts_series")
    return float(table.loc[table["time_ns"] < to_ns("5 ms"), "delivered_gbps"].sum()) * GB_PER_GBIT


def highest_of(runs: Runs, names: list[str], *, after: str = "0 s") -> float:
    """The largest total of these runs, GB/s."""
    return max(total(runs, after=after, run=name) for name in names)


def lowest_of(runs: Runs, names: list[str], *, after: str = "0 s") -> float:
    """The smallest total of these runs, GB/s."""
    return min(total(runs, after=after, run=name) for name in names)


def hot_spots(runs: Runs, *, after: str = ALL_STARTED, run: str | None = None) -> float:
    """How much of their links the hot spots use, 0 to 1."""
    result = chosen(runs, run)
    table = _since(result.table("hosts_series"), after)
    inside = table["host"].isin(_group(result, "hot-spots"))
    return float(table.loc[inside, "delivered_gbps"].mean()) / LINK_GBPS


def victims(runs: Runs, *, after: str = ALL_STARTED, run: str | None = None) -> float:
    """Mean rate of the victims, as a fraction of their links."""
    result = chosen(runs, run)
    return float(_by_source(result, after)[_group(result, "victims")].mean()) / LINK_GBPS


def jain(runs: Runs, of: str = "contributors", *, after: str = ALL_STARTED, run: str | None = None) -> float:
    """Jain's index of the rates of the contributors, or of all sources (`of="all"`): 1 if all are equal."""
    result = chosen(runs, run)
    rates = _by_source(result, after)
    rates = rates if of == "all" else rates[_group(result, of)]
    return float(rates.sum() ** 2 / (len(rates) * (rates**2).sum()))


def of_bound(runs: Runs, *, after: str = ALL_STARTED, run: str | None = None) -> float:
    """Throughput of the whole network as a fraction of the largest possible."""
    result = chosen(runs, run)
    return total({"": result}, after=after) / GB_PER_GBIT / _bound_gbps(_without_congestion(result))


def _without_congestion(result: Result) -> Experiment:
    """The experiment as it was run, but for its congestion control and length, of which the bound knows nothing."""
    pairs = [(key, value) for key, value in result.manifest["overrides"]]
    told = [pair for pair in pairs if not pair[0].startswith(("congestion_control.", "run.", "seed"))]
    return Experiment(text=result.manifest["experiment"], base=str(HERE), overrides=tuple(told))


@functools.cache
def _bound_gbps(experiment: Experiment) -> float:
    return bound(experiment).total_gbps


def by_source(runs: Runs, host: str, *, after: str = ALL_STARTED, run: str | None = None) -> float:
    """What arrives from a source, MB/s."""
    return float(_by_source(chosen(runs, run), after)[host]) * MB_PER_GBIT


def largest_source(
    runs: Runs, *, after: str = ALL_STARTED, before: str = "", run: str | None = None
) -> float:
    """The largest rate of a contributor, MB/s."""
    result = chosen(runs, run)
    return float(_by_source(result, after, before)[_group(result, "contributors")].max()) * MB_PER_GBIT


def slowest_of(runs: Runs, hosts: list[str], *, after: str = ALL_STARTED, run: str | None = None) -> float:
    """The smallest rate of these sources, MB/s."""
    return min(by_source(runs, host, after=after, run=run) for host in hosts)


def time_above(runs: Runs, name: str, others: list[str]) -> float:
    """Fraction of the time bins in which the whole network's throughput is above that of each of the other runs."""
    curves = np.array([_totals(runs[run]).to_numpy(float) for run in (name, *others)])
    return float(np.mean((curves[0] > curves[1:]).all(axis=0)))


def falling_pairs(runs: Runs, timer: str, *, first: int = 1) -> int:
    """How many neighbouring Marking_Rates from `first` on have a lower total at the larger one."""
    totals = [total(runs, run=f"{timer}/{rate}") for rate in RATES if rate >= first]
    return sum(a > b for a, b in itertools.pairwise(totals))


def falling_curves(runs: Runs, timer: str) -> int:
    """How many neighbouring Marking_Rates have the smaller one's curve above the larger one's most of the time."""
    names = [f"{timer}/{rate}" for rate in RATES]
    return sum(time_above(runs, a, [b]) > 0.5 for a, b in itertools.pairwise(names))


def falling_runs(runs: Runs, names: list[str]) -> int:
    """How many of these runs have a higher throughput in the first 5 ms than from 0.045 to 0.055 s."""
    return sum(
        early(runs, run=name) > total(runs, after="0.045 s", before="0.055 s", run=name) for name in names
    )


def rising_runs(runs: Runs, names: list[str]) -> int:
    """How many of these runs have a higher throughput in the last 20 ms than from 0.04 to 0.06 s."""
    return sum(
        total(runs, after="0.08 s", run=name) > total(runs, after="0.04 s", before="0.06 s", run=name)
        for name in names
    )


def moves(runs: Runs, shorter: str, longer: str) -> int:
    """How many totals move as the text says from one CCTI_Timer to the next: down with Marking_Rate 1, else up."""
    change = {
        rate: total(runs, run=f"{longer}/{rate}") - total(runs, run=f"{shorter}/{rate}") for rate in RATES
    }
    return sum(value < 0 if rate == 1 else value > 0 for rate, value in change.items())


def least_oscillation(runs: Runs, names: list[str]) -> float:
    """The smallest oscillation of these runs."""
    return min(oscillation(runs, run=name) for name in names)


def oscillation(runs: Runs, *, after: str = "0 s", run: str | None = None) -> float:
    """Standard deviation of the whole network's throughput from time bin to time bin, relative to its mean."""
    series = _totals(chosen(runs, run), after)
    return float(series.std() / series.mean())


def least_share(runs: Runs, *, after: str = "0.5 s", run: str | None = None) -> float:
    """The smallest of the contributors' rates over their fair share of the hot spot's link."""
    return float(_fair_shares(chosen(runs, run), after).min())


def largest_share(runs: Runs, *, after: str = "0.5 s", run: str | None = None) -> float:
    """The largest of the contributors' rates over their fair share of the hot spot's link."""
    return float(_fair_shares(chosen(runs, run), after).max())


def _fair_shares(result: Result, after: str) -> pd.Series[float]:
    """For experiments A and B, with one hot spot."""
    contributors = [t["sources"][0] for t in _traffic(result) if "contributor" in t["name"]]
    return _by_source(result, after)[contributors] * len(contributors) / LINK_GBPS


def table_4_9(_runs: Runs) -> dict[str, dict[int, float]]:
    """Table 4.9: average throughput, GB/s, by CCTI_Timer and Marking_Rate."""
    return {timer: dict(zip(RATES, row, strict=True)) for timer, row in TABLE_4_9.items()}


def correlation_with_4_9(runs: Runs, choice: str) -> float:
    """Rank correlation of the cells of an open choice with table 4.9."""
    return float(spearmanr(*_pairs(runs, choice)).statistic)


def error_to_4_9(runs: Runs, choice: str) -> float:
    """Mean absolute error of the cells of an open choice, percent of table 4.9."""
    ours, printed = _pairs(runs, choice)
    return float(np.mean(np.abs(ours - printed) / printed)) * 100.0


def cells_within(runs: Runs, choice: str, tolerance: float = 0.1) -> int:
    """How many cells of an open choice are those of table 4.9 within a relative tolerance."""
    ours, printed = _pairs(runs, choice)
    return int(np.sum(np.abs(ours - printed) <= tolerance * printed))


def rank_correlation_of_choice(runs: Runs, which: str) -> float:
    """The `lowest` or `highest` rank correlation of the seeds of what was chosen."""
    return _extreme(which, [correlation_with_4_9(runs, choice) for choice in _SEEDS])


def error_of_choice(runs: Runs, which: str) -> float:
    """The `lowest` or `highest` mean error of the seeds of what was chosen."""
    return _extreme(which, [error_to_4_9(runs, choice) for choice in _SEEDS])


_SEEDS = ("as chosen", "as chosen, seed 2", "as chosen, seed 3")


def _extreme(which: str, values: list[float]) -> float:
    return min(values) if which == "lowest" else max(values)


def _pairs(runs: Runs, choice: str) -> tuple[Reals, Reals]:
    """Ours and the printed averages of the cells that were run."""
    printed = {f"{choice}/{t}/{r}": v for t, row in table_4_9(runs).items() for r, v in row.items()}
    found = {name: value for name, value in printed.items() if name in runs}
    return np.array([total(runs, run=name) for name in found]), np.array(list(found.values()))


def parameter(runs: Runs, key: str) -> Any:
    """A value of the experiment by its dotted key; of a text with a unit, the number."""
    value: Any = _experiment(next(iter(runs.values()))).check()
    for part in key.split("."):
        value = value[part]
    return float(value.split()[0]) if isinstance(value, str) else value


def _since(table: pd.DataFrame, after: str) -> pd.DataFrame:
    found = table[table["time_ns"] >= to_ns(after)]
    if found.empty:
        raise InputError(f"the run ends before {after}")
    return found


def _totals(result: Result, after: str = "0 s") -> pd.Series[float]:
    """Throughput of the whole network over time, Gb/s."""
    return _since(result.table("hosts_series"), after).groupby("time_ns")["delivered_gbps"].sum()


def _by_source(result: Result, after: str, before: str = "") -> pd.Series[float]:
    """Mean throughput of each source at its destinations, Gb/s."""
    table = _since(result.series, after)
    table = table[table["time_ns"] < to_ns(before)] if before else table
    bins = table["time_ns"].nunique()
    return table.groupby("source")["gbps"].sum() / bins


def _group(result: Result, name: str) -> list[str]:
    return list(tomllib.loads(result.manifest["experiment"])["groups"][name])


def _traffic(result: Result) -> list[dict[str, Any]]:
    return list(tomllib.loads(result.manifest["experiment"])["traffic"])


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


def fact(runs: Runs, name: str, *, run: str | None = None) -> int:
    """What `fabricsim describe` says of the network."""
    return int(_experiment(chosen(runs, run)).describe()[name])


def ports_as_printed(runs: Runs, file: str, table: str) -> int:
    """How many entries of a printed table of port numbers are those of the 3x3x3 mesh; `-`: no neighbour there.

    A row of the file is the table, the switch's place by its subscripts (`1`, `m` last, `*` between), and the ports
    towards +x, -x, +y, -y, +z, -z, counted from the first port behind the hosts.
    """
    ports = _ports(_experiment(chosen(runs, None)))
    matches = 0
    for line in (HERE / file).read_text(encoding="utf-8").splitlines():
        if line.startswith(f"{table} "):
            _, place, *printed = line.split()
            y, x, z = (int(place[i].replace("m", "3").replace("*", "2")) for i in range(3))
            # +y leads to smaller first subscripts.
            around = [
                (y, x + 1, z),
                (y, x - 1, z),
                (y - 1, x, z),
                (y + 1, x, z),
                (y, x, z + 1),
                (y, x, z - 1),
            ]
            ours = [ports.get((_switch(y, x, z), _switch(*other)), "-") for other in around]
            matches += sum(a == b for a, b in zip(ours, printed, strict=True))
    return matches


def torus_ports(runs: Runs, *, run: str | None = None) -> int:
    """How many switches of the 3x3 torus have their ports n to n + 3 to the left, to the right, up and down."""
    ports = _ports(_experiment(chosen(runs, run)))
    found = 0
    for y, x in itertools.product(range(3), repeat=2):
        around = [(y, x - 1), (y, x + 1), (y - 1, x), (y + 1, x)]
        names = [_switch(a % 3 + 1, b % 3 + 1) for a, b in around]
        found += [ports.get((_switch(y + 1, x + 1), name)) for name in names] == ["0", "1", "2", "3"]
    return found


def _switch(*subscripts: int) -> str:
    return "SW" + "".join(map(str, subscripts))


def _ports(experiment: Experiment, hosts: int = 2) -> dict[tuple[str, str], str]:
    """The output port by the switch and its neighbour, counted from the first port behind the hosts."""
    links = re.findall(r"(SW\d+)\.out\[(\d+)\] --> .* --> (SW\d+)\.in", experiment.export("ned"))
    return {(switch, neighbour): str(int(port) - hosts) for switch, port, neighbour in links}


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
    """The experiment as it was run, with the values that were replaced."""
    pairs = [(key, value) for key, value in result.manifest["overrides"]]
    return Experiment.from_text(result.manifest["experiment"], HERE).with_overrides(pairs)


def _printed(file: str) -> Table:
    return _parse((HERE / file).read_text(encoding="utf-8"))


def _parse(text: str) -> Table:
    rows = (line.split(":") for line in text.splitlines() if line and not line.startswith("#"))
    return {key: ports.split() for key, ports in rows}
