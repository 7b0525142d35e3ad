"""Facts about networks, in words."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from typing import Any

from rich.console import Console
from rich.table import Table

from fabricsim.cli.numbers import plain, significant
from fabricsim.results import flatten
from fabricsim.spec import Experiment

MOST_NAMES = 4
"""Names of what has failed that are printed."""


def print_facts(facts: Mapping[str, Any], console: Console) -> None:
    """Facts of `describe`, with the deadlock verdict in words."""
    facts = dict(facts)
    verdict = facts.pop("deadlock", None)
    sequences = facts.pop("sequences", None)
    failed = facts.pop("failed", None)
    table = Table.grid(padding=(0, 2))
    lists = {key: value for key, value in facts.items() if isinstance(value, list)}
    found = {**flatten(facts), **lists}
    for name in [
        *(name for name in FACTS if name in found),
        *(name for name in found if name not in FACTS),
    ]:
        table.add_row(*_fact(name, found[name]))
    console.print(table)
    if failed:
        _print_failed(failed, console)
    if isinstance(verdict, dict):
        console.print(f"deadlock check: {verdict['verdict']}", markup=False)
    if sequences:
        console.print(
            f"\njobs, with the sequences of training steps:\n\n{sequences}", markup=False, highlight=False
        )


def failed_parts(experiment: Experiment) -> dict[str, list[str]]:
    """Links and switches that have failed from the start, and the hosts of such switches; empty if there are none."""
    settings = experiment.check()
    links, switches = (
        list(dict.fromkeys((settings.get(part) or {}).get("failed") or ())) for part in ("links", "switches")
    )
    if not links and not switches:
        return {}
    network = tomllib.loads(experiment.export("toml")) if switches else {"host": [], "link": []}
    ends = [end for link in network["link"] for end in ((link["a"], link["b"]), (link["b"], link["a"]))]
    cut_off = {end for end, other in ends if other in switches}
    hosts = [host["name"] for host in network["host"] if host["name"] in cut_off]
    return {"links": links, "switches": switches, "hosts": hosts}


def _print_failed(failed: Mapping[str, list[str]], console: Console) -> None:
    """What has failed from the start, and that the facts do not count it."""
    for what, names in failed.items():
        if names:
            more = f" and {len(names) - MOST_NAMES:,} more" if len(names) > MOST_NAMES else ""
            name = f"{what} without their switch" if what == "hosts" else f"failed {what}"
            console.print(f"{name}: {len(names):,} ({', '.join(names[:MOST_NAMES])}{more})", markup=False)
    console.print(
        "the figures above are those of the network before these failures; routes go around them",
        markup=False,
    )


def _count(value: Any) -> str:
    return f"{value:,}"


def _hops(value: Any) -> str:
    return f"{plain(value)} link{'' if value == 1 else 's'} between switches"


def _part(value: Any) -> str:
    """A fraction of 1, which may be tiny."""
    return f"{significant(100 * value)} %"


def _ns(value: Any) -> str:
    return f"{significant(value, 6)} ns"


def _bytes(value: Any) -> str:
    return f"{value:,} B" if value < 1 << 20 else f"{value / (1 << 20):,.1f} MiB"


FACTS: dict[str, tuple[str, Callable[[Any], str]]] = {
    "topology": ("topology", str),
    "switches": ("switches", _count),
    "hosts": ("hosts", _count),
    "links": ("links in all", _count),
    "switch_links": ("links between switches", _count),
    "ports_min": ("fewest ports of a switch", _count),
    "ports_max": ("most ports of a switch", _count),
    "diameter": ("diameter", _hops),
    "mean_hops": ("mean hops, shortest paths", _hops),
    "bisection": ("bisection", plain),
    "bisection.gbps_per_direction": (
        "bisection, each direction",
        lambda value: f"{significant(value, 6)} Gb/s",
    ),
    "bisection.links": ("bisection, links", _count),
    "bisection.exact": (
        "bisection is exact",
        lambda value: "yes" if value else "no, an upper bound",
    ),
    "zero_load_latency.mean_ns": ("zero-load latency, mean", _ns),
    "zero_load_latency.min_ns": ("zero-load latency, least", _ns),
    "zero_load_latency.max_ns": ("zero-load latency, largest", _ns),
    "zero_load_latency.packet_bytes": ("zero-load latency, packet of", _bytes),
    "zero_load_latency.pairs": ("zero-load latency, pairs of hosts", _count),
    "zero_load_latency.all_pairs": (
        "zero-load latency, all pairs",
        lambda value: plain(value) if value else "no, a sample",
    ),
    "bit_errors.links": ("links with bit errors", _count),
    "bit_errors.micropackets_that_fail": ("largest share of failed micropackets", _part),
    "bit_errors.least_throughput": ("lowest share of its rate that a link carries", _part),
    "bit_errors.mean_wait_of_a_packet_ns": ("longest mean wait of a packet for retries", _ns),
    "bit_errors.in_zero_load_latency": ("zero-load latency includes retries", plain),
    "virtual_lanes.needed": ("virtual lanes that the routing needs", _count),
    "virtual_lanes.longest_route": ("longest route, with its lanes", str),
    "virtual_lanes.by_hops": ("virtual lanes are divided by hops", plain),
    "silent_sources": ("sources that send nothing", plain),
    "memory_bytes": ("memory of a run", _bytes),
}
"""Facts in the order in which they are printed, with their names and the texts of their values, units included."""

ABSENT = {"bisection": "-, no closed form for this topology"}
"""Texts of facts without a value, if the reason is known."""


def _fact(name: str, value: Any) -> tuple[str, str]:
    """A fact in words."""
    text, shown = FACTS.get(name, (name.replace("_", " ").replace(".", " "), plain))
    return text, ABSENT.get(name, "-") if value is None else shown(value)
