"""Congestion control in the thesis' experiments, in short form: all of it in full is `make reproduce`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import fabricsim as fs
from fabricsim.reproduce import Seed, read_seed

OFF = {"congestion_control.algorithm": "none"}
PARAMETERS = "congestion_control.infiniband."
TIMERS = ["20 us", "250 us", "500 us", "750 us", "1000 us"]
RATES = [1, 10, 20, 30, 40, 50]
TABLE_4_9 = [
    [19.8, 15.0, 14.9, 15.1, 14.8, 14.9],
    [24.1, 23.1, 20.7, 18.9, 17.0, 16.2],
    [22.8, 24.1, 22.8, 20.9, 20.1, 17.7],
    [22.0, 24.3, 23.0, 21.8, 20.7, 19.2],
    [21.2, 24.3, 23.6, 22.5, 21.8, 19.8],
]


@pytest.fixture(scope="module")
def thesis(experiments: Path) -> Seed:
    return read_seed(experiments, "thesis")


def shares(run: fs.Result, after_ns: float) -> dict[str, float]:
    """What arrives from each source, in host links of 8 Gb/s."""
    series = run.series[run.series["time_ns"] >= after_ns]
    gbps = series.groupby("source")["gbps"].sum() / series["time_ns"].nunique()
    return {str(source): float(rate) / 8.0 for source, rate in gbps.items()}


def at_once(file: Path) -> dict[str, str]:
    """All start a millisecond after each other; the uniform traffic, which is last, from the start."""
    traffic = fs.Experiment.from_file(file).check()["traffic"]
    fixed = [number for number, entry in enumerate(traffic) if entry["name"] != "uniform"]
    return {f"traffic.{number}.start": f"{number} ms" for number in fixed}


@pytest.mark.parametrize(("name", "victim"), [("a", "H111"), ("b2", "H512")])
def test_contributors_share_equally_and_the_victim_is_none(experiments: Path, name: str, victim: str) -> None:
    file = experiments / f"thesis/{name}.toml"
    values = at_once(file) | {"run.duration": "120 ms"}
    on = shares(fs.run(file, set=values), 20e6)
    off = shares(fs.run(file, set=values | OFF), 20e6)
    fair = 1.0 / (len(on) - 1)
    assert on.pop(victim) > 0.95
    assert all(share == pytest.approx(fair, rel=0.1) for share in on.values())
    assert off.pop(victim) < 0.3
    assert max(off.values()) > 1.4 * fair


def test_marks_for_every_other_packet_do_not_end_the_congestion_of_b2(experiments: Path) -> None:
    """50 000 steps back in a second from each of five contributors are more than half of 457 900 packets."""
    file = experiments / "thesis/b2.toml"
    between = {f"{PARAMETERS}marking_rate_counts": "between"}
    rates = shares(fs.run(file, set=at_once(file) | between | {"run.duration": "120 ms"}), 20e6)
    assert rates["H512"] == pytest.approx(rates["H511"], rel=0.02)
    assert rates["H551"] == pytest.approx(50_000 / (996.34e6 / 2176 / 2), rel=0.01)


@pytest.mark.parametrize("name", ["c1", "c2", "c3", "d"])
def test_congestion_control_raises_the_total(experiments: Path, name: str) -> None:
    file = experiments / f"thesis/{name}.toml"
    values = at_once(file) | {"run.duration": "20 ms"}
    on, off = (fs.run(file, set=values | extra).series["gbps"].sum() for extra in ({}, OFF))
    assert on > 1.05 * off


def test_the_grid_is_that_of_table_4_3(experiments: Path, thesis: Seed) -> None:
    (figure,) = [figure for figure in thesis.figures if figure.name == "table-4.9"]
    places = list(figure.places.values())
    assert places == [{"CCTI_Timer": t, "Marking_Rate": m} for t in TIMERS for m in RATES]
    (cells,) = figure.cells
    assert cells.published == TABLE_4_9
    points = fs.Experiment.from_file(experiments / "thesis/d.toml").check()["sweep"]
    assert points[f"{PARAMETERS}ccti_timer"] == TIMERS
    assert points[f"{PARAMETERS}marking_rate"] == RATES


def test_the_printed_averages_are_those_that_are_given(reference: Path, thesis: Seed) -> None:
    targets = json.loads((reference / "targets.json").read_text(encoding="utf-8"))["ibcc_thesis"]
    assert targets["table4_9"]["values"] == TABLE_4_9
    printed = {
        f"C{number}": [
            quantity.published
            for figure in thesis.figures
            if figure.name == name
            for quantity in figure.quantities
            if quantity.published is not None
        ]
        for number, name in enumerate(["figure-4.9", "figure-4.11", "figure-4.13", "figure-4.14"], 1)
    }
    assert printed == targets["C_off_on"]


def test_open_choices_are_the_same_everywhere(experiments: Path) -> None:
    """Chosen once for all experiments."""
    names = ["a", "b1", "b2", "c1", "c2", "c3", "d"]
    parts = [
        fs.Experiment.from_file(experiments / f"thesis/{name}.toml").check()["congestion_control"]
        for name in names
    ]
    assert all(part == parts[0] for part in parts)


def test_future_networks_have_what_d_has(experiments: Path) -> None:
    d = fs.Experiment.from_file(experiments / "thesis/d.toml").check()
    for file in sorted((experiments / "thesis").glob("future-*.toml")):
        other = fs.Experiment.from_file(file).check()
        assert other["links"] == d["links"]
        assert other["host"] == d["host"]
        ours = other["congestion_control"]["infiniband"]
        assert ours == d["congestion_control"]["infiniband"] | {"ccti_timer": "250 us"}
        groups = other["groups"]
        assert [len(groups[name]) for name in ("contributors", "hot-spots", "victims")] == [15, 3, 3]
        sources = [*groups["contributors"], *groups["victims"], *groups["uniform"]]
        assert len(set(sources)) == len(sources) == fs.Experiment.from_file(file).describe()["hosts"]
