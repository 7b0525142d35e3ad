"""Packet latency."""

from __future__ import annotations

from fabricsim.tune.metrics.run import Measured, Which


def latency_mean(run: Measured, which: Which) -> float:
    """Mean latency of packets, ns; of some flows, the mean of their means by packets."""
    if not which.flows:
        return _summary(run, "mean")
    rows = run.chosen(run.result.flows, which)
    packets = rows["latency_packets"]
    return float((rows["latency_mean_ns"] * packets).sum() / packets.sum()) if packets.sum() else float("nan")


def latency_p99(run: Measured, which: Which) -> float:
    """99 % of the packets are not later, ns; of some flows, that of the worst of them."""
    return _tail(run, which, "p99")


def latency_p999(run: Measured, which: Which) -> float:
    """99.9 % of the packets are not later, ns; of some flows, that of the worst of them."""
    return _tail(run, which, "p999")


def _tail(run: Measured, which: Which, name: str) -> float:
    if not which.flows:
        return _summary(run, name)
    return float(run.chosen(run.result.flows, which)[f"latency_{name}_ns"].max())


def _summary(run: Measured, name: str) -> float:
    found = run.result.manifest["summary"]["latency_ns"][name]
    return float("nan") if found is None else float(found)
