"""The experiments of the ordering paper, in short: what its text says of them holds in a fraction of the time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import fabricsim as fs
from fabricsim.reproduce.quantities import load_hooks

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
    """Of all lengths together: a third of the packets of both experiments, and more or less of one length."""
    shares: dict[str, list[float]] = {"8a": [], "8b": []}
    for flits in (8, 16, 24, 32):
        values: dict[str, Any] = {"host__mtu": f"{16 * flits} B", "traffic__0__message": f"{160 * flits} B"}
        shares["8a"].append(run("8a", run__duration="60 us", **values)["transport.reordered_share"])
    for packets in (10, 20, 30, 40):
        values = {
            "traffic__0__message": f"{256 * packets} B",
            "traffic__0__rate": f"{34.1333 * packets:.4f} Mb/s",
        }
        shares["8b"].append(run("8b", run__duration="1 ms", **values)["transport.reordered_share"])
    for found in shares.values():
        assert sum(found) / 4 == pytest.approx(1 / 3, rel=0.25)


def test_a_flush_takes_a_round_trip(run: Any) -> None:
    times = {
        mode: run("10", transport__mode=mode, run__duration="1 ms", routing={"algorithm": "minimal"})[
            "transport.completion_ns.mean"
        ]
        for mode in ("source-synchronized", "synchronized")
    }
    assert times["source-synchronized"] - times["synchronized"] > ROUND_TRIP_NS


def test_the_synchronization_operation_is_delivered_last(experiments: Path) -> None:
    hooks = load_hooks(experiments / "wire-speed-ordering")
    shares = {}
    for mode in ("synchronized", "unordered"):
        runs = {
            f"{mode}/{packets}/1": fs.run(
                experiments / "wire-speed-ordering/figure-10.toml",
                set={
                    "transport.mode": mode,
                    "traffic.0.message": f"{256 * packets} B",
                    "traffic.0.rate": f"{34.1333 * packets:.4f} Mb/s",
                    "run.duration": "1 ms",
                },
            )
            for packets in (10, 20, 30, 40)
        }
        shares[mode] = hooks["last_to_be_delivered"](runs, mode)
    assert shares["synchronized"] == 1.0
    assert shares["unordered"] < 0.9


def test_fewer_detours_fill_the_buffer_more(run: Any) -> None:
    """Footnote 13."""
    room: dict[str, Any] = {"transport__target__reorder_buffer": 512, "transport__target__reorder_cache": 512}
    often, seldom = (run("11c", routing__trigger=trigger, **room) for trigger in (0.05, 0.2))
    assert seldom["hops.mean"] < often["hops.mean"]
    assert seldom["transport.most_reordering"] > often["transport.most_reordering"]


def test_a_small_buffer_does_and_its_connections_are_those_of_the_streams(run: Any) -> None:
    unlimited = run("11", run__duration="60 us")
    assert 0 < unlimited["transport.most_reordering"] < 50
    assert unlimited["transport.dropped_share"] == 0.0
    assert 2 < unlimited["transport.most_connections"] <= 4


def test_a_cap_on_outstanding_packets_keeps_the_buffer_from_filling_up(run: Any) -> None:
    long: dict[str, Any] = {f"traffic__{number}__message": "32 KiB" for number in (0, 1)}
    dropped = {
        cap: run("12", transport__outstanding=cap, run__duration="100 us", **long)["transport.dropped_share"]
        for cap in (25, 128)
    }
    assert dropped[25] == 0.0
    assert dropped[128] > 0.0


def test_granularity_does_not_change_the_total(run: Any) -> None:
    times = [
        run("9", traffic__0__message=message, traffic__0__messages=messages)["latency_ns.max"]
        for message, messages in (("4 KiB", 8), ("32 KiB", 1))
    ]
    assert times[0] == pytest.approx(times[1], rel=0.1)
