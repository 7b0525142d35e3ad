"""Sentences on the hottest links: their numbers are those of the tables."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from conftest import Command

import fabricsim as fs
from fabricsim.hot_links import hot_links, sentences
from fabricsim.report.page import html

TREES = ["time_ns", "root", "lane", "contributors", "victims"]
PARTS = ["source", "destination", "contributor_ns", "victim_ns", "roots"]
HOT, WARM = "S(0,0)->S(1,0)", "S(1,0)->H(1,0).0"


def congested(looks: int = 100, root: tuple[float, float] = (0.75, 0.1), lanes: int = 1) -> fs.Result:
    """A measurement of 1 ms: one root for most of the time, one for a tenth, and a flow that is in both trees."""
    share = root if looks >= 20 else (math.nan, math.nan)
    links = pd.DataFrame(
        {
            "link": [HOT, WARM, "H(0,0).0->S(0,0)"],
            "class": ["dimension 0", "host", "host"],
            "lane": [0, lanes - 1, 0],
            "utilisation": [0.5, 1.0, 0.2],
            "gbps": [50.0, 100.0, 20.0],
            "root": [*share, 0.0],
        }
    )
    trees = [(0.0, HOT, 0, 7, 2), (1.0, HOT, 0, 9, 1), (1.0, WARM, lanes - 1, 1, 0)]
    parts = [
        ("A", "B", 1e6, 0.0, HOT),
        ("C", "D", 0.0, 5e5, HOT),
        ("C", "E", 0.0, 9e5, f"{HOT}, {WARM}"),
        ("F", "B", 2e5, 3e5, f"{WARM}, {HOT}"),
    ]
    flows = pd.DataFrame(
        {
            "source": ["A", "C", "C", "F"],
            "destination": ["B", "D", "E", "B"],
            "entry": ["incast", "rest", "rest", "incast"],
            "accepted_gbps": [50.0, 1.5, 2.5, 40.0],
            "offered_gbps": [80.0, 10.0, 10.0, 80.0],
        }
    )
    frames = {
        "links": links,
        "flows": flows,
        "congestion_trees": pd.DataFrame(trees, columns=TREES),
        "congestion_flows": pd.DataFrame(parts, columns=PARTS),
    }
    if looks < 20:
        frames["congestion_flows"] = frames["congestion_flows"].assign(
            contributor_ns=math.nan, victim_ns=math.nan
        )
    summary = {"congestion_trees": {"looks": looks, "interval_ns": 1e4}, "measured_ns": 1e6}
    return fs.Result({"status": "ok", "name": "made", "summary": summary}, frames)


def test_the_hottest_link_with_cause_and_victims() -> None:
    first, second = sentences(congested())
    assert first == (
        "S(0,0)->S(1,0) (dimension x) was the root of a congestion tree for 75.0% of the measurement; it was busy "
        "for 50.0% of it. Cause: up to 9 flows at once with paths through it, of incast, from 1 host to B; they "
        "offered 80 Gb/s; it carried 50 Gb/s. Victims: up to 2 flows at once; longest C->D (500 µs, 50% of the "
        "measurement; accepted 1.5 Gb/s of 10 Gb/s), C->E (900 µs, 90% of the measurement, in all its trees; "
        "accepted 2.5 Gb/s of 10 Gb/s)."
    )
    assert second.startswith("S(1,0)->H(1,0).0 (host) was the root of a congestion tree for 10.0%")
    assert "Cause: up to 1 flow at once" in second
    assert second.endswith("Victims: none.")


def test_a_flow_that_was_contributor_and_victim_is_neither_in_the_sentences() -> None:
    hot = hot_links(congested())[0]
    assert (hot.sources, hot.destinations) == (1, ("B",))
    assert [one.flow for one in hot.longest] == ["C->D", "C->E"]


def test_flows_of_several_entries_come_after_the_entries_by_name() -> None:
    run = congested()
    parts = run.frames["congestion_flows"].assign(contributor_ns=1.0, victim_ns=0.0)
    for entries, said in (
        (["several", "rest", "rest", "rest"], "of rest, and flows of several entries, from"),
        (["several"] * 4, "of several entries, from"),
        (["several", "incast", "rest", "bulk"], "of 3 entries, and flows of several entries, from"),
    ):
        flows = run.frames["flows"].assign(entry=entries)
        shared = replace(run, frames={**run.frames, "flows": flows, "congestion_flows": parts})
        assert said in sentences(shared)[0]


def test_an_entry_without_a_name_has_its_key_beside_its_pattern() -> None:
    run = congested()
    entries = [{"entry": "incast", "key": "traffic.0"}, {"entry": "rest", "key": "traffic.rest"}]
    run.manifest["summary"]["entries"] = entries
    assert "of traffic.0 (incast), from" in sentences(run)[0]
    assert hot_links(run)[0].entries == ("incast",)


def test_a_victim_without_a_delivered_packet_accepted_nothing() -> None:
    run = congested()
    flows = run.frames["flows"]
    starved = replace(run, frames={**run.frames, "flows": flows[flows["destination"] != "D"]})
    assert "longest C->D (500 µs, 50% of the measurement; accepted 0 Gb/s), C->E" in sentences(starved)[0]
    summed = replace(run, frames={**run.frames, "flows": flows.assign(destination="*")})
    assert "longest C->D (500 µs, 50% of the measurement), C->E" in sentences(summed)[0], "not known"


def test_links_without_a_class_have_none_in_the_sentence() -> None:
    run = congested()
    plain = replace(run, frames={**run.frames, "links": run.frames["links"].assign(**{"class": "plain"})})
    assert sentences(plain)[0].startswith("S(0,0)->S(1,0) was the root")


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (1, "of several entries, from"),
        (2, "of both incast and traffic.1 (rest), from"),
        (3, "of several of incast, traffic.1 (rest) and bulk, from"),
        (5, "of several entries, from"),
    ],
)
def test_entries_that_share_flows_are_named_if_they_are_few(number: int, said: str) -> None:
    """Those have packets, and no fairness, since the division of their flows is not known."""
    run = congested()
    names = ["incast", "rest", "bulk", "more", "much"][:number]
    entries = [
        {"entry": name, "key": f"traffic.{name}", "accepted_gbps": 1.0, "jain": None} for name in names
    ]
    entries += [{"entry": "fair", "key": "traffic.fair", "accepted_gbps": 1.0, "jain": 0.9}]
    entries += [{"entry": "silent", "key": "traffic.silent", "accepted_gbps": 0.0, "jain": None}]
    for entry in entries:
        entry["key"] = "traffic.1" if entry["entry"] == "rest" else entry["key"]
    run.manifest["summary"]["entries"] = entries
    flows = run.frames["flows"].assign(entry="several")
    shared = replace(run, frames={**run.frames, "flows": flows})
    assert said in sentences(shared)[0]


def test_no_tree_in_the_measurement_is_said_with_the_busiest_links() -> None:
    (text,) = sentences(congested(root=(0.0, 0.0)))
    assert text.startswith(
        "No congestion tree stood in the measurement (100 samples). Outside of it S(0,0)->S(1,0)"
    )
    assert text.endswith(
        "Busiest links: S(1,0)->H(1,0).0 (100.0% busy), S(0,0)->S(1,0) (50.0% busy), H(0,0).0->S(0,0) (20.0% busy)."
    )
    calm = congested(root=(0.0, 0.0))
    calm = replace(calm, frames={**calm.frames, "congestion_trees": calm.frames["congestion_trees"].iloc[:0]})
    assert "Outside" not in sentences(calm)[0]


def test_with_few_samples_there_are_no_times() -> None:
    note, first, second = sentences(congested(looks=19))
    assert "19 samples" in note
    assert "fewer than 20" in note
    assert "in 2 samples of the run; it was busy for 50.0% of the measurement" in first
    assert "in 1 sample of the run" in second
    assert "longest" not in first


def test_few_samples_without_a_tree_do_not_show_that_none_stood() -> None:
    for looks, said in (
        (1, "No congestion tree in 1 sample: fewer than 20 do not show that none stood."),
        (20, "No congestion tree stood in the measurement (20 samples)."),
    ):
        calm = congested(root=(0.0, 0.0), looks=looks)
        none = calm.frames["congestion_trees"].iloc[:0]
        (text,) = sentences(replace(calm, frames={**calm.frames, "congestion_trees": none}))
        assert text.startswith(said)


def test_a_root_whose_samples_were_dropped_is_named_without_a_cause() -> None:
    run = congested()
    trees = run.frames["congestion_trees"]
    kept = replace(run, frames={**run.frames, "congestion_trees": trees[trees["root"] == WARM]})
    assert sentences(kept)[0].endswith("Cause and victims: no sample with its tree was kept.")


def test_lanes_are_named_where_there_are_several() -> None:
    assert "tree on lane 1 for 10.0%" in sentences(congested(lanes=2))[1]
    assert "lane" not in sentences(congested())[1]


def test_without_samples_nothing_is_said() -> None:
    assert sentences(congested(looks=0)) == []


def test_a_run_and_its_report_begin_with_them(command: Command, small: Path, real: None) -> None:
    small.write_text(
        small.read_text().replace("load = 0.3", 'injection = "saturating"\ndestinations = ["H(0,0).0"]')
    )
    ran = command("run", small, "--out", "a")
    assert ran.out.startswith("S(0,0)->H(0,0).0 (host) was the root of a congestion tree")
    result = fs.load(small.parent / "a")
    page = html(result, bound=False)
    assert page.index("Hottest links") < page.index("Summary</h2>")
    assert page.count("was the root of a congestion tree") == len(hot_links(result)) > 0
    calm = command("run", small, "--set", "traffic.0.load=0.05", "--set", 'traffic.0.injection="poisson"')
    assert "No congestion tree stood in the measurement (100 samples)." in " ".join(calm.out.split())


@pytest.mark.usefixtures("real")
def test_json_has_them(command: Command, small: Path) -> None:
    ran = command("run", small, "--json")
    assert json.loads(ran.out)["hottest_links"] == []
