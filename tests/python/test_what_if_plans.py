"""Single failures beside those of an experiment's own plan."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from conftest import Command
from test_what_if import RING

import fabricsim as fs
from fabricsim import plots
from fabricsim.fault_plan import FaultPlan

pytestmark = pytest.mark.usefixtures("real")
LINKS = {"S(0)-S(1)", "S(1)-S(2)", "S(2)-S(3)", "S(3)-S(0)"}


def ring(*plan: dict[str, str], **values: Any) -> fs.Experiment:
    return fs.Experiment.from_text(RING).with_values({"faults.plan": list(plan), **values})


def failures(found: fs.WhatIf) -> Any:
    assert (found.failures["status"] == "ok").all(), found.failures["message"].tolist()
    return found.failures.set_index("failure")


@pytest.mark.parametrize(
    ("plan", "expected"),
    [
        ({"link": "S(3)-S(2)", "at": "10 us"}, LINKS - {"S(2)-S(3)"}),
        ({"link": "S(3)-S(2)", "at": "10 us", "until": "40 us"}, LINKS - {"S(2)-S(3)"}),
        ({"link": "S(3)-S(2)", "at": "10 us", "until": "20 us"}, LINKS),
        ({"link": "S(3)-S(2)", "at": "30 us"}, LINKS - {"S(2)-S(3)"}),
        ({"link": "S(3)-S(2)", "at": "30001 ns", "until": "40 us"}, LINKS),
        ({"link": "S(2)/3", "at": "10 us"}, LINKS - {"S(2)-S(3)"}),
        ({"link": "S(3)/2", "at": "30 us", "until": "40 us"}, LINKS - {"S(2)-S(3)"}),
        ({"link": "S(2)/3", "at": "30001 ns"}, LINKS),
        ({"switch": "S(2)", "at": "10 us"}, {"S(0)-S(1)", "S(3)-S(0)"}),
        ({"switch": "S(2)", "at": "50 us"}, LINKS),
    ],
)
def test_what_the_plan_has_failed_cannot_fail(plan: dict[str, str], expected: set[str]) -> None:
    found = fs.what_if(ring(plan), at="30 us", jobs=1)
    assert set(failures(found).index) == expected


def test_switches_that_have_failed_cannot_fail(tmp_path: Path, command: Command) -> None:
    found = fs.what_if(ring({"switch": "S(2)", "at": "10 us"}), "switch", at="30 us", jobs=1)
    assert set(failures(found).index) == {"S(0)", "S(1)", "S(3)"}
    before = fs.what_if(ring(**{"switches.failed": ["S(2)"]}), "switch", jobs=1)
    assert set(failures(before).index) == {"S(0)", "S(1)", "S(3)"}
    assert len(fs.what_if(ring(**{"links.failed": ["S(1)-S(0)"]}), jobs=1).failures) == 3
    (tmp_path / "ring.toml").write_text(RING)
    plan = ",".join(f'{{link="{name}",at="1 us"}}' for name in sorted(LINKS))
    ran = command("what-if", "ring.toml", "--at", "30 us", "--set", f"faults.plan=[{plan}]")
    assert (ran.code, "has failed every link: give an earlier time" in ran.err) == (2, True), ran.err


def test_hosts_that_the_plan_helps_to_cut_off_are_counted() -> None:
    """A second failure divides the ring; one failure does not."""
    plan = {"link": "S(0)-S(1)", "at": "10 us"}
    during = failures(fs.what_if(ring(plan), at="30 us", jobs=1))
    assert during["hosts_cut_off"].to_dict() == {"S(1)-S(2)": 1, "S(2)-S(3)": 2, "S(3)-S(0)": 1}
    assert during.loc["S(1)-S(2)", "names_cut_off"] == "H(1).0"
    later = failures(fs.what_if(ring({**plan, "at": "50 us"}), at="30 us", jobs=1))
    assert later["hosts_cut_off"].to_dict() == {**during["hosts_cut_off"].to_dict(), "S(0)-S(1)": 0}
    over = failures(fs.what_if(ring({**plan, "until": "20 us"}), at="30 us", jobs=1))
    assert over["hosts_cut_off"].sum() == 0, "the control"


@pytest.mark.parametrize("name", ["S(1)-S(0)", "S(0)/3"])
def test_a_link_that_has_failed_for_good_fails_no_more_later(name: str) -> None:
    """Its row is that of a run without the later entry."""
    plan = {"link": name, "at": "60 us", "until": "70 us"}
    row = failures(fs.what_if(ring(plan), at="30 us", jobs=1)).loc["S(0)-S(1)"]
    alone = failures(fs.what_if(ring(), at="30 us", jobs=1)).loc["S(0)-S(1)"]
    assert (row["accepted_gbps"], row["lost_packets"]) == (alone["accepted_gbps"], alone["lost_packets"])


def test_a_link_of_which_one_cable_has_failed_fails_whole() -> None:
    """The cable that the plan restores stays failed, and the row of the link is that of both."""
    edges = pd.DataFrame(
        {"a": ["A", "B", "C"], "b": ["B", "C", "A"], "cables": [2, 1, 1]},
    )
    experiment = fs.Experiment.build(
        topology=fs.Topology.from_edges(edges, hosts_per_switch=1),
        links=fs.spec.Links(all=fs.spec.LinkParameters(rate="8 Gb/s", latency="10 ns")),
        routing=fs.spec.Routing(algorithm="shortest-path"),
        switch=fs.spec.Switch(virtual_lanes=4),
        traffic=fs.spec.Traffic(pattern="uniform", load=0.2, message="500 B"),
        run=fs.spec.Run(duration="100 us", allow_deadlock=True),
    )
    cable = {"link": "A/2", "at": "10 us", "until": "50 us"}
    part = experiment.with_values({"faults.plan": [cable]})
    rows = failures(fs.what_if(part, at="30 us", jobs=1))
    assert set(rows.index) == {"A-B", "B-C", "C-A"}
    whole = [{"link": "A/2", "at": "10 us"}, {"link": "A/3", "at": "30 us"}]
    run = fs.run(experiment, set={"faults.plan": whole, "faults.reroute_after": "1 ps"})
    assert rows.loc["A-B", "accepted_gbps"] == run.summary["accepted_gbps"]
    both = [cable, {"link": "B/3", "at": "20 us"}]
    assert set(
        failures(fs.what_if(experiment.with_values({"faults.plan": both}), at="30 us", jobs=1)).index
    ) == {
        "B-C",
        "C-A",
    }


def test_the_number_of_cables_that_fail_together(tmp_path: Path, command: Command) -> None:
    links = "source,target,cables\nA,B,3\nB,C,\nC,A,\na,A,\nb,B,\nc,C,\n"
    (tmp_path / "links.csv").write_text(links)
    (tmp_path / "own.toml").write_text(
        'topology.file.path = "links.csv"\n'
        'traffic = [{ pattern = "uniform", load = 0.2, message = "500 B" }]\n'
        'run = { duration = "20 us", allow_deadlock = true }\n'
    )
    for failed, cables in (([], 3), (["A/1"], 2)):
        rows = failures(fs.what_if(tmp_path / "own.toml", set={"links.failed": failed}, jobs=1))
        assert rows["cables"].to_dict() == {"A-B": cables, "B-C": 1, "C-A": 1}
    assert failures(fs.what_if(tmp_path / "own.toml", "switch", jobs=1))["cables"].isna().all()
    text = command("what-if", "own.toml", "--jobs", "1").out
    assert " A-B (3 cables) " in text
    axes = plots.failures(fs.what_if(tmp_path / "own.toml", jobs=1)).axes[0]
    assert "A-B (3 cables)" in [label.get_text() for label in axes.get_yticklabels()]
    assert "B-C (" not in text


def test_no_time_is_the_default() -> None:
    experiment = ring()
    assert fs.what_if(experiment, at=None, jobs=1).failures.equals(fs.what_if(experiment, jobs=1).failures)
    wrong: list[Any] = [[], True, -1.0, float("nan")]
    for at in wrong:
        with pytest.raises(fs.InputError, match=r"at = .*: must be a time such as"):
            fs.what_if(experiment, at=at, jobs=1)


def test_the_sets_of_failures_are_the_largest_ones() -> None:
    def entry(name: str, at: str, until: str | None = None) -> dict[str, Any]:
        return {"link": name, "at": at} | ({} if until is None else {"until": until})

    facts = {
        "links": {"failed": ["before"]},
        "faults": {
            "plan": [
                entry("a", "1 us", "5 us"),
                entry("b", "3 us"),
                entry("c", "9 us"),
                entry("later", "4 us", "6 us"),
                {"switch": "s", "at": "8 us"},
                {"link": "hears nothing", "loses": "flow-control", "at": "1 us"},
            ]
        },
    }
    plan = FaultPlan.of(facts)
    found = {(tuple(sorted(of["link"])), tuple(of["switch"])) for of in plan.largest(2_000_000)}
    assert found == {(("a", "b", "before", "later"), ()), (("b", "before", "c"), ("s",))}
    assert plan.failed(0) == {"link": {"before"}, "switch": set()}
