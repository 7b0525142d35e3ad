"""Packets of captures one by one, and their charts."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import Command
from verbs_cases import connected, pattern

import fabricsim as fs
import fabricsim.verbs as v
from fabricsim.crossings import CapturedPacket, frame_of, from_frame, packets_of, read_packets
from fabricsim.errors import InputError
from fabricsim.plots import captured, plot_folder
from fabricsim.plots.breaks import BrokenAxis
from fabricsim.programs import Note

ROOT = Path(__file__).resolve().parents[2]
REFERENCE = Path(os.environ.get("FABRICSIM_REFERENCE", ROOT / "../shared/reference"))
SAMPLE = REFERENCE / "captures" / "infiniband-sample.pcap"
SEND_FIRST, SEND_LAST, READ_MIDDLE, ACK = 0, 2, 14, 17


def record(
    number: int, link: str, opcode: int = SEND_FIRST, psn: int = 0, comment: str | None = None, **more: Any
) -> dict[str, Any]:
    """A record of `dissect`, sent at `number` nanoseconds."""
    bth = {"opcode": opcode, "psn": psn, "dest_qp": 2, "ack_request": False}
    lrh = {"packet_length": 10, "slid": 1, "dlid": 2}
    return {
        "number": number,
        "time_ns": number,
        "interface": link,
        "comment": comment,
        "summary": f"RC {opcode}",
        "bth": bth,
        "lrh": lrh,
        "payload_length": 4,
        **more,
    }


def hop(number: int, link: str, packet: int, psn: int, ends: str = "H0 to H1") -> dict[str, Any]:
    comment = f"data of a, b, {ends}, packet {packet} of the source, 0 switches passed"
    return record(number, link, psn=psn, comment=comment)


TO, ON = "H0:1 -> S(0,0):1", "S(0,0):2 -> H1:1"


def test_a_packet_is_all_its_crossings() -> None:
    (packet,) = packets_of([hop(5, ON, 0, 7), hop(1, TO, 0, 7)])
    assert (packet.source, packet.target, packet.bytes, packet.payload) == ("H0", "H1", 42, 4)
    ways = [(one.time_ns, one.sender, one.receiver) for one in packet.crossings]
    assert ways == [(1, "H0", "S(0,0)"), (5, "S(0,0)", "H1")]
    assert (packet.name, packet.details, packet.again, packet.lost) == ("RC 0", ("PSN 7",), False, False)


def test_a_packet_is_lost_if_only_later_ones_arrive() -> None:
    records = [hop(1, TO, 0, 0), hop(2, TO, 1, 1), hop(3, ON, 1, 1), hop(4, TO, 2, 0), hop(5, TO, 3, 2)]
    records += [hop(6, ON, 2, 0)]
    packets = packets_of(records)
    assert [packet.lost for packet in packets] == [True, False, False, False], (
        "the last one is still in flight"
    )
    assert [packet.again for packet in packets] == [False, False, True, False]
    # Of another pair of hosts nothing follows.
    other = [hop(7, "H0:1 -> S(0,0):1", 4, 0, "H0 to H2")]
    assert [packet.lost for packet in packets_of([*records, *other])] == [True, *[False] * 4]


def test_kinds_follow_from_headers() -> None:
    aeth = {"syndrome": 0, "msn": 3}
    nak = {"syndrome": 0x60, "msn": 0}
    records = [
        record(1, TO, ACK, aeth=aeth, payload_length=0),
        record(2, TO, ACK, aeth=nak, payload_length=0),
        record(3, TO, ACK, aeth={"syndrome": 0x21, "msn": 0}, payload_length=0),
        record(4, TO, READ_MIDDLE),
        record(5, TO, 0x80),
        record(6, TO, 100, mad={"class": 1}),
        record(7, TO, SEND_LAST, reth={"dma_length": 9}),
        {"number": 8, "time_ns": 8, "interface": None, "fcp": {"vl": 0}, "bth": None},
    ]
    found = [(packet.kind, packet.details) for packet in packets_of(records)]
    assert found == [
        ("acknowledgement", ("PSN 0", "MSN 3")),
        ("NAK", ("PSN 0", "PSN sequence error", "MSN 0")),
        ("NAK", ("PSN 0", "MSN 0")),
        ("READ response", ("PSN 0",)),
        ("congestion notification", ()),
        ("management datagram", ()),
        ("data", ("PSN 0", "9 B")),
    ]


def test_tables_keep_packets() -> None:
    packets = packets_of([hop(1, TO, 0, 0), hop(2, ON, 0, 0), hop(3, TO, 1, 1)])
    kept = from_frame(frame_of(packets))
    assert [packet.label for packet in kept] == [packet.label for packet in packets]
    assert [packet.crossings for packet in kept] == [packet.crossings for packet in packets]
    assert from_frame(frame_of([])) == []


def lossy(tmp_path: Path) -> tuple[Path, tuple[Note, ...]]:
    """A SEND of three packets of which one is lost, and what its programs said."""

    def send(ctx: v.Context) -> None:
        side = connected(ctx, 8192)
        side.mr.write(pattern(5000, 1))
        ctx.sleep("1 us")
        ctx.note("posts")
        side.post(v.IBV_WR_SEND, 5000)
        side.wait()
        ctx.note("has the completion")

    def receive(ctx: v.Context) -> None:
        side = connected(ctx, 8192)
        side.receive(5000)
        side.wait()

    file = tmp_path / "send.pcapng"
    changes = {"links.errors": "lose", "links.all.bit_error_rate": 3e-6, "seed": 2}
    run = v.run(None, {"H0": send, "H1": receive}, set=changes, capture=file)
    return file, run.notes


@pytest.mark.usefixtures("real")
def test_a_lost_packet_of_a_run_is_found(tmp_path: Path) -> None:
    file, notes = lossy(tmp_path)
    packets = read_packets(file)
    assert [(note.host, note.text) for note in notes] == [("H0", "posts"), ("H0", "has the completion")]
    assert notes[0].time_ns < packets[0].crossings[0].time_ns < notes[1].time_ns
    assert sum(packet.lost for packet in packets) == 1
    lost = next(packet for packet in packets if packet.lost)
    copies = [packet for packet in packets if packet.key == lost.key]
    assert [(packet.lost, packet.again) for packet in copies] == [(True, False), (False, True)]
    assert [packet.kind for packet in packets].count("NAK") == 1


@pytest.mark.usefixtures("real")
def test_the_chart_has_an_arrow_for_each_packet(tmp_path: Path) -> None:
    file, notes = lossy(tmp_path)
    packets = read_packets(file)
    axes = captured(packets, notes=notes, title="T").axes[0]
    arrows = [line for line in axes.lines if np.size(line.get_xdata()) == 2 and line.get_marker() == "None"]
    columns = 2
    assert len(arrows) == len(packets) + columns
    texts = [text.get_text() for text in axes.texts]
    assert {"H0", "H1", "posts", "has the completion"} <= set(texts)
    assert any("again" in text for text in texts)
    shown = captured(packets, switches=True).axes[0]
    assert "S0" in [text.get_text() for text in shown.texts]
    with pytest.raises(InputError, match="there are: H0, H1"):
        captured(packets, hosts=["H7"])
    begin, end = (f"{packets[at].crossings[0].time_ns:g} ns" for at in (0, -1))
    with pytest.raises(
        InputError, match=f"no packet in this part: the capture has packets from {begin} to {end}"
    ):
        captured(packets, after="1 s")
    with pytest.raises(InputError, match="no packet of InfiniBand or RoCE"):
        captured([], hosts=["H0"])


def test_long_times_without_packets_are_short() -> None:
    times = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 1005.0, 1006.0, 1007.0, 3007.0]
    axis = BrokenAxis(times)
    places = [axis.place(time) for time in times]
    assert places == [0, 1, 2, 3, 4, 5, 11, 12, 13, 19]
    assert axis.place(505.0) == 8.0
    assert axis.parts() == [(0, 5), (1005, 1007), (3007, 3007)]
    assert BrokenAxis([0.0, 1.0, 40.0, 41.0, 42.0]).breaks == []
    packets = packets_of([hop(int(time) + 1, TO, number, number) for number, time in enumerate(times)])
    axes = captured(packets).axes[0]
    texts = [text.get_text() for text in axes.texts if "without packets" in text.get_text()]
    assert texts == ["1000 ns without packets", "2 µs without packets"]


def test_a_chart_has_room_for_a_number_of_packets() -> None:
    packets = packets_of([hop(number, TO, number, number) for number in range(201)])
    with pytest.raises(InputError, match=r"201 packets .* room for 200: choose a part"):
        captured(packets)
    many = packets_of([hop(number, TO, number, 0, f"H{number} to H99") for number in range(9)])
    with pytest.raises(InputError, match="10 columns"):
        captured(many)


@pytest.mark.usefixtures("real")
def test_the_command_draws_captures(command: Command, tmp_path: Path) -> None:
    file, _ = lossy(tmp_path)
    done = command("plot", str(file), "--format", "svg", "--host", "H0", "--host", "H1")
    assert done.code == 0, done.err
    assert (tmp_path / "send.svg").read_text(encoding="utf-8").count("PSN") > 3
    for arguments, message in (
        (("--kind", "links"), "this is a file"),
        (("--host", "H7"), "no packet of 'H7'"),
    ):
        refused = command("plot", str(file), *arguments)
        assert (refused.code, message in refused.err) == (2, True), refused.err
    (tmp_path / "text.pcap").write_text("no capture", encoding="utf-8")
    broken = command("plot", str(tmp_path / "text.pcap"))
    assert (broken.code, "text.pcap" in broken.err) == (2, True)
    run = tmp_path / "run"
    fs.run(ROOT / "experiments/infiniband-verbs-mpi/figure-6.toml", set={"run.duration": "2 us"}, out=run)
    with pytest.raises(InputError, match="--switches is for captures"):
        plot_folder(run, switches=True)


@pytest.mark.usefixtures("real")
@pytest.mark.skipif(not SAMPLE.exists(), reason="SKIPPED: the reference captures are absent")
def test_a_connection_of_real_hardware() -> None:
    pair = {"LID 1", "LID 4"}
    packets: list[CapturedPacket] = [
        packet for packet in read_packets(SAMPLE) if {packet.source, packet.target} == pair
    ]
    names = [packet.name for packet in packets if packet.kind == "management datagram"]
    assert names[:3] == ["ComMgt REQ", "ComMgt REP", "ComMgt RTU"]
    answers = [packet.details[0] for packet in packets if packet.kind == "acknowledgement"]
    requests = [packet.details[0] for packet in packets if packet.name == "RC SEND Only"]
    assert answers
    assert answers == requests[: len(answers)]
    axes = captured(packets).axes[0]
    assert "since the first packet" in axes.get_ylabel()
