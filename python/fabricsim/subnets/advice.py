"""What an administrator can do about the routes of a subnet: sentences that follow from the numbers of a report."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

UNEVEN = 1.5
"""Paths on the fullest link, over the mean, from which on the routes count as uneven."""
NAMED = 5
"""Names in a sentence."""
CURES = ("updn", "dfsssp", "lash", "nue")
"""Engines that are tried where another has a deadlock."""

WITHOUT_ROUTERS = ("sssp", "dfsssp", "nue")
"""Engines that leave routers out, as OpenSM's do."""
WITH_ROUTERS = ("minhop", "updn", "dor", "lash")
"""Engines that route them."""

Report = dict[str, Any]


@dataclass(frozen=True)
class Advice:
    """A sentence or two on one matter."""

    kind: str
    """`cut_off`, `lids`, `unreachable`, `failure`, `deadlock`, `lanes`, `idle_switches`, `idle_links`, `slow_links`,
    `uneven`, `detours` or `comparison`."""
    text: str


def advice(report: Report) -> list[Advice]:
    """Advice on one answer, the gravest first. Empty if nothing is to be done."""
    return [Advice(kind, text) for kind, texts in _KINDS.items() for text in texts(report)]


def compared(report: Report, other: Report) -> Advice:
    """How an answer differs from `other`, which stands for the present state."""
    before, after = other["link_load"]["max"], report["link_load"]["max"]
    text = f"{report['engine']} in place of {other['engine']}: {_arriving(other, report)}"
    text += f"paths on the fullest link {before:,} -> {after:,}{_change(before, after)}"
    text += _bisections(other, report)
    if report["deadlock"]["free"] != other["deadlock"]["free"]:
        text += f"; deadlock {'impossible' if report['deadlock']['free'] else 'possible'}"
    return Advice("comparison", text + ".")


def _cut_off(report: Report) -> Iterator[str]:
    lost = (report["failure"] or {}).get("cut_off", [])
    if lost:
        yield f"{_number(len(lost), 'adapter has', 'adapters have')} lost the last cable: {_names(lost)}."


def _unreachable(report: Report) -> Iterator[str]:
    pairs = report["pairs"]
    if pairs["unreachable"]:
        total = pairs["reachable"] + pairs["unreachable"]
        paths = (f"{path['source']} to {path['destination']}" for path in report["lost_paths"])
        text = (
            f"{pairs['unreachable']:,} of {total:,} paths ({pairs['unreachable'] / total:.1%}) do not arrive, such as "
            f"{_names(paths)}."
        )
        routers = pairs["to_routers"]
        if report["engine"] in WITHOUT_ROUTERS and routers:
            which = "These paths" if routers == pairs["unreachable"] else f"{routers:,} of them"
            text += (
                f" {which} go to routers, which {report['engine']} leaves out, as in OpenSM: {', '.join(WITH_ROUTERS)} "
                "route them."
            )
        if routers < pairs["unreachable"] and not report["misdelivered"]:
            text += " The tables lead into holes or loops there: have OpenSM compute them anew."
        yield text


def _lids(report: Report) -> Iterator[str]:
    wrong = report["misdelivered"]
    if not wrong:
        return
    entries = f"{_number(wrong, 'entry leads', 'entries lead')} to another port than that of the LID"
    if report["assigned_lids"]:
        yield (
            f"The file of the fabric has no LIDs. Those that were assigned here ({report['assigned_lids']:,} ports) do "
            f"not fit the tables: {entries}. This says nothing against the tables: give a file of the fabric with its "
            "LIDs, such as the output of ibnetdiscover."
        )
    else:
        yield (
            f"The tables do not fit the LIDs of the fabric: {entries}. Take both from the cluster at the same time; "
            "fabricsim import --lfts names the LIDs."
        )


def _failure(report: Report) -> Iterator[str]:
    failure = report["failure"]
    if failure is None or failure["before"] is None:
        return
    before = failure["before"]
    most, now = before["link_load"]["max"], report["link_load"]["max"]
    yield (
        f"Without {_names(failure['failed'])} ({_number(failure['cables'], 'cable', 'cables')}): "
        f"{_arriving(before, report)}paths on the fullest link {most:,} -> {now:,}{_change(most, now)}"
        f"{_bisections(before, report)}; switches on a path {before['hops_mean']:.2f} -> {report['hops_mean']:.2f}."
    )


def _deadlock(report: Report) -> Iterator[str]:
    deadlock = report["deadlock"]
    if deadlock["free"]:
        return
    names = deadlock["cycle"]["names"]
    yield (
        f"Packets may wait for each other for ever: {len(names)} channels depend on each other in a cycle, beginning "
        f"with {names[0]}."
    )
    cures = [
        f"{cure['engine']} ({_number(cure['lanes'], 'virtual lane', 'virtual lanes')}, at most "
        f"{cure['link_load_max']:,} paths on a link)"
        for cure in deadlock["cures"]
    ]
    untried = deadlock["untried"]
    if cures:
        yield f"Engines that route this fabric without such a cycle: {', '.join(cures)}."
    elif len(untried) < len(CURES):
        tried = [engine for engine in CURES if engine not in untried]
        verb = "does not route" if len(tried) == 1 else "routes"
        yield f"{_any_of(tried)} {verb} this fabric without such a cycle: give roots, or more virtual lanes."
    if untried:
        yield f"Not tried, since the subnet is large: {', '.join(untried)} (--engine)."


def _any_of(engines: Sequence[str]) -> str:
    return engines[0] if len(engines) == 1 else f"Neither {', '.join(engines[:-1])} nor {engines[-1]}"


def _lanes(report: Report) -> Iterator[str]:
    lanes = report["lanes"] if report["layers"] is None else report["layers"]
    if report["deadlock"]["free"] and lanes > 1:
        yield (
            f"The paths need {lanes} virtual lanes to be free of deadlock: OpenSM must run with `qos TRUE`, "
            "and applications must take the service levels of path records."
        )


def _idle_switches(report: Report) -> Iterator[str]:
    idle = report["links"]["idle_switches"]
    if idle:
        verb = "carries" if len(idle) == 1 else "carry"
        text = f"{_number(len(idle), 'switch', 'switches')} without adapters {verb} no path: {_names(idle)}."
        if report["engine"] in {"updn", "ftree"}:
            if report["roots"] is None:
                text += " If the engine has not found them to be roots, name all roots with --roots (root_guid_file)."
            text += " Compare other engines with --against."
        yield text


def _idle_links(report: Report) -> Iterator[str]:
    links = report["links"]
    if links["idle"] and not links["idle_switches"]:
        yield f"{links['idle']:,} of {links['directions']:,} directions of links between switches carry no path."


def _slow_links(report: Report) -> Iterator[str]:
    slow = report["links"]["slow"]
    used = [link for link in slow if link["paths"]]
    if not used:
        return
    worst = used[0]
    share = worst["paths"] / worst["fraction"]
    text = (
        f"{_number(len(slow), 'cable', 'cables')} between switches below the usual {worst['usual']}. {worst['name']} "
        f"has {worst['rate']} and {worst['paths']:,} paths: as full as another link with {share:,.0f}"
    )
    if share > report["link_load"]["max"]:
        yield text + ", more than any has. Replace the cable, or see what --fail says about taking it out."
    else:
        yield text + f"; the fullest has {report['link_load']['max']:,}."


def _uneven(report: Report) -> Iterator[str]:
    load = report["link_load"]
    if not report["hot_links"] or load["max"] < UNEVEN * load["mean"]:
        return
    text = (
        f"{report['hot_links'][0]['name']} carries {load['max']:,} paths, {load['max'] / load['mean']:.1f} times the "
        f"mean of {load['mean']:.1f}"
    )
    bisection = report["traffic"]["bisection"]
    if bisection is not None:
        text += f"; random pairs get {bisection['mean']:.1%} of their adapters' links"
    yield text + ". Compare engines with --against."


def _detours(report: Report) -> Iterator[str]:
    pairs = report["pairs"]
    if pairs["non_minimal"]:
        share = pairs["non_minimal"] / pairs["reachable"]
        yield f"{pairs['non_minimal']:,} of {pairs['reachable']:,} paths ({share:.1%}) are longer than the shortest."


_KINDS = {
    "cut_off": _cut_off,
    "lids": _lids,
    "unreachable": _unreachable,
    "deadlock": _deadlock,
    "failure": _failure,
    "slow_links": _slow_links,
    "idle_switches": _idle_switches,
    "uneven": _uneven,
    "idle_links": _idle_links,
    "detours": _detours,
    "lanes": _lanes,
}


def _arriving(before: Report, after: Report) -> str:
    """Paths that are lost or found: first, since a lost path loads no link, and the loads without it look better."""
    lost = after["pairs"]["unreachable"] - before["pairs"]["unreachable"]
    if not lost:
        return ""
    total = after["pairs"]["reachable"] + after["pairs"]["unreachable"]
    if lost > 0:
        return f"{lost:,} more of {total:,} paths do not arrive, and load no link; "
    return f"{-lost:,} more of {total:,} paths arrive; "


def _bisections(before: Report, after: Report) -> str:
    had, has = before["traffic"]["bisection"], after["traffic"]["bisection"]
    if had is None or has is None:
        return ""
    return f", effective bisection {had['mean']:.1%} -> {has['mean']:.1%}{_change(had['mean'], has['mean'])}"


def _change(before: float, after: float) -> str:
    return f" ({after / before - 1:+.0%})" if before else ""


def _names(names: Iterable[str]) -> str:
    every = list(names)
    more = len(every) - NAMED
    return ", ".join(every[:NAMED]) + (f" and {more:,} more" if more > 0 else "")


def _number(count: int, one: str, many: str) -> str:
    return f"{count:,} {one if count == 1 else many}"
