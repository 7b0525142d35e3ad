"""The sections of one run."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pandas as pd

from fabricsim.bound import Bound
from fabricsim.bound import bound as bound_of
from fabricsim.bound.reached import reached
from fabricsim.compare.settings import experiment_of
from fabricsim.errors import FabricsimError, InputError
from fabricsim.plots import save_plots
from fabricsim.report.jobs import jobs, routers
from fabricsim.report.parts import Section, cell, embedded, given, scratch, table_of
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

_FLOWS = {
    "source": "source",
    "destination": "destination",
    "offered_gbps": "offered",
    "accepted_gbps": "accepted",
    "destination_share": "share of destination's link",
    "final_destination_share": "the same, last tenth",
    "latency_mean_ns": "mean latency",
    "latency_p99_ns": "p99 latency",
    "latency_max_ns": "largest latency",
    "fecn": "marked",
    "becn": "notified",
    "ccti_mean": "mean CCTI",
    "rate_mean_mbps": "mean rate allowed",
    "held_back": "rate-limited",
}
_MESSAGES = {
    "stream": "messages of",
    "messages": "complete",
    "completion_mean_ns": "mean completion",
    "completion_p50_ns": "p50",
    "completion_p99_ns": "p99",
    "completion_p999_ns": "p99.9",
    "completion_max_ns": "largest",
}
_VICTIMS = {
    "source": "source",
    "destination": "destination",
    "accepted_gbps": "accepted Gb/s",
    "victim_share": "time as victim",
    "contributor_share": "time as contributor",
    "roots": "roots of its trees",
}
_ROOTS = {
    "root": "root",
    "lane": "lane",
    "time_share": "time as root",
    "depth": "depth at most",
    "branches": "branches at most",
    "contributors": "contributors at most",
    "victims": "victims at most",
}


def sections_of_run(result: Result, *, bound: bool = True) -> list[Section]:
    """All sections of a run. `bound`: with the fraction of the bound that it reached."""
    found = [_summary(result), _flows(result), jobs(result), routers(result)]
    found += [_hot_spots(result), _victims(result), _congestion(result)]
    found.append(_transport(result))
    if bound:
        found.append(_bound(result))
    found += [_pictures(result), _invariants(result), _experiment(result)]
    return [section for section in found if section is not None]


def _summary(result: Result) -> Section:
    scalars = flatten(result.manifest["summary"])
    names = {
        "offered_gbps": "offered Gb/s",
        "accepted_gbps": "accepted Gb/s",
        "offered_load": "offered load",
        "accepted_load": "accepted load",
        "latency_ns.mean": "mean latency",
        "latency_ns.p50": "p50 latency",
        "latency_ns.p99": "p99 latency",
        "latency_ns.p999": "p99.9 latency",
        "latency_ns.max": "largest latency",
        "hops.mean": "mean hops",
        "jain": "fairness (Jain's index)",
        "starving": "starving flows",
        "saturation": "saturated",
        "packet_hops": "packet-hops",
        "seed": "seed",
        "fingerprint": "fingerprint",
    }
    facts: list[tuple[str, Any]] = [(name, cell(scalars.get(key), key)) for key, name in names.items()]
    simulated = scalars.get("simulated_s")
    if simulated:
        facts.insert(0, ("simulated", cell(simulated * 1e9, "_ns")))
    facts.append(("fabricsim", result.manifest.get("version")))
    deadlock = result.manifest["summary"].get("deadlock") or ()
    code = "\n".join(str(line) for line in deadlock)
    text = "The network came to a deadlock: a cyclic dependency of these packets." if code else ""
    return Section("Summary", text=text, facts=given(facts), code=code)


def _flows(result: Result) -> Section | None:
    if "flows" not in result.frames or result.flows.empty:
        return None
    flows = _with_notes(
        result.flows,
        destination_share=destination_share(result),
        final_destination_share=final_destination_share(result),
    ).sort_values("accepted_gbps", ascending=False, kind="stable")
    return Section("Flows", table=table_of(flows, _FLOWS, MOST_ROWS, "flows, by accepted throughput"))


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
    most = ["depth", "branches", "contributors", "victims"]
    spots = grouped[[name for name in most if name in trees]].max()
    spots["time_share"] = grouped["time_share"].sum()
    spots = spots.sort_values("time_share", ascending=False, kind="stable").reset_index()
    if note := few_looks(result):
        spots = spots.drop(columns="time_share")
        text += f" {note[0].upper()}{note[1:]}."
    else:
        text += " Times are of the whole run."
    return Section("Hot spots", text=text, table=table_of(spots, _ROOTS, MOST_ROWS, "hot spots, by time"))


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
    return Section("Victims", text=text, table=table_of(victims, _VICTIMS, MOST_ROWS, "victims, by time"))


def _congestion(result: Result) -> Section | None:
    counters = result.manifest["summary"].get("congestion")
    if not isinstance(counters, dict):
        return None
    facts = [(name.replace("_", " "), cell(value, name)) for name, value in counters.items()]
    return Section("Congestion control", facts=given(facts))


def _transport(result: Result) -> Section | None:
    found = result.manifest["summary"].get("transport")
    if not isinstance(found, dict) or "messages" not in result.frames:
        return None
    facts = [
        (name.replace("_", " "), cell(value, name))
        for name, value in found.items()
        if name != "completion_ns"
    ]
    text = "Messages are complete when their last operation is visible at their receiver; times are from creation."
    table = table_of(result.messages, _MESSAGES, MOST_ROWS, "entries of the traffic list")
    return Section("Transport", text=text, facts=given(facts), table=table)


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
        ("from", cell(part.from_ns, "_ns")),
        ("to", cell(part.to_ns, "_ns")),
        ("accepted Gb/s", cell(part.accepted_gbps, "")),
        ("largest total Gb/s", cell(found.total_gbps, "")),
        ("fair to pairs, in all Gb/s", cell(found.fair_total_gbps, "")),
        ("fair to sources, in all Gb/s", cell(found.sender_fair_total_gbps, "")),
    ]
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
    facts = [(re.sub("[._]", " ", name), cell(value, name)) for name, value in flatten(found).items()]
    return Section("Invariants", text="Packets that entered and left the network.", facts=given(facts))


def _experiment(result: Result) -> Section:
    overrides = [(str(key), str(value)) for key, value in result.manifest.get("overrides", ())]
    text = "As the file has it; what stands above it was set on top." if overrides else ""
    return Section("Experiment", text=text, facts=overrides, code=str(result.manifest.get("experiment", "")))


def _with_notes(frame: pd.DataFrame, **columns: pd.Series[float]) -> pd.DataFrame:
    """The frame with more columns, and its notes."""
    notes = frame.attrs.get("columns", {})
    frame = frame.assign(**columns)
    frame.attrs["columns"] = notes
    return frame
