"""The hottest links of a run: for how long each was the root of a congestion tree, its cause, and its victims.

All numbers are of the tables `links`, `congestion_trees`, `congestion_flows` and `flows`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from fabricsim.dimensions import class_name
from fabricsim.frames import Lists, descending, lists_of, missing, records, rows_in
from fabricsim.lazy import numpy as np
from fabricsim.results import FEWEST_LOOKS, Result, few_looks, finite, looks

MOST_LINKS = 3
MOST_VICTIMS = 3
"""Victims of a link that are named."""
MOST_SHARING = 4
"""Entries that share flows and are named."""
SEVERAL = "several entries"
"""Entry of a flow that several entries share."""
_ALL = "*"
"""Destination of the flows of a source that are summed up."""
_NO_KIND = "plain"
"""Class of links of a graph without levels, dimensions and groups."""
_NO_COUNTS: dict[str, Any] = {"samples": math.nan, "contributors": math.nan, "victims": math.nan}
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
    trees, links = lists_of(result.frames, "congestion_trees"), _links(result)
    if trees is None or links is None or not rows_in(trees) or not {"root", "utilisation"} <= set(links):
        return []
    counts = _counts(trees)
    roots = list(zip(links["link"], links["lane"], strict=True))
    if few_looks(result):
        links["root"] = [math.nan] * len(roots)
        chosen = [number for number, root in enumerate(roots) if root in counts]
        by = ["samples", "utilisation"]
    else:
        # A table of very many trees lacks those of some samples.
        chosen = [number for number, share in enumerate(links["root"]) if share > 0.0]
        by = ["root", "utilisation", "samples"]
    rows = [row | counts.get((row["link"], row["lane"]), _NO_COUNTS) for row in records(links, chosen)]
    rows.sort(key=lambda row: [descending(row[name]) for name in by])
    hottest: dict[str, dict[str, Any]] = {}
    for row in rows:
        hottest.setdefault(row["link"], row)  # of several lanes the hottest
    lanes = len(set(links["lane"])) > 1
    shown = list(hottest)[:most]
    totals = {name: _sums(links, name, shown) for name in ("utilisation", "gbps")}
    return [
        _hot_link(result, hottest[link], {name: of[link] for name, of in totals.items()}, lanes)
        for link in shown
    ]


def _links(result: Result) -> Lists | None:
    return lists_of(result.frames, "links", "link", "class", "lane", "utilisation", "gbps", "root")


def _counts(trees: Lists) -> dict[tuple[str, int], dict[str, Any]]:
    """Samples of each root, and the largest numbers of its flows, by link and lane."""
    times: dict[tuple[str, int], set[float]] = {}
    found: dict[tuple[str, int], dict[str, Any]] = {}
    names = ("root", "lane", "time_ns", "contributors", "victims")
    for link, lane, time, contributors, victims in zip(*(trees[name] for name in names), strict=True):
        times.setdefault((link, lane), set()).add(time)
        most = found.setdefault((link, lane), {"contributors": contributors, "victims": victims})
        most["contributors"] = max(most["contributors"], contributors)
        most["victims"] = max(most["victims"], victims)
    return {root: {"samples": len(times[root]), **most} for root, most in found.items()}


def _hot_link(result: Result, row: dict[str, Any], total: dict[str, float], lanes: bool) -> HotLink:
    inside = _flows_in(result, row["link"])
    pure = [one for one in inside if one["contributor_ns"] > 0.0 and not one["victim_ns"] > 0.0]
    victims = [one for one in inside if not one["contributor_ns"] > 0.0 and one["victim_ns"] > 0.0]
    victims.sort(key=lambda one: (one["roots"] != row["link"], -one["victim_ns"]))
    entries = dict.fromkeys(one["entry"] for one in pure if one.get("entry") and not missing(one["entry"]))
    return HotLink(
        link=str(row["link"]),
        kind=str(row.get("class", "")),
        lane=int(row["lane"]) if lanes else None,
        root_share=float(row["root"]),
        root_samples=_count(row["samples"]),
        utilisation=total["utilisation"],
        gbps=total["gbps"],
        contributors=_count(row["contributors"]),
        victims=_count(row["victims"]),
        entries=tuple(_entry_name(str(name)) for name in entries),
        sources=len({one["source"] for one in pure}),
        destinations=tuple(dict.fromkeys(str(one["destination"]) for one in pure)),
        offered_gbps=float(np.sum([one["offered_gbps"] for one in pure])) if pure else math.nan,
        longest=tuple(
            Victim(
                f"{one['source']}->{one['destination']}",
                float(one["victim_ns"]),
                one["roots"] == row["link"],
                float(one["accepted_gbps"]),
                float(one["offered_gbps"]),
            )
            for one in victims[:MOST_VICTIMS]
        ),
    )


def _sums(links: Lists, name: str, of: Sequence[str]) -> dict[str, float]:
    """Sums over the lanes of each of some links; NaN if the table has no such column."""
    if name not in links:
        return dict.fromkeys(of, math.nan)
    lanes: dict[str, list[float]] = {link: [] for link in of}
    for link, value in zip(links["link"], links[name], strict=True):
        if link in lanes and not missing(value):
            lanes[link].append(value)
    return {link: math.fsum(values) for link, values in lanes.items()}


def _count(value: float) -> int | None:
    return None if math.isnan(value) else int(value)


def _entry_name(name: str) -> str:
    """The engine calls the entry of a flow that is in several of them so."""
    return SEVERAL if name == "several" else name


def _flows_in(result: Result, root: str) -> list[dict[str, Any]]:
    """The flows that were in trees with this root, with their throughput."""
    parts = lists_of(result.frames, "congestion_flows")
    names = ("accepted_gbps", "offered_gbps", "entry")
    flows = lists_of(result.frames, "flows", "source", "destination", *names)
    if parts is None or "roots" not in parts or flows is None:
        return []
    # Names may have commas, but no comma with a space; parallel cables end in #1.
    chosen = [number for number, roots in enumerate(parts["roots"]) if f", {root}, " in f", {roots}, "]
    inside = records(parts, chosen)
    pairs = {(row["source"], row["destination"]) for row in inside}
    ends = enumerate(zip(flows["source"], flows["destination"], strict=True))
    numbers = {pair: number for number, pair in ends if pair in pairs}
    known = dict(zip(numbers, records(flows, numbers.values()), strict=True))
    absent: dict[str, Any] = dict.fromkeys(names[:2], math.nan)
    if _ALL not in flows["destination"]:
        absent["accepted_gbps"] = 0.0  # the table has all pairs with a packet
    return [row | known.get((row["source"], row["destination"]), absent) for row in inside]


def sentences(result: Result) -> list[str]:
    """The hottest links, their cause and their victims; that no tree stood, if so. Empty if no sample was taken."""
    trees = lists_of(result.frames, "congestion_trees")
    if trees is None or not looks(result):
        return []
    found = hot_links(result)
    note = few_looks(result)
    if found:
        measured, names = _measured_ns(result), _names(result)
        names[SEVERAL] = _shared_by(result, names)
        said = [_sentence(hot, measured, names) for hot in found]
        return [f"{note[0].upper()}{note[1:]}.", *said] if note else said
    count = looks(result)
    taken = f"{count} sample{_s(count)}"
    text = f"No congestion tree stood in the measurement ({taken})."
    if note:
        text = f"No congestion tree in {taken}: fewer than {FEWEST_LOOKS} do not show that none stood."
    if trees["root"]:
        text += f" Outside of it {trees['root'][0]} was a root."
    return [text + _busiest(result)]


def as_dicts(result: Result) -> list[dict[str, Any]]:
    """The hottest links for JSON."""
    return [finite(asdict(hot)) for hot in hot_links(result)]


def _measured_ns(result: Result) -> float:
    return float(result.manifest["summary"].get("measured_ns") or math.nan)


def _busiest(result: Result) -> str:
    links = _links(result)
    if links is None or not rows_in(links) or "utilisation" not in links:
        return ""
    every = list(dict.fromkeys(links["link"]))
    use = [one for one in _sums(links, "utilisation", every).items() if one[1] > 0.0]
    if not use:
        return " No link sent a packet."
    use.sort(key=lambda one: -one[1])
    return f" Busiest links: {', '.join(f'{name} ({share:.1%} busy)' for name, share in use[:MOST_LINKS])}."


def _names(result: Result) -> dict[str, str]:
    """Entries as sentences name them: those without a name of their own, which have that of their pattern, by key."""
    entries = result.manifest["summary"].get("entries") or ()
    keys = {str(entry["entry"]): str(entry.get("key") or "") for entry in entries}
    return {name: f"{key} ({name})" if re.search(r"\.\d+(\.|$)", key) else name for name, key in keys.items()}


def _shared_by(result: Result, names: Mapping[str, str]) -> str:
    """Text for the entries of a flow that several share: those that share some flow have packets and no fairness."""
    entries = result.manifest["summary"].get("entries") or ()
    found = [str(one["entry"]) for one in entries if one.get("accepted_gbps") and missing(one.get("jain"))]
    if not 2 <= len(found) <= MOST_SHARING:
        return SEVERAL
    *most, last = (names.get(name, name) for name in found)
    return f"{'both' if len(found) == 2 else 'several of'} {', '.join(most)} and {last}"


def _sentence(hot: HotLink, measured_ns: float, names: Mapping[str, str]) -> str:
    kind = f" ({class_name(hot.kind)})" if hot.kind not in ("", _NO_KIND) else ""
    lane = f" on lane {hot.lane}" if hot.lane is not None else ""
    if math.isnan(hot.root_share):
        time = f"in {hot.root_samples:,} sample{_s(hot.root_samples)} of the run"
        busy = f"it was busy for {hot.utilisation:.1%} of the measurement"
    else:
        time = f"for {hot.root_share:.1%} of the measurement"
        busy = f"it was busy for {hot.utilisation:.1%} of it"
    first = f"{hot.link}{kind} was the root of a congestion tree{lane} {time}; {busy}."
    return f"{first} {_cause(hot, names)} {_victims(hot, measured_ns)}".rstrip()


def _cause(hot: HotLink, names: Mapping[str, str]) -> str:
    if hot.contributors is None:
        return "Cause and victims: no sample with its tree was kept."
    text = f"Cause: up to {_flows(hot.contributors)} at once with paths through it"
    if hot.entries:
        text += f", of {_entries(hot.entries, names)}"
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


def _entries(entries: Sequence[str], names: Mapping[str, str]) -> str:
    named = [names.get(name, name) for name in entries if name != SEVERAL]
    several = names.get(SEVERAL, SEVERAL)
    if len(named) == len(entries):
        return _list(named, "entries")
    return f"{_list(named, 'entries')}, and flows of {several}" if named else several


def _list(names: Sequence[str], what: str) -> str:
    return " and ".join(names) if len(names) <= 2 else f"{len(names):,} {what}"


def _time(ns: float) -> str:
    size, unit = next(((size, unit) for size, unit in _SIZES if ns >= size), _SIZES[-1])
    return f"{ns / size:.3g} {unit}"
