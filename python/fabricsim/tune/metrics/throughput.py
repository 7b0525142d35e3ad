"""Throughput, absolute and as a fraction of the links' rates."""

from __future__ import annotations

from fabricsim.errors import InputError
from fabricsim.results import host_rates
from fabricsim.selection import link_rate
from fabricsim.tune.metrics.run import Measured, Which


def throughput(run: Measured, which: Which) -> float:
    """Accepted throughput of the flows together, Gb/s."""
    return float(run.chosen(run.throughput(which), which)["gbps"].sum())


def victim_rate(run: Measured, which: Which) -> float:
    """The least of the flows' accepted throughputs as fractions of the slower of their two hosts' links."""
    shares = []
    for source, destination, gbps in run.chosen(run.throughput(which), which).itertuples(index=False):
        hosts = [host for host in (str(source), str(destination)) if host != "*"]
        shares.append(float(gbps) / min(link_rate(run.rates, host) for host in hosts))
    return min(shares)


def hot_spot_utilisation(run: Measured, which: Which) -> float:
    """Throughput of the flows' destinations from all sources, as a fraction of the sum of their links' rates."""
    table = run.throughput(which)
    hosts = {str(host) for host in run.chosen(table, which)["destination"]}
    if "*" in hosts:
        raise InputError('flows are recorded by source only: set measure.flows = "pairs"')
    received = table[table["destination"].isin(hosts)]["gbps"].sum()
    rates = host_rates(run.result)
    return float(received) / sum(link_rate(rates, host) for host in sorted(hosts))
