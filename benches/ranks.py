"""Speed of rank programs and of traces of them: processor time and memory, beside the goals.

usage: python benches/ranks.py [--short] [CASE]...
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import fabricsim as fs
from fabricsim.mpi import MPI
from fabricsim.traces import Trace

ROOT = Path(__file__).resolve().parents[1]
IS_SHORT = "--short" in sys.argv
"""A hundredth of the work, to see that it runs."""
PING_PONGS = 300 if IS_SHORT else 30_000
RANKS = 64 if IS_SHORT else 4096
BLOCK = 512 if IS_SHORT else 65_536
EVENTS = 10_000 if IS_SHORT else 1_000_000


def ping_pong() -> float:
    """8 B between two adapters of FDR, Open MPI's protocols over reliable connections; for 1.5 million of them."""

    def program() -> None:
        comm, buffer = MPI.COMM_WORLD, np.zeros(8, np.uint8)
        other = 1 - comm.rank
        for _ in range(PING_PONGS):
            if comm.rank == 0:
                comm.Send(buffer, other)
                comm.Recv(buffer, other)
            else:
                comm.Recv(buffer, other)
                comm.Send(buffer, other)

    begun = time.process_time()
    fs.mpi.run(program, 2, ROOT / "experiments/infiniband-verbs-mpi/ranks.toml")
    return (time.process_time() - begun) * 1_500_000 / PING_PONGS


def collectives() -> float:
    """A barrier and an allreduce of 8 B of 4096 ranks, on LogGP."""

    def program() -> None:
        comm, total = MPI.COMM_WORLD, np.zeros(1)
        comm.Barrier()
        comm.Allreduce(np.ones(1), total)
        assert total[0] == comm.size

    begun = time.process_time()
    fs.mpi.run(program, RANKS)
    return time.process_time() - begun


def all_to_alls() -> float:
    """Five all-to-alls of 64 KiB of 64 ranks on a 4x4x4 torus."""

    def program() -> None:
        comm = MPI.COMM_WORLD
        out = np.zeros(comm.size * BLOCK, np.uint8)
        into = np.zeros_like(out)
        for _ in range(5):
            comm.Alltoall(out, into)

    begun = time.process_time()
    fs.mpi.run(program, 64, ROOT / "benches/peers/torus-4x4x4.toml")
    return time.process_time() - begun


def trace() -> float:
    """Events per second of a trace of a million events, read and replayed on LogGP."""
    ranks, rounds = 64, EVENTS // (64 * 4)
    with tempfile.TemporaryDirectory() as folder:
        goal = Path(folder, "ring.goal")
        with goal.open("w") as file:
            file.write(f"num_ranks {ranks}\n")
            for rank in range(ranks):
                file.write(
                    f"rank {rank} {{\n" + _rounds((rank + 1) % ranks, (rank - 1) % ranks, rounds) + "}\n"
                )
        begun = time.process_time()
        read = Trace.read(goal, "goal")
        found = read.replay("loggp:L=1000,o=100,g=10,G=1")
        assert not found.unfinished
        return found.events / (time.process_time() - begun)


def _rounds(after: int, before: int, rounds: int) -> str:
    lines = []
    for i in range(rounds):
        lines += [
            f"s{i}: send 64b to {after} tag 0",
            f"c{i}: calc 500",
            f"r{i}: recv 64b from {before} tag 0",
        ]
        lines += [f"d{i}: calc 100", f"d{i} requires s{i}", f"d{i} requires c{i}", f"d{i} requires r{i}"]
        if i:
            lines += [f"{name}{i} requires d{i - 1}" for name in "scr"]
    return "\n".join(lines) + "\n"


@dataclass(frozen=True)
class Case:
    """A measurement, and what is to be reached."""

    text: str
    measure: Callable[[], float]
    unit: str
    goal: str


CASES = {
    "ping-pong": Case("1.5 million ping-pongs of 8 B", ping_pong, "s", "under 60 s"),
    "collectives": Case("barrier and allreduce of 4096 ranks", collectives, "s", "under 10 s and 2 GB"),
    "all-to-all": Case("five all-to-alls of 64 KiB, 64 ranks", all_to_alls, "s", "under 3 s"),
    "trace": Case("trace of a million events on LogGP", trace, "events/s", "300 000 events/s"),
}


def main(names: list[str]) -> None:
    """Prints a row for each case, each from a process of its own."""
    names = [name for name in names if name != "--short"]
    if len(names) == 2 and names[0] == "--one":
        value = CASES[names[1]].measure()
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        print(value, peak)
        return
    print(
        "| case | processor time, or events a second of it | to be reached | memory, MB |\n|---|--:|--:|--:|"
    )
    for name in names or CASES:
        case = CASES[name]
        command = [sys.executable, __file__, "--one", name, *(["--short"] if IS_SHORT else [])]
        printed = subprocess.check_output(command, text=True)  # noqa: S603 - this file
        value, peak = map(float, printed.split())
        shown = f"{value:,.2g}" if value < 1 else f"{value:,.1f}" if value < 1000 else f"{value:,.0f}"
        print(f"| {case.text} | {shown.replace(',', ' ')} {case.unit} | {case.goal} | {peak / 1e6:.0f} |")


if __name__ == "__main__":
    main(sys.argv[1:])
