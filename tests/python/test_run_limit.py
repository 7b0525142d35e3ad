"""Programs of ranks, and replays of traces, that `run.warmup` and `run.duration` of a fabric end."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from conftest import Command
from fabric_ranks import FDR

import fabricsim as fs
from fabricsim.mpi import MPI

pytestmark = pytest.mark.usefixtures("real")

FAST = f'{FDR}\n[mpi]\nconnect = "0 ns"\n'
"""Without the time of connections, which is longer than these runs."""
SHORT = FAST.replace('duration = "100 s"', 'warmup = "1 us"\nduration = "99 us"')
REASON = "the run ended at 100 µs by run.warmup and run.duration, before its programs (raise run.duration)"
RING = """num_ranks 3
rank 0 {
l1: send 8b to 1 tag 0
l2: recv 8b from 2 tag 0
}
rank 1 {
l1: recv 8b from 0 tag 0
l2: calc 500000
l3: send 8b to 2 tag 0
l2 requires l1
l3 requires l2
}
rank 2 {
l1: recv 8b from 1 tag 0
l2: send 8b to 0 tag 0
l2 requires l1
}
"""


def exchange() -> None:
    """Both ranks receive while their messages are in flight: each waits for the other one."""
    comm = MPI.COMM_WORLD
    request = comm.Isend(np.zeros(1 << 20, "B"), 1 - comm.rank)
    comm.Recv(np.zeros(1 << 20, "B"), 1 - comm.rank)
    request.Wait()


def test_ranks_that_the_run_ends_are_not_in_a_deadlock() -> None:
    with pytest.raises(fs.mpi.UnfinishedError) as caught:
        fs.mpi.run(exchange, 2, fs.Experiment.from_text(SHORT))
    first, *lines = str(caught.value).splitlines()
    assert first == f"{REASON}; unfinished:"
    assert [line.partition(" at ")[0].strip() for line in lines] == [
        f"rank {rank} waits in Recv(source={1 - rank}, tag=any)" for rank in (0, 1)
    ]
    assert set(caught.value.waits) == {"rank 0", "rank 1"}
    assert caught.value.exit_code == 1
    fs.mpi.run(exchange, 2, fs.Experiment.from_text(FAST))


def test_the_command_says_that_the_run_ended(tmp_path: Path, command: Command) -> None:
    (tmp_path / "short.toml").write_text(SHORT)
    (tmp_path / "p.py").write_text(
        "from mpi4py import MPI\nimport fabricsim\nfabricsim.compute('1 ms')\nMPI.COMM_WORLD.Barrier()\n"
    )
    ran = command("mpi", "run", "-n", 2, "--experiment", "short.toml", "p.py")
    assert ran.code == 1, ran
    assert ran.err.startswith(
        f"fabricsim: {REASON}; unfinished:\n  rank 0 waits in compute('1 ms') at p.py:3"
    )
    assert "wait for each other" not in ran.err


def test_a_replay_that_the_run_ends_has_no_unmatched_operations(tmp_path: Path, command: Command) -> None:
    (tmp_path / "short.toml").write_text(SHORT)
    (tmp_path / "ring.goal").write_text(RING)
    replay = ("mpi", "replay", "ring.goal", "--format", "goal", "--experiment", "short.toml")
    ran = command(*replay)
    assert ran.code == 1, ran
    assert ran.err == f"fabricsim: {REASON}\n"
    assert "has no message" not in ran.out
    assert "rank 0 did not end: 1 of 2 operations" in ran.out
    found = json.loads(command(*replay, "--json").out)
    assert found["unmatched"] == []
    assert [one["rank"] for one in found["unfinished"]] == [0, 1, 2]
    assert found["stopped"] == REASON
    whole = command(*replay, "--set", "run.duration=1 ms", "--json")
    assert whole.code == 0, whole
    assert json.loads(whole.out)["stopped"] is None


def test_a_replay_without_a_match_is_one_on_a_fabric_too(tmp_path: Path, command: Command) -> None:
    (tmp_path / "long.toml").write_text(FDR)
    (tmp_path / "lost.goal").write_text(
        "num_ranks 2\nrank 0 {\nrecv 8b from 1 tag 5\n}\nrank 1 {\ncalc 5\n}\n"
    )
    ran = command("mpi", "replay", "lost.goal", "--format", "goal", "--experiment", "long.toml")
    assert ran.code == 3, ran
    assert "recv of 8 B from 1 tag 5 has no message" in ran.out
