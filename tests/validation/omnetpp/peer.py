"""Cases in which an arbiter gives up, described once for the peer and for Fabricsim, and the peer's throughput."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from statistics import fmean, stdev

import fabricsim as fs

MEASURED = Path(__file__).resolve().parent / "measured.csv"
"""Throughput of the peer's generators (`sends`) and sinks (`receives`), MB/s."""

GIVES_UP, IN_TURN = "strict-round-robin", "round-robin"
SEEDS = (1, 2, 3, 4, 5)
STUDENT = 2.306
"""Student's t for 95 % and the eight degrees of freedom of two means over five seeds."""
EXACT = 0.01
"""Tolerance where nothing is drawn."""

PACKET = 2176
"""Bytes: 34 credits of 64 bytes."""
SETTLED_MS = 1
"""The beginning, in which buffers fill, is left out."""
INTERVAL_NS = 50
"""From one credit of a queue to the next one."""
SPEED = 40.0
"""Gb/s of each of a link's four lanes, before coding: a credit takes 4 ns, so that queues limit throughput."""
RATE = "128 Gb/s"
CREDIT_TIME_US = 0.256
"""Least time between two flow-control packets of a port."""
CORE_MHZ = 2000
"""With 8 bytes a cycle, the arbiter takes 4 ns for a credit too."""


@dataclass(frozen=True)
class Case:
    """Hosts at one switch: each sends packets of one size to its destinations, as many as it can."""

    name: str
    destinations: tuple[tuple[int, ...], ...]
    """By host; in turn, or drawn. A host without destinations only receives."""
    text: str
    drawn: bool = False
    reads: int = 1
    decides: bool = True
    """True if giving up matters: then some flow differs by more than 10 % with `round-robin`."""

    @property
    def hosts(self) -> int:
        return len(self.destinations)

    @property
    def duration_ms(self) -> int:
        return 11 if self.drawn else 3

    @property
    def seeds(self) -> tuple[int, ...]:
        return SEEDS if self.drawn else SEEDS[:1]


CASES = [
    Case("fan-out", ((2, 3, 4), (2,), (), (), ()), "H0 sends to H2, H3 and H4 in turn, H1 to H2"),
    Case("last port", ((2, 3, 4), (4,), (), (), ()), "the same, but H1 sends to H4"),
    Case(
        "chain",
        ((4, 5), (5, 6), (6,), (4,), (), (), ()),
        "H0 sends to H4 and H5 in turn, H1 to H5 and H6, H2 to H6, H3 to H4: no output loses a turn",
        decides=False,
    ),
    Case(
        "two reads",
        ((2, 3, 4, 5), (2,), (), (), (), ()),
        "H0 sends to H2 to H5 in turn, H1 to H2; an input is read for two outputs at once: none loses a turn",
        reads=2,
        decides=False,
    ),
    Case(
        "two reads of five",
        ((2, 3, 4, 5, 6), (2,), (), (), (), (), ()),
        "H0 sends to H2 to H6 in turn, H1 to H2; an input is read for two outputs at once",
        reads=2,
    ),
    Case("drawn", ((2, 3, 4), (2,), (), (), ()), "H0 sends to H2, H3 or H4, H1 to H2", drawn=True),
    Case("drawn, last port", ((2, 3, 4), (4,), (), (), ()), "H0 sends to H2, H3 or H4, H1 to H4", drawn=True),
    Case(
        "all to all",
        tuple(tuple(to for to in range(4) if to != host) for host in range(4)),
        "four hosts send to all others",
        drawn=True,
    ),
    Case(
        "hot spot",
        ((4, 5, 6, 7), (4, 5, 6, 7), (4,), (4, 5), (), (), (), ()),
        "H0 and H1 send to H4 to H7, H2 to H4, H3 to H4 or H5",
        drawn=True,
    ),
]


@dataclass(frozen=True)
class Flow:
    """Throughput that one host sends or receives in a case, by seed, MB/s."""

    case: Case
    host: str
    verb: str

    @property
    def name(self) -> str:
        return f"{self.host} {self.verb}"

    @property
    def peer(self) -> tuple[float, ...]:
        return tuple(_measured()[self.case.name, seed, self.host, self.verb] for seed in self.case.seeds)

    def ours(self, arbiter: str) -> tuple[float, ...]:
        return tuple(_ours(self.case, seed, arbiter)[self.host, self.verb] for seed in self.case.seeds)

    def within(self, arbiter: str) -> bool:
        """True if our mean is the peer's within `EXACT` and, if destinations are drawn, chance (95 %)."""
        ours, peer = self.ours(arbiter), self.peer
        allowed = EXACT * fmean(peer)
        if self.case.drawn:
            allowed += chance(ours, peer)
        return abs(fmean(ours) - fmean(peer)) <= allowed


def chance(ours: tuple[float, ...], peer: tuple[float, ...]) -> float:
    """Half-width of the 95 % confidence interval of the difference of two means."""
    return STUDENT * math.sqrt((stdev(ours) ** 2 + stdev(peer) ** 2) / len(ours))


def flows(case: Case) -> list[Flow]:
    """What is compared: all that the peer measured of a case."""
    return [
        Flow(case, host, verb)
        for name, seed, host, verb in _measured()
        if name == case.name and seed == SEEDS[0]
    ]


@cache
def _measured() -> dict[tuple[str, int, str, str], float]:
    with MEASURED.open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(line for line in file if not line.startswith("#"))
        return {
            (row["case"], int(row["seed"]), row["host"], row["verb"]): float(row["mb_per_s"]) for row in rows
        }


@cache
def _ours(case: Case, seed: int, arbiter: str) -> dict[tuple[str, str], float]:
    run = fs.run(fs.Experiment.from_text(experiment(case, seed, arbiter), "."))
    series = run.table("hosts_series")
    settled = series[series["time_ns"] >= SETTLED_MS * 1e6 - 1].groupby("host")
    return {
        (str(host), verb): float(mean) * 125.0
        for verb, column in (("sends", "injected_gbps"), ("receives", "delivered_gbps"))
        for host, mean in settled[column].mean().items()
    }


def experiment(case: Case, seed: int, arbiter: str) -> str:
    """The case for Fabricsim."""
    return f"""\
title = "Giving up: {case.name}"
seed = {seed}
[topology]
single-switch = {{ hosts = {case.hosts} }}
[links.all]
rate = "{RATE}"
latency = "5 ns"
buffer = "64000 B"
reads = {case.reads}
[switch]
arbiter = "{arbiter}"
router_delay = "{INTERVAL_NS} ns"
unit_interval = "{INTERVAL_NS} ns"
flow_control_unit = "64 B"
flow_control = "packets"
flow_control_period = "{CREDIT_TIME_US * 1000:g} ns"
[host]
mtu = "{PACKET} B"
[run]
duration = "{case.duration_ms} ms"
[measure]
bin = "{SETTLED_MS} ms"
""" + "".join(_traffic(case))


def _traffic(case: Case) -> Iterator[str]:
    for host, destinations in enumerate(case.destinations):
        if not destinations:
            continue
        names = [f"H{number}" for number in destinations]
        patterns = [f"destinations = {names}\npattern = 'uniform'"]
        if not case.drawn:
            # Streams of a host take turns.
            patterns = [f"pattern = {{ to = '{name}' }}" for name in names]
        for pattern in patterns:
            yield (
                f"[[traffic]]\nsources = ['H{host}']\n{pattern}\n"
                f"injection = 'saturating'\nmessage = '{PACKET} B'\n"
            )
