"""`scripts/bench_peers` runs other simulators and Fabricsim in turn on the same cases, and writes `bench-peers.json`.

Measured are wall and processor time of whole runs, instructions, peak memory, accepted load and mean latency. A
simulator that is not installed has a row that says how to install it. See `scripts/bench_peers --help`.
"""

from __future__ import annotations

import argparse
import datetime
import json
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import peers_caminos
import peers_fabricsim
import peers_simgrid
from peers_measure import Missing, Program, Row, in_turn, processor
from peers_table import quoted, table

ROOT = Path(__file__).resolve().parents[1]
LOADS = (0.1, 0.4)
OURS_NS = (1_000_000.0, 20_000.0, 60_000.0)
"""Simulated time of a timed run, and of the two whose instructions are counted."""
CAMINOS_CYCLES = (20_000, 1_000, 3_000)
ROUNDS = (5, 1, 2)
"""All-to-alls of a timed run, and of the two whose instructions are counted."""


def uniform_cases(
    binary: Path, build: str, folder: Path
) -> list[tuple[dict[str, Any], list[Program | Missing]]]:
    """Mesh and torus, at each load; and a tree, of which earlier figures of htsim are."""
    found: list[tuple[dict[str, Any], list[Program | Missing]]] = []
    for topology in ("mesh", "torus"):
        for load in LOADS:
            head = {"case": f"{topology}-8x8", "title": f"8x8 {topology}", "load": load, "unit": "packet-hop"}
            ours = peers_fabricsim.uniform(ROOT, binary, build, f"{topology}-8x8", load, OURS_NS)
            theirs = peers_caminos.caminos(ROOT, folder, topology, load, CAMINOS_CYCLES)
            found.append((head, [ours, theirs]))
    head = {"case": "fat-tree-4-3", "title": "4-ary 3-tree", "load": 0.4, "unit": "packet-hop"}
    found.append((head, [peers_fabricsim.uniform(ROOT, binary, build, "fat-tree-4-3", 0.4, OURS_NS)]))
    return found


def all_to_all(
    binary: Path, builds: tuple[str, str], folder: Path
) -> tuple[dict[str, Any], list[Program | Missing]]:
    """All-to-alls of 64 ranks."""
    head = {"case": "all-to-all", "title": "all-to-all, 64 ranks", "load": None, "unit": "all-to-all"}
    return head, [
        peers_fabricsim.mpi_program(ROOT, builds[1], ROUNDS),
        peers_fabricsim.job(ROOT, binary, builds[0], ROUNDS),
        peers_simgrid.simgrid(ROOT, folder, ROUNDS),
    ]


def measure(
    cases: Sequence[tuple[dict[str, Any], list[Program | Missing]]], pairs: int
) -> list[dict[str, Any]]:
    """Runs all cases."""
    measured = []
    for head, all_programs in cases:
        print(f"bench-peers: {head['title']}, load {head['load']}", file=sys.stderr, flush=True)
        programs = [program for program in all_programs if isinstance(program, Program)]
        rows: list[Row | Missing] = [*in_turn(programs, pairs)]
        rows += [program for program in all_programs if isinstance(program, Missing)]
        measured.append({**head, "rows": [asdict(row) for row in rows]})
    return measured


def main() -> None:
    """Measures, prints, writes."""
    parser = argparse.ArgumentParser(description="Fabricsim and other simulators on the same cases, in turn.")
    parser.add_argument("--binary", type=Path, required=True, help="the program bench_case")
    parser.add_argument("--build", default="released form", help="its build, as the page names it")
    parser.add_argument("--module-build", default="released form", help="the build of the Python module")
    parser.add_argument("--pairs", type=int, default=3, help="runs of each simulator: medians count")
    parser.add_argument("--case", action="append", default=[], help="cases; by default all")
    parser.add_argument("--out", type=Path, default=ROOT / "bench-peers.json", help="where the figures go")
    wanted = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        cases = uniform_cases(wanted.binary, wanted.build, folder)
        cases.append(all_to_all(wanted.binary, (wanted.build, wanted.module_build), folder))
        chosen = [case for case in cases if not wanted.case or case[0]["case"] in wanted.case]
        rows = measure(chosen, wanted.pairs)
    date = datetime.datetime.now(tz=datetime.UTC).date().isoformat()
    result = {"date": date, "pairs": wanted.pairs, "processor": processor(), "cases": rows}
    wanted.out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    print("\n".join(table(result, quoted(ROOT))))
    print(f"written: {wanted.out}", file=sys.stderr)


if __name__ == "__main__":
    main()
