"""The table `exchanges`, whose rows are events, as packets and operations."""

from __future__ import annotations

import math
from collections import defaultdict, deque
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from typing import Any

from fabricsim.exchanges.packets import Message, Operation, Packet
from fabricsim.lazy import pandas as pd

_VERBS = {"sent": "sends", "received": "receives", "lost": "loses", "delivered": "forwards to memory:"}


@dataclass
class Trace:
    """Packets and operations in the order in which they were sent and received."""

    packets: list[Packet] = field(default_factory=list)
    operations: list[Operation] = field(default_factory=list)
    events: list[tuple[float, str, str, Packet]] = field(default_factory=list)
    """Time in ns, host, step (`sent`, `received`, `lost`, `delivered`), packet."""
    end_ns: float = 0.0
    """The last event."""

    @property
    def messages(self) -> list[Message]:
        """Messages in the order of their first packets."""
        return list(dict.fromkeys(p.message for p in self.packets if p.message is not None))

    @property
    def hosts(self) -> list[str]:
        """Sources of requests first, then those that only receive them."""
        requests = [p for p in self.packets if p.kind in ("REQ", "FIN")]
        ends = [p.source for p in requests] + [p.target for p in requests]
        return list(dict.fromkeys([*ends, *(end for p in self.packets for end in (p.target, p.source))]))

    def part(self, after_ns: float = 0.0, before_ns: float = math.inf, hosts: Collection[str] = ()) -> Trace:
        """Events between two times, and between some hosts; without `hosts` between all."""

        def inside(begin: float | None, end: float | None, packet: Packet) -> bool:
            known = [time for time in (begin, end) if time is not None]
            wanted = not hosts or {packet.source, packet.target} <= set(hosts)
            return wanted and bool(known) and min(known) < before_ns and max(known) >= after_ns

        return Trace(
            [p for p in self.packets if inside(p.sent_ns, p.end_ns, p)],
            [o for o in self.operations if inside(o.received_ns, o.delivered_ns, o.packet)],
            [e for e in self.events if inside(e[0], None, e[3])],
            min(self.end_ns, before_ns),
        )

    def as_text(self, first: int = 0) -> str:
        """A line for each event in its order, without times; packets are numbered from `first` on."""
        several = len(self.messages) > 1
        width = max((len(host) for _, host, _, _ in self.events), default=0)
        lines = [
            f"{host:{width}}  {_VERBS[step]:19} {p.label(first, several=several, fields=True)}"
            for _, host, step, p in self.events
        ]
        return "\n".join(lines) + "\n"


def read_trace(table: pd.DataFrame) -> Trace:
    """Puts the events of a table `exchanges` together.

    Copies of a packet that are equal in every field are distinguished by their order.
    """
    reader = _Reader()
    for row in table.to_dict("records"):
        reader.read(row)
    return reader.trace


class _Reader:
    def __init__(self) -> None:
        self.trace = Trace()
        self._on_way: dict[tuple[Any, ...], deque[Packet]] = defaultdict(deque)
        self._held: dict[tuple[Any, ...], list[Operation]] = defaultdict(list)
        """Requests at their targets that have been neither forwarded nor rejected."""
        self._asked: dict[tuple[Any, ...], Packet] = {}
        """The last request sent by source, target, CID and SEQ; and with SEQ none by source, target and CID."""

    def read(self, row: dict[Any, Any]) -> None:
        """Takes the next event."""
        step, time, host = str(row["step"]), float(row["time_ns"]), str(row["host"])
        packet = self._packet(row, leaves=step == "sent")
        if step == "sent":
            packet.sent_ns = time
            self._sent(packet)
        elif step == "delivered":
            packet = self._delivered(packet, time)
        else:
            packet = self._arrived(packet, time, lost=step == "lost")
        self.trace.events.append((time, host, step, packet))
        self.trace.end_ns = time

    def _packet(self, row: dict[Any, Any], *, leaves: bool) -> Packet:
        ends = (str(row["host"]), str(row["peer"]))
        source, target = ends if leaves else ends[::-1]
        kind = str(row["packet"])
        packet = Packet(
            kind=kind,
            flags=tuple(filter(None, str(row["flags"]).split("|"))),
            source=source,
            target=target,
            cid=int(row["cid"]),
            seq=int(row["seq"]),
            cnt=int(row["cnt"]),
        )
        if kind == "REQ":
            packet.message = Message(source, str(row["entry"]), int(row["message"]))
            packet.number = int(row["number"])
            packet.again = bool(row["again"])
        return packet

    def _sent(self, packet: Packet) -> None:
        if packet.kind == "REQ":
            self._asked[(packet.source, packet.target, packet.cid, packet.seq)] = packet
            self._asked[(packet.source, packet.target, packet.cid)] = packet
        else:
            about = (packet.source, packet.target) if packet.kind == "FIN" else (packet.target, packet.source)
            seq = () if packet.kind in ("FIN", "FIN-ACK") else (packet.seq,)
            if asked := self._asked.get((*about, packet.cid, *seq)):
                packet.message, packet.number = asked.message, asked.number
            if packet.kind == "NACK":
                self._rejected(packet)
        self._on_way[_identity(packet)].append(packet)
        self.trace.packets.append(packet)

    def _rejected(self, answer: Packet) -> None:
        """The last copy that came is the one that is rejected: an earlier one waits."""
        held = self._held.get((answer.target, answer.source, answer.cid, answer.seq))
        if held:
            held.pop().rejected = True

    def _arrived(self, packet: Packet, time: float, *, lost: bool) -> Packet:
        on_way = self._on_way.get(_identity(packet))
        if on_way:
            packet = on_way.popleft()
        else:
            self.trace.packets.append(packet)
        packet.end_ns, packet.lost = time, lost
        if packet.kind == "REQ" and not lost:
            operation = Operation(packet, received_ns=time)
            self._held[(packet.source, packet.target, packet.cid, packet.seq)].append(operation)
            self.trace.operations.append(operation)
        return packet

    def _delivered(self, packet: Packet, time: float) -> Packet:
        held = self._held.get((packet.source, packet.target, packet.cid, packet.seq), [])
        same = [o for o in held if _identity(o.packet) == _identity(packet)]
        if not same:
            self.trace.operations.append(Operation(replace(packet), delivered_ns=time))
            return packet
        held.remove(same[0])
        same[0].delivered_ns = time
        return same[0].packet


def _identity(packet: Packet) -> tuple[Any, ...]:
    """The same for copies that cannot be distinguished."""
    own = (packet.message, packet.number, packet.again) if packet.kind == "REQ" else ()
    return (packet.kind, packet.flags, packet.source, packet.target, packet.cid, packet.seq, packet.cnt, own)
