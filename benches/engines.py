"""Time that routing engines take for large subnets, and that of the whole command `fabricsim route`, by one thread."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

RUNS = 3
"""Runs of each engine: the median counts."""
EXPERIMENT = """\
[topology]
{topology}
[[traffic]]
pattern = "uniform"
load = 0.1
message = "1 KiB"
[run]
duration = "1 us"
"""


@dataclass(frozen=True)
class EngineRow:
    """An engine on a subnet."""

    fabric: str
    engine: str
    opensm_s: float
    engine_s: float
    command_s: float
    """Of the whole command, which also builds the subnet, analyses all paths and loads, and starts Python."""
    peak_mb: float


def measure(file: Path) -> list[EngineRow]:
    """Routes every subnet of the file with its engines."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for fabric in tomllib.loads(file.read_text())["fabric"]:
            experiment = Path(folder) / "fabric.toml"
            experiment.write_text(EXPERIMENT.format(topology=fabric["topology"]))
            for engine in fabric["engines"]:
                print(f"bench: {fabric['title']}, {engine['name']}", file=sys.stderr, flush=True)
                runs = [_run(experiment, engine["name"]) for _ in range(RUNS)]
                medians = [statistics.median(values) for values in zip(*runs, strict=True)]
                rows.append(EngineRow(fabric["title"], engine["name"], engine["opensm_s"], *medians))
    return rows


def _run(experiment: Path, engine: str) -> tuple[float, float, float]:
    """Processor time of the engine and of the command in seconds, and the command's peak memory in MB."""
    command = [sys.executable, "-m", "fabricsim", "route", str(experiment), "--engine", engine, "--json"]
    child = subprocess.Popen(  # noqa: S603 - our own program
        command, stdout=subprocess.PIPE, text=True, env={**os.environ, "RAYON_NUM_THREADS": "1"}
    )
    assert child.stdout is not None
    text = child.stdout.read()
    _, status, usage = os.wait4(child.pid, 0)
    if status != 0:
        sys.exit(f"bench: {' '.join(command)} failed")
    report: dict[str, Any] = json.loads(text)
    return report["engine_cpu_s"], usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def engine_table(rows: Sequence[EngineRow]) -> list[str]:
    """The figures as Markdown."""
    lines = [
        "| subnet | engine | OpenSM, s | ours, s | times faster | whole command, s | its memory, MB |",
        "|---|---|--:|--:|--:|--:|--:|",
    ]
    lines += [
        f"| {row.fabric} | {row.engine} | {row.opensm_s:g} | {row.engine_s:.2g} "
        f"| {row.opensm_s / row.engine_s:.0f} | {row.command_s:.1f} | {row.peak_mb:.0f} |"
        for row in rows
    ]
    return lines
