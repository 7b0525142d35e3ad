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
    assert rows
    for row in rows:
        # So that the tolerance decides, or else the peer's chance, not ours.
        most = max(0.02 * row.ours.latency, 0.5 * row.peer_half_width)
        assert row.ours.half_width < most, f"load {row.peer.load}: too short a run"
        difference = row.ours.latency - row.peer.latency
        assert row.holds, f"load {row.peer.load}: {difference:+.3f} cycles, allowed {row.allowed:.3f}"


@pytest.mark.parametrize(
    "case",
    [case for case in CASES + WITH_OPTIONS if case.saturates_alike],
    ids=lambda case: case.peer or case.name,
)
def test_saturation_throughput(case: Case) -> None:
    found = compare.saturation(case, SHORT)
    assert found.holds, f"{found.ours:.4f} for {found.peer:.4f}: {found.ratio:.3f}"


@pytest.mark.parametrize("case", WITH_OPTIONS, ids=lambda case: case.peer or case.name)
def test_without_the_option_a_latency_is_out_of_tolerance(case: Case) -> None:
    assert any(
        abs(compare.default_latency(case, row, SHORT) - row.peer.latency) > row.allowed
        for row in reversed(compare.latencies(case, SHORT))
    )


PARTS = [
    (case, key)
    for option in OPTIONS
    for case in option.cases
    for key in option.keys
    if case.peer in ("tree-1f-anca", "dragonfly-1f-next-group-places")
]


@pytest.mark.parametrize(("case", "key"), PARTS, ids=lambda value: getattr(value, "peer", value))
def test_without_a_part_of_the_option_something_is_out_of_tolerance(case: Case, key: str) -> None:
    found = compare.part(case, key, compare.latencies(case, SHORT)[-1:], SHORT)
    assert found.is_out_of_tolerance, found


def test_shares_of_a_line() -> None:
    rows = {row.arbitration: row for row in line.shares()}
    for arbitration in ("round-robin", "network-age"):
        assert rows[arbitration].worst < line.SHARE_TOLERANCE, rows[arbitration]
    # Age from creation gives equal shares; ours counts from injection, and who injects far from the sink gets more.
    assert rows["age"].worst > 1.0


def test_latency_on_a_line() -> None:
    for row in line.waits():
        assert row.holds, row
