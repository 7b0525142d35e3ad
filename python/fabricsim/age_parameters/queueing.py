"""Delay in a queue and in the network: equations 1 and 2, and what M/D/1 really gives."""

from __future__ import annotations

LOADS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99)
"""Loads of the table."""


def printed(load: float) -> float:
    """Equation 2, `1 / (1 - load)`, in service times. The paper calls it M/D/1; it is the time in an M/M/1 system."""
    return 1 / (1 - load)


def wait_md1(load: float) -> float:
    """Mean time that a packet waits in an M/D/1 queue, in service times: `load / (2 (1 - load))`."""
    return load / (2 * (1 - load))


def system_md1(load: float) -> float:
    """Mean time in an M/D/1 system, waiting and service, in service times."""
    return 1 + wait_md1(load)


def latency_ns(hops: float, queueing_ns: float, router_ns: float, routers: float | None = None) -> float:
    """Equation 1: `H Q + H t_r`, in ns, with `Q` and `t_r` of a hop.

    `routers` if packets pass another number of routers than hops. A packet passes one more than it has hops, which
    equation 1 leaves out; table 5's latencies count it.
    """
    return hops * queueing_ns + (hops if routers is None else routers) * router_ns
