"""Reports of ranks on the simulated fabric: protocols, waits without work, causes that need progress."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import Command
from fabric_ranks import FDR as SWITCH
from fabric_ranks import TORUS
from hypothesis import given, settings
from hypothesis import strategies as st
from test_ranks import UNPOLLED, mixed, rows, synchronous, time_of

import fabricsim as fs
from fabricsim.mpi import MPI
from fabricsim.ranks import RankReport, write_goal
from fabricsim.ranks.messages import PROTOCOLS
from fabricsim.spec import Experiment

pytestmark = pytest.mark.usefixtures("real")

FDR = f'{SWITCH}\n[mpi]\nconnect = "0 ns"\n'
"""Without the time of connections, which hides what these tests look at."""


def run(program: Callable[[], Any], ranks: int = 2, experiment: str = FDR, **options: Any) -> fs.mpi.MpiRun:
    return fs.mpi.run(program, ranks, Experiment.from_text(experiment), report=True, **options)


def report(program: Callable[[], Any], ranks: int = 2, experiment: str = FDR, **options: Any) -> RankReport:
    found = run(program, ranks, experiment, **options).report
    assert found is not None
    return found


def sized(size: int) -> Callable[[], None]:
    """One message, which the receiver expects 50 us later."""

    def program() -> None:
        comm, data = MPI.COMM_WORLD, np.zeros(size, "B")
        if comm.rank == 0:
            comm.Send(data, 1)
        else:
            fs.compute("50 us")
            comm.Recv(data, 0)

    return program


@pytest.mark.parametrize("rendezvous", ["get", "put", "send", "pipeline"])
def test_protocols_are_those_that_the_engine_counts(rendezvous: str) -> None:
    def program() -> None:
        comm = MPI.COMM_WORLD
        for size in (0, 1, 110, 4096, 12232, 12233, 65504, 300_000):
            for _ in range(3):
                exchange = np.zeros(size, "B")
                requests = [comm.Irecv(np.zeros(size, "B"), MPI.ANY_SOURCE, 1)]
                requests.append(comm.Issend(exchange, (comm.rank + 1) % comm.size, 1))
                MPI.Request.Waitall(requests)
                comm.Alltoall(np.zeros(64 * comm.size, "B"), np.zeros(64 * comm.size, "B"))

    # Ranks 0 and 1, and 2 and 3, are on one host each.
    text = f'{FDR}\nrendezvous = "{rendezvous}"\n'
    found = run(program, 4, text, placement=["H0", "H0", "H1", "H1"])
    assert found.report is not None
    counted = found.result.table("mpi_ranks")
    messages = found.report.tables["mpi_messages"]
    used = set()
    for protocol in PROTOCOLS:
        own = messages[messages["protocol"] == protocol]
        name = protocol.replace("-", "_")
        by_rank = own.groupby("source")["bytes"].agg(["count", "sum"]).reindex(range(4), fill_value=0)
        assert by_rank["count"].tolist() == counted[f"{name}_messages"].tolist(), protocol
        assert by_rank["sum"].tolist() == counted[f"{name}_bytes"].tolist(), protocol
        used |= {protocol} if len(own) else set()
    assert used == {"eager", "eager-rdma", "shared", {"pipeline": "send"}.get(rendezvous, rendezvous)}


def test_a_message_that_is_here_causes_no_wait() -> None:
    found = report(sized(64))
    assert found.tables["mpi_waits"].empty
    assert found.path["messages"] == 0
    assert found.path["computation"] == 50_000


@pytest.mark.parametrize("rendezvous", ["get", "put"])
def test_a_rendezvous_waits_for_the_computation_of_its_receiver(rendezvous: str) -> None:
    found = report(sized(300_000), experiment=f'{FDR}\nrendezvous = "{rendezvous}"\n')
    waits = found.tables["mpi_waits"].set_index(["rank", "cause"])["time_ns"]
    # Each rank registers its memory in 8.46 us before it waits, and 300 000 B take 44.0 us on the link.
    assert waits[0, "late receiver"] == pytest.approx(50_000 - 8460, rel=0.01)
    assert waits[0, "transfer"] == pytest.approx(44_000 + 8460, rel=0.1)
    assert waits[1, "transfer"] == pytest.approx(44_000 + 8460, rel=0.1)
    assert found.path["computation"] == 50_000
    assert found.path["messages"] == pytest.approx(44_000 + 8460, rel=0.1)
    first = rows(found.tables["mpi_path"].head(1), "cause", "rank", "start_ns", "end_ns")
    assert first == [("computation", 1, 0.0, 50_000.0)]


@pytest.mark.parametrize("queues", ["P,12288,64,32,16,8:P,65536,64,32,16,8", ""])
def test_messages_without_credits_wait_for_the_computation_of_their_receiver(queues: str) -> None:
    """64 buffers for 200 messages: the others go when the receiver has computed, and has returned credits."""

    def program() -> None:
        comm, data = MPI.COMM_WORLD, np.zeros(1024)
        if comm.rank == 0:
            for _ in range(200):
                comm.Send(data, 1)
            comm.Ssend(data, 1)
        else:
            comm.Recv(data, 0)
            fs.compute("2 ms")
            for _ in range(200):
                comm.Recv(data, 0)

    text = FDR if not queues else f'{FDR}\nreceive_queues = "{queues}"\neager_rdma = false\n'
    found = report(program, experiment=text)
    waits = found.tables["mpi_waits"].set_index(["rank", "call", "cause"])["time_ns"]
    held = [one for one in found.log.ranks[0].sends if one.is_held]
    # The control: shared queues have no credits. Their messages wait for places in the send queue.
    credited = [one for one in held if one.credited is not None]
    assert bool(credited) == bool(queues)
    cause = "no credits" if queues else "late receiver"
    assert waits[0, "Ssend", cause] == pytest.approx(2_000_000, rel=0.15)
    if queues:
        assert len(held) == len(credited) > 100
        assert all(one.credited is not None and one.credited > 2_000_000_000 for one in held)
    assert found.path["computation"] == 2_000_000
    path = found.tables["mpi_path"]
    assert set(path[path["cause"] == "computation"]["rank"]) == {1}


def test_a_put_needs_the_sender_in_mpi() -> None:
    def program() -> None:
        comm, data = MPI.COMM_WORLD, np.zeros(300_000, "B")
        if comm.rank == 0:
            request = comm.Isend(data, 1)
            fs.compute("70 us")
            request.Wait()
        else:
            comm.Recv(data, 0)

    late: dict[str, float] = {}
    for rendezvous in ("get", "put"):
        found = report(program, experiment=f'{FDR}\nrendezvous = "{rendezvous}"\n')
        late[rendezvous] = time_of(found, 1, "late_sender_ns")
    # The sender registers its memory in 8.46 us before it computes.
    assert late["put"] == pytest.approx(70_000 + 8460, rel=0.01)
    assert late["get"] < 1000


@settings(max_examples=12)
@given(st.integers(0, 10_000), st.integers(1, 9), st.sampled_from(["get", "put", "send", "pipeline"]))
def test_everything_adds_up(seed: int, ranks: int, rendezvous: str) -> None:
    text = f'{TORUS}\n[mpi]\nrendezvous = "{rendezvous}"\neager_limit = "1 KiB"\n'
    program = mixed(seed, (*UNPOLLED, synchronous))
    found = run(program, ranks, text)
    assert found.report is not None
    assert found.end_ns == fs.mpi.run(program, ranks, Experiment.from_text(text)).end_ns
    log = found.report.log
    for rank in log.ranks:
        inside = sum(call.end - call.begin - call.computing for call in rank.calls)
        assert inside + sum(one.end - one.begin for one in rank.computations) == rank.end
    assert log.end / 1000 == found.end_ns
    path = found.report.tables["mpi_path"]
    assert path["start_ns"].tolist() == [0.0, *path["end_ns"].tolist()][:-1]
    assert sum(found.report.path.values()) == pytest.approx(found.end_ns)
    matrix = found.report.tables["mpi_matrix"]
    assert matrix["bytes"].sum() == found.bytes
    received = found.report.tables["mpi_messages"]
    assert not received["posted_ns"].isna().any()
    assert (received["received_ns"].dropna() >= received["start_ns"][received["received_ns"].notna()]).all()


def test_a_schedule_of_the_fabric_replays_there(tmp_path: Path, command: Command) -> None:
    (tmp_path / "fdr.toml").write_text(FDR)
    (tmp_path / "p.py").write_text(
        "from mpi4py import MPI\nimport numpy as np, fabricsim\n"
        "for size in (10, 100_000):\n"
        "    fabricsim.compute('2 us')\n"
        "    MPI.COMM_WORLD.Alltoall(np.zeros(4 * size, 'B'), np.zeros(4 * size, 'B'))\n"
    )
    ran = command(
        *("mpi", "run", "-n", 4, "--experiment", "fdr.toml", "--goal", "run.goal", "--out", "run", "--plot"),
        *("--perfetto", "run.json", "p.py"),
    )
    assert ran.code == 0, ran.err
    tables = fs.load(tmp_path / "run").frames
    assert {"mpi_ranks", "mpi_calls", "links"} <= set(tables)
    assert '"verbs"' in (tmp_path / "run.json").read_text()
    placed = ("--placement", "H3,H2,H1,H0")
    again = command(
        *(
            "mpi",
            "replay",
            "run.goal",
            "--format",
            "goal",
            "--experiment",
            "fdr.toml",
            *placed,
            "--out",
            "again",
        )
    )
    assert again.code == 0, again.err
    ends = [fs.load(tmp_path / name).table("mpi_times")["end_ns"].max() for name in ("run", "again")]
    assert fs.load(tmp_path / "again").table("mpi_times")["host"].tolist() == ["H3", "H2", "H1", "H0"]
    # A replay has no registration cache of the program's buffers; collectives need no processor between messages.
    assert ends[1] == pytest.approx(ends[0], rel=0.1)


def test_jobs_disturb_each_other_on_a_fabric(tmp_path: Path, command: Command) -> None:
    text = FDR.replace("single-switch = { hosts = 4 }", "mesh = { dimensions = [2], hosts_per_switch = 2 }")
    (tmp_path / "two.toml").write_text(text)

    def pair() -> None:
        comm, data = MPI.COMM_WORLD, np.zeros(300_000, "B")
        if comm.rank == 0:
            comm.Send(data, 1)
        else:
            comm.Recv(data, 0)

    found = fs.mpi.run(pair, 2, report=True).report
    assert found is not None
    write_goal(found.log, tmp_path / "pair.goal")
    ends = {}
    for name, placement, jobs in (("alone", "H(0).0,H(1).0", 1), ("both", "H(0).0,H(1).0,H(0).1,H(1).1", 2)):
        ran = command(
            *("mpi", "replay", *["pair.goal"] * jobs, "--format", "goal", "--experiment", "two.toml"),
            *("--placement", placement, "--out", name),
        )
        assert ran.code == 0, ran.err
        ends[name] = fs.load(tmp_path / name).table("mpi_times")["end_ns"].max()
    # Both jobs share the link between the switches, on which 300 000 B take 44.0 us.
    assert ends["both"] - ends["alone"] == pytest.approx(44_000, rel=0.05)


@pytest.mark.parametrize("names", ["H(1,0).0,H(0,1).0", '"H(1,0).0", "H(0,1).0"'])
def test_placements_name_hosts_with_commas(names: str, tmp_path: Path, command: Command) -> None:
    (tmp_path / "mesh.toml").write_text(
        FDR.replace("single-switch = { hosts = 4 }", "mesh = { dimensions = [2, 2] }")
    )
    (tmp_path / "p.py").write_text("from mpi4py import MPI\nMPI.COMM_WORLD.Barrier()\n")
    options = ("--experiment", "mesh.toml", "--placement", names)
    ran = command("mpi", "run", "-n", 2, *options, "--goal", "p.goal", "--out", "run", "p.py")
    assert ran.code == 0, ran.err
    again = command("mpi", "replay", "p.goal", "--format", "goal", *options, "--out", "again")
    assert again.code == 0, again.err
    for name in ("run", "again"):
        hosts = fs.load(tmp_path / name).table("mpi_times")["host"].tolist()
        assert hosts == ["H(1,0).0", "H(0,1).0"]
