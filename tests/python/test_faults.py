"""Links and switches that fail, from Python."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Literal

import pytest
from conftest import Command

import fabricsim as fs
from fabricsim import spec

pytestmark = pytest.mark.usefixtures("real")

Algorithm = Literal["shortest-path", "dimension-order"]
LINK = "S(0)-S(1)"


def experiment(faults: spec.Faults | None = None, algorithm: Algorithm = "shortest-path") -> fs.Experiment:
    """A ring of four whose first host sends to its neighbour, a packet each microsecond."""
    return fs.Experiment.build(
        topology=spec.Ring(4),
        links=spec.Links(all=spec.LinkParameters(rate="8 Gb/s", latency="100 ns")),
        routing=spec.Routing(algorithm=algorithm),
        host=spec.Host(mtu="1000 B"),
        switch=spec.Switch(virtual_lanes=2),
        faults=faults,
        traffic=spec.Traffic(
            sources=["H(0).0"], pattern=spec.To("H(1).0"), injection="saturating", message="1000 B"
        ),
        run=spec.Run(duration="100 us", drain="empty", allow_deadlock=True),
    )


def test_losses_are_counted_by_cause() -> None:
    plan = [spec.Fault(link=LINK, at="20500 ns", until="40 us"), spec.Fault(switch="S(1)", at="60 us")]
    run = fs.run(experiment(spec.Faults(plan=plan)))
    lost = {cause: run.summary[f"invariants.lost.{cause}"] for cause in ("link_failed", "switch_failed")}
    # Packets come to the first switch each microsecond: numbers 21 to 39, and from 60 on.
    assert lost["link_failed"] + lost["switch_failed"] == pytest.approx(19 + 40, abs=2)
    assert run.summary["invariants.injected"] == 100
    assert run.summary["invariants.delivered"] == 100 - sum(lost.values())
    held = fs.run(experiment(spec.Faults(plan=plan[:1], waiting="hold")))
    assert held.summary["invariants.lost.link_failed"] <= 1


def test_new_routes_end_the_losses() -> None:
    plan = [spec.Fault(link=LINK, at="20 us")]
    lost = [
        fs.run(experiment(spec.Faults(plan=plan, reroute_after=after))).summary["invariants.lost.link_failed"]
        for after in ("10 us", None)
    ]
    assert lost == [pytest.approx(10, abs=1), pytest.approx(80, abs=1)]


def test_a_session_fails_and_restores_links_and_switches() -> None:
    with fs.Session(experiment()) as session:
        session.subscribe(deliveries=False, losses=True)
        session.advance("20 us")
        session.configure(fail=LINK)
        session.advance("10 us")
        events = session.events()
        assert set(events["event"]) == {"lost"}
        assert len(events) == pytest.approx(10, abs=2)
        session.configure(restore=LINK, routes=[("S(0)", "H(1).0", "S(3)")])
        session.advance("10 us")
        assert session.events().empty
        ports = session.snapshot().ports
        assert ports["link"].str.startswith("S(0)->S(3)").any()
        session.configure(fail=["S(3)", "H(2).0-S(2)"])
        session.advance("10 us")
        assert session.snapshot().totals["lost"] == pytest.approx(20, abs=4)
    with fs.Session(experiment(spec.Faults(waiting="hold"))) as session:
        session.configure(fail="S(0)")
        session.configure(restore="S(0)", fail=LINK)
        session.advance("10 us")
        waits = session.snapshot().waits
        assert set(waits[waits["node"] == "S(0)"]["reason"]) == {"failed link"}


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"fail": "S(0)-S(2)"}, "fail: `S(0)-S(2)`: S(0) and S(2) are not joined"),
        ({"restore": "S(9)"}, "restore: `S(9)`: there is no switch of this name"),
        ({"routes": [("S(0)", "H(1).0", "H(2).0")]}, "routes: no port of S(0) leads to"),
        ({"routes": [("S(0)", "H(9).0", "S(1)")]}, "routes: no host is named"),
    ],
)
def test_unknown_names_are_named(change: dict[str, object], reason: str) -> None:
    with fs.Session(experiment()) as session, pytest.raises(fs.InputError) as raised:
        session.configure(**change)  # type: ignore[arg-type]
    assert reason in str(raised.value)


def test_routes_need_tables() -> None:
    with fs.Session(experiment(algorithm="dimension-order")) as session:
        with pytest.raises(fs.InputError, match="forwarding tables"):
            session.configure(routes=[("S(0)", "H(1).0", "S(3)")])
        session.configure(fail=LINK)


def test_plans_are_checked() -> None:
    for faults, reason in [
        (spec.Faults(plan=[spec.Fault(link="S(0)-S(5)", at="1 us")]), "faults.plan.0.link"),
        (spec.Faults(plan=[spec.Fault(link=LINK, switch="S(0)", at="1 us")]), "faults.plan.0: give"),
        (spec.Faults(plan=[spec.Fault(link=LINK, at="2 us", until="1 us")]), "faults.plan.0.until"),
    ]:
        with pytest.raises(fs.InputError) as raised:
            fs.run(experiment(faults))
        assert reason in str(raised.value)


def test_describe_names_what_has_failed_from_the_start(command: Command, tmp_path: Path) -> None:
    file = tmp_path / "ring.toml"
    file.write_text(experiment().text)
    assert "failed" not in command("describe", file).out
    failed = ("--set", 'switches.failed=["S(2)"]', "--set", 'links.failed=["S(3)-S(0)"]')
    ran = command("describe", file, *failed[:2])
    assert "failed switches: 1 (S(2))" in ran.out
    assert "hosts without their switch: 1 (H(2).0)" in ran.out
    assert "failed links" not in ran.out
    assert "of the network before these failures" in ran.out
    told = json.loads(command("describe", file, *failed[2:], "--json").out)["failed"]
    assert told == {"links": ["S(3)-S(0)"], "switches": [], "hosts": []}
    twice = command("describe", file, "--set", 'switches.failed=["S(2)", "S(2)"]')
    assert "failed switches: 1 (S(2))" in twice.out
