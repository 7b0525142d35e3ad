"""Where packets waited, and for whom."""

from __future__ import annotations

from fabricsim.lazy import pandas as pd


def delays(hops: pd.DataFrame) -> pd.DataFrame:
    """A row for each link and what packets waited behind there, the longest wait in all first.

    Columns: `link`, `behind` (empty: the link was free), `packets`, `waited_ns` in all,
    `longest_ns`.

    Args:
        hops: table `packet_hops` of a run. Waits at the source count: `hop` 0.
    """
    waited = hops[hops["waited_ns"] > 0]
    by = waited.groupby(["link", "behind"])["waited_ns"]
    found = by.agg(packets="count", waited_ns="sum", longest_ns="max").reset_index()
    return found.sort_values(
        ["waited_ns", "link", "behind"], ascending=[False, True, True], ignore_index=True
    )


def sentences(hops: pd.DataFrame, most: int = 3) -> list[str]:
    """What the waits of the recorded packets come from, in words: the slowest packet, and where most time was lost."""
    if hops.empty:
        return ["none of the chosen packets crossed a link"]
    waited = hops.groupby("packet")["waited_ns"].sum()
    total = float(waited.sum())
    several = (
        f"{len(waited)} packets waited {waited.mean():.1f} ns each on average, {waited.max():.1f} ns at most"
    )
    found = [several if len(waited) > 1 else f"the packet waited {total:.1f} ns"]
    if total == 0:
        return found
    own = hops[hops["packet"] == waited.idxmax()].sort_values("waited_ns", ascending=False)
    worst = own.to_dict("records")[0]
    if len(waited) > 1:
        found.append(
            f"the slowest is packet {worst['number']} of {worst['source']} to {worst['destination']}: "
            f"{worst['waited_ns']:.1f} ns {_at(worst['link'], worst['behind'])}"
        )
    for row in delays(hops).head(most).to_dict("records"):
        share = 100 * row["waited_ns"] / total
        where = _at(row["link"], row["behind"])
        of = f", of {row['packets']} packets" if len(waited) > 1 else ""
        found.append(f"{share:.0f} % of all waiting is {where}{of}")
    return found


def _at(link: str, behind: str) -> str:
    return (
        f"for {link}, behind {behind}"
        if behind
        else f"for {link}, which was free (no credits, a busy input, or a delay of the switch)"
    )
