"""Ranks on a fabric whose packets are recorded: links that make ranks wait, traces, captures, measured computations."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import fabricsim as fs
from fabricsim.cli.app import app
from fabricsim.crossings import read_packets
from fabricsim.mpi import MPI
from fabricsim.mpi.networks.fabric import FabricNetwork
from fabricsim.plots import draw
from fabricsim.plots.ranks import _KINDS
from fabricsim.ranks import RankReport, write_paraver, write_perfetto
from fabricsim.ranks.causes import CAUSES
from fabricsim.ranks.packets import operations_of

FABRIC = """
title = "Ranks"
[topology.single-switch]
hosts = 4
[links.all]
rate = "50 Gb/s"
latency = "10 ns"
buffer = "64 KiB"
[switch]
virtual_lanes = 1
[host]
mtu = "2110 B"
[mpi]
connect = "0 ns"
[run]
duration = "1 s"
"""
SIZE = 1 << 20


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "ranks.toml"
    path.write_text(FABRIC)
    return path


def shift(pairs: dict[int, int]) -> Callable[[], None]:
    """A program in which some ranks send to others."""

    def program() -> None:
        comm = MPI.COMM_WORLD
        comm.Barrier()
        requests = [comm.Isend(np.ones(SIZE, "B"), pairs[comm.rank])] if comm.rank in pairs else []
        senders = [sender for sender, receiver in pairs.items() if receiver == comm.rank]
        requests += [comm.Irecv(np.zeros(SIZE, "B"), sender) for sender in senders]
        MPI.Request.Waitall(requests)

    return program


def report_of(run: fs.mpi.MpiRun) -> RankReport:
    assert run.report is not None
    return run.report


def reported(file: Path, pairs: dict[int, int], **options: Any) -> Any:
    return fs.mpi.run(shift(pairs), 4, file, report=True, packets=True, **options)


def test_ranks_that_share_a_link_wait_for_it(file: Path) -> None:
    run = reported(file, {0: 2, 1: 2})
    waits = run.report.tables["mpi_waits"]
    congested = waits[waits["cause"] == "congested link"]
    # The data of both messages is READ by rank 2, over its only link.
    assert set(congested["link"]) == {"S0->H2"}
    assert congested["time_ns"].sum() > 0.2 * SIZE * 8 / 50
    assert any("S0->H2: ranks waited" in line for line in run.report.lines())


def test_links_are_on_the_critical_path(file: Path) -> None:
    run = reported(file, {0: 2, 1: 2})
    report = report_of(run)
    path = report.tables["mpi_path"]
    waited = path[path["link"] != ""]
    assert {"S0->H2"} <= set(waited["link"])
    assert set(waited["cause"]) <= {"congested link", "busy input", "free link"}
    # The parts follow each other, and take as long as the run.
    assert path["start_ns"].iloc[0] == 0
    assert path["start_ns"].tolist()[1:] == path["end_ns"].tolist()[:-1]
    assert path["end_ns"].iloc[-1] == pytest.approx(run.end_ns)
    spent = (path["end_ns"] - path["start_ns"]).groupby(path["cause"]).sum()
    assert report.path["congested link"] == pytest.approx(spent["congested link"])
    assert report.summary()["critical_path"]["congested_link_ns"] == report.path["congested link"]
    assert any(line.startswith("critical path: ") and line.endswith("for S0->H2") for line in report.lines())
    # The control: without packets it is the same path, of which no link is known.
    without = fs.mpi.run(shift({0: 2, 1: 2}), 4, file, report=True)
    plain = report_of(without).tables["mpi_path"]
    assert (plain["link"] == "").all()
    assert set(report_of(without).path) == {"computation", "calls", "messages"}
    ours = path.groupby(["rank", "peer", "call"])[["start_ns", "end_ns"]].agg(
        {"start_ns": "min", "end_ns": "max"}
    )
    theirs = plain.groupby(["rank", "peer", "call"])[["start_ns", "end_ns"]].agg(
        {"start_ns": "min", "end_ns": "max"}
    )
    assert ours.equals(theirs)


def test_ranks_that_share_no_link_wait_for_none(file: Path) -> None:
    waits = reported(file, {0: 2, 1: 3}).report.tables["mpi_waits"]
    assert waits[waits["link"] != ""].empty
    assert (waits["cause"] == "transfer").any()


def test_the_rest_of_a_report_is_the_same(file: Path) -> None:
    with_packets = reported(file, {0: 2, 1: 2})
    without = fs.mpi.run(shift({0: 2, 1: 2}), 4, file, report=True)
    assert with_packets.end_ns == without.end_ns
    causes = ["congested_link_ns", "busy_input_ns", "free_link_ns", "transfer_ns"]
    ours, theirs = (report_of(run).tables["mpi_times"] for run in (with_packets, without))
    assert ours[causes].sum(axis=1).tolist() == pytest.approx(theirs[causes].sum(axis=1).tolist())
    assert theirs[causes[:3]].sum().tolist() == [0, 0, 0]
    assert ours["late_sender_ns"].tolist() == theirs["late_sender_ns"].tolist()


def test_every_packet_with_data_belongs_to_an_operation(file: Path, tmp_path: Path) -> None:
    place = FabricNetwork(file, packets=True)
    run = fs.mpi.run(shift({0: 2, 1: 2}), 4, place, report=True)
    hops, log = run.result.table("packet_hops"), place.log()
    found = operations_of(report_of(run).log, log, hops)
    data = hops[(hops["kind"] == "data") & (hops["hop"] == 0)]
    assert set(found) == set(data["packet"])
    ranks = {one.host: one.rank for one in report_of(run).log.ranks}
    payload = dict.fromkeys(range(len(log)), 0)
    places = {id(one): number for number, one in enumerate(log)}
    for row in data.to_dict("records"):
        one = found[row["packet"]]
        ends = {ranks[row["source"]], ranks[row["destination"]]}
        assert ends == {one["from"], one["to"]}
        assert row["start_ns"] >= one["time_ns"]
        payload[places[id(one)]] += row["bytes"]
    # All of an operation's bytes are in its packets, with headers of at most 64 B each.
    assert all(payload[number] >= one["bytes"] for number, one in enumerate(log))
    trace = tmp_path / "trace.json"
    write_perfetto(report_of(run).log, trace, log, waits=report_of(run).waits, hops=hops)
    events = json.loads(trace.read_text())["traceEvents"]
    begun = [one for one in events if one.get("cat") == "packet" and one["ph"] == "s"]
    assert len(begun) == len(data)
    calls = [one for one in events if one.get("cat") == "call"]
    for one in begun:
        inside = [
            call["name"]
            for call in calls
            if call["pid"] == one["pid"] and call["ts"] <= one["ts"] <= call["ts"] + call["dur"]
        ]
        assert inside, one


def test_a_capture_has_the_messages(file: Path, tmp_path: Path) -> None:
    target = tmp_path / "ranks.pcapng"
    fs.mpi.run(shift({0: 2}), 4, file, capture=target)
    packets = read_packets(target)
    sent = sum(packet.payload for packet in packets if packet.source == "H0" and packet.target == "H2")
    assert sent >= SIZE
    with pytest.raises(fs.InputError, match="exists"):
        fs.mpi.run(shift({0: 2}), 4, file, capture=target)
    fs.mpi.run(shift({0: 2}), 4, file, capture=target, force=True)


def test_a_capture_of_a_run_that_fails_is_no_file(file: Path, tmp_path: Path) -> None:
    def wrong() -> None:
        MPI.COMM_WORLD.Barrier()
        raise ValueError("wrong")

    with pytest.raises(fs.mpi.RankError):
        fs.mpi.run(wrong, 2, file, capture=tmp_path / "ranks.pcapng")
    assert list(tmp_path.glob("*.pcapng*")) == []


def busy(seconds: float) -> Callable[[], float]:
    def program() -> float:
        MPI.COMM_WORLD.Barrier()
        begun = time.thread_time()
        while time.thread_time() - begun < seconds:
            pass
        taken = time.thread_time() - begun
        MPI.COMM_WORLD.Barrier()
        return taken

    return program


def test_measured_computations_take_the_time_of_the_processor() -> None:
    """Bounds by the same clock: the loop is a part of each computation, and all computations are parts of the run."""
    begun = time.thread_time()
    run = fs.mpi.run(busy(0.02), 2, compute="measured", report=True)
    whole = (time.thread_time() - begun) * 1e9
    computed = report_of(run).tables["mpi_times"]["computation_ns"]
    assert all(own >= 1e9 * inside for own, inside in zip(computed, run.values, strict=True))
    assert computed.sum() <= whole
    assert run.end_ns >= computed.max()
    assert run.as_dict()["repeatable"] is False


def test_computations_take_no_time_unless_measured() -> None:
    run = fs.mpi.run(busy(0.02), 2)
    assert run.end_ns < 1e5
    assert run.as_dict()["repeatable"] is True


def test_measured_times_are_scaled() -> None:
    plain = fs.mpi.run(busy(0.02), 2, compute="measured", compute_scale=0.001, report=True)
    computed = report_of(plain).tables["mpi_times"]["computation_ns"]
    assert all(own >= 1e6 * inside for own, inside in zip(computed, plain.values, strict=True))
    assert computed.max() < 0.02e9
    for scale in (0.0, -1.0, 1e300, float("inf")):
        with pytest.raises(fs.InputError, match="compute_scale"):
            fs.mpi.run(busy(0.0), 1, compute="measured", compute_scale=scale)
    with pytest.raises(fs.InputError, match="must be given or measured"):
        fs.mpi.run(busy(0.0), 1, compute="guessed")


def test_given_times_are_added_to_measured_ones() -> None:
    def program() -> None:
        fs.compute("5 s")
        MPI.COMM_WORLD.Barrier()

    assert fs.mpi.run(program, 2, compute="measured").end_ns > 5e9


def test_a_timeline_shows_waits_for_links(file: Path, tmp_path: Path) -> None:
    run = reported(file, {0: 2, 1: 2})
    report_of(run).store(tmp_path / "run", run.result)
    legend = draw(fs.load(tmp_path / "run"), "timeline").legends[0]
    assert "congested link" in [text.get_text() for text in legend.get_texts()]


def test_every_cause_has_a_colour() -> None:
    assert set(CAUSES) <= set(_KINDS)


def test_options_of_the_command_line(file: Path, tmp_path: Path) -> None:
    """Values on top of the file are TOML, what is cut off is said, and a factor needs something to scale."""
    script = tmp_path / "pair.py"
    script.write_text(
        "import numpy as np\n"
        "from mpi4py import MPI\n"
        "w = MPI.COMM_WORLD\n"
        "w.Sendrecv(np.ones(100_000, 'B'), w.rank ^ 1, 0, np.zeros(100_000, 'B'), w.rank ^ 1, 0)\n"
    )

    def run(*options: str) -> Any:
        command = ["mpi", "run", "-n", "2", *options, str(script)]
        return CliRunner().invoke(app, command, catch_exceptions=False)

    on_fabric = ("--experiment", str(file), "--packets", "--report")
    assert run(*on_fabric, "--set", "switch.virtual_lanes=2").exit_code == 0
    cut = run(*on_fabric, "--set", "measure.packet_hops=20")
    assert "the first 20 links that chosen packets crossed" in cut.output
    assert "packet_hops" not in run(*on_fabric).output
    with pytest.raises(fs.InputError, match="--compute-scale: only with --compute measured"):
        run("--compute-scale", "2")


def paraver(file: Path, target: Path) -> tuple[Any, list[str], list[list[int]]]:
    """A run, and head and records of its trace."""
    place = FabricNetwork(file, packets=True)
    run: Any = fs.mpi.run(shift({0: 2, 1: 2}), 4, place, report=True)
    hops = run.result.table("packet_hops")
    written, *_ = write_paraver(run.report.log, target, place.log(), hops=hops)
    head, *lines = written.read_text().splitlines()
    return run, head.split(":"), [[int(field) for field in line.split(":")] for line in lines]


def test_paraver_has_links_and_lines_from_calls_to_packets(file: Path, tmp_path: Path) -> None:
    run, head, records = paraver(file, tmp_path / "run.prv")
    hops = run.result.table("packet_hops")
    links = sorted(hops["link"].unique())
    assert head[3] == f"5(1,1,1,1,{len(links)})"
    assert head[4] == "2"
    end = round(run.end_ns)
    for number, link in enumerate(links, 1):
        states = [record for record in records if record[0] == 1 and record[2:4] == [2, number]]
        # Without gaps from the begin to the end, and busy as long as the link carried packets.
        assert [state[5] for state in states] == [0, *(state[6] for state in states[:-1])]
        assert states[-1][6] == end
        of_link = hops[hops["link"] == link]
        busy = sum(state[6] - state[5] for state in states if state[7] == 1)
        assert busy == pytest.approx((of_link["end_ns"] - of_link["start_ns"]).sum(), abs=len(of_link))
    assert all(record[1] == 4 + record[3] for record in records if record[0] == 1 and record[2] == 2)
    # A line from the call, and one from link to link: as many as links crossed by packets with data.
    lines = [record for record in records if record[0] == 3 and record[8] == 2]
    data = hops[hops["kind"] == "data"]
    assert len(lines) == len(data)
    from_calls = [line for line in lines if line[2] == 1]
    assert len(from_calls) == (data["hop"] == 0).sum()
    calls = {rank.rank: rank.calls for rank in report_of(run).log.ranks}
    for line in from_calls:
        own = calls[line[3] - 1]
        assert any(call.begin / 1000 - 1 <= line[5] <= call.end / 1000 + 1 for call in own)
        assert line[5] <= line[11]
    labels = (tmp_path / "run.row").read_text()
    assert all(link in labels for link in links)
    assert "LEVEL NODE SIZE 5" in labels


def test_paraver_without_packets_has_ranks_only(file: Path, tmp_path: Path) -> None:
    run: Any = fs.mpi.run(shift({0: 2}), 4, file, report=True)
    written, *_ = write_paraver(run.report.log, tmp_path / "run.prv")
    assert ":4(1,1,1,1):1:4(1:1,1:2,1:3,1:4),0" in written.read_text().splitlines()[0]
