"""The sections of one run."""

from __future__ import annotations

from pathlib import Path

from fabricsim import catalogue
from fabricsim.bound import Bound
from fabricsim.bound import bound as bound_of
from fabricsim.bound.reached import reached
from fabricsim.catalogue import FRACTION, Entry
from fabricsim.compare.settings import experiment_of
from fabricsim.errors import FabricsimError, InputError
from fabricsim.hot_links import sentences
from fabricsim.plots import save_plots
from fabricsim.report.jobs import jobs, routers
from fabricsim.report.parts import Section, duration, embedded, facts_of, given, scratch, table_of
from fabricsim.report.sums import sums_of_run
from fabricsim.results import (
    Result,
    destination_share,
    few_looks,
    final_destination_share,
    flatten,
    tree_spans,
)

MOST_ROWS = 200
"""Rows of a table; the run folder has all."""
BOUND_S = 20.0
"""Seconds that each program of the bound may take."""

_SHARES = (
    Entry("destination_share", "share of destination's link", FRACTION),
    Entry("final_destination_share", "the same, last tenth", FRACTION),
)
"""Columns that are computed here."""
_FLOWS = ("source", "destination", "offered_gbps", "accepted_gbps")
_FURTHER = (
    "latency_mean_ns",
    "latency_p99_ns",
    "latency_max_ns",
    "fecn",
    "becn",
    "ccti_mean",
    "rate_mean_mbps",
    "held_back",
)
_ENTRIES = (
    "entry",
    "text",
    "sources",
    "destinations",
    "offered_gbps",
    "accepted_gbps",
    "source_share",
    "destination_share",
    "latency_mean_ns",
    "latency_p50_ns",
    "latency_p99_ns",
    "jain",
    "messages",
)
_MESSAGES = (
    "entry",
    "messages",
    "completion_mean_ns",
    "completion_p50_ns",
    "completion_p99_ns",
    "completion_p999_ns",
    "completion_max_ns",
)
_VICTIMS = (
    Entry("victim_share", "time as victim", FRACTION),
    Entry("contributor_share", "time as contributor", FRACTION),
)
_ROOTS = (Entry("time_share", "time as root", FRACTION),)
_MOST = ("depth", "branches", "contributors", "victims")
"""Columns of trees of which the table has the largest values."""
_SUMMARY = (
    "simulated_s",
    "offered_gbps",
    "accepted_gbps",
    "offered_load",
    "accepted_load",
    "latency_ns.mean",
    "latency_ns.p50",
    "latency_ns.p99",
    "latency_ns.p999",
    "latency_ns.max",
    "hops.mean",
    "jain",
    "starving",
    "saturation",
    "packet_hops",
    "seed",
    "fingerprint",
)


def sections_of_run(result: Result, *, bound: bool = True) -> list[Section]:
    """All sections of a run. `bound`: with the fraction of the bound that it reached."""
    found = [
        _hot_links(result),
        _summary(result),
        _entries(result),
        *sums_of_run(result),
        _flows(result),
        jobs(result),
        routers(result),
    ]
    found += [_hot_spots(result), _victims(result), _congestion(result)]
    found.append(_transport(result))
    if bound:
        found.append(_bound(result))
    found += [_pictures(result), _invariants(result), _experiment(result)]
    return [section for section in found if section is not None]


def _hot_links(result: Result) -> Section | None:
    said = sentences(result)
    return Section("Hottest links", lines=said) if said else None


def _summary(result: Result) -> Section:
    scalars = flatten(result.manifest["summary"])
    facts = facts_of(scalars, map(catalogue.key, _SUMMARY))
    lost = [name for name in scalars if name.startswith("invariants.lost.") and scalars[name]]
    if scalars.get("invariants.dropped"):
        facts += facts_of(scalars, [catalogue.key("invariants.dropped").named("packets lost")])
        facts += facts_of(scalars, map(catalogue.key, lost))
    facts += given([("fabricsim", result.manifest.get("version"))])
    deadlock = result.manifest["summary"].get("deadlock") or ()
    code = "\n".join(str(line) for line in deadlock)
    text = "The network came to a deadlock: a cyclic dependency of these packets." if code else ""
    return Section("Summary", text=text, facts=facts, code=code)


def _entries(result: Result) -> Section | None:
    if "entries" not in result.frames or result.entries.empty:
        return None
    text = "Entries of the traffic list, responses to them, and jobs. Shares are of the links of all hosts of an end."
    columns = catalogue.some("entries", *_ENTRIES)
    return Section("Entries", text=text, table=table_of(result.entries, columns, MOST_ROWS, "entries"))


def _flows(result: Result) -> Section | None:
    if "flows" not in result.frames or result.flows.empty:
        return None
    flows = result.flows.assign(
        destination_share=destination_share(result),
        final_destination_share=final_destination_share(result),
    ).sort_values("accepted_gbps", ascending=False, kind="stable")
    columns = [*catalogue.some("flows", *_FLOWS), *_SHARES, *catalogue.some("flows", *_FURTHER)]
    return Section("Flows", table=table_of(flows, columns, MOST_ROWS, "flows, by accepted throughput"))


def _hot_spots(result: Result) -> Section | None:
    trees = result.frames.get("congestion_trees")
    if trees is None:
        return None
    text = (
        "Outputs at which packets piled up since the link behind them was too slow for what came: the roots of "
        "congestion trees, found in samples of the network over the whole run."
    )
    if trees.empty:
        return Section("Hot spots", text=text + " There were none.")
    begin, end = tree_spans(trees)
    trees = trees.assign(time_share=(end - begin) / _simulated_ns(result))
    grouped = trees.groupby(["root", "lane"], sort=False)
    spots = grouped[[name for name in _MOST if name in trees]].max()
    spots["time_share"] = grouped["time_share"].sum()
    spots = spots.sort_values("time_share", ascending=False, kind="stable").reset_index()
    if note := few_looks(result):
        spots = spots.drop(columns="time_share")
        text += f" {note[0].upper()}{note[1:]}."
    else:
        text += " Times are of the whole run."
    most = [entry.named(f"{entry.label} at most") for entry in catalogue.some("congestion_trees", *_MOST)]
    columns = [*catalogue.some("congestion_trees", "root", "lane"), *_ROOTS, *most]
    return Section("Hot spots", text=text, table=table_of(spots, columns, MOST_ROWS, "hot spots, by time"))


def _simulated_ns(result: Result) -> float:
    """Simulated time of the whole run; NaN if it is not known."""
    return float(result.manifest["summary"].get("simulated_s") or float("nan")) * 1e9


def _victims(result: Result) -> Section | None:
    flows = result.frames.get("congestion_flows")
    length = result.manifest["summary"].get("measured_ns")
    if flows is None or "victim_ns" not in flows or not length:
        return None
    text = "Flows whose packets waited in a congestion tree to whose root they did not go."
    if note := few_looks(result):
        return Section("Victims", text=f"{text} {note[0].upper()}{note[1:]}.")
    victims = flows[flows["victim_ns"] > 0].sort_values("victim_ns", ascending=False, kind="stable")
    if victims.empty:
        return Section("Victims", text=text + " There were none.")
    shares = {f"{kind}_share": victims[f"{kind}_ns"] / length for kind in ("victim", "contributor")}
    accepted = result.flows[["source", "destination", "accepted_gbps"]]
    victims = victims.assign(**shares).merge(accepted, how="left", on=["source", "destination"])
    flow = catalogue.some("flows", "source", "destination", "accepted_gbps")
    columns = [*flow, *_VICTIMS, catalogue.column("congestion_flows", "roots")]
    return Section("Victims", text=text, table=table_of(victims, columns, MOST_ROWS, "victims, by time"))


def _congestion(result: Result) -> Section | None:
    counters = result.manifest["summary"].get("congestion")
    if not isinstance(counters, dict):
        return None
    return Section("Congestion control", facts=facts_of(counters, catalogue.keys("congestion", *counters)))


def _transport(result: Result) -> Section | None:
    found = result.manifest["summary"].get("transport")
    if not isinstance(found, dict) or "messages" not in result.frames:
        return None
    facts = facts_of(found, catalogue.keys("transport", *(name for name in found if name != "completion_ns")))
    text = "Messages are complete when their last operation is visible at their receiver; times are from creation."
    columns = catalogue.some("messages", *_MESSAGES)
    table = table_of(result.messages, columns, MOST_ROWS, "entries of the traffic list")
    return Section("Transport", text=text, facts=facts, table=table)


def _bound(result: Result) -> Section:
    title = "Fraction of the bound"
    try:
        if result.manifest["summary"].get("accepted_gbps") is None:
            raise InputError("the run has no accepted throughput")
        found: Bound = bound_of(experiment_of(result), limit_s=BOUND_S)
        part = reached(result, found)
    except FabricsimError as error:
        return Section(title, text=f"It is not known: {error}")
    facts = [
        ("reached", f"{part.fraction:.1%}"),
        ("from", duration(part.from_ns)),
        ("to", duration(part.to_ns)),
    ]
    rates = {
        "accepted throughput": part.accepted_gbps,
        "largest total": found.total_gbps,
        "fair to pairs, in all": found.fair_total_gbps,
        "fair to sources, in all": found.sender_fair_total_gbps,
    }
    facts += facts_of(rates, [Entry(name, name, "Gb/s") for name in rates])
    text = (
        "The bound is the largest total that topology and routing allow this traffic in the part of the measurement "
        "in which most flows are active. Packets count when they are complete, so that what the network held at the "
        "begin of that part may bring the fraction above 100 %."
    )
    return Section(title, text=text, facts=given(facts))


def _pictures(result: Result) -> Section:
    with scratch() as folder:
        return Section("Pictures", pictures=embedded(save_plots(result, Path(folder), "svg")))


def _invariants(result: Result) -> Section:
    found = result.manifest["summary"].get("invariants") or {}
    scalars = flatten(found)
    facts = facts_of(scalars, catalogue.keys("invariants", *scalars))
    return Section("Invariants", text="Packets that entered and left the network.", facts=facts)


def _experiment(result: Result) -> Section:
    overrides = [(str(key), str(value)) for key, value in result.manifest.get("overrides", ())]
    text = "As the file has it; what stands above it was set on top." if overrides else ""
    return Section("Experiment", text=text, facts=overrides, code=str(result.manifest.get("experiment", "")))
