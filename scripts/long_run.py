"""`python scripts/long_run.py` runs one experiment of 10^9 packet-hops, and checks its invariants and its memory.

Resident memory is sampled at equal distances of simulated time. After the warm-up, a tenth of the run, it must be flat:
the slope over packet-hops with its confidence interval. See `python scripts/long_run.py --help`.
"""

from __future__ import annotations

import argparse
import datetime
import json
import math
import os
import sys
import time
from array import array
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

import fabricsim as fs

ROOT = Path(__file__).resolve().parents[1]
EXPERIMENT = ROOT / "benches/long-run.toml"
SAMPLES = 400
"""Samples of resident memory in a run."""
WARMUP = 0.1
"""Part of the run before memory is expected to be flat."""
BLOCKS = 18
"""Samples that follow each other resemble each other: the slope is that of the means of blocks."""
FLAT = 0.01
"""Growth of memory after the warm-up, as a part of it, up to which it counts as flat."""
PROBE_S = 200e-6
"""Simulated time of the run that measures the packet-hops of a second."""
MARGIN = 1.04
"""Packet-hops aimed at, over those requested: the last ones must not be missing."""
FAILURES = 20
"""Links that fail during a run and return, with `--failures`."""


@dataclass(frozen=True)
class Slope:
    """Growth of memory over packet-hops, after the warm-up."""

    bytes_per_million_hops: float
    half_width: float
    """Of the 95 % confidence interval."""
    grown_bytes: int
    """Last sample less the first one after the warm-up."""
    range_bytes: int
    """Largest sample less the smallest one after the warm-up."""


class Memory:
    """Resident memory at equal distances of simulated time. Its tables have their size from the start."""

    def __init__(self, samples: int) -> None:
        self.samples = samples
        self.hops = array("d", bytes(8 * (samples + 1)))
        self.resident = array("d", bytes(8 * (samples + 1)))
        self.count = 0

    def look(self, progress: fs.Progress) -> None:
        """Takes a sample if one is due."""
        due = progress.fraction * self.samples >= self.count and self.count <= self.samples
        if not due or progress.phase not in ("warm-up", "measurement"):
            return
        self.hops[self.count] = progress.packet_hops
        self.resident[self.count] = resident_bytes()
        self.count += 1

    def rows(self, part: float) -> list[tuple[int, int]]:
        """Packet-hops and resident bytes; `part` of the hops that a run reports count."""
        return [(round(part * self.hops[at]), int(self.resident[at])) for at in range(self.count)]


def resident_bytes() -> int:
    """Resident memory of this process (Linux)."""
    pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def slope(rows: Sequence[tuple[int, int]], warmup: float = WARMUP) -> Slope | None:
    """Growth of memory after the warm-up; None with too few samples."""
    late = np.array([row for row in rows if row[0] >= warmup * rows[-1][0]], dtype=float)
    if len(late) < 2 * BLOCKS:
        return None
    means = np.array([block.mean(axis=0) for block in np.array_split(late, BLOCKS)])
    hops, mean = means[:, 0] / 1e6 - means[:, 0].mean() / 1e6, means[:, 1] - means[:, 1].mean()
    found = float(hops @ mean / (hops @ hops))
    rest = mean - found * hops
    error = math.sqrt(float(rest @ rest) / (BLOCKS - 2) / float(hops @ hops))
    resident = late[:, 1]
    return Slope(
        round(found, 3),
        round(float(stats.t.ppf(0.975, BLOCKS - 2)) * error, 3),
        int(resident[-1] - resident[0]),
        int(resident.max() - resident.min()),
    )


def is_flat(found: Slope, rows: Sequence[tuple[int, int]]) -> bool:
    """True if the slope, at the upper end of its interval, adds less than a hundredth of memory in the whole run."""
    hops, resident = rows[-1]
    return (found.bytes_per_million_hops + found.half_width) * hops / 1e6 < FLAT * resident


def failures(links: Sequence[str], begin_ns: float, length_ns: float) -> list[dict[str, Any]]:
    """Links that fail at equal distances, each for a fiftieth of the distance."""
    step = length_ns / FAILURES
    return [
        {
            "link": links[number * len(links) // FAILURES],
            "at": f"{begin_ns + (number + 0.5) * step:.0f} ns",
            "until": f"{begin_ns + (number + 0.52) * step:.0f} ns",
        }
        for number in range(FAILURES)
    ]


def switch_links(run: fs.Result) -> list[str]:
    """Names of the links between switches."""
    channels = run.links[run.links["class"] != "host"]["link"].unique()
    pairs = [str(channel).split("->") for channel in channels]
    return sorted(f"{one}-{other}" for one, other in pairs if one < other)


def switch_hops(summary: Any) -> int:
    """Packet-hops as other simulators count them: a switch and the link behind it, so not the link from a host."""
    return int(summary["packet_hops"]) - int(summary["invariants.delivered"])


def long_run(experiment: Path, hops: float, *, fails: bool, seed: int) -> dict[str, Any]:
    """Runs the experiment for about this number of packet-hops."""
    short = {"run.duration": f"{PROBE_S * 1e9:.0f} ns", "run.drain": "none", "seed": seed}
    probe = fs.run(experiment, set=short)
    length = PROBE_S * 1e9 * MARGIN * hops / switch_hops(probe.summary)
    keys: dict[str, Any] = {"run.duration": f"{length:.0f} ns", "seed": seed}
    if fails:
        keys["faults.plan"] = failures(switch_links(probe), 0.0, length)
    memory = Memory(SAMPLES)
    begun = time.monotonic(), time.process_time()
    run = fs.run(experiment, set=keys, on_progress=memory.look)
    wall, cpu = time.monotonic() - begun[0], time.process_time() - begun[1]
    summary = run.summary
    rows = memory.rows(switch_hops(summary) / float(summary["packet_hops"]))
    found = slope(rows)
    return {
        "date": datetime.datetime.now(tz=datetime.UTC).date().isoformat(),
        "experiment": str(experiment.relative_to(ROOT))
        if experiment.is_relative_to(ROOT)
        else experiment.name,
        "seed": seed,
        "failures": FAILURES if fails else 0,
        "packet_hops": switch_hops(summary),
        "simulated_ns": round(length),
        "wall_s": round(wall, 1),
        "cpu_s": round(cpu, 1),
        "status": str(summary["status"]),
        "defect": str(summary["defect"]),
        "invariants": invariants(summary),
        "slope": None if found is None else asdict(found),
        "flat": None if found is None else is_flat(found, rows),
        "samples": rows,
    }


def invariants(summary: Any) -> dict[str, Any]:
    """Those at the end of the run, by name."""
    found = {key: summary[key] for key in summary.index if str(key).startswith("invariants.")}
    return {
        str(key).removeprefix("invariants."): bool(value) if str(key).endswith("_ok") else int(value)
        for key, value in found.items()
    }


def problems(result: dict[str, Any]) -> list[str]:
    """Differences from what has to hold; empty if all is well."""
    found = []
    if result["status"] != "ok" or result["defect"]:
        found.append(f"status {result['status']}: {result['defect'] or 'no defect'}")
    found += [
        f"invariant {key} does not hold"
        for key in ("packets_ok", "credits_ok")
        if not result["invariants"][key]
    ]
    if result["flat"] is False:
        found.append(f"memory grows: {describe(result)}")
    return found


def describe(result: dict[str, Any]) -> str:
    """One line about memory."""
    if result["slope"] is None:
        return f"{len(result['samples'])} samples are too few for a slope"
    found = Slope(**result["slope"])
    last = result["samples"][-1][1]
    growth, half = (float(f"{value:.3g}") for value in (found.bytes_per_million_hops, found.half_width))
    rate = f"{growth:g} ± {half:g} bytes per 10^6 packet-hops"
    part = found.bytes_per_million_hops * result["packet_hops"] / 1e6 / last if last else math.nan
    return f"{last / 2**20:.1f} MB at the end, {rate}: {100 * part:.2f} % in the whole run"


def main() -> None:
    """Runs, prints, writes; ends with 1 if an invariant does not hold or memory is not flat."""
    parser = argparse.ArgumentParser(description="One long run: its invariants and its memory.")
    parser.add_argument("--hops", type=float, default=1e9, help="packet-hops of the run")
    parser.add_argument("--experiment", type=Path, default=EXPERIMENT, help="the experiment's file")
    parser.add_argument("--seed", type=int, default=1, help="seed of the experiment")
    parser.add_argument("--build", default="released form", help="the build of the Python module")
    parser.add_argument("--no-failures", action="store_true", help="no links fail during the run")
    parser.add_argument("--out", type=Path, help="where the figures and the samples go")
    wanted = parser.parse_args()
    result = long_run(
        wanted.experiment.resolve(), wanted.hops, fails=not wanted.no_failures, seed=wanted.seed
    )
    result["build"] = wanted.build
    if wanted.out is not None:
        wanted.out.write_text(json.dumps(result) + "\n", encoding="utf-8")
    shown = {key: value for key, value in result.items() if key not in ("samples", "slope")}
    print(json.dumps(shown, indent=1))
    print(describe(result))
    found = problems(result)
    print("\n".join(found) if found else "all invariants hold")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
