"""Latency and bandwidth of SEND, RDMA WRITE and RDMA READ between two adapters, as perftest measures them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from fabricsim.errors import InputError
from fabricsim.lazy import pandas as pd
from fabricsim.native import bad_input, native, waited
from fabricsim.spec import Experiment, as_experiment

OPERATIONS = ("send", "write", "read")
QUANTITIES = {"lat": "latency", "bw": "bandwidth"}
TESTS = tuple(f"{operation}_{short}" for operation in OPERATIONS for short in QUANTITIES)
"""Names of the tests, as perftest's programs without `ib_`."""
ALL_SIZES = tuple(1 << power for power in range(1, 24))
"""Sizes of `--all`: 2 B to 8 MiB."""
PATH_MTUS = (256, 512, 1024, 2048, 4096)
CONNECTIONS = ("RC", "UC", "UD")
LARGEST = 1 << 30
ITERATIONS = 1000
"""Messages of a test, if they are not more than `MOST_BYTES`."""
MOST_BYTES = 1 << 28
FEWEST = 10
INLINE = {"lat": 220, "bw": 0}
"""Largest payload that a work request holds itself, by quantity: perftest's values for ConnectX-3."""

FABRIC = """\
title = "Two adapters at a switch"
description = "The tutorial's section V: ConnectX-3 FDR adapters, an SX6036 switch (170 ns), cables of 2 m."
topology.single-switch = { hosts = 2 }
[links.all]
rate = "54.545 Gb/s" # FDR 4x: 4 x 14.0625 Gb/s, 64b/66b
latency = "10 ns"
buffer = "64 KiB"
[switch]
router_delay = "170 ns"
[host]
mtu = "4142 B" # 4096 B of payload and 46 B of headers
[adapter]
profile = "connectx3-fdr"
[run]
duration = "1 s" # not used: a test ends with its last message
"""
"""The fabric of tests without an experiment."""


@dataclass(frozen=True)
class Test:
    """A test, with the options of perftest. Values of `None` are chosen as perftest does."""

    name: str
    """`send_lat`, `send_bw`, `write_lat`, `write_bw`, `read_lat` or `read_bw`."""
    size: int = 65536
    """Bytes of a message."""
    iterations: int | None = None
    """Messages, 2 or more; by default 1000, fewer if that is more than 256 MiB, at least 10 (bandwidth: 3 depths)."""
    tx_depth: int = 128
    """Messages outstanding, of bandwidth."""
    rx_depth: int = 512
    """Receive requests of SEND."""
    cq_mod: int = 100
    """Messages for each completion, of bandwidth."""
    inline_size: int | None = None
    """Largest payload that a work request holds itself; by default 220 B for latency, 0 for bandwidth."""
    outs: int = 16
    """READs outstanding, 1 to 16."""
    mtu: int = 2048
    """Path MTU in bytes."""
    qp: int = 1
    """Queue pairs, of bandwidth."""
    offset: int = 0
    """Messages begin this many bytes behind a multiple of 64."""
    connection: str = "RC"
    """Transport service: `RC`, `UC` (SEND and WRITE) or `UD` (SEND of at most the MTU)."""
    use_event: bool = False
    """Both sides sleep until a completion instead of polling all the time."""

    def __post_init__(self) -> None:
        if self.name not in TESTS:
            raise InputError(f"there is no test {self.name!r}: give one of {', '.join(TESTS)}")
        if self.mtu not in PATH_MTUS:
            raise InputError(f"mtu = {self.mtu}: must be one of {', '.join(map(str, PATH_MTUS))} B")
        if self.connection not in CONNECTIONS:
            raise InputError(f"connection = {self.connection!r}: must be one of {', '.join(CONNECTIONS)}")
        for key, least, most in (
            ("size", 1, LARGEST),
            ("tx_depth", 1, 32768),
            ("rx_depth", 1, 32768),
            ("cq_mod", 1, 32768),
            ("outs", 1, 16),
            ("qp", 1, 1024),
            ("offset", 0, 63),
        ):
            if not least <= (value := getattr(self, key)) <= most:
                raise InputError(f"{key} = {value}: must be {least} to {most}")
        if self.iterations is not None and not 2 <= self.iterations <= 10**9:
            raise InputError(f"iterations = {self.iterations}: must be 2 to 1000000000")

    @property
    def is_latency(self) -> bool:
        """True if it measures latency."""
        return self.name.endswith("_lat")

    def options(self) -> dict[str, Any]:
        """The options in the engine's words."""
        operation, short = self.name.split("_")
        depth = min(self.tx_depth, 16384)
        count = self.iterations
        if count is None:
            least = FEWEST if self.is_latency else 3 * depth
            count = max(least, min(ITERATIONS, MOST_BYTES // self.size))
        inline = INLINE[short] if self.inline_size is None else self.inline_size
        return {
            "operation": operation,
            "quantity": QUANTITIES[short],
            "bytes": self.size,
            "iterations": count,
            "tx_depth": self.tx_depth,
            "rx_depth": self.rx_depth,
            "cq_mod": min(self.cq_mod, self.tx_depth),
            "inline": inline,
            "outstanding_reads": self.outs,
            "mtu": self.mtu,
            "queue_pairs": self.qp,
            "offset": self.offset,
            "connection": self.connection,
            "waiting": "event" if self.use_event else "busy",
        }


def perftest(
    tests: Test | Sequence[Test],
    experiment: str | Path | Experiment | None = None,
    *,
    client: str | None = None,
    server: str | None = None,
    set: Mapping[str, Any] | None = None,
) -> pd.DataFrame:
    """Runs tests on an idle fabric, each from time zero on. A row for each.

    Columns of latency: `bytes, iterations, t_min_us, t_max_us, t_typical_us, t_avg_us, t_stdev_us, p99_us, p999_us`;
    of bandwidth: `bytes, iterations, bw_peak_mib_s, bw_average_mib_s, msg_rate_mpps` (MiB are 2^20 bytes). `expected`
    has the closed form of `t_typical_us` or of `bw_average_mib_s`, `parts` its stages in microseconds.

    Args:
        tests: one test, or several of the same quantity.
        experiment: an experiment without traffic; by default two ConnectX-3 FDR adapters at a switch.
        client: host that begins; by default the first.
        server: host that answers; by default the second.
        set: settings that replace those of the experiment.

    Raises:
        InputError: an option or the experiment is wrong, or a work request failed.
    """
    chosen = [tests] if isinstance(tests, Test) else list(tests)
    if not chosen or len({test.is_latency for test in chosen}) > 1:
        raise InputError("give one or more tests, all of latency or all of bandwidth")
    of = (
        replace(Experiment.from_text(FABRIC), file="perftest.toml")
        if experiment is None
        else as_experiment(experiment, None)
    )
    if set:
        of = of.with_values(set)
    options = json.dumps([test.options() for test in chosen])
    control = native().Control()
    try:
        with bad_input():
            text = waited(lambda: native().run_perftest(of.arguments(), (client, server), options, control))
    except BaseException:
        control.cancel()
        raise
    rows = [
        {
            "test": test.name,
            **row["figures"],
            "expected": row["expected"]["value"],
            "parts": dict(row["expected"]["parts"]),
        }
        for test, row in zip(chosen, json.loads(text), strict=True)
    ]
    return pd.DataFrame(rows)
