"""Rank programs among the runs of figures."""

from __future__ import annotations

from pathlib import Path

import pytest

from fabricsim.errors import InputError
from fabricsim.reproduce import reproduce
from fabricsim.reproduce.expected import read_seed
from fabricsim.reproduce.record import digest

EXPERIMENT = """
topology.single-switch = { hosts = 2 }
links.all = { rate = "100 Gb/s", latency = "10 ns", buffer = "64 KiB" }
host.mtu = "2110 B"
run.duration = "1 s"
"""
PROGRAM = """
import pandas as pd
from fabricsim.mpi import MPI

def halves(number=1):
    MPI.COMM_WORLD.Barrier()
    return pd.DataFrame({"half": [number / 2 + MPI.COMM_WORLD.rank]})
"""
EXPECTED = """
title = "T"
source = "S"
text = "X"

[tolerances]
exact = "A sum."

[[figure]]
name = "one"
title = "t"
text = "x"
experiment = "e.toml"
set = { "ranks.program" = "p.py:halves", "ranks.number" = 6, "ranks.log" = true }

[[figure.quantity]]
quantity = "sum of two ranks"
value = 'total()'
published = 7
tolerance = 0
because = "exact"
control = { "ranks.number" = 8 }

[[figure.quantity]]
quantity = "messages of a barrier"
value = 'posts()'
published = 2
tolerance = 0
because = "exact"
control = { "ranks.count" = 1, "ranks.log" = true }
"""
QUANTITIES = """
def total(runs):
    return float(runs["one"].table("returned")["half"].sum())

def posts(runs):
    return len(next(iter(runs.values())).frames["posted"])
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    seed = tmp_path / "seed"
    seed.mkdir()
    quantities = QUANTITIES.replace('runs["one"]', "next(iter(runs.values()))")
    files = {"e.toml": EXPERIMENT, "p.py": PROGRAM, "expected.toml": EXPECTED, "quantities.py": quantities}
    for name, text in files.items():
        (seed / name).write_text(text)
    return tmp_path


def test_ranks_run_with_their_arguments_and_controls(folder: Path) -> None:
    outcome = reproduce("seed", experiments=folder, controls=True, jobs=1)
    assert outcome.problems == []
    assert [(entry.ours, entry.control_ours) for entry in outcome.entries] == [(7, 9), (2, 0)]


def test_the_digest_has_the_program(folder: Path) -> None:
    def now() -> str:
        seed = read_seed(folder, "seed")
        return digest(seed, seed.figures[0])

    before = now()
    assert before == now()
    (folder / "seed/p.py").write_text(PROGRAM + "\n")
    assert now() != before


@pytest.mark.parametrize(
    ("program", "problem"),
    [("p.py:thirds", "has no function 'thirds'"), ("q.py:halves", "has no function 'halves'")],
)
def test_programs_that_are_not_there(folder: Path, program: str, problem: str) -> None:
    path = folder / "seed/expected.toml"
    path.write_text(path.read_text().replace("p.py:halves", program))
    (found,) = reproduce("seed", experiments=folder, jobs=1).problems
    assert problem in found


def test_options_without_a_program(folder: Path) -> None:
    path = folder / "seed/expected.toml"
    path.write_text(path.read_text().replace('"ranks.program" = "p.py:halves", ', ""))
    with pytest.raises(InputError, match=r"needs `ranks\.program"):
        reproduce("seed", experiments=folder, jobs=1)
