"""Where the arbiter of the InfiniBand model for OMNeT++ gives up, `strict-round-robin` gives its throughput."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest
from omnetpp import peer_inputs
from omnetpp.peer import CASES, GIVES_UP, IN_TURN, Case, Flow, flows

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("fabricsim._native") is None, reason="the compiled module is not built"
)

FLOWS = [flow for case in CASES for flow in flows(case)]


@pytest.mark.parametrize("flow", FLOWS, ids=lambda flow: f"{flow.case.name}: {flow.name}")
def test_throughput_is_the_peers(flow: Flow) -> None:
    assert flow.within(GIVES_UP), (flow.peer, flow.ours(GIVES_UP))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_an_arbiter_that_goes_on_to_the_next_input_is_another_one(case: Case) -> None:
    """Some flow differs by more than 10 % where giving up matters, and none otherwise."""
    ratios = [sum(flow.ours(IN_TURN)) / sum(flow.peer) for flow in flows(case)]
    assert (max(abs(ratio - 1.0) for ratio in ratios) > 0.1) == case.decides, ratios


def test_every_case_was_measured() -> None:
    for case in CASES:
        assert len(flows(case)) >= case.hosts, case.name
        for flow in flows(case):
            assert len(flow.peer) == len(case.seeds)


def test_inputs_of_the_peer_name_each_case(tmp_path: Path) -> None:
    folders = peer_inputs.write(tmp_path)
    assert len(folders) == sum(len(case.seeds) for case in CASES)
    ini = (tmp_path / "two reads-1/omnetpp.ini").read_text()
    assert "maxBeingSent = 2" in ini
    assert (tmp_path / "fan-out-1/destinations.vec").read_text().splitlines()[:2] == ["0: 3 4 5", "1: 3"]
