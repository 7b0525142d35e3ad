"""Answers about a subnet's routes in the packet simulator."""

from __future__ import annotations

import math
import re
import tempfile
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tomli_w

from fabricsim.errors import InputError
from fabricsim.lazy import numpy as np
from fabricsim.results import Result
from fabricsim.run import run
from fabricsim.spec import Experiment
from fabricsim.subnets.files import load
from fabricsim.subnets.routing import Routed

PATTERNS = ("uniform", "shift", "bit-reversal", "incast")
"""`uniform`: all to all at random. `shift`: every port sends to the one half-way round, in the order of LIDs.
`bit-reversal`: to the one whose number has the bits in reverse. `incast`: every second port sends to the first of them,
while the others send to each other at random."""

VICTIM = 0.9
"""Part of its load below which a port that has no part in the incast counts as its victim."""

_DEFAULTS: dict[str, Any] = {
    "links": {"all": {"latency": "100 ns", "buffer": "16 KiB"}},
    "switch": {"router_delay": "100 ns"},
    "host": {"mtu": "4 KiB"},
}
"""Parameters of a fabric that comes from a file without them."""
_PLACED = ("dimension", "level", "kind")
"""Parameters of links by their place in a topology, which an exported fabric no longer has."""


@dataclass(frozen=True)
class Simulated:
    """One pattern of traffic on the routes of one answer."""

    pattern: str
    status: str
    """`ok`, or `deadlock` if one of the runs came to one."""
    throughput_mean: float
    """Accepted load where all send as fast as they can, as a fraction of the adapters' links. For `incast`: the
    fraction of the time in which the receiver's link was busy."""
    throughput_min: float
    """The same of the port that gets least (of those that send)."""
    latency_mean_ns: float | None
    """Mean latency at the given load; for `incast` of the ports that have no part in it. None if nothing arrived."""
    latency_p99_ns: float | None
    """99th percentile; None for `incast`."""
    victims: int | None
    """For `incast`: ports that have no part in it and get less than 90 % of their load through."""
    bystanders: int | None
    """For `incast`: ports that have no part in it."""
    lost: float
    """Part of the packets that were sent at full load and lost, because deployed tables lead to what has failed."""


def simulate(
    routed: Routed,
    *,
    patterns: Sequence[str] = PATTERNS,
    load: float = 0.3,
    duration: str = "100 us",
    message: str = "4 KiB",
    seed: int = 1,
) -> list[Simulated]:
    """Simulates patterns of traffic on the routes of an answer, after its failures.

    Tables that were given stay as they are when something fails: packets that they lead there are lost, as on a fabric
    whose manager has not swept yet. Engines have routed around it.

    An answer has as many virtual lanes as its paths have service levels, each with a buffer of its own. Tables that may
    deadlock are simulated all the same.

    Args:
        routed: the answer.
        patterns: some of `PATTERNS`.
        load: load at which latencies are measured, and that of an incast's bystanders: a fraction of an adapter's link.
        duration: measured time; as long again before it is not measured.
        message: size of messages.
        seed: seed of all random choices.

    Raises:
        InputError: tables with holes that packets meet, a wrong pattern, or a subnet of less
            than four ports.
    """
    for pattern in patterns:
        if pattern not in PATTERNS:
            raise InputError(f"no pattern {pattern!r}: expected some of {', '.join(PATTERNS)}")
    if len(routed.lids) < 4:
        raise InputError(f"{len(routed.lids)} ports of adapters: a simulation needs at least 4")
    with tempfile.TemporaryDirectory(prefix="fabricsim-") as folder:
        runs = _Runs(routed, Path(folder), load, duration, message, seed)
        return [_MEASURES[pattern](runs, pattern) for pattern in patterns]


class _Runs:
    """Runs on the routes of an answer."""

    def __init__(
        self, routed: Routed, folder: Path, load: float, duration: str, message: str, seed: int
    ) -> None:
        self.load, self.message = load, message
        self.folder = folder
        lids = set(routed.lids)
        cables = _cables(routed.fabric)
        self.loses = routed.settings.tables is not None and routed.report["failure"] is not None
        if self.loses:
            routed = routed.before_failures()
        files = {"fabric": routed.fabric, "lfts": routed.lfts, "sls": routed.path_sls, "sl2vl": routed.sl2vl}
        for name, text in files.items():
            (folder / name).write_text(text, encoding="utf-8")
        tree, self.overrides = _parameters(routed)
        levels = [int(level) for level in re.findall(r"^0x[0-9a-f]+ : (\d+)$", routed.path_sls, re.MULTILINE)]
        lanes = [0]
        if levels:
            rows = re.findall(r"^\d+ +\d+ +:(.*)$", routed.sl2vl, re.MULTILINE)
            used = sorted(set(levels))
            lanes = [int(row.split()[level]) for row in rows for level in used]
        tree["switch"] = {**tree.get("switch", {}), "virtual_lanes": max(lanes) + 1}
        tree["topology"] = {"file": {"path": "fabric"}}
        tree["routing"] = {"algorithm": "table", "tables": "lfts"}
        if levels:
            tree["routing"] |= {"path_sls": "sls", "sl2vl": "sl2vl"}
        tree["seed"] = seed
        tree["run"] = {"warmup": duration, "duration": duration, "allow_deadlock": True}
        self.tree = tree
        # The simulator numbers ports in the order of the fabric; patterns are in the order of LIDs.
        first = self.run([{"pattern": "uniform", "load": load, "messages": 1}], "1 us")
        pairs = sorted(zip(routed.lids, first.frames["hosts"]["host"].tolist(), strict=True))
        self.ports = [str(name) for lid, name in pairs if lid in lids]
        if self.loses:
            failed = _cables(routed.fabric) - cables
            self.tree["faults"] = {"plan": [{"link": name, "at": "0 ns"} for name in _names(first, failed)]}

    def run(self, traffic: list[dict[str, Any]], duration: str | None = None) -> Result:
        tree = {**self.tree, "traffic": [{"message": self.message, **one} for one in traffic]}
        if duration is not None:
            tree["run"] = {"duration": duration, "allow_deadlock": True}
        text = tomli_w.dumps({key: value for key, value in tree.items() if value != {}})
        return run(Experiment(text=text, base=str(self.folder), overrides=self.overrides))


def _cables(fabric: str) -> set[tuple[int, int]]:
    """Ends of cables at switches: GUID of the switch, number of the port."""
    guid, found = None, set()
    for line in fabric.splitlines():
        if heading := re.match(r"\w+guid=0x([0-9a-f]+)(\(?)", line):
            guid = int(heading[1], 16) if line.startswith("switchguid") else guid
        elif line.startswith(("Ca\t", "Rt\t")):
            guid = None
        elif guid is not None and (port := re.match(r"\[(\d+)\]", line)):
            found.add((guid, int(port[1])))
    return found


def _names(result: Result, ends: set[tuple[int, int]]) -> list[str]:
    """Names of links by an end at a switch, each link once."""
    columns = ["link", "from_guid", "from_port", "to_guid", "to_port"]
    names: dict[frozenset[tuple[int, int]], str] = {}
    for link, *places in result.frames["links"][columns].itertuples(index=False):
        own, far = ((int(guid, 16), int(port)) for guid, port in (places[:2], places[2:]))
        if own in ends:
            names.setdefault(frozenset((own, far)), f"{str(link).split('->')[0]}/{own[1]}")
    return list(names.values())


def _parameters(routed: Routed) -> tuple[dict[str, Any], tuple[tuple[str, str], ...]]:
    """Links, switches and hosts: as the experiment of the fabric has them."""
    if routed.settings.experiment is None:
        return {key: dict(value) for key, value in _DEFAULTS.items()}, ()
    content, name = load(routed.settings.experiment)
    tree = tomllib.loads(content.decode("utf-8"))
    kept: dict[str, Any] = {key: dict(tree[key]) for key in ("links", "switch", "host") if key in tree}
    links = kept.get("links", {})
    links.pop("failed", None)
    placed = [key for key in _PLACED if key in links]
    if placed:
        raise InputError(
            f"{name}: links.{placed[0]}: the routes of a subnet are simulated without the places of its links: "
            "give links.all, links.hosts or links.named"
        )
    sections = ("links.", "switch.", "host.")
    overrides = tuple(
        (key, value)
        for key, value in routed.settings.overrides
        if key.startswith(sections) and not key.startswith("links.failed")
    )
    return kept, overrides


def _permutation(runs: _Runs, pattern: str) -> list[tuple[str, str]]:
    """Senders and receivers of a pattern in which a port has one destination."""
    ports = runs.ports
    count = len(ports)
    bits = (count - 1).bit_length()
    if pattern == "shift":
        pairs = [(port, (port + count // 2) % count) for port in range(count)]
    else:
        pairs = [(port, int(f"{port:0{bits}b}"[::-1], 2)) for port in range(count)]
    return [(ports[source], ports[to]) for source, to in pairs if to < count and source != to]


def _spread(runs: _Runs, pattern: str) -> Simulated:
    """All ports send by the pattern: as fast as they can, then at the load."""
    entries: list[dict[str, Any]] = [{"pattern": "uniform"}]
    if runs.loses:
        entries = [{"pattern": "uniform", "sources": runs.ports, "destinations": runs.ports}]
    pairs = [] if pattern == "uniform" else _permutation(runs, pattern)
    if pairs:
        entries = [{"sources": [source], "pattern": {"to": to}} for source, to in pairs]
    full = runs.run([{**entry, "injection": "saturating"} for entry in entries])
    part = runs.run([{**entry, "injection": "poisson", "load": runs.load} for entry in entries])
    shares = _arrived(full) if runs.loses else _shares(full, "injected_gbps")
    shares = {source: shares[source] for source in (dict(pairs) if pairs else runs.ports)}
    return Simulated(
        pattern=pattern,
        status=_status(full, part),
        throughput_mean=sum(shares.values()) / len(shares),
        throughput_min=min(shares.values()),
        latency_mean_ns=_number(part.summary["latency_ns.mean"]),
        latency_p99_ns=_number(part.summary["latency_ns.p99"]),
        victims=None,
        bystanders=None,
        lost=_lost(full),
    )


def _incast(runs: _Runs, pattern: str) -> Simulated:
    """Every second port sends to the first of them, the others to each other."""
    senders, others = runs.ports[0::2], runs.ports[1::2]
    receiver = senders[0]
    traffic: list[dict[str, Any]] = [
        {"sources": senders[1:], "pattern": {"to": receiver}, "injection": "saturating"},
        {
            "sources": others,
            "destinations": others,
            "pattern": "uniform",
            "injection": "poisson",
            "load": runs.load,
        },
    ]
    result = runs.run(traffic)
    injected = _arrived(result) if runs.loses else _shares(result, "injected_gbps")
    offered = _shares(result, "offered_gbps")
    flows = result.flows[result.flows["source"].isin(others) & (result.flows["latency_packets"] > 0)]
    packets = flows["latency_packets"].to_numpy(float)
    mean = (
        float(np.average(flows["latency_mean_ns"].to_numpy(float), weights=packets)) if len(flows) else None
    )
    return Simulated(
        pattern=pattern,
        status=_status(result),
        throughput_mean=_busy(result, receiver),
        throughput_min=min(injected[port] for port in senders[1:]),
        latency_mean_ns=mean,
        latency_p99_ns=None,
        victims=sum(injected[port] < VICTIM * offered[port] for port in others),
        bystanders=len(others),
        lost=_lost(result),
    )


_MEASURES: dict[str, Callable[[_Runs, str], Simulated]] = {
    "uniform": _spread,
    "shift": _spread,
    "bit-reversal": _spread,
    "incast": _incast,
}


def _status(*results: Result) -> str:
    return next((result.status for result in results if result.status != "ok"), "ok")


def _shares(result: Result, column: str) -> dict[str, float]:
    """A column of the hosts' table as a fraction of each host's link, by its name."""
    hosts = result.frames["hosts"]
    shares = hosts[column].to_numpy(float) / hosts["link_gbps"].to_numpy(float)
    return dict(zip(map(str, hosts["host"]), shares.tolist(), strict=True))


def _arrived(result: Result) -> dict[str, float]:
    """What arrives of each host's messages, as a fraction of its link."""
    hosts = result.frames["hosts"]
    arrived = result.flows.groupby("source")["accepted_gbps"].sum()
    rates = zip(map(str, hosts["host"]), hosts["link_gbps"], strict=True)
    return {host: float(arrived.get(host, 0.0)) / float(rate) for host, rate in rates}


def _lost(result: Result) -> float:
    """Part of the packets of a run that was lost."""
    invariants = result.manifest["summary"]["invariants"]
    return float(sum(invariants["lost"].values())) / max(float(invariants["injected"]), 1.0)


def _busy(result: Result, receiver: str) -> float:
    """Part of the measurement in which the link to a host was busy, at most 1: packets at its edges count in part."""
    links = result.frames["links"]
    return float(links.loc[links["link"].str.endswith(f"->{receiver}"), "utilisation"].sum())


def _number(value: Any) -> float | None:
    """A value of a summary; None if there is none."""
    return None if value is None or math.isnan(value) else float(value)
