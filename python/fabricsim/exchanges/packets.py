"""A packet in flight, and an operation at its target."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


class Message(NamedTuple):
    """A stream of the protocols."""

    source: str
    entry: str
    """Of the traffic list."""
    number: int
    """Among the messages of the entry and the source."""


_SHOWN = {"REQ": ("SYN", "EOD", "SLOW"), "ACK": ("CON",), "NACK": ("CON",)}
"""Flags that labels show, of table I of the paper and SLOW; answers repeat the others of their REQ."""


@dataclass
class Packet:
    """A packet between two hosts."""

    kind: str
    """REQ, ACK, NACK, FIN or FIN-ACK."""
    flags: tuple[str, ...]
    source: str
    target: str
    """The host that it goes to; answers go to the source of the requests."""
    cid: int
    """Connection identifier; -1: none."""
    seq: int
    cnt: int
    """CNT of a synchronization operation, or the start-sequence offset."""
    message: Message | None = None
    """Of the request, or of the one that is answered; none where it is not known."""
    number: int = 0
    """Of the request in its message, or of the one that is answered."""
    again: bool = False
    """A copy had been sent before."""
    sent_ns: float | None = None
    end_ns: float | None = None
    """Time at which it was received or lost; none: the record ends before."""
    lost: bool = False

    def name(self, first: int, several: bool) -> str:
        """`REQ0`, or with `several` messages `REQ4.0`: number of the message and of the packet, from `first` on."""
        if self.message is None or self.kind in ("FIN", "FIN-ACK"):
            return self.kind
        return (
            f"{self.kind}{self.message.number}.{self.number + first}"
            if several
            else f"{self.kind}{self.number + first}"
        )

    def notes(self, *, fields: bool) -> list[str]:
        """Flags, and with `fields` CID, SEQ, and CNT or the offset."""
        found = [flag for flag in _SHOWN.get(self.kind, ()) if flag in self.flags]
        if not fields:
            return found
        found += ["no CID"] if self.cid < 0 else [f"CID {self.cid}"]
        if self.kind not in ("FIN", "FIN-ACK"):
            found.append(f"SEQ {self.seq}")
        if self.cnt:
            found.append(f"{'offset' if 'OFFSET' in self.flags else 'CNT'} {self.cnt}")
        return found

    def label(self, first: int = 0, *, several: bool = False, fields: bool = False) -> str:
        """Name and notes: `REQ0 (SYN)`."""
        notes = ", ".join(self.notes(fields=fields))
        return self.name(first, several) + (f" ({notes})" if notes else "")


@dataclass
class Operation:
    """A request that has arrived at its target, and goes to target memory."""

    packet: Packet
    received_ns: float | None = None
    """None: before the record begins."""
    delivered_ns: float | None = None
    """None: it was rejected, is a duplicate, or waits when the record ends."""
    rejected: bool = False

    @property
    def waited(self) -> bool:
        """True if it spent time in the reorder buffer."""
        return None not in (self.received_ns, self.delivered_ns) and self.received_ns != self.delivered_ns
