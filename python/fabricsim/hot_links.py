"""The hottest links of a run: for how long each was the root of a congestion tree, its cause, and its victims.

All numbers are of the tables `links`, `congestion_trees`, `congestion_flows` and `flows`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from fabricsim.lazy import pandas as pd
from fabricsim.results import FEWEST_LOOKS, Result, few_looks, finite, looks

MOST_LINKS = 3
MOST_VICTIMS = 3
"""Victims of a link that are named."""
_SIZES = ((1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1.0, "ns"))


@dataclass(frozen=True)
class Victim:
    """A flow that waited in a tree to whose root it did not go."""

    flow: str
    time_ns: float
    """Time of the measurement as a victim, in all its trees."""
    only: bool
    """True if all its trees had this root."""
    accepted_gbps: float
    offered_gbps: float


@dataclass(frozen=True)
class HotLink:
    """A link that was the root of congestion trees."""

    link: str
    kind: str
    """Its class: host, level 1, dimension 0 and so on."""
    lane: int | None
    """Virtual lane of the root; None if the run used a single lane."""
    root_share: float
    """Fraction of the measurement in which it was a root; NaN with too few samples."""
    root_samples: int | None
    """Samples of the whole run in which it was a root."""
    utilisation: float
    gbps: float
    contributors: int | None
    """Largest number of contributing flows in a sample; None if the table of trees has no row of this link."""
    victims: int | None
    """Largest number of victims in a sample; None as above."""
    entries: tuple[str, ...]
    """Entries of the traffic list of those contributors that were victims nowhere."""
    sources: int
    """Their sources."""
    destinations: tuple[str, ...]
    """Their destinations."""
    offered_gbps: float
    """What they offered; NaN if it is not known."""
    longest: tuple[Victim, ...]
    """The longest victims among the flows that contributed nowhere."""


def hot_links(result: Result, most: int = MOST_LINKS) -> list[HotLink]:
    """The links that were roots of congestion trees in the measurement for the longest time, the hottest first.

    With too few samples for times, those that were roots in the most samples of the run. Empty if there was no root.
    """
    trees, links = result.frames.get("congestion_trees"), result.frames.get("links")
    if trees is None or links is None or trees.empty or not {"root", "utilisation"} <= set(links):
        return []
    found = trees.rename(columns={"root": "link"}).groupby(["link", "lane"], sort=False)
    counts = found.agg(
        samples=("time_ns", "nunique"), contributors=("contributors", "max"), victims=("victims", "max")
    ).reset_index()
    if few_looks(result):
        rows = links.drop(columns="root").merge(counts, on=["link", "lane"])
        by = ["samples", "utilisation"]
    else:
        # A table of very many trees lacks those of some samples.
        rows = links[links["root"] > 0.0].merge(counts, how="left", on=["link", "lane"])
        by = ["root", "utilisation", "samples"]
    rows = rows.sort_values(by, ascending=False, kind="stable").drop_duplicates("link").head(most)
    lanes = links["lane"].nunique() > 1
    totals = links.groupby("link", sort=False)[[c for c in ("utilisation", "gbps") if c in links]].sum()
    return [
        _hot_link(result, row, totals.loc[row["link"]].to_dict(), lanes) for row in rows.to_dict("records")
    ]


def _hot_link(result: Result, row: dict[Any, Any], total: dict[Any, Any], lanes: bool) -> HotLink:
    inside = _flows_in(result, str(row["link"]))
    pure = inside[(inside["contributor_ns"] > 0.0) & ~(inside["victim_ns"] > 0.0)]
    victims = inside[~(inside["contributor_ns"] > 0.0) & (inside["victim_ns"] > 0.0)]
    victims = victims.assign(only=victims["roots"].astype(str) == str(row["link"]))
    victims = victims.sort_values(["only", "victim_ns"], ascending=False, kind="stable").head(MOST_VICTIMS)
    entries = pure["entry"].dropna() if "entry" in pure else pd.Series(dtype=str)
    return HotLink(
        link=str(row["link"]),
        kind=str(row.get("class", "")),
        lane=int(row["lane"]) if lanes else None,
        root_share=float(row.get("root", math.nan)),
        root_samples=_count(row["samples"]),
        utilisation=float(total["utilisation"]),
        gbps=float(total.get("gbps", math.nan)),
        contributors=_count(row["contributors"]),
        victims=_count(row["victims"]),
        entries=tuple(_entry_name(str(name)) for name in entries.unique() if name),
        sources=int(pure["source"].nunique()),
        destinations=tuple(map(str, pure["destination"].unique())),
        offered_gbps=float(pure["offered_gbps"].sum(skipna=False)) if len(pure) else math.nan,
        longest=tuple(
            Victim(
                f"{one['source']}->{one['destination']}",
                float(one["victim_ns"]),
                bool(one["only"]),
                float(one["accepted_gbps"]),
                float(one["offered_gbps"]),
            )
            for one in victims.to_dict("records")
        ),
    )


def _count(value: float) -> int | None:
    return None if math.isnan(value) else int(value)


def _entry_name(name: str) -> str:
    """The engine calls the entry of a flow that is in several of them so."""
    return "several entries" if name == "several" else name


def _flows_in(result: Result, root: str) -> pd.DataFrame:
    """The flows that were in trees with this root, with their throughput."""
    names = ["source", "destination", "accepted_gbps", "offered_gbps"]
    parts = result.frames.get("congestion_flows")
    flows = result.frames.get("flows")
    if parts is None or "roots" not in parts or flows is None:
        return pd.DataFrame(columns=[*names, "contributor_ns", "victim_ns", "roots"])
    # Names may have commas, but no comma with a space; parallel cables end in #1.
    listed = ", " + parts["roots"].astype(str) + ", "
    inside = parts[listed.str.contains(f", {root}, ", regex=False)]
    known = [name for name in [*names, "entry"] if name in flows]
    return inside.merge(flows[known], how="left", on=["source", "destination"])


def sentences(result: Result) -> list[str]:
    """The hottest links, their cause and their victims; that no tree stood, if so. Empty if no sample was taken."""
    trees = result.frames.get("congestion_trees")
    if trees is None or not looks(result):
        return []
    found = hot_links(result)
    note = few_looks(result)
    if found:
        said = [_sentence(hot, _measured_ns(result)) for hot in found]
        return [f"{note[0].upper()}{note[1:]}.", *said] if note else said
    count = looks(result)
    taken = f"{count} sample{_s(count)}"
    text = f"No congestion tree stood in the measurement ({taken})."
    if note:
        text = f"No congestion tree in {taken}: fewer than {FEWEST_LOOKS} do not show that none stood."
    if len(trees):
        text += f" Outside of it {trees['root'].iloc[0]} was a root."
    return [text + _busiest(result)]


def as_dicts(result: Result) -> list[dict[str, Any]]:
    """The hottest links for JSON."""
    return [finite(asdict(hot)) for hot in hot_links(result)]


def _measured_ns(result: Result) -> float:
    return float(result.manifest["summary"].get("measured_ns") or math.nan)


def _busiest(result: Result) -> str:
    links = result.frames.get("links")
    if links is None or links.empty or "utilisation" not in links:
        return ""
    use = links.groupby("link", sort=False)["utilisation"].sum()
    use = use[use > 0.0].sort_values(ascending=False, kind="stable").head(MOST_LINKS)
    if use.empty:
        return " No link sent a packet."
    return f" Busiest links: {', '.join(f'{name} ({share:.1%} busy)' for name, share in use.items())}."


def _sentence(hot: HotLink, measured_ns: float) -> str:
    kind = f" ({hot.kind})" if hot.kind else ""
    lane = f" on lane {hot.lane}" if hot.lane is not None else ""
    if math.isnan(hot.root_share):
        time = f"in {hot.root_samples:,} sample{_s(hot.root_samples)} of the run"
        busy = f"it was busy for {hot.utilisation:.1%} of the measurement"
    else:
        time = f"for {hot.root_share:.1%} of the measurement"
        busy = f"it was busy for {hot.utilisation:.1%} of it"
    first = f"{hot.link}{kind} was the root of a congestion tree{lane} {time}; {busy}."
    return f"{first} {_cause(hot)} {_victims(hot, measured_ns)}".rstrip()


def _cause(hot: HotLink) -> str:
    if hot.contributors is None:
        return "Cause and victims: no sample with its tree was kept."
    text = f"Cause: up to {_flows(hot.contributors)} at once with paths through it"
    if hot.entries:
        text += f", of {_list(hot.entries, 'entries')}"
    if hot.destinations:
        hosts = f"{hot.sources:,} host{_s(hot.sources)}"
        text += f", from {hosts} to {_list(hot.destinations, 'hosts')}"
    if not math.isnan(hot.offered_gbps):
        text += f"; they offered {hot.offered_gbps:,.4g} Gb/s"
    if not math.isnan(hot.gbps):
        text += f"; it carried {hot.gbps:,.4g} Gb/s"
    return text + "."


def _victims(hot: HotLink, measured_ns: float) -> str:
    if hot.victims is None:
        return ""
    if hot.victims == 0:
        return "Victims: none."
    text = f"Victims: up to {_flows(hot.victims)} at once"
    if hot.longest:
        text += f"; longest {', '.join(_victim(one, measured_ns) for one in hot.longest)}"
    return text + "."


def _victim(one: Victim, measured_ns: float) -> str:
    share = "" if math.isnan(measured_ns) else f", {one.time_ns / measured_ns:.0%} of the measurement"
    trees = "" if one.only else ", in all its trees"
    text = f"{one.flow} ({_time(one.time_ns)}{share}{trees}"
    if not math.isnan(one.accepted_gbps):
        text += f"; accepted {one.accepted_gbps:,.3g} Gb/s"
        if not math.isnan(one.offered_gbps):
            text += f" of {one.offered_gbps:,.3g} Gb/s"
    return text + ")"


def _flows(count: int) -> str:
    return f"{count:,} flow{_s(count)}"


def _s(count: int | None) -> str:
    return "" if count == 1 else "s"


def _list(names: Sequence[str], what: str) -> str:
    return " and ".join(names) if len(names) <= 2 else f"{len(names):,} {what}"


def _time(ns: float) -> str:
    size, unit = next(((size, unit) for size, unit in _SIZES if ns >= size), _SIZES[-1])
    return f"{ns / size:.3g} {unit}"
