"""What the tutorial's numbers ask for beyond the common functions. Each function takes the runs by name first."""

from __future__ import annotations

from fabricsim.reproduce.quantities import Runs, chosen


def marked(runs: Runs, link: str, *, run: str | None = None) -> int:
    """Packets that were marked (FECN) as they left by a link, named by its ends: `"switch-2->R"`."""
    links = chosen(runs, run).table("links")
    if "marked" not in links:
        return 0
    return int(links.loc[links["link"] == link, "marked"].sum())


def part(runs: Runs, sender: str, *, run: str | None = None) -> float:
    """Throughput of a sender as a fraction of the receiver's link; 0 if none of its packets has arrived."""
    flows = chosen(runs, run).flows
    return float(flows.loc[flows["source"] == sender, "destination_share"].sum())


def delivered(runs: Runs, host: str, *, run: str | None = None) -> float:
    """Throughput of a receiver, as a fraction of its link."""
    hosts = chosen(runs, run).table("hosts")
    one = hosts[hosts["host"] == host]
    return float(one["delivered_gbps"].sum() / one["link_gbps"].sum())
