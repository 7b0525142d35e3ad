"""Where packets waited, and for whom."""

from __future__ import annotations

from typing import Any

from fabricsim.durations import nanoseconds
from fabricsim.lazy import pandas as pd
from fabricsim.shown import number_of

WHY_FREE = "(no credits, a busy input, or a delay of the switch)"
"""Reasons why a packet waits for a link that carries no other."""


def delays(hops: pd.DataFrame) -> pd.DataFrame:
    """A row for each link and what packets waited behind there, the longest wait in all first.

    Columns: `link`, `behind` (empty: the link was free), `packets`, `waited_ns` in all,
    `longest_ns`.

    Args:
        hops: table `packet_hops` of a run. Waits at the source count: `hop` 0.
    """
    return _longest(hops, ["link", "behind"])


def _longest(hops: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    """Waits by some columns, the longest in all first."""
    waits = hops[hops["waited_ns"] > 0].groupby(by)["waited_ns"]
    found = waits.agg(packets="count", waited_ns="sum", longest_ns="max").reset_index()
    return found.sort_values(["waited_ns", *by], ascending=[False, *(True for _ in by)], ignore_index=True)


def sentences(hops: pd.DataFrame, most: int = 3) -> list[str]:
    """What the waits of the recorded packets come from, in words: the slowest packet, and where most time was lost."""
    if hops.empty:
        return ["none of the chosen packets crossed a link"]
    waited = hops.groupby("packet")["waited_ns"].sum()
    total = float(waited.sum())
    if len(waited) == 1:
        found = [f"the packet waited {nanoseconds(total)}"]
    else:
        mean, longest = nanoseconds(waited.mean()), nanoseconds(waited.max())
        found = [f"{len(waited):,} packets waited {mean} each on average, {longest} at most"]
    if total == 0:
        return found
    own = hops[hops["packet"] == waited.idxmax()].sort_values("waited_ns", ascending=False)
    worst = own.to_dict("records")[0]
    if len(waited) > 1:
        found.append(
            f"the slowest is --packet {worst['packet']}, packet {worst['number']} of {worst['source']} to "
            f"{worst['destination']}: {nanoseconds(worst['waited_ns'])} {_at(worst['link'], worst['behind'])}"
        )
    for row in _longest(hops, ["link"]).head(most).to_dict("records"):
        found.append(_share(row, hops, total, len(waited)))
    return found


def _share(row: dict[Any, Any], hops: pd.DataFrame, total: float, packets: int) -> str:
    """The part of all waiting that is for one link, and what packets waited longest for there."""
    longest = delays(hops[hops["link"] == row["link"]]).to_dict("records")[0]
    of = f", of {number_of(row['packets'], 'packet')}" if packets > 1 else ""
    part = f"{longest['waited_ns'] / row['waited_ns']:.0%}"
    where = f"behind {longest['behind']}" if longest["behind"] else f"while it was free {WHY_FREE}"
    what = f"all {where}" if part == "100%" else f"the largest part, {part}, {where}"
    return f"{row['waited_ns'] / total:.1%} of all waiting is for {row['link']}{of}: {what}"


def _at(link: str, behind: str) -> str:
    return f"for {link}, behind {behind}" if behind else f"for {link}, which was free {WHY_FREE}"
