"""Failures in the middle of a measurement."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import Command

import fabricsim as fs
from fabricsim.what_if_columns import before_failure

pytestmark = pytest.mark.usefixtures("real")

RING = """
topology.ring.switches = 4
switch.virtual_lanes = 2
routing.algorithm = "shortest-path"
[[traffic]]
sources = ["H(0).0"]
pattern = { to = "H(1).0" }
load = 0.5
message = "500 B"
[run]
warmup = "10 us"
duration = "20 us"
allow_deadlock = true
"""


def test_a_measurement_that_begins_before_the_failure_is_called_so(tmp_path: Path, command: Command) -> None:
    """Flows that a failure cuts off have throughput from before it: the table alone would hide that."""
    ring = tmp_path / "ring.toml"
    ring.write_text(RING)
    late = command("what-if", ring, "--jobs", 1, "--each", "switch", "--at", "20 us")
    said = " ".join(late.out.split())
    assert "10 µs of the measurement of 20 µs are before the failure" in said
    assert "set run.warmup to its time" in said
    found = fs.what_if(ring, "switch", at="20 us", set={"run.duration": "40 us"}, jobs=1)
    assert found.as_dict()["measured_before_ns"] == 10_000
    assert "10 µs of the measurement of 40 µs" in found._repr_html_()
    assert fs.what_if(ring, "switch", at="10 us", jobs=1).before == ""


def test_short_times_before_a_failure_are_not_mentioned() -> None:
    assert before_failure(0.001, 20_000) == ""
    assert before_failure(199, 20_000) == ""
    assert before_failure(200, 20_000).startswith("200 ns of the measurement of 20 µs")
    assert "comes after the measurement" in before_failure(20_000, 20_000)
