"""Writes `docs/guide/layers.md` and its pictures: messages through every layer, with times and bytes, each from a run.

python scripts/layers.py [--check]
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import fabricsim.verbs as v
from fabricsim.captures import dissect
from fabricsim.crossings import CapturedPacket, packets_of
from fabricsim.plots import captured, save
from fabricsim.programs import Note

PAGE = Path(__file__).parents[1] / "docs" / "guide" / "layers.md"
FIGURES = PAGE.parents[1] / "figures"
LENGTH = 5000
ACCESS = v.IBV_ACCESS_LOCAL_WRITE | v.IBV_ACCESS_REMOTE_WRITE | v.IBV_ACCESS_REMOTE_READ
SHORT = 4
"""Local ACK timeout of the last part."""
NAK_SEED = 2
"""A seed with which one packet of a SEND is lost, and it is not the last."""
TIMER_SEED = 31
"""A seed with which the last one is."""
LOSSY = {"links.errors": "lose", "links.all.bit_error_rate": 3e-6}

HEAD = """# A message through the layers

What happens to a message of {length} bytes between two adapters, from the call of a program to the completion at the other end. All times and bytes on this page are those of runs: `scripts/layers.py` runs a
[program of verbs](verbs.md) for each, captures both links and writes the page; a test writes it again and compares. The fabric is that of [`fabricsim perftest`](perftest.md): two ConnectX-3 FDR
adapters, `H0` and `H1`, at a switch.

*Scope and limits*: a SEND, a WRITE, a READ and two losses on a reliable connection (RC), with no other traffic on the links. Most of the adapter's times are calibrated or assumed
([sources](../design/verbs.md#times)).

| layer | what it does with the message | keys of its times |
|---|---|---|
| program | calls `post_send`, polls for the completion | `adapter.post`, `adapter.poll` |
| adapter, send side | has the request with the doorbell, fetches the payload over PCIe, cuts it into packets of the path MTU with BTH, and RETH or AETH where they belong | `adapter.doorbell`, `payload_fetch`, `pcie`, `message_gap`, `packet_gap` |
| link | LRH in front, ICRC and VCRC behind; sends if the other end has space | `links.all.rate`, `latency` |
| switch | forwards by the LID in LRH while the tail of the packet is still arriving | `switch.router_delay` |
| adapter, receive side | checks packet number, key and range; writes to memory; acknowledges | `adapter.receive`, `payload_write` |
| completion | at the receiver with the last byte, at the sender with the acknowledgement | `adapter.completion` |

The keys are those of [`[adapter]`](../reference/experiment/adapter.md); [their values and sources](../design/verbs.md#times) are those of the profile `connectx3-fdr`.

A packet has {headers} bytes around its payload: LRH 8, BTH 12, ICRC 4, VCRC 2; the first of a WRITE and the request of a READ 16 more for RETH, an acknowledgement and the first and last response of a READ 4 for AETH.
Times are in nanoseconds from the call of `post_send`. The charts are those of [`fabricsim plot FILE.pcapng`](captures.md#sequence-charts).
"""  # noqa: E501


@dataclass(frozen=True)
class Event:
    """A row: a call or a completion of a program, or the first byte of a packet on a link."""

    time: float
    place: str
    what: str
    bytes: str = ""


Log = list[Event]


@dataclass(frozen=True)
class Followed:
    """A message: its events in order, and what a chart of them shows."""

    log: Log
    packets: list[CapturedPacket]
    notes: tuple[Note, ...]


def _side(ctx: v.Context, peer: str, timeout: int) -> tuple[v.MR, v.CQ, v.QP, tuple[int, int]]:
    pd = v.PD(ctx)
    mr, cq = v.MR(pd, 8192, ACCESS), v.CQ(ctx, 16)
    attr = v.QPAttr(qp_access_flags=ACCESS, timeout=timeout)
    qp = v.QP(pd, v.QPInitAttr(scq=cq, rcq=cq), v.QPAttr(qp_access_flags=ACCESS))
    qp.post_recv(v.RecvWR(sg=[v.SGE(mr.buf, 8192, mr.lkey)]))
    return mr, cq, qp, v.connect(qp, peer, (mr.buf, mr.rkey), attr)


def _requester(opcode: int, call: str, log: Log, timeout: int) -> v.Program:
    def program(ctx: v.Context) -> float:
        mr, cq, qp, (addr, rkey) = _side(ctx, "H1", timeout)
        ctx.sleep("1 us")
        wr = v.SendWR(opcode=opcode, sg=[v.SGE(mr.buf, LENGTH, mr.lkey)])
        if opcode != v.IBV_WR_SEND:
            wr.set_wr_rdma(rkey, addr)
        begin = ctx.now
        log.append(Event(begin, "program at H0", f"calls `post_send`: {call} of {LENGTH} bytes"))
        ctx.note("post_send")
        qp.post_send(wr)
        log.append(Event(ctx.now, "program at H0", "goes on: the request is in the send queue"))
        while not (found := cq.poll()):
            pass
        status = found.wcs[0].status.name
        log.append(Event(ctx.now, "program at H0", f"has the completion: `{status}`"))
        ctx.note("has the completion")
        ctx.send_info("H1", "done")
        return begin

    return program


def _responder(log: Log, completes: bool, timeout: int) -> v.Program:
    def program(ctx: v.Context) -> None:
        _, cq, _, _ = _side(ctx, "H0", timeout)
        while completes and not (found := cq.poll()):
            pass
        if completes:
            ctx.note("has the completion")
            length = found.wcs[0].byte_len
            log.append(
                Event(ctx.now, "program at H1", f"has the completion of its receive request: {length} bytes")
            )
        ctx.recv_info("H0")

    return program


def _packet(record: Mapping[str, Any], losses: set[int]) -> str:
    """What a packet is, from its bytes."""
    bth, aeth = record["bth"], record.get("aeth")
    text = f"{record['summary']}, PSN {bth['psn']}"
    if record.get("reth"):
        text += f", RETH: {record['reth']['dma_length']} bytes"
    if aeth:
        kind = {0: "ACK", 1: "RNR NAK", 3: "NAK, PSN sequence error"}[aeth["syndrome"] >> 5]
        text += f", AETH: {kind}, MSN {aeth['msn']}"
    return text + (" – lost on this link" if record["number"] in losses else "")


def _lost(records: list[dict[str, Any]], ends: Mapping[str, str]) -> set[int]:
    """Packets to the switch that did not leave it: the numbers of their records."""
    lost = set()
    for record in records:
        way = ends[record["interface"]]
        if way != "to":
            continue
        same = [
            other
            for other in records
            if ends[other["interface"]] == "from"
            and other["comment"].split(",")[:3] == record["comment"].split(",")[:3]
        ]
        if not same:
            lost.add(record["number"])
    return lost


def follow(
    opcode: int, call: str, completes: bool, changes: Mapping[str, Any], timeout: int = 14
) -> Followed:
    """What happens to a message; times are from the call on."""
    log: Log = []
    programs = {"H0": _requester(opcode, call, log, timeout), "H1": _responder(log, completes, timeout)}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "message.pcapng"
        run = v.run(None, programs, set=changes, capture=file)
        records = dissect(file)
    begin = run.values["H0"]
    ends = {
        record["interface"]: "to" if record["interface"].startswith("H") else "from" for record in records
    }
    losses = _lost(records, ends)
    for record in records:
        place = record["interface"].replace(":1", "").replace(":2", "")
        trailer = 8 + 12 + 4 + 2 + 16 * bool(record.get("reth")) + 4 * bool(record.get("aeth"))
        size = trailer + -(-record["payload_length"] // 4) * 4
        log.append(Event(record["time_ns"], place, _packet(record, losses), str(size)))
    events = [replace(event, time=event.time - begin) for event in sorted(log, key=_order)]
    packets = packets_of([{**record, "time_ns": record["time_ns"] - round(begin)} for record in records])
    notes = tuple(replace(note, time_ns=note.time_ns - begin) for note in run.notes)
    return Followed(events, packets, notes)


def _order(event: Event) -> float:
    return event.time


def table(log: Log) -> str:
    """The events as a table."""
    rows = [f"| {event.time:,.0f} | {event.place} | {event.what} | {event.bytes} |" for event in log]
    return "\n".join(["| ns | where | what | bytes on the link |", "| --: | --- | --- | --: |", *rows])


@dataclass(frozen=True)
class Part:
    """A section of the page."""

    title: str
    picture: str
    text: str
    message: Callable[[], Followed]


def _parts() -> list[Part]:
    send, write, read = v.IBV_WR_SEND, v.IBV_WR_RDMA_WRITE, v.IBV_WR_RDMA_READ
    return [
        Part(
            "A SEND",
            "layers-send",
            """\
The receiver has posted a receive request, which says where the data goes. Both programs have a completion: the
receiver's when all data is in memory, the sender's when the acknowledgement is back. The acknowledgement is requested
by the last packet and covers all before it.""",
            lambda: follow(send, "a SEND", True, {}),
        ),
        Part(
            "A WRITE",
            "layers-write",
            """\
The first packet names the place in the receiver's memory in its RETH, and the program there has no part in it: it has
no completion. The sender's comes as with a SEND.""",
            lambda: follow(write, "an RDMA WRITE", False, {}),
        ),
        Part(
            "A READ",
            "layers-read",
            """\
One small packet asks for all. The responses carry the packet numbers that the request has reserved, and acknowledge it;
the adapter at `H1` fetches the data from its memory. So a READ takes a round trip before the first byte, and is the
slowest of the three.""",
            lambda: follow(read, "an RDMA READ", False, {}),
        ),
        Part(
            "A lost packet, and a NAK",
            "layers-nak",
            """\
The same SEND over links with bit errors. A packet is lost, and the one behind it arrives with a number that is not
expected: it is dropped, and the receiver answers with a NAK for the missing one. The sender goes back to that and sends
everything from there on anew (go-back-N). Only a round trip is lost.""",
            lambda: follow(send, "a SEND", True, {**LOSSY, "seed": NAK_SEED}),
        ),
        Part(
            "A lost packet, and the timer",
            "layers-timer",
            f"""\
If the last packet of all is lost, nothing arrives behind it, and there is no NAK. The sender's timer ends 4.096 µs x
2^n after the last progress; here n is {SHORT}, with the usual 14 it would be 67 ms. That is what a lost packet costs
where no other follows.""",
            lambda: follow(send, "a SEND", True, {**LOSSY, "seed": TIMER_SEED}, SHORT),
        ),
    ]


def write(folder: Path) -> str:
    """The text of the page. Its pictures are written into a folder."""
    sections = []
    for part in _parts():
        found = part.message()
        figure = captured(found.packets, notes=found.notes, title=part.title)
        save(figure, folder / f"{part.picture}.svg")
        picture = f"![Sequence chart: {part.title}](../figures/{part.picture}.svg)"
        sections.append(f"## {part.title}\n\n{part.text}\n\n{table(found.log)}\n\n{picture}\n")
    return HEAD.format(length=LENGTH, headers=8 + 12 + 4 + 2) + "\n" + "\n".join(sections)


def main() -> int:
    """Writes the page, or compares it."""
    if "--check" in sys.argv[1:]:
        with tempfile.TemporaryDirectory() as folder:
            return int(PAGE.read_text(encoding="utf-8") != write(Path(folder)))
    PAGE.write_text(write(FIGURES), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
