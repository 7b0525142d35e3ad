"""Congestion control as typed values. See the experiment file's reference for the meaning of every key."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

__all__ = [
    "CongestionControl",
    "Dcqcn",
    "Hpcc",
    "InfiniBandCongestion",
    "Notification",
    "Nscc",
    "PortCongestion",
    "Swift",
]


@dataclass(frozen=True)
class Notification:
    """Notification of a source by a destination that its packets were marked."""

    by: Literal["cnp", "acknowledgement"] | None = None
    size: str | None = None
    service_class: int | None = None
    first: bool | None = None
    delay: str | None = None
    every: int | None = None
    timeout: str | None = None


@dataclass(frozen=True)
class PortCongestion:
    """Other values for some output ports and lanes."""

    ports: list[str]
    lanes: list[int] | None = None
    threshold: int | None = None
    reset_threshold: int | None = None
    marking_rate: int | None = None
    packet_size: int | None = None
    victim_mask: bool | None = None


@dataclass(frozen=True)
class InfiniBandCongestion:
    """Parameters of InfiniBand congestion control, named as in the specification."""

    threshold: int | None = None
    reset_threshold: int | None = None
    threshold_on: Literal["output", "buffer"] | None = None
    marking_rate: int | None = None
    marking_rate_counts: Literal["between", "from-mark-to-mark"] | None = None
    packet_size: int | None = None
    victim_mask: Literal["hosts", "none", "all"] | None = None
    ports: list[PortCongestion] | None = None
    credit_starvation_threshold: int | None = None
    credit_starvation_return_delay: str | None = None
    cct: str | Mapping[str, Any] | None = None
    """`"psm2"`, entries (`{"entries": ["0:0", "3:1"]}`) or a rule (`{"linear": {"step": 0.1}}`)."""
    control: Literal["queue-pair", "service-level"] | None = None
    ccti_increase: int | None = None
    ccti_limit: int | None = None
    ccti_min: int | None = None
    ccti_timer: int | str | None = None
    """A whole number of 1.024 us, or a time."""
    timer_starts: Literal["always", "notification", "each-notification"] | None = None
    trigger_threshold: int | None = None
    delay_relative_to: Literal["packet", "mtu"] | None = None


@dataclass(frozen=True)
class Dcqcn:
    """Parameters of DCQCN."""

    k_min: str | None = None
    k_max: str | None = None
    p_max: float | None = None
    cnp_interval: str | None = None
    g: float | None = None
    alpha_timer: str | None = None
    rate_timer: str | None = None
    byte_counter: str | None = None
    fast_recovery: int | None = None
    additive_increase: str | None = None
    hyper_increase: str | None = None
    min_rate: str | None = None


@dataclass(frozen=True)
class Swift:
    """Parameters of Swift."""

    base_target: str | None = None
    hop_target: str | None = None
    fs_range: str | None = None
    fs_min_cwnd: float | None = None
    fs_max_cwnd: float | None = None
    ai: float | None = None
    beta: float | None = None
    max_mdf: float | None = None
    min_cwnd: float | None = None
    max_cwnd: float | None = None


@dataclass(frozen=True)
class Hpcc:
    """Parameters of HPCC."""

    eta: float | None = None
    max_stage: int | None = None
    additive_increase: str | None = None
    flows: int | None = None


@dataclass(frozen=True)
class Nscc:
    """Parameters of NSCC, Ultra Ethernet's network-signal congestion control."""

    target_delay: str | None = None
    k_min: str | None = None
    k_max: str | None = None
    gamma: float | None = None
    delay_weight: float | None = None
    proportional_increase: float | None = None
    fair_increase: float | None = None
    eta: float | None = None
    fast_increase: float | None = None
    quick_adapt: float | None = None
    max_window: float | None = None


@dataclass(frozen=True)
class CongestionControl:
    """Rate limits of sources when the fabric is congested."""

    algorithm: Literal["none", "infiniband", "dcqcn", "swift", "hpcc", "nscc"] | None = None
    notification: Notification | None = None
    infiniband: InfiniBandCongestion | None = None
    dcqcn: Dcqcn | None = None
    swift: Swift | None = None
    hpcc: Hpcc | None = None
    nscc: Nscc | None = None
    base_rtt: str | None = None
