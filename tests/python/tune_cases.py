"""Experiments for tests of the tuner, with answers that are known beforehand."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from fabricsim.sweep.pool import OnDone, OnLost, Stop, Work, never

TWO_FLOWS = """
[topology.single-switch]
hosts = 3

[[traffic]]
name = "a"
sources = ["H0"]
pattern = { to = "H2" }
injection = "constant"
load = 0.3
message = "1 KiB"

[[traffic]]
name = "b"
sources = ["H1"]
pattern = { to = "H2" }
injection = "constant"
load = 0.05
message = "1 KiB"

[run]
warmup = "5 us"
duration = "40 us"
"""
"""Flows a and b take 100 Gb/s times their loads while these come to less than 1. Jain's index of the two is
(0.3 + x)^2 / (2 (0.09 + x^2)) at load x of b: 1 at x = 0.3, less at both sides."""

GRID = """
[tune]
sampler = "grid"
fresh_seeds = 0
window = 4

[tune.parameters]
"traffic.1.load" = { low = 0.05, high = 0.65, step = 0.05 }
"""

SEARCH = """
[tune]
fresh_seeds = 0
window = 4
trials = 24

[tune.parameters]
"traffic.1.load" = { low = 0.05, high = 0.65 }
"links.all.buffer" = { low = "8 KiB", high = "32 KiB" }
"""

FAIR = """
[[tune.objectives]]
metric = "fairness"
goal = "maximize"
"""

MUCH = """
[[tune.objectives]]
metric = "throughput"
goal = "maximize"
"""


@dataclass
class Shuffled:
    """An executor whose tasks are done in any order, several at once."""

    seed: int
    at_once: int = 5

    def work_through(
        self,
        tasks: Iterable[Any],
        work: Work[Any, Any],
        on_done: OnDone[Any, Any],
        *,
        stop: Stop = never,
        on_lost: OnLost[Any] | None = None,
    ) -> bool:
        chance = random.Random(self.seed)
        source = iter(tasks)
        under_way: list[Any] = []
        while True:
            while len(under_way) < self.at_once and (task := next(source, None)) is not None:
                under_way.append(task)
            if not under_way:
                return True
            task = under_way.pop(chance.randrange(len(under_way)))
            on_done(task, work(task, stop))
