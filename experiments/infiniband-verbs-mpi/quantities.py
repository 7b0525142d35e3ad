"""What the tutorial's numbers ask for beyond the common functions. Each function takes the runs by name first."""

from __future__ import annotations

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
