"""Fabricsim beside its peers: the program of `make bench`, and MPI programs by `fabricsim mpi run`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import peers_simgrid
from peers_measure import Figures, Program

NAME = "Fabricsim"


def uniform(
    root: Path, binary: Path, build: str, case: str, load: float, lengths: tuple[float, float, float]
) -> Program:
    """Uniform traffic; lengths are simulated nanoseconds. Samples of congestion trees are as far apart in each."""

    def command(ns: float) -> list[str]:
        keys = [f"traffic.0.load={load:g}", f"run.duration={ns:.0f} ns"]
        keys.append(f"measure.congestion_interval={lengths[0] / 100:.0f} ns")
        return [str(binary), str(root / f"benches/{case}.toml"), *keys]

    def figures(output: str, _length: float) -> Figures:
        found = json.loads(output)
        return Figures(found["packet_hops"], found["accepted_load"], found["latency_ns"], peak(found))

    return Program(NAME, build, command, figures, lengths)


def mpi_program(root: Path, build: str, lengths: tuple[int, int, int]) -> Program:
    """All-to-alls of an MPI program; lengths are their number."""
    experiment, script = root / "benches/peers/torus-4x4x4.toml", root / "benches/peers/alltoall.py"
    base = [sys.executable, "-m", "fabricsim", "mpi", "run", "-n", str(peers_simgrid.RANKS)]
    base += ["--experiment", str(experiment), "--collective", "alltoall=pairwise", str(script)]

    def command(rounds: float) -> list[str]:
        return [*base, f"{rounds:g}", str(peers_simgrid.BLOCK)]

    notes = "MPI program over reliable connections"
    return Program(f"{NAME}, MPI", build, command, peers_simgrid.read, lengths, counted=False, notes=notes)


def job(root: Path, binary: Path, build: str, lengths: tuple[int, int, int]) -> Program:
    """The same messages as a job; lengths are all-to-alls."""

    def command(rounds: float) -> list[str]:
        return [str(binary), str(root / "benches/peers/all-to-all-job.toml"), f"jobs.0.iterations={rounds:g}"]

    def figures(output: str, rounds: float) -> Figures:
        found = json.loads(output)
        ns = found["simulated_ns"] / rounds
        bytes_each = (peers_simgrid.RANKS - 1) * peers_simgrid.BLOCK
        return Figures(rounds, bytes_each / ns / peers_simgrid.RATE, ns, peak(found))

    return Program(f"{NAME}, job", build, command, figures, lengths, notes="the messages alone")


def peak(found: dict[str, Any]) -> float | None:
    """Peak memory that the program reports, MB."""
    return None if found["peak_bytes"] is None else float(found["peak_bytes"]) / 2**20
