"""`fabricsim dissect`: captures of InfiniBand and RoCE."""

from __future__ import annotations

import json
import os
import struct
import tracemalloc
import zlib
from pathlib import Path
from typing import Any

import pytest
from conftest import Command

from fabricsim import InputError
from fabricsim.captures import add_mpi, dissect, dissect_in_parts

pytestmark = pytest.mark.usefixtures("real")

ROOT = Path(__file__).resolve().parents[2]
BTH_ACK = bytes([0x11, 0x40, 0xFF, 0xFF, 0, 0, 0, 7, 0, 0, 0, 42])
"""RC Acknowledge to queue pair 7 with sequence number 42."""
AETH = bytes([0x1F, 0, 0, 3])


def icrc(*parts: bytes) -> bytes:
    """The invariant checksum of parts in which fields that change are ones: zlib's, least significant byte first."""
    return zlib.crc32(b"\xff" * 8 + b"".join(parts)).to_bytes(4, "little")


def masked(header: bytes, *at: int) -> bytes:
    return bytes(0xFF if index in at else byte for index, byte in enumerate(header))


def roce_v2(vlan: bool = False) -> bytes:
    """An Ethernet frame of an acknowledgement over IPv4."""
    content = BTH_ACK + AETH
    udp = struct.pack(">HHHH", 49152, 4791, 8 + len(content) + 4, 0x1234)
    ip = struct.pack(
        ">BBHHHBBHII", 0x45, 2, 20 + 12 + len(content), 1, 0x4000, 64, 17, 0xABCD, 0x0A000001, 0x0A000002
    )
    check = icrc(masked(ip, 1, 8, 10, 11), masked(udp, 6, 7), masked(content, 4))
    tag = b"\x81\x00\x00\x05" if vlan else b""
    return bytes(range(12)) + tag + b"\x08\x00" + ip + udp + content + check


def roce_v1() -> bytes:
    """An Ethernet frame of the same acknowledgement."""
    content = BTH_ACK + AETH
    grh = (
        struct.pack(">IHBB", 0x60000000, len(content) + 4, 0x1B, 9)
        + bytes(15)
        + b"\x01"
        + bytes(15)
        + b"\x02"
    )
    check = icrc(b"\x6f\xff\xff\xff" + masked(grh, 7)[4:], masked(content, 4))
    return bytes(range(12)) + b"\x89\x15" + grh + content + check


def pcap(*frames: bytes) -> bytes:
    """A capture file of Ethernet frames, a microsecond apart."""
    records = (
        struct.pack("<IIII", 1_700_000_000, index, len(frame), len(frame)) + frame
        for index, frame in enumerate(frames)
    )
    return struct.pack("<IHHIIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1) + b"".join(records)


@pytest.fixture
def capture(tmp_path: Path) -> Path:
    frame = roce_v2()
    damaged = bytearray(frame)
    damaged[-6] ^= 1
    file = tmp_path / "roce.pcap"
    file.write_bytes(pcap(frame, roce_v1(), roce_v2(vlan=True), bytes(damaged), b"\0" * 60))
    return file


def test_frames_and_their_checksums(command: Command, capture: Path) -> None:
    ran = command("dissect", capture, "--json")
    assert (ran.code, ran.err) == (0, "")
    records: list[dict[str, Any]] = json.loads(ran.out)
    assert [record["number"] for record in records] == [1, 2, 3, 4, 5]
    assert [record["encapsulation"] for record in records] == [
        "roce_v2",
        "roce_v1",
        "roce_v2",
        "roce_v2",
        "other",
    ]
    assert [record["icrc"] and record["icrc"]["ok"] for record in records] == [True, True, True, False, None]
    assert [record["vcrc"] for record in records] == [None] * 5
    first = records[0]
    assert first["time_ns"] == 1_700_000_000_000_000_000
    assert first["summary"] == "RC Acknowledge"
    assert (first["bth"]["opcode"], first["bth"]["dest_qp"], first["bth"]["psn"]) == (0x11, 7, 42)
    assert first["aeth"] == {"syndrome": 0x1F, "msn": 3}
    assert first["icrc"]["value"] == f"0x{roce_v2()[-4:].hex()}"
    assert records[1]["grh"]["dgid"] == "::2"
    assert records[2]["ethernet"]["vlans"] == [5]


def test_records_come_in_parts(command: Command, tmp_path: Path) -> None:
    """The JSON of many records is that of the list, and each part has a bounded number of them."""
    file = tmp_path / "many.pcap"
    file.write_bytes(pcap(*[roce_v2()] * 2500))
    parts: list[list[dict[str, Any]]] = []
    dissect_in_parts(file, parts.append)
    assert [len(part) for part in parts] == [1000, 1000, 500]
    records = dissect(file)
    assert records == [record for part in parts for record in part]
    ran = command("dissect", file, "--json")
    assert ran.out == json.dumps(records, indent=1, ensure_ascii=False) + "\n"
    file.write_bytes(pcap())
    assert command("dissect", file, "--json").out == "[]\n"


def test_table(command: Command, capture: Path) -> None:
    ran = command("dissect", capture)
    assert ran.code == 0
    assert "RC Acknowledge" in ran.out
    assert "10.0.0.2" in ran.out
    assert "ICRC wrong" in ran.out
    assert "5 packets, ICRC 3 of 4 right" in ran.out


def test_the_table_of_a_large_file_is_one_and_takes_little_memory(command: Command, tmp_path: Path) -> None:
    """It is printed in parts with the same columns; what parts hold is bounded, so that the file may be of any size."""
    file = tmp_path / "many.pcap"
    file.write_bytes(pcap(*[roce_v2()] * 2500))
    lines = command("dissect", file).out.splitlines()
    assert sum("destination" in line for line in lines) == 1
    rows = [line for line in lines if "10.0.0.2" in line]
    assert [int(row.split()[0]) for row in rows] == list(range(1, 2501))
    assert len({row.index("10.0.0.2") for row in rows}) == 1
    assert lines[-1] == "2,500 packets, ICRC 2,500 of 2,500 right"
    most = []
    for count in (1500, 3500):
        file.write_bytes(pcap(*[roce_v2()] * count))
        tracemalloc.start()
        command("dissect", file)
        most.append(tracemalloc.get_traced_memory()[1] - file.stat().st_size)
        tracemalloc.stop()
    # Captured output is text, of 120 bytes for each record; the records are dictionaries of 10 kB.
    assert most[1] - most[0] < 2000 * 1000


@pytest.mark.parametrize("name", ["rc.pcapng", "other-services.pcapng", "smp.pcapng", "sa-cm.pcapng"])
def test_every_packet_of_our_captures_is_right(name: str) -> None:
    records = dissect(ROOT / "fuzz" / "seeds" / "wire" / name)
    assert records
    for record in records:
        assert "problem" not in record
        assert record["interface"].startswith("sw0/p1")
        checks = [record["icrc"], record["vcrc"]] if record["lrh"] else [record["fcp"]["lpcrc"]]
        assert [check["ok"] for check in checks] == [True] * len(checks)


def test_capture_of_hardware() -> None:
    """24 packets of an Endace tap on native InfiniBand."""
    reference = Path(os.environ.get("FABRICSIM_REFERENCE", ROOT / "../shared/reference"))
    file = reference / "captures" / "infiniband-sample.pcap"
    if not file.is_file():
        pytest.skip(f"there is no {file}: set FABRICSIM_REFERENCE")
    records = dissect(file)
    assert sum(record["icrc"]["ok"] and record["vcrc"]["ok"] for record in records) == len(records) == 24
    assert records[0]["mad"]["attribute_name"] == "SMInfo"
    # The connection that was agreed on is the one that is used.
    reply = records[7]["mad"]["data"]["REP"]
    assert (reply["local_qpn"], reply["starting_psn"]) == (0xFC0407, 0xD40A55)
    assert (records[9]["bth"]["dest_qp"], records[10]["bth"]["psn"]) == (0xFC0407, 0xD40A55)


def test_damaged_files_are_bad_input(command: Command, capture: Path, tmp_path: Path) -> None:
    content = capture.read_bytes()
    cut = tmp_path / "cut.pcap"
    cut.write_bytes(content[:150])
    text = tmp_path / "notes.txt"
    text.write_text("no packets here, only words")
    for file, message in [
        (cut, f"{cut}: record 2: ends after 48 of 90 bytes"),
        (text, f"{text}: not a capture file: must be pcap, pcapng or ERF"),
        (tmp_path / "none.pcap", f"{tmp_path / 'none.pcap'}: cannot be read: No such file or directory"),
    ]:
        ran = command("dissect", file, "--json")
        assert (ran.code, ran.out) == (2, "")
        assert ran.err.strip() == f"fabricsim: {message}"
        with pytest.raises(InputError):
            dissect(file)


def test_headers_of_mpi_are_decoded() -> None:
    """Of a message that has more bytes than its record, and of others."""
    match = bytes([0x41, 0, 0, 0, 0x41, 0, 3, 0, 4, 0, 0, 0, 77, 0, 0, 0, 9, 0])
    records: list[dict[str, Any]] = [
        {"first_bytes": (match + bytes(54)).hex(), "payload_length": 1018},
        {"first_bytes": match.hex(), "payload_length": 18},
        {"first_bytes": (b"\x45" + match).hex(), "payload_length": 19},
        {"payload_length": 4},
    ]
    add_mpi(records)
    text = "MATCH context 3 source 4 tag 77 sequence 9"
    assert [record.get("mpi") for record in records] == [f"{text} data 1000", text, None, None]


def test_messages_of_ranks_are_listed(command: Command, tmp_path: Path) -> None:
    (tmp_path / "pair.toml").write_text(
        'topology.single-switch.hosts = 2\nhost.mtu = "2110 B"\nrun.duration = "1 s"\n'
        '[links.all]\nrate = "50 Gb/s"\nlatency = "10 ns"\nbuffer = "64 KiB"\n'
    )
    (tmp_path / "pair.py").write_text(
        "from mpi4py import MPI\n"
        "w = MPI.COMM_WORLD\n"
        "w.Send(bytes(8), 1, 7) if w.rank == 0 else w.Recv(bytearray(8), 0, 7)\n"
    )
    options = ("--experiment", "pair.toml", "--capture", "ranks.pcapng")
    assert command("mpi", "run", "-n", "2", *options, "pair.py").code == 0
    plain = json.loads(command("dissect", "ranks.pcapng", "--json").out)
    assert all("mpi" not in record for record in plain)
    decoded = json.loads(command("dissect", "ranks.pcapng", "--json", "--mpi").out)
    found = [record["mpi"] for record in decoded if "mpi" in record]
    assert found == ["MATCH context 0 source 0 tag 7 sequence 0 data 8"] * 2, "on both links"
    assert "RC SEND Only: MATCH context 0" in command("dissect", "ranks.pcapng", "--mpi").out
