"""What the tutorial's numbers ask for beyond the common functions. Each function takes the runs by name first."""

from __future__ import annotations

import pandas as pd

from fabricsim.reproduce.quantities import Runs, chosen

# Hops of the switches of figure 7 from the root.
RANKS = dict(zip("abcdefghi", (0, 1, 1, 1, 1, 2, 2, 2, 2), strict=True))


def marked(runs: Runs, link: str, *, run: str | None = None) -> int:
    """Packets that were marked (FECN) as they left by a link, named by its ends: `"switch-2->R"`."""
    links = chosen(runs, run).table("links")
    if "marked" not in links:
        return 0
    return int(links.loc[links["link"] == link, "marked"].sum())


def part(runs: Runs, sender: str, *, run: str | None = None) -> float:
    """Throughput of a sender as a fraction of the receiver's link; 0 if none of its packets has arrived."""
    flows = chosen(runs, run).flows
    return float(flows.loc[flows["source"] == sender, "destination_share"].sum())


def lane(runs: Runs, speed: str, *, run: str | None = None) -> float:
    """Throughput of the pair of adapters of a speed, in Gb/s of one of four lanes."""
    flows = chosen(runs, run).flows
    return float(flows.loc[flows["source"] == f"{speed}-from", "accepted_gbps"].sum()) / 4


def packets(runs: Runs, link: str, *, run: str | None = None) -> int:
    """Packets that began to cross a link, named by its ends: `"c->g"`."""
    links = chosen(runs, run).table("links")
    return int(links.loc[links["link"] == link, "packets"].sum())


def turns(runs: Runs, switches: str, *, run: str | None = None) -> int:
    """Turns of a run with one flow that UpDown forbids, at any of some switches: in by a link down, on by a link up."""
    links = chosen(runs, run).table("links")
    used = [link.split("->") for link in links.loc[links["packets"] > 0, "link"]]
    between = [(start, end) for start, end in used if start in RANKS and end in RANKS]
    return sum(
        not _is_up(*first) and _is_up(*second)
        for first in between
        for second in between
        if first[1] == second[0] and first[1] in switches
    )


def through_root(runs: Runs, *, run: str | None = None) -> int:
    """Packets from other switches to the root of figure 7, but for those to its adapter."""
    into = sum(packets(runs, f"{switch}->a", run=run) for switch in RANKS)
    return into - packets(runs, "a->A", run=run)


def time_of(runs: Runs, size: int, *, run: str | None = None) -> float:
    """Latency of messages of a size, in microseconds, of a run of perftest."""
    return _of_size(runs, "t_typical_us", size, run)


def rate_of(runs: Runs, size: int, *, run: str | None = None) -> float:
    """Throughput of messages of a size, in MiB/s, of a run of perftest."""
    return _of_size(runs, "bw_average_mib_s", size, run)


def sizes_above(runs: Runs, column: str, run: str, other: str, *, least: int = 0, most: int = 1 << 30) -> int:
    """Number of sizes from `least` to `most` at which a run of perftest has more in a column than another one."""
    tables = [runs[name].table("perftest").set_index("bytes")[column] for name in (run, other)]
    return int((tables[0] > tables[1]).loc[least:most].sum())


def largest_difference(runs: Runs, column: str, *, run: str | None = None) -> float:
    """Largest relative difference from the closed form, over the sizes of a run of perftest."""
    table = chosen(runs, run).table("perftest")
    return float((table[column] / table["expected"] - 1).abs().max())


def _of_size(runs: Runs, column: str, size: int, run: str | None) -> float:
    table = chosen(runs, run).table("perftest")
    return float(table.loc[table["bytes"] == size, column].iloc[0])


def _is_up(start: str, end: str) -> bool:
    """True if a link leads nearer to the root of figure 7, or to the lower identifier of the same rank."""
    return (RANKS[end], end) < (RANKS[start], start)


def delivered(runs: Runs, host: str, *, run: str | None = None) -> float:
    """Throughput of a receiver, as a fraction of its link."""
    hosts = chosen(runs, run).table("hosts")
    one = hosts[hosts["host"] == host]
    return float(one["delivered_gbps"].sum() / one["link_gbps"].sum())


def quantile(runs: Runs, percent: float, column: str = "call_ns", *, run: str | None = None) -> float:
    """Percentile of the durations of a ping-pong's sends, ns: of the calls, or of completions (`completion_ns`)."""
    return float(chosen(runs, run).table("returned")[column].quantile(percent / 100))


def skewness(runs: Runs, column: str = "call_ns", *, run: str | None = None) -> float:
    """Skewness of the same durations: the third central moment over that of the standard deviation; 0 of constants."""
    of = chosen(runs, run).table("returned")[column]
    centred = of - of.mean()
    spread = float((centred**2).mean()) ** 0.5
    return float((centred**3).mean()) / spread**3 if spread > 1e-3 else 0.0


def half_trip(runs: Runs, size: int, *, run: str | None = None) -> float:
    """Half of the time to and fro of messages of a size, ns."""
    table = chosen(runs, run).table("returned")
    return float(table.loc[table["bytes"] == size, "half_trip_ns"].mean())


def in_mpi(runs: Runs, *, run: str | None = None) -> float:
    """Time of the sender in calls of MPI, ns."""
    return float(chosen(runs, run).table("returned")["in_mpi_ns"].iloc[0])


def departures(runs: Runs, *, run: str | None = None) -> pd.Series[float]:
    """Times at which the messages of a stream leave rank 0, in microseconds, by number."""
    posted = chosen(runs, run).table("posted")
    times = posted.loc[(posted["from"] == 0) & (posted["bytes"] > 8000), "time_ns"] / 1000
    return times.reset_index(drop=True)


def left_before(runs: Runs, time_us: float, *, run: str | None = None) -> int:
    """Number of messages of a stream that leave before a time."""
    return int((departures(runs, run=run) < time_us).sum())


def stalled(runs: Runs, *, run: str | None = None) -> float:
    """Time for which messages of rank 0 waited for credits or places in a send queue, in microseconds."""
    return float(chosen(runs, run).table("mpi_ranks")["stalled_ns"].iloc[0]) / 1000


def operations(runs: Runs, *, run: str | None = None) -> int:
    """Operations of verbs that the ranks posted."""
    return len(chosen(runs, run).table("posted"))


def rounds(runs: Runs, *, run: str | None = None) -> pd.DataFrame:
    """Messages of one collective with the column `round`, from 1.

    In an exchange it is the number of the message at its sender. Where each rank sends once, it is one more than the
    rounds of all messages that the sender has got.
    """
    posted = chosen(runs, run).table("posted").sort_values("time_ns", kind="stable")
    if posted["from"].duplicated().any():
        return posted.assign(round=posted.groupby("from").cumcount() + 1)
    got: dict[int, int] = {}
    numbers = []
    for source, to in zip(posted["from"], posted["to"], strict=True):
        numbers.append(got.get(source, 0) + 1)
        got[to] = max(got.get(to, 0), numbers[-1])
    return posted.assign(round=numbers)


def in_round(runs: Runs, number: int, *, run: str | None = None) -> int:
    """Messages of a round."""
    return int((rounds(runs, run=run)["round"] == number).sum())


def symmetric(runs: Runs, *, run: str | None = None) -> int:
    """Messages for which there is one the other way in the same round."""
    found = rounds(runs, run=run)
    ways = set(zip(found["round"], found["from"], found["to"], strict=True))
    return sum((number, to, source) in ways for number, source, to in ways)


def to_root(runs: Runs, *, run: str | None = None) -> int:
    """Messages to rank 0."""
    return int((chosen(runs, run).table("posted")["to"] == 0).sum())


def follows(runs: Runs, *, run: str | None = None) -> int:
    """Messages from the rank x to x - 2^i in round i, from 0, where x has its lowest 1 at position i: figure 25."""
    found = rounds(runs, run=run)
    steps = found["from"] - found["to"]
    lowest = found["from"].map(lambda rank: rank & -rank)
    return int(((steps == 2 ** (found["round"] - 1)) & (steps == lowest)).sum())
