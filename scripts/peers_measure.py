"""Measurement of programs: time, instructions, memory."""

from __future__ import annotations

import os
import platform
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

CACHEGRIND = (
    "valgrind",
    "--quiet",
    "--tool=cachegrind",
    "--cache-sim=no",
    "--branch-sim=no",
    "--log-file=/dev/null",
)


@dataclass(frozen=True)
class Ran:
    """A run of a program."""

    output: str
    wall_s: float
    cpu_s: float
    """Of the process and its children."""
    peak_mb: float
    """At least that of this process, from which the program was started."""


@dataclass(frozen=True)
class Figures:
    """What a run simulated, by its own output."""

    work: float
    """Units of work: packet-hops, or all-to-alls."""
    accepted_load: float
    latency_ns: float
    """Mean; of a cycle-driven simulator, cycles."""
    peak_mb: float | None = None
    """Peak memory, if the program reports it."""


@dataclass(frozen=True)
class Program:
    """A simulator that runs a case."""

    name: str
    version: str
    command: Callable[[float], Sequence[str]]
    """The command for a length of the run."""
    figures: Callable[[str, float], Figures]
    """Reads the output of a run of a length."""
    lengths: tuple[float, float, float]
    """Of a timed run, and of the two runs whose instructions are counted."""
    counted: bool = True
    """True if its instructions are counted."""
    wrap: Callable[[Sequence[str], Sequence[str]], Sequence[str]] = lambda tool, command: [*tool, *command]
    """Runs a command under a tool."""
    environment: Mapping[str, str] | None = None
    notes: str = ""


@dataclass(frozen=True)
class Missing:
    """A simulator that is not here."""

    name: str
    install: str
    """How to install it."""


@dataclass(frozen=True)
class Row:
    """A measured simulator, in a case."""

    program: str
    version: str
    wall_s: float
    cpu_s: float
    """Of the whole run, medians."""
    work: float
    cpu_us_per_unit: float
    instructions_per_unit: float | None
    peak_mb: float
    accepted_load: float
    latency_ns: float
    runs: int
    notes: str = ""


def run(command: Sequence[str], environment: Mapping[str, str] | None = None) -> Ran:
    """Runs a program to its end."""
    begun = time.monotonic()
    child = subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env={**os.environ, **(environment or {})}
    )
    assert child.stdout is not None
    with child.stdout as stream:
        output = stream.read()
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if status != 0:
        sys.exit(f"bench-peers: {' '.join(command)} failed")
    wall = time.monotonic() - begun
    return Ran(output, wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def instructions(program: Program) -> float | None:
    """Instructions per unit of work: the difference of two runs, so that start-up cancels. None without valgrind."""
    if not program.counted or shutil.which("valgrind") is None:
        return None
    (less, few), (more, many) = (_counted(program, length) for length in program.lengths[1:])
    return (more - less) / (many - few)


def _counted(program: Program, length: float) -> tuple[int, float]:
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "%p.out"
        tool = [*CACHEGRIND, f"--cachegrind-out-file={out}"]
        ran = run(program.wrap(tool, program.command(length)), program.environment)
        totals = [total(file.read_text(encoding="utf-8")) for file in Path(folder).iterdir()]
    return max(totals, default=0), program.figures(ran.output, length).work


def total(profile: str) -> int:
    """Instructions in the output of cachegrind."""
    found = re.search(r"^summary:\s*(\d+)", profile, re.MULTILINE)
    return 0 if found is None else int(found[1])


def in_turn(programs: Sequence[Program], pairs: int) -> list[Row]:
    """Runs all programs in turn, several times, and counts instructions."""
    ran: list[list[Ran]] = [[] for _ in programs]
    for _ in range(pairs):
        for number, program in enumerate(programs):
            ran[number].append(run(program.command(program.lengths[0]), program.environment))
    return [row(program, runs) for program, runs in zip(programs, ran, strict=True)]


def row(program: Program, runs: Sequence[Ran]) -> Row:
    """The medians of several runs."""
    read = program.figures(runs[0].output, program.lengths[0])
    cpu = statistics.median(one.cpu_s for one in runs)
    counted = instructions(program)
    return Row(
        program=program.name,
        version=program.version,
        wall_s=round(statistics.median(one.wall_s for one in runs), 3),
        cpu_s=round(cpu, 3),
        work=round(read.work),
        cpu_us_per_unit=cpu / read.work * 1e6,
        instructions_per_unit=None if counted is None else round(counted, 1),
        peak_mb=round(read.peak_mb or max(one.peak_mb for one in runs), 1),
        accepted_load=round(read.accepted_load, 5),
        latency_ns=round(read.latency_ns, 2),
        runs=len(runs),
        notes=program.notes,
    )


def processor() -> str:
    """Name of the processor."""
    try:
        info = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return platform.machine()
    found = re.search(r"^model name\s*: (.*)$", info, re.MULTILINE)
    return found[1].strip() if found else platform.machine()
