"""Runs of ranks as files of other tools: GOAL, Perfetto, Paraver; and several traces beside each other."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import Command
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from test_ranks import STEPS, UNPOLLED, mixed, report

import fabricsim as fs
from fabricsim.mpi import MPI
from fabricsim.mpi.networks.loggp import LogGP, LogGPNetwork
from fabricsim.ranks import RankReport, write_goal, write_paraver, write_perfetto
from fabricsim.traces import Jobs, Trace, play

PARAMETERS = "L=1000,o=100,g=10,G=1"
FEW = settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])


def replayed(found: RankReport, path: Path, parameters: str = PARAMETERS) -> float:
    """End of the run's schedule on the LogGP network of ranks."""
    write_goal(found.log, path, force=True)
    trace = Trace.read(path, "goal")
    return play(trace, LogGPNetwork(LogGP.parse(parameters)), "loggp").end_ns


@FEW
@given(seed=st.integers(0, 10_000), ranks=st.integers(2, 7))
def test_a_schedule_ends_when_its_run_ended(tmp_path: Path, seed: int, ranks: int) -> None:
    found = report(mixed(seed, UNPOLLED), ranks)
    assert replayed(found, tmp_path / "run.goal") == found.end_ns


def test_a_schedule_has_the_program_not_the_network(tmp_path: Path) -> None:
    program, other = mixed(7, UNPOLLED), "L=3000,o=200,g=50,G=2"
    written = []
    for parameters in (PARAMETERS, other):
        run = fs.mpi.run(program, 4, f"loggp:{parameters}", report=True)
        assert run.report is not None
        assert (
            replayed(run.report, tmp_path / "run.goal", other)
            == fs.mpi.run(program, 4, f"loggp:{other}").end_ns
        )
        written.append((tmp_path / "run.goal").read_text())
    assert written[0].count("send") == written[1].count("send")


def test_a_synchronous_send_is_none_in_a_schedule(tmp_path: Path) -> None:
    def program() -> None:
        comm = MPI.COMM_WORLD
        if comm.rank == 0:
            comm.Ssend(np.zeros(1, "B"), 1)
        else:
            comm.Recv(np.zeros(1, "B"), 0)

    found = report(program)
    # The acknowledgement takes another 1000 ns, which GOAL cannot say.
    assert replayed(found, tmp_path / "run.goal") == found.end_ns - 1000 == 1200


def test_a_message_that_is_not_received_is_refused(tmp_path: Path) -> None:
    def program() -> None:
        if MPI.COMM_WORLD.rank == 0:
            MPI.COMM_WORLD.Send(np.zeros(5, "B"), 1, tag=3)

    with pytest.raises(fs.InputError, match="rank 0 sent 5 B with tag 3 to rank 1, which did not"):
        write_goal(report(program).log, tmp_path / "run.goal")


@FEW
@given(seed=st.integers(0, 10_000), ranks=st.integers(1, 6))
def test_paraver_has_every_state_event_and_message(tmp_path: Path, seed: int, ranks: int) -> None:
    found = report(mixed(seed, STEPS), ranks)
    files = write_paraver(found.log, tmp_path / "run.prv", force=True)
    assert [file.suffix for file in files] == [".prv", ".pcf", ".row"]
    head, *lines = files[0].read_text().splitlines()
    end = round(found.end_ns)
    assert head == f"#Paraver (01/01/2000 at 00:00):{end}_ns:{ranks}({','.join('1' * ranks)}):1:{ranks}(" + (
        ",".join(f"1:{rank + 1}" for rank in range(ranks)) + "),0"
    )
    records = [[int(field) for field in line.split(":")] for line in lines]
    for rank in range(1, ranks + 1):
        at = 0
        for record in records:
            if record[0] == 1 and record[3] == rank:
                assert record[5] == at < record[6]
                at = record[6]
        assert at == end
        # Each call is entered and left before the next one.
        inside = [record[7] != 0 for record in records if record[0] == 2 and record[3] == rank]
        assert inside == [True, False] * len(found.log.ranks[rank - 1].calls)
    sizes = Counter(record[-2] for record in records if record[0] == 3)
    assert sizes == Counter(found.tables["mpi_messages"]["bytes"].tolist())
    labels = files[1].read_text()
    assert all(f"MPI_{call.name.capitalize()}" in labels for rank in found.log.ranks for call in rank.calls)
    used = {record[7] for record in records if record[0] == 1}
    assert used <= {int(line.split()[0]) for line in labels.split("STATES_COLOR")[0].splitlines()[6:] if line}
    assert f"LEVEL THREAD SIZE {ranks}" in files[2].read_text()


def test_paraver_has_extraes_numbers(tmp_path: Path) -> None:
    def program() -> None:
        comm = MPI.COMM_WORLD
        comm.Barrier()
        if comm.rank == 0:
            comm.Ssend(np.zeros(64, "B"), 1, tag=9)
        else:
            comm.Recv(np.zeros(64, "B"), 0, tag=9)

    file, *_ = write_paraver(report(program).log, tmp_path / "run.prv")
    lines = file.read_text().splitlines()
    # Extrae: MPI_Barrier 50000002:8, MPI_Recv 50000001:2, MPI_Ssend 50000001:34.
    assert any(line.startswith("2:1:1:1:1:") and line.endswith(":50000002:8") for line in lines)
    assert any(line.startswith("2:1:1:1:1:") and line.endswith(":50000001:34") for line in lines)
    assert any(line.startswith("2:2:1:2:1:") and line.endswith(":50000001:2") for line in lines)
    assert [line.split(":")[-2:] for line in lines if line.startswith("3:")][-1] == ["64", "9"]


@FEW
@given(seed=st.integers(0, 10_000), ranks=st.integers(1, 6))
def test_perfetto_has_every_call_and_message(tmp_path: Path, seed: int, ranks: int) -> None:
    found = report(mixed(seed, STEPS), ranks)
    write_perfetto(found.log, tmp_path / "run.json", force=True)
    events: list[dict[str, Any]] = json.loads((tmp_path / "run.json").read_text())["traceEvents"]
    slices = [event for event in events if event["ph"] == "X"]
    kinds = Counter(event["cat"] for event in slices)
    assert kinds["call"] == sum(len(rank.calls) for rank in found.log.ranks)
    assert kinds["computation"] == sum(len(rank.computations) for rank in found.log.ranks)
    assert max(event["ts"] + event["dur"] for event in slices) == pytest.approx(found.end_ns / 1000)
    arrows = {phase: {event["id"]: event for event in events if event["ph"] == phase} for phase in "sf"}
    assert arrows["s"].keys() == arrows["f"].keys()
    received = found.tables["mpi_messages"].dropna(subset=["received_ns"])
    assert len(arrows["s"]) == len(received)
    # An arrow begins and ends inside a slice of its rank.
    for event in (*arrows["s"].values(), *arrows["f"].values()):
        assert any(
            one["pid"] == event["pid"]
            and one["tid"] == 1
            and one["ts"] - 1e-6 <= event["ts"] <= one["ts"] + one["dur"] + 1e-6
            for one in slices
        )


def test_jobs_run_beside_each_other(tmp_path: Path) -> None:
    traces = []
    for number, ranks in enumerate((2, 3)):
        write_goal(report(mixed(number, UNPOLLED), ranks).log, tmp_path / f"{number}.goal")
        traces.append(Trace.read(tmp_path / f"{number}.goal", "goal"))
    jobs = Jobs(traces)
    assert (jobs.ranks, jobs.first, jobs.events) == (5, [0, 2], traces[0].events + traces[1].events)
    together = play(jobs, LogGPNetwork(LogGP.parse(PARAMETERS)), "loggp")
    # On a network without contention jobs do not disturb each other.
    alone = [play(trace, LogGPNetwork(LogGP.parse(PARAMETERS)), "loggp").end_ns for trace in traces]
    assert jobs.ends_ns(together) == alone
    with pytest.raises(fs.InputError, match="no trace"):
        Jobs([])


SCRIPT = """
from mpi4py import MPI
import numpy as np
comm = MPI.COMM_WORLD
comm.Allreduce(np.ones(100), np.zeros(100))
"""


def test_a_schedule_of_the_command_replays(command: Command, tmp_path: Path) -> None:
    (tmp_path / "p.py").write_text(SCRIPT)
    network = ("--network", f"loggp:{PARAMETERS}")
    ran = command("mpi", "run", "-n", 4, *network, "--goal", "run.goal", "--json", "p.py")
    assert ran.code == 0, ran.err
    run = json.loads(ran.out)
    again = command("mpi", "replay", "run.goal", "--format", "goal", *network, "--as-run", "--json")
    assert json.loads(again.out)["end_ns"] == run["end_ns"] == run["report"]["end_ns"]
    both = command(
        "mpi",
        "replay",
        "run.goal",
        "run.goal",
        "--format",
        "goal",
        *network,
        "--as-run",
        "--json",
        "--perfetto",
        "x.json",
    )
    found = json.loads(both.out)
    assert [job["end_ns"] for job in found["jobs"]] == [run["end_ns"]] * 2
    assert [job["first_rank"] for job in found["jobs"]] == [0, 4]
    assert (tmp_path / "x.json").exists()


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--report"], "only with --experiment or --as-run"),
        (["run.goal"], "2 traces: several are replayed only with"),
        (["--placement", "a,b"], "--placement and --set: only with --experiment"),
        (["run.goal", "--as-run", "--goal", "x"], "a schedule is of one trace, and 2 are given"),
    ],
)
def test_options_of_replays_that_do_not_fit(
    command: Command, tmp_path: Path, arguments: list[str], problem: str
) -> None:
    (tmp_path / "run.goal").write_text("num_ranks 1\nrank 0 {\ncalc 5\n}\n")
    ran = command("mpi", "replay", "run.goal", *arguments, "--format", "goal")
    assert ran.code == 2
    assert problem in ran.err
