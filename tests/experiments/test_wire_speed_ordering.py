"""The experiments of the ordering paper, in short: what its text says of them holds in a fraction of the time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import fabricsim as fs

ROUND_TRIP_NS = 1150.0


@pytest.fixture
def run(experiments: Path) -> Any:
    """Runs a figure's file with other values, and gives its summary."""

    def short(figure: str, **values: Any) -> Any:
        changed = {key.replace("__", "."): value for key, value in values.items()}
        return fs.run(experiments / f"wire-speed-ordering/figure-{figure}.toml", set=changed).summary

    return short


def test_ordering_at_the_target_takes_next_to_nothing(run: Any) -> None:
    loads = {
        mode: run("8a", transport__mode=mode, run__duration="40 us")["accepted_load"]
        for mode in ("none", "ordered")
    }
    assert loads["ordered"] > 0.95
    assert loads["ordered"] == pytest.approx(loads["none"], rel=0.02)


def test_ordering_at_the_source_takes_a_round_trip_for_each_packet(run: Any) -> None:
    load = run("8a", transport__mode="source-ordered", run__duration="1 ms")["accepted_load"]
    assert load == pytest.approx(16 / (ROUND_TRIP_NS + 16 + 1), rel=0.02)
    time = run("8b", transport__mode="source-ordered", run__duration="1 ms")["transport.completion_ns.mean"]
    assert time == pytest.approx(9 * (ROUND_TRIP_NS + 17) + ROUND_TRIP_NS / 2 + 16, rel=0.02)


def test_a_third_is_out_of_order(run: Any) -> None:
    for figure in ("8a", "8b"):
        share = run(figure, run__duration="40 us" if figure == "8a" else "1 ms")["transport.reordered_share"]
        assert share == pytest.approx(1 / 3, rel=0.2)


def test_a_flush_takes_a_round_trip(run: Any) -> None:
    times = {
        mode: run("10", transport__mode=mode, run__duration="1 ms", routing={"algorithm": "minimal"})[
            "transport.completion_ns.mean"
        ]
        for mode in ("source-synchronized", "synchronized")
    }
    assert times["source-synchronized"] - times["synchronized"] > ROUND_TRIP_NS
