"""BookSim 2 and we give the same latencies up to 80 % of saturation, the same throughput beyond it, the same shares."""

from __future__ import annotations

import importlib.util

import pytest
from booksim import compare, line
from booksim.cases import CASES, SHORT, Case
from booksim.options import OPTIONS

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("fabricsim._native") is None, reason="the compiled module is not built"
)


WITH_OPTIONS = [case for option in OPTIONS for case in option.cases if case.binding]


@pytest.mark.parametrize("case", CASES + WITH_OPTIONS, ids=lambda case: case.peer or case.name)
def test_mean_latency(case: Case) -> None:
    rows = compare.latencies(case, SHORT)
    assert len(rows) >= 2
    for row in rows:
        # So that the tolerance decides, not chance.
        assert row.ours.half_width < 0.02 * row.ours.latency, f"load {row.peer.load}: too short a run"
        difference = row.ours.latency - row.peer.latency
        assert row.holds, f"load {row.peer.load}: {difference:+.3f} cycles, allowed {row.allowed:.3f}"


@pytest.mark.parametrize("case", CASES + WITH_OPTIONS, ids=lambda case: case.peer or case.name)
def test_saturation_throughput(case: Case) -> None:
    found = compare.saturation(case, SHORT)
    assert found.holds, f"{found.ours:.4f} for {found.peer:.4f}: {found.ratio:.3f}"


def test_two_choices_are_nearer_to_the_peer_than_all() -> None:
    (option,) = (option for option in OPTIONS if option.mark == "choices")
    case = option.cases[0]
    (row,) = (row for row in compare.latencies(case, SHORT) if row.peer.load == 0.5)
    without = compare.default_latency(case, row, SHORT) / row.peer.latency
    assert abs(row.ratio - 1.0) < 0.5 * abs(without - 1.0), f"{row.ratio:.3f} with, {without:.3f} without"


def test_shares_of_a_line() -> None:
    rows = {row.arbitration: row for row in line.shares()}
    for arbitration in ("round-robin", "network-age"):
        assert rows[arbitration].worst < line.SHARE_TOLERANCE, rows[arbitration]
    # Age from creation gives equal shares; ours counts from injection, and who injects far from the sink gets more.
    assert rows["age"].worst > 1.0


def test_latency_on_a_line() -> None:
    for row in line.waits():
        assert row.holds, row
