"""Ordering and completeness of messages over a network that keeps no order: the section `transport`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["OrderingMode", "Transport", "TransportTarget"]

OrderingMode = Literal[
    "none",
    "unordered",
    "source-ordered",
    "ordered",
    "source-synchronized",
    "synchronized",
    "go-back-n",
    "selective",
    "selective-ordered",
]


@dataclass(frozen=True)
class TransportTarget:
    """Resources of a receiving host for the ordering protocols."""

    connections: int | None = None
    reorder_buffer: int | None = None
    reorder_ring: int | None = None
    reorder_cache: int | None = None
    replay_buffers: int | None = None


@dataclass(frozen=True)
class Transport:
    """Ordering protocols at hosts (Eberle & Dennison, SC18); a message is a stream of theirs."""

    mode: OrderingMode | None = None
    exactly_once: bool | None = None
    answer: str | None = None
    service_class: int | None = None
    memory_delay: str | None = None
    streams: int | None = None
    connections: int | None = None
    cid_bits: int | None = None
    sequence_bits: int | None = None
    outstanding: int | None = None
    fast_from: int | None = None
    speculative: bool | None = None
    start_offset: Literal["never", "until-first-ack", "always"] | None = None
    no_connection: Literal["continue", "halt"] | None = None
    recovery: Literal["one-at-a-time", "burst"] | None = None
    resend: Literal["oldest", "progress"] | None = None
    timed_out: Literal["each", "oldest"] | None = None
    close: Literal["idle", "end"] | None = None
    timeout: str | None = None
    lifetime: str | None = None
    loss: float | None = None
    target: TransportTarget | None = None
