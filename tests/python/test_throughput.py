"""Throughput over time of many flows: lines of flows, or totals of entries."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import fabricsim as fs
from fabricsim import plots
from fabricsim.plots.entities import entries_of, flow_names, totals_of_entries


@pytest.fixture
def result(fake: None, small: Path) -> fs.Result:
    return fs.run(small)


def many_flows(result: fs.Result, gbps: float, entries: tuple[str, ...]) -> fs.Result:
    """40 flows with a packet of 1000 B, or more by `gbps`, in every eighth bin of 1 µs; the last bin is short."""
    names = [f"H{n}" for n in range(40)]
    rows = [
        (1000.0 * bin, name, "H99", gbps if (bin + n) % 8 == 0 else 0.0)
        for bin in range(40)
        for n, name in enumerate(names)
    ]
    series = pd.DataFrame(rows, columns=["time_ns", "source", "destination", "gbps"])
    packets = int(5 * gbps / 8)
    flows = pd.DataFrame(
        {
            "source": names,
            "destination": "H99",
            "entry": [entries[n % len(entries)] for n in range(40)],
            "packets": packets,
            "bytes": 1000 * packets,
        }
    )
    manifest = {**result.manifest, "summary": {**result.manifest["summary"], "simulated_s": 39.1e-6}}
    return replace(result, manifest=manifest, frames={"series": series, "flows": flows})


def test_flows_of_a_packet_now_and_then_are_summed_up_by_entry(result: fs.Result) -> None:
    (axes,) = plots.throughput(many_flows(result, 8.0, ("even", "odd"))).axes
    assert [line.get_label() for line in axes.lines] == ["even", "odd"]
    for line in axes.lines:
        # An eighth of 20 flows of 8 Gb/s, until the run ends.
        assert np.asarray(line.get_ydata(), float).mean() == pytest.approx(20.0, rel=0.05)
        assert np.asarray(line.get_xdata(), float)[-1] == pytest.approx(39.1)


def test_totals_of_hosts_that_send_in_step_are_no_pulses(result: fs.Result) -> None:
    run = many_flows(result, 8.0, ("even", "several"))
    # All hosts send a packet of 1000 B in the same bin of 1 µs, in every eighth.
    rows = [(1000.0 * bin, f"H{n}", "H99", 0.0 if bin % 8 else 8.0) for bin in range(160) for n in range(40)]
    series = pd.DataFrame(rows, columns=["time_ns", "source", "destination", "gbps"])
    hosts = pd.DataFrame({"host": ["H0"], "link_gbps": [4.0]})
    summary = {**run.manifest["summary"], "simulated_s": 160e-6}
    manifest = {**run.manifest, "summary": summary}
    in_step = replace(run, manifest=manifest, frames={**run.frames, "series": series, "hosts": hosts})
    (axes,) = plots.throughput(in_step).axes
    assert [line.get_label() for line in axes.lines] == ["even", "several entries"]
    for line in axes.lines:
        assert np.asarray(line.get_ydata(), float) == pytest.approx(20.0, abs=2.0)


def test_totals_have_the_names_of_the_entries_of_flows(result: fs.Result) -> None:
    flows = many_flows(result, 8.0, ("even", "several")).frames["flows"]
    names = flow_names(flows).tolist()
    entries, totals = (
        entries_of(flows, names),
        totals_of_entries(pd.DataFrame([range(40)], columns=names), flows),
    )
    assert entries is not None
    assert totals is not None
    assert set(entries) == set(totals) == {"even", "several entries"}


def in_bins(result: fs.Result, packets: np.ndarray[Any, Any]) -> fs.Result:
    """Flows of two entries with these packets of 1000 B; a row is a bin of 1 µs, a column a flow."""
    run = many_flows(result, 8.0, ("even", "odd"))
    series = pd.DataFrame(
        [
            (1000.0 * bin, f"H{n}", "H99", 8.0 * count)
            for bin, row in enumerate(packets)
            for n, count in enumerate(row)
        ],
        columns=["time_ns", "source", "destination", "gbps"],
    )
    sent = packets.sum(axis=0)
    flows = run.frames["flows"].head(packets.shape[1]).assign(packets=sent, bytes=1000 * sent)
    return replace(run, frames={"series": series, "flows": flows})


def labels(result: fs.Result) -> list[str]:
    (axes,) = plots.throughput(result).axes
    return [str(line.get_label()) for line in axes.lines]


def test_lines_that_would_cross_all_the_time_are_summed_up_by_entry(result: fs.Result) -> None:
    random = np.random.default_rng(1)
    for mean in (3, 6, 10, 20):
        assert labels(in_bins(result, random.poisson(mean, (20, 40)))) == ["even", "odd"]


def test_flows_that_can_be_told_apart_are_lines_of_their_own(result: fs.Result) -> None:
    random = np.random.default_rng(1)
    apart = random.poisson(np.linspace(3.0, 200.0, 40), (20, 40))
    assert len(labels(in_bins(result, apart))) == 13
    steady = random.poisson(100.0, (20, 40))
    assert len(labels(in_bins(result, steady))) == 13
    # All at once fall to a third: what flows have in common is no reason for lines to cross.
    falling = np.vstack([random.poisson(60.0, (10, 40)), random.poisson(20.0, (10, 40))])
    assert len(labels(in_bins(result, falling))) == 13
    assert len(labels(in_bins(result, random.poisson(3.0, (20, 12))))) == 12
