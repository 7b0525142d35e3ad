"""The packets of a capture file one by one: the links that each crosses, and what it is."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from fabricsim.captures import dissect
from fabricsim.lazy import pandas as pd

DATA, ACKNOWLEDGEMENT, NAK, RESPONSE, MANAGEMENT, NOTIFICATION, OTHER = KINDS = (
    "data",
    "acknowledgement",
    "NAK",
    "READ response",
    "management datagram",
    "congestion notification",
    "other",
)
"""Kinds of packets."""

_SYNDROMES = {0: "ACK", 1: "RNR NAK", 3: "NAK"}
"""By the first three bits of a syndrome (IBA volume 1, section 9.7.5.1.4)."""
_NAK_CODES = ("PSN sequence error", "invalid request", "remote access error", "remote operational error")
_NUMBER = re.compile(r"packet (\d+) of the source")
_CNP = (0x80, 0x81)
"""Opcodes of congestion notifications: InfiniBand's, and that of RoCE v2."""
_RESPONSES = (13, 14, 15, 16, 18)
"""Operations of READ responses and of results of atomic operations, the last five bits of an opcode."""


@dataclass(frozen=True)
class Crossing:
    """A packet on a link."""

    time_ns: int
    """Time at which its first byte was sent, in nanoseconds; of real hardware since 1970."""
    sender: str
    """Name of the end that sends, or its address."""
    receiver: str


@dataclass(frozen=True)
class CapturedPacket:
    """A packet of a capture, with all captured links that it crossed."""

    source: str
    """Host that sent it, by name or by address."""
    target: str
    crossings: tuple[Crossing, ...]
    """In the order of time, at least one."""
    kind: str
    """One of `KINDS`."""
    name: str
    """Service and operation, or class, method and attribute of a management datagram."""
    details: tuple[str, ...] = ()
    """Numbers of its headers as text."""
    bytes: int = 0
    """From LRH to VCRC; 0 of RoCE."""
    payload: int = 0
    """Of these, payload."""
    key: tuple[Any, ...] | None = field(default=None, repr=False)
    """What the packet has in common with other copies of it; None if it cannot be sent anew."""
    again: bool = False
    """A copy was captured before."""
    lost: bool = False
    """It is not on the last captured link to its target, and a later packet of its source is."""

    @property
    def label(self) -> str:
        """Name and details."""
        return ", ".join([self.name, *self.details, *["again"] * self.again])


def read_packets(file: Path | str) -> list[CapturedPacket]:
    """The packets of a capture file in the order in which they were sent.

    In a capture of a simulated fabric a packet is one entry whatever the number of its links: comments of the records
    number the packets. Records without such a comment, as those of real hardware, are an entry each, from one end of
    the interface, or one address, to the other.

    Flow-control packets, and records that hold no packet of InfiniBand or RoCE, are left out.

    Raises:
        InputError: the file cannot be read, or is damaged.
    """
    return packets_of(dissect(file))


def packets_of(records: Iterable[Mapping[str, Any]]) -> list[CapturedPacket]:
    """The packets of records as `fabricsim.captures.dissect` has them."""
    found: dict[object, CapturedPacket] = {}
    for record in records:
        if record.get("fcp") or not record.get("bth"):
            continue
        packet, identity = _packet(record), _identity(record)
        if identity is None:
            found[record["number"]] = packet
        elif identity in found:
            before = found[identity]
            found[identity] = replace(before, crossings=(*before.crossings, *packet.crossings))
        else:
            found[identity] = replace(packet, source=identity[0], target=identity[1])
    ordered = sorted(map(_in_order, found.values()), key=lambda packet: packet.crossings[0].time_ns)
    return list(_losses(list(_copies(ordered))))


COLUMNS = ("packet", "source", "target", "kind", "name", "details", "bytes", "payload", "again", "lost")
"""Columns of the table that are the same for all crossings of a packet."""


def frame_of(packets: Iterable[CapturedPacket]) -> pd.DataFrame:
    """A row for each crossing: `COLUMNS`, `time_ns`, `sender`, `receiver`.

    Packets are numbered; details are one text.
    """
    rows = [
        {
            **{name: getattr(packet, name) for name in COLUMNS[1:]},
            "packet": number,
            "details": "; ".join(packet.details),
            **asdict(crossing),
        }
        for number, packet in enumerate(packets)
        for crossing in packet.crossings
    ]
    return pd.DataFrame(rows, columns=[*COLUMNS, "time_ns", "sender", "receiver"])


def from_frame(frame: pd.DataFrame) -> list[CapturedPacket]:
    """The packets of a table that `frame_of` has made."""
    found = []
    for _, rows in frame.groupby("packet"):
        first = rows.iloc[0]
        crossings = tuple(
            Crossing(int(time), sender, receiver)
            for time, sender, receiver in rows[["time_ns", "sender", "receiver"]].itertuples(index=False)
        )
        found.append(
            CapturedPacket(
                first["source"],
                first["target"],
                crossings,
                first["kind"],
                first["name"],
                tuple(filter(None, first["details"].split("; "))),
                int(first["bytes"]),
                int(first["payload"]),
                again=bool(first["again"]),
                lost=bool(first["lost"]),
            )
        )
    return found


def _in_order(packet: CapturedPacket) -> CapturedPacket:
    return replace(packet, crossings=tuple(sorted(packet.crossings, key=lambda one: one.time_ns)))


def _copies(packets: list[CapturedPacket]) -> Iterator[CapturedPacket]:
    seen: set[tuple[Any, ...]] = set()
    for packet in packets:
        if packet.key is None:
            yield packet
            continue
        key = (packet.source, packet.target, *packet.key)
        yield replace(packet, again=key in seen)
        seen.add(key)


def _losses(packets: list[CapturedPacket]) -> Iterator[CapturedPacket]:
    last: dict[tuple[str, str], int] = {}
    """Time at which the last packet that arrives is sent, by source and target."""
    for packet in packets:
        if packet.crossings[-1].receiver == packet.target:
            last[packet.source, packet.target] = packet.crossings[0].time_ns
    for packet in packets:
        arrives = packet.crossings[-1].receiver == packet.target
        later = last.get((packet.source, packet.target), 0) > packet.crossings[0].time_ns
        yield replace(packet, lost=not arrives and later)


def _packet(record: Mapping[str, Any]) -> CapturedPacket:
    """A record by itself."""
    source, target = _ends(record)
    kind, name, details = _meaning(record)
    return CapturedPacket(
        source,
        target,
        (Crossing(record["time_ns"], source, target),),
        kind,
        name,
        details,
        record["lrh"]["packet_length"] * 4 + 2 if record.get("lrh") else 0,
        record.get("payload_length") or 0,
        _key(record, kind),
    )


def _ends(record: Mapping[str, Any]) -> tuple[str, str]:
    """Ends of the interface of a simulated fabric, `"H0:1 -> S0:1"`; else the addresses of the packet."""
    ends = (record.get("interface") or "").split(" -> ")
    if len(ends) == 2:
        sender, receiver = (end.rpartition(":")[0] or end for end in ends)
        return sender, receiver
    for layer, source, target in (
        ("ipv4", "source", "destination"),
        ("ipv6", "sgid", "dgid"),
        ("grh", "sgid", "dgid"),
    ):
        if header := record.get(layer):
            return str(header[source]), str(header[target])
    if lrh := record.get("lrh"):
        return f"LID {lrh['slid']}", f"LID {lrh['dlid']}"
    return "sender", "receiver"


def _identity(record: Mapping[str, Any]) -> tuple[str, str, int] | None:
    """Source, target and number of a simulated packet: "data of all, H0 to H1, packet 3 of the source, ..."."""
    parts = (record.get("comment") or "").split(", ")
    for before, part in itertools.pairwise(parts):
        if (number := _NUMBER.fullmatch(part)) and len(hosts := before.split(" to ")) == 2:
            return hosts[0], hosts[1], int(number[1])
    return None


def _key(record: Mapping[str, Any], kind: str) -> tuple[Any, ...] | None:
    """Queue pair, packet number and opcode of requests and READ responses."""
    if kind not in (DATA, RESPONSE) or record.get("deth"):
        return None
    bth = record["bth"]
    return bth["dest_qp"], bth["psn"], bth["opcode"]


def _meaning(record: Mapping[str, Any]) -> tuple[str, str, tuple[str, ...]]:
    """Kind, name and details of a packet."""
    bth, name = record["bth"], record["summary"]
    if record.get("mad"):
        return MANAGEMENT, name, ()
    if bth["opcode"] in _CNP:
        return NOTIFICATION, "CNP", ()
    details = [f"PSN {bth['psn']}"]
    if reth := record.get("reth"):
        details.append(f"{reth['dma_length']} B")
    aeth = record.get("aeth")
    is_response = bth["opcode"] & 31 in _RESPONSES
    if aeth is None:
        requests = ["requests ACK"] * (bth["ack_request"] and not is_response)
        return (RESPONSE if is_response else DATA), name, (*details, *requests)
    answer = _SYNDROMES.get(aeth["syndrome"] >> 5, "reserved syndrome")
    if answer == "NAK" and (code := aeth["syndrome"] & 31) < len(_NAK_CODES):
        details.append(_NAK_CODES[code])
    details.append(f"MSN {aeth['msn']}")
    if is_response:
        return RESPONSE, name, tuple(details)
    return (ACKNOWLEDGEMENT if answer == "ACK" else NAK), answer, tuple(details)
