"""What the paper's numbers ask for beyond the common functions. Each function takes the runs by name first."""

from __future__ import annotations

from fabricsim.reproduce.quantities import Runs, chosen

CYCLE_NS = 2.0
"""A cycle of the router: 500 MHz."""
SERVICE_NS = 18.0
"""Figure 3's packet of 72 bytes on a link of 32 Gb/s."""
CONSTANT_NS = 52.0
"""What each packet of figure 3 is under way besides waiting and one service: two links of 1 ns, a router of 50 ns."""


def printed_delay(_: Runs, load: float) -> float:
    """Equation 2 as printed, in services."""
    return 1.0 / (1.0 - load)


def waiting(runs: Runs, *, run: str | None = None) -> float:
    """Mean time in the queue of figure 3 before service, in services."""
    latency = chosen(runs, run).manifest["summary"]["latency_ns"]["mean"]
    return float(latency - CONSTANT_NS - SERVICE_NS) / SERVICE_NS


def cycles(runs: Runs, sender: int, *, run: str | None = None) -> float:
    """Mean latency of what a sender of figure 4 sends, from where it leaves its host, in cycles of the router."""
    flows = chosen(runs, run).flows.set_index("source")
    return float(flows["network_mean_ns"][f"H({sender}).0"]) / CYCLE_NS


def spread(runs: Runs, *, run: str | None = None) -> float:
    """Largest mean latency of a sender, from where its packets leave their host, over the smallest."""
    latency = chosen(runs, run).flows["network_mean_ns"]
    return float(latency.max() / latency.min())


def unequal(runs: Runs, *, run: str | None = None) -> float:
    """Largest share of a sender over the smallest."""
    rates = chosen(runs, run).flows["accepted_gbps"]
    return float(rates.max() / rates.min())
