"""Pictures: what they show, and that the same results give the same bytes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib.container import BarContainer
from picture_cases import study

import fabricsim as fs
from fabricsim import plots
from fabricsim.plots.links import _bend
from fabricsim.plots.theme import time_scale
from fabricsim.plots.tuning import trials


@pytest.fixture
def result(fake: None, small: Path) -> fs.Result:
    return fs.run(small)


@pytest.mark.parametrize("format", ["png", "svg", "pdf"])
def test_same_results_same_bytes(result: fs.Result, tmp_path: Path, format: plots.Format) -> None:
    first = plots.save_plots(result, tmp_path / "a", format)
    second = plots.save_plots(result, tmp_path / "b", format)
    assert [p.name for p in first] == [f"{n}.{format}" for n in ("throughput", "links", "latency")]
    assert [p.read_bytes() for p in first] == [p.read_bytes() for p in second]


def test_throughput_has_a_line_for_each_flow_with_units(result: fs.Result) -> None:
    axes = plots.throughput(result).axes[0]
    assert [line.get_label() for line in axes.lines] == ["H0 → H1", "H1 → H0"]
    assert axes.get_xlabel() == "simulated time (µs)"
    assert axes.get_ylabel() == "accepted throughput (Gb/s)"
    np.testing.assert_array_equal(axes.lines[0].get_xydata(), [[0.0, 15.0], [500.0, 30.0], [1000.0, 30.0]])


def test_throughput_of_many_flows_shows_the_largest_and_the_mean_of_the_rest(result: fs.Result) -> None:
    rows = [(0.0, f"H{n}", "", float(n)) for n in range(30)]
    series = pd.DataFrame(rows, columns=["time_ns", "source", "destination", "gbps"])
    lines = plots.throughput(replace(result, frames={"series": series})).axes[0].lines
    assert len(lines) == 13
    assert lines[-1].get_label() == "mean of 18 others"
    assert lines[-1].get_ydata() == [np.mean(range(18))]


def test_a_short_last_bin_belongs_to_the_one_before(result: fs.Result) -> None:
    long = [(500.0 * bin, "H0", "H1", 10.0) for bin in range(4)]
    series = pd.DataFrame(
        [*long, (2000.0, "H0", "H1", 90.0)], columns=["time_ns", "source", "destination", "gbps"]
    )
    manifest = {**result.manifest, "summary": {**result.manifest["summary"], "simulated_s": 2.05e-6}}
    (line,) = plots.throughput(replace(result, manifest=manifest, frames={"series": series})).axes[0].lines
    last = (10.0 * 500 + 90.0 * 50) / 550
    assert list(line.get_xdata())[-2:] == pytest.approx([1.5, 2.05])  # type: ignore[arg-type]
    assert list(line.get_ydata())[-2:] == pytest.approx([last, last])  # type: ignore[arg-type]


def test_a_comparison_has_no_short_last_bin_either(result: fs.Result) -> None:
    runs = []
    for simulated_ns, last in ((2050.0, 90.0), (2500.0, 20.0)):
        rows = [(500.0 * bin, "H0", "H1", 10.0 if bin < 4 else last) for bin in range(5)]
        series = pd.DataFrame(rows, columns=["time_ns", "source", "destination", "gbps"])
        manifest = {
            **result.manifest,
            "summary": {**result.manifest["summary"], "simulated_s": simulated_ns / 1e9},
        }
        runs.append(replace(result, manifest=manifest, frames={**result.frames, "series": series}))
    figure = plots.comparison(fs.compare(runs))
    short, whole = (axes.lines[0] for axes in figure.axes if axes.get_xlabel())
    merged = (10.0 * 500 + 90.0 * 50) / 550
    assert list(short.get_xdata())[-2:] == pytest.approx([1.5, 2.05])  # type: ignore[arg-type]
    assert list(short.get_ydata())[-2:] == pytest.approx([merged, merged])  # type: ignore[arg-type]
    # A last bin that is as wide as the others stays, and is drawn until its end.
    assert list(whole.get_xdata())[-2:] == pytest.approx([2.0, 2.5])  # type: ignore[arg-type]
    np.testing.assert_array_equal(np.asarray(whole.get_ydata())[-3:], [10.0, 20.0, 20.0])


def test_links_are_coloured_by_use(result: fs.Result) -> None:
    figure = plots.links(result)
    (lines,) = [c for c in figure.axes[0].collections if hasattr(c, "get_segments")]
    # The busiest is drawn last.
    np.testing.assert_array_equal(lines.get_array(), [0.1, 0.2, 0.5, 1.0])
    there, back = lines.get_segments()[2], lines.get_segments()[3]
    assert there[0][1] < 0 < back[0][1]  # eastward keeps to the south, westward to the north


def test_a_link_past_another_node_is_bent() -> None:
    places = np.array([[0.0, 0.0], [1.0, 0.0], [2.0, 0.0], [0.0, 1.0]])
    assert _bend(places[0], places[2], places) > 0
    assert _bend(places[0], places[1], places) == 0


def test_latency_marks_percentiles(result: fs.Result) -> None:
    axes = plots.latency_cdf(result).axes[0]
    total = axes.lines[0]
    np.testing.assert_allclose(np.asarray(total.get_ydata()), [0.0, 0.5, 0.95, 1.0])
    marks = {line.get_label(): float(np.asarray(line.get_xdata())[0]) for line in axes.lines[1:4]}
    assert marks == {"p50": 200.0, "p99": 800.0, "p99.9": 800.0}


def test_load_latency_marks_saturation(fake: None, small: Path) -> None:
    sweep = fs.sweep(small, vary={"traffic.0.load": [0.05, 0.2, 0.8], "seed": [1, 2]}, jobs=1)
    upper, lower = plots.load_latency(sweep).axes
    dashed = [float(np.asarray(line.get_xdata())[0]) for line in upper.lines if line.get_alpha() == 0.7]
    assert dashed == [0.2, 0.2]
    assert "seed 1" in [line.get_label() for line in lower.lines]


@pytest.mark.parametrize(("scale", "unit"), [(1.0, "ns"), (10.0, "µs")])
def test_latency_over_load_is_in_the_unit_that_suits_the_longest(
    fake: None, small: Path, scale: float, unit: str
) -> None:
    sweep = fs.sweep(small, vary={"traffic.0.load": [0.05, 0.2], "seed": [1, 2]}, seeds=None, jobs=1)
    ns = sweep.points["latency_ns.mean"] * scale
    upper, _ = plots.load_latency(replace(sweep, points=sweep.points.assign(**{"latency_ns.mean": ns}))).axes
    assert upper.get_ylabel() == f"mean packet latency ({unit})"
    drawn = [float(y) for line in upper.lines[:2] for y in np.asarray(line.get_ydata())]
    assert max(drawn) == pytest.approx(ns.max() / (1e3 if unit == "µs" else 1.0))


def test_parallel_cables_are_one_line_with_their_mean(result: fs.Result) -> None:
    names = ["H0->S0", "S0->S1 #1", "S0->S1 #2", "S1->S0 #1", "S1->S0 #2", "S1->H1"]
    links = pd.DataFrame({"link": names, "lane": 0, "utilisation": [0.1, 0.5, 1.0, 0.2, 0.4, 0.3]})
    figure = plots.links(replace(result, frames={**result.frames, "links": links}))
    (lines,) = [found for found in figure.axes[0].collections if found.get_array() is not None]
    assert np.asarray(lines.get_array()) == pytest.approx([0.1, 0.3, 0.3, 0.75])


def test_a_run_without_a_table_says_so(result: fs.Result) -> None:
    with pytest.raises(fs.InputError, match="no table 'series'"):
        plots.throughput(replace(result, frames={}))
    with pytest.raises(fs.InputError, match="there are: entries, throughput"):
        plots.draw(result, "pie")


def test_time_scale() -> None:
    assert time_scale(0.7e9) == (1e9, "s")
    assert time_scale(5e5) == (1e3, "µs")
    assert time_scale(1.0) == (1.0, "ns")


def _congested(result: fs.Result) -> fs.Result:
    """A run with congestion control and two trees, one of them for a part of the time; times in microseconds."""
    us = 1000.0
    levels = [(0.0, "H0", "H1", 0.0), (us, "H0", "H1", 4.0), (0.0, "H1", "H0", 1.0), (us, "H1", "H0", 1.0)]
    trees = [
        (0.0, 1 * us, "A->B", 0, 2, 3, 1),
        (1 * us, 2 * us, "A->B", 0, 2, 3, 2),
        (1 * us, 2 * us, "C->D", 0, 0, 1, 0),
        (3 * us, 4 * us, "A->B", 0, 1, 2, 0),
    ]
    names = ["time_ns", "until_ns", "root", "lane", "branches", "contributors", "victims"]
    frames = {
        "congestion_series": pd.DataFrame(levels, columns=["time_ns", "source", "destination", "ccti"]),
        "run_series": pd.DataFrame({"time_ns": [0.0, us], "marked": [0, 7], "notified": [0, 5]}),
        "congestion_trees": pd.DataFrame(trees, columns=names),
    }
    return replace(result, frames=frames)


def test_congestion_has_a_panel_for_what_there_is(result: fs.Result, tmp_path: Path) -> None:
    congested = _congested(result)
    figure = plots.congestion(congested)
    levels, marks, roots, counts = figure.axes
    assert [line.get_label() for line in levels.lines] == ["H0 → H1", "H1 → H0"]
    assert levels.get_ylabel() == "CCTI"
    np.testing.assert_array_equal(levels.lines[0].get_ydata(), [0.0, 4.0])
    np.testing.assert_array_equal(marks.lines[1].get_ydata(), [0, 5])
    assert marks.get_ylabel() == "packets in 1 µs"
    assert [label.get_text() for label in roots.get_yticklabels()] == ["A->B", "C->D"]
    bars = [len(collection.get_paths()) for collection in roots.collections]
    assert bars == [2, 1], "the first two samples with A->B have no seam between them"
    assert counts.get_xlabel().startswith("simulated time")
    # Nothing was found between 2 and 3 us nor after 4 us; at 2 us both trees count.
    np.testing.assert_array_equal(counts.lines[1].get_ydata(), [0, 1, 2, 0, 0, 0])
    np.testing.assert_array_equal(counts.lines[0].get_ydata(), [0, 3, 4, 0, 2, 0])
    saved = plots.save_plots(congested, tmp_path)
    assert [path.name for path in saved] == ["congestion.png"]


def test_congestion_without_control_shows_trees_only(result: fs.Result) -> None:
    congested = _congested(result)
    frames = {"congestion_trees": congested.frames["congestion_trees"]}
    assert len(plots.congestion(replace(result, frames=frames)).axes) == 2
    with pytest.raises(fs.InputError, match="neither congestion control"):
        plots.congestion(result)


def test_congestion_names_lanes_where_there_are_several(result: fs.Result) -> None:
    congested = _congested(result)
    trees = congested.frames["congestion_trees"].assign(lane=[0, 0, 1, 0])
    roots = plots.congestion(replace(result, frames={"congestion_trees": trees})).axes[0]
    assert [label.get_text() for label in roots.get_yticklabels()] == ["A->B lane 0", "C->D lane 1"]


ROUTERS = pd.DataFrame(
    {
        "direction": ["+x", "-x", "host"],
        "granted": [100, 50, 120],
        "stalled_per_packet": [4.0, 6.0, np.nan],
        "stalled_per_packet_deviation": [1.0, 0.5, np.nan],
        "blocked_per_packet": [2.0, 3.0, 1.0],
        "queueing_cycles": [30.0, 40.0, 10.0],
        "age_mean": [20.0, 30.0, 90.0],
        "age_0_63": [90, 40, 60],
        "age_64_127": [10, 9, 60],
        "age_128_191": [0, 1, 0],
        "age_192_255": [0, 0, 0],
    }
)


def with_routers(result: fs.Result, table: pd.DataFrame) -> fs.Result:
    return replace(result, frames={**result.frames, "router_dimensions": table})


def heights(axes: object, group: int) -> list[float]:
    bars = [c for c in axes.containers if hasattr(c, "patches")]  # type: ignore[attr-defined]
    return [bar.get_height() for bar in bars[group].patches]


def test_routers_show_stalls_queues_and_ages(result: fs.Result) -> None:
    stalls, queueing, ages = plots.routers(with_routers(result, ROUTERS)).axes
    assert heights(stalls, 0) == [4.0, 6.0, 0.0]
    assert heights(stalls, 1) == [2.0, 3.0, 1.0]
    assert [label.get_text() for label in queueing.get_xticklabels()] == ["+x", "-x", "host"]
    assert heights(queueing, 0) == [30.0, 40.0, 10.0]
    assert ages.get_yscale() == "log"
    assert heights(ages, 0) == [130, 19, 1, 0]
    assert heights(ages, 1) == [60, 60, 0, 0]


def test_routers_whose_packets_do_not_age_have_no_histogram(result: fs.Result) -> None:
    assert len(plots.routers(with_routers(result, ROUTERS.assign(age_mean=0.0))).axes) == 2


def test_routers_are_drawn_where_they_counted(result: fs.Result, tmp_path: Path) -> None:
    names = [path.stem for path in plots.save_plots(with_routers(result, ROUTERS), tmp_path)]
    assert names == ["throughput", "links", "latency", "routers"]
    idle = with_routers(result, ROUTERS.assign(granted=0))
    assert "routers" not in [path.stem for path in plots.save_plots(idle, tmp_path)]
    with pytest.raises(fs.InputError, match="nothing passed a router"):
        plots.routers(idle)
    with pytest.raises(fs.InputError, match="no table 'router_dimensions'"):
        plots.routers(result)


def held(result: fs.Result, hosts: int) -> fs.Result:
    """A run in which host n had n packets in its reorder buffer at most, and one connection."""
    rows = [(time, f"H{n}", n / 2, n, 0.5, 1) for time in (0.0, 1000.0) for n in range(hosts)]
    names = ["time_ns", "host", "reorder_buffer", "reorder_buffer_max", "connections", "connections_max"]
    return replace(result, frames={"transport_series": pd.DataFrame(rows, columns=names)})


def test_transport_shows_the_fullest_hosts_and_the_rest(result: fs.Result) -> None:
    buffers, connections = plots.transport(held(result, 15)).axes
    names = [line.get_label() for line in buffers.lines]
    assert names[:12] == [f"H{n}" for n in range(3, 15)]
    assert names[12:] == ["largest of 3 others", "mean of 3 others"]
    np.testing.assert_array_equal(buffers.lines[11].get_ydata(), [14, 14])
    np.testing.assert_array_equal(buffers.lines[12].get_ydata(), [2, 2])
    np.testing.assert_array_equal(connections.lines[0].get_ydata(), [1, 1])
    assert connections.get_xlabel() == "simulated time (ns)"


MESSAGES = pd.DataFrame(
    {
        "entry": ["small", "large", "none"],
        "messages": [1000, 1, 0],
        "completion_p50_ns": [1000.0, 50000.0, np.nan],
        "completion_p99_ns": [2000.0, 50000.0, np.nan],
        "completion_p999_ns": [3000.0, 50000.0, np.nan],
    }
)


def test_completion_times_by_entry(result: fs.Result) -> None:
    (axes,) = plots.completion(replace(result, frames={"messages": MESSAGES})).axes
    assert [text.get_text() for text in axes.get_yticklabels()] == [
        "small\n1,000 messages",
        "large\n1 message",
    ]
    widths = [[bar.get_width() for bar in c.patches] for c in axes.containers if isinstance(c, BarContainer)]
    assert widths == [[1.0, 50.0], [2.0, 50.0], [3.0, 50.0]]
    assert axes.get_xscale() == "log"
    assert axes.get_xlabel().endswith("(µs)")


def test_transports_are_drawn_where_there_is_something(result: fs.Result, tmp_path: Path) -> None:
    frames = {**held(result, 2).frames, "messages": MESSAGES}
    saved = plots.save_plots(replace(result, frames=frames), tmp_path)
    assert [path.stem for path in saved] == ["transport", "completion"]
    idle = replace(
        held(result, 1), frames={"transport_series": held(result, 1).frames["transport_series"] * 0}
    )
    assert plots.save_plots(idle, tmp_path) == []
    with pytest.raises(fs.InputError, match="no packet waited"):
        plots.transport(idle)
    with pytest.raises(fs.InputError, match="no message that was created"):
        plots.completion(replace(result, frames={"messages": MESSAGES.iloc[2:]}))
    with pytest.raises(fs.InputError, match="no table 'transport_series'"):
        plots.transport(result)


def test_the_best_so_far_goes_on_to_the_last_trial() -> None:
    result = study(1)
    (best,) = [line for line in trials(result).axes[0].lines if line.get_label() == "best so far"]
    assert np.asarray(best.get_xdata())[-1] == result.trials["trial"].max()
    assert (
        np.asarray(best.get_ydata())[-1] == result.trials["victim_rate"][result.trials["feasible"]][1:].min()
    )
