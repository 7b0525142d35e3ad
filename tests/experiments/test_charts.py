"""Figures 4 to 7 of the ordering protocols: runs exchange the same packets, in the order of `tests/golden/charts`."""

from __future__ import annotations

from pathlib import Path

import pytest

import fabricsim as fs
from fabricsim.exchanges import Trace, read_trace
from fabricsim.plots.sequence import fits_sequence
from fabricsim.reproduce.quantities import load_hooks

GOLDEN = Path(__file__).resolve().parents[1] / "golden/charts"
FIGURES = ["figure-4", "figure-5", "figure-6", "figure-7"]


@pytest.fixture(scope="module")
def runs(experiments: Path) -> dict[str, fs.Result]:
    return {name: fs.run(experiments / f"wire-speed-ordering/{name}.toml") for name in FIGURES}


def order(trace: Trace, step: str, kind: str) -> list[int]:
    """Numbers of packets, from 1 on, in the order in which something happened to them."""
    return [packet.number + 1 for _, _, what, packet in trace.events if (what, packet.kind) == (step, kind)]


@pytest.mark.parametrize("name", FIGURES)
def test_packets_are_in_the_order_of_the_figure(runs: dict[str, fs.Result], name: str) -> None:
    text = (GOLDEN / f"{name}.txt").read_text(encoding="utf-8")
    assert read_trace(runs[name].exchanges).as_text(1) == text


def test_slow_mode_carries_out_twice(runs: dict[str, fs.Result]) -> None:
    trace = read_trace(runs["figure-4"].exchanges)
    assert order(trace, "lost", "ACK") == [2]
    assert order(trace, "delivered", "REQ") == [1, 2, 2]
    assert all(packet.cid < 0 for packet in trace.packets)


def test_fast_mode_reorders_at_the_target(runs: dict[str, fs.Result]) -> None:
    trace = read_trace(runs["figure-5"].exchanges)
    assert order(trace, "received", "REQ") == [2, 3, 1]
    assert order(trace, "delivered", "REQ") == [1, 2, 3]
    assert order(trace, "received", "ACK") != [1, 2, 3]
    assert [operation.packet.number + 1 for operation in trace.operations if operation.waited] == [2, 3]


def test_exactly_once(runs: dict[str, fs.Result]) -> None:
    trace = read_trace(runs["figure-6"].exchanges)
    assert order(trace, "lost", "ACK") == [2]
    assert order(trace, "received", "REQ") == [1, 2, 3, 2]
    assert order(trace, "delivered", "REQ") == [1, 2, 3]
    assert order(trace, "received", "ACK") == [1, 3, 2]


def test_the_synchronization_operation_is_last(runs: dict[str, fs.Result]) -> None:
    trace = read_trace(runs["figure-7"].exchanges)
    assert order(trace, "received", "REQ") == [2, 1, 4, 3]
    assert order(trace, "delivered", "REQ") == [2, 1, 3, 4]
    last = next(packet for packet in trace.packets if packet.cnt)
    assert (last.number + 1, last.cnt) == (4, 4)
    assert "EOD" in last.flags
    (data,) = [o for o in trace.operations if o.packet.number == 2]
    (held,) = [o for o in trace.operations if o.waited]
    assert held.packet is last
    # 40 ns: until the last of the data is visible in target memory.
    assert data.delivered_ns is not None
    assert held.delivered_ns == data.delivered_ns + 40.0


def test_charts_are_drawn_with_all_labels(runs: dict[str, fs.Result], experiments: Path) -> None:
    chart = load_hooks(experiments / "wire-speed-ordering", "charts.py")["chart"]
    for name, run in runs.items():
        assert fits_sequence(run)
        (axes,) = chart({name: run}).axes
        assert axes.get_xlabel() == ""  # there, packets without a label would be counted
        assert axes.get_ylabel() == "simulated time (µs)"
        texts = {text.get_text().partition(" ")[0] for text in axes.texts}
        assert {"REQ1", "REQ2", "ACK1", "ACK2"} <= texts
