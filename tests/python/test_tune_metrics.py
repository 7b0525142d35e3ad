"""Metrics, parameters, fronts and intervals, each by itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats

import fabricsim as fs
from fabricsim.selection import Flows, to_ns
from fabricsim.statistics import interval
from fabricsim.sweep.quantity import quantity
from fabricsim.tune.metrics import METRICS, Measured, Which, measure
from fabricsim.tune.parameters import parameter
from fabricsim.tune.pareto import best, dominates, front
from fabricsim.tune.problem import Axis, Wanted
from fabricsim.tune.record import Record
from fabricsim.tune.runs import Run

FACTS: dict[str, Any] = {
    "groups": {"hot": ["H9", "G*"], "all hot": ["hot"]},
    "traffic": [
        {"name": "victims", "sources": ["H1", "H2"], "destinations": ["*"], "pattern": {"to": "H5"}},
        {"name": "spread", "sources": ["H3"], "destinations": ["all hot"], "pattern": "uniform"},
        {"name": "", "sources": ["*"], "destinations": ["*"], "pattern": "uniform"},
    ],
}
FLOWS = pd.DataFrame(
    {
        "source": ["H1", "H2", "H3", "H3", "H4"],
        "destination": ["H5", "H5", "H9", "G1", "H5"],
        "accepted_gbps": [8.0, 6.0, 4.0, 2.0, 2.0],
        "latency_packets": [10, 30, 1, 1, 1],
        "latency_mean_ns": [100.0, 200.0, 300.0, 400.0, 500.0],
        "latency_p99_ns": [1000.0, 2000.0, 3000.0, 4000.0, 5000.0],
        "latency_p999_ns": [1.0, 2.0, 3.0, 4.0, 5.0],
    }
)
HOSTS = pd.DataFrame(
    {"host": ["H1", "H2", "H3", "H4", "H5", "H9", "G1"], "link_gbps": [10.0] * 4 + [20.0] * 3}
)


def series() -> pd.DataFrame:
    """H1 sends 4 and 12 in turn, the others what they send on average."""
    rows = []
    for at, time_ns in enumerate([0.0, 100.0, 200.0, 300.0]):
        for row in FLOWS.to_dict("records"):
            gbps = [4.0, 12.0][at % 2] if row["source"] == "H1" else row["accepted_gbps"]
            rows.append((time_ns, row["source"], row["destination"], gbps))
    return pd.DataFrame(rows, columns=["time_ns", "source", "destination", "gbps"])


class Known(Measured):
    """A run whose tables are those above."""

    facts = FACTS


def run(**summary: Any) -> Known:
    latency = {"mean": 50.0, "p99": 99.0, "p999": None}
    scalars = {"latency_ns": latency, "measured_from_ns": 100.0, "measured_ns": 300.0, "jain": 0.5, **summary}
    frames = {"flows": FLOWS, "hosts": HOSTS, "series": series()}
    return Known(fs.Result({"summary": scalars, "status": "ok"}, frames), fs.Experiment(""))


CASES = [
    (Which("throughput"), 22.0),
    (Which("throughput", ("victims",)), 14.0),
    (Which("throughput", ("victims", "H4->H5")), 16.0),
    (Which("throughput", ("victims", "H1->*")), 14.0),  # a flow that two entries mean counts once
    (Which("throughput", ("H1->H5",), after="100 ns", before="0.4 us"), 28.0 / 3.0),
    (Which("throughput", ("H1->H5",), before="200 ns"), 12.0),  # from the start of the measurement
    (Which("victim_rate", ("victims",)), 0.6),
    (Which("victim_rate", ("spread",)), 0.2),
    (Which("hot_spot_utilisation", ("victims",)), 16.0 / 20.0),  # H4 sends there, too
    (Which("hot_spot_utilisation", ("*->hot",)), 6.0 / 40.0),
    (Which("fairness", ("*->H5",)), 16.0**2 / (3 * (64 + 36 + 4))),
    (Which("fairness", ("victims", "spread"), by="group"), 10.0**2 / (2 * (49 + 9))),
    (Which("latency_mean"), 50.0),
    (Which("latency_mean", ("victims",)), 175.0),
    (Which("latency_p99"), 99.0),
    (Which("latency_p99", ("victims",)), 2000.0),
    (Which("latency_p999", ("spread",)), 4.0),
    (Which("oscillation", ("H1->H5",), after="0 ns"), 0.5),
    (Which("oscillation", ("victims",), after="0 ns"), 0.25),
    (Which("oscillation", ("victims",), after="0 ns", by="total"), 4.0 / 14.0),
    (Which("jain"), 0.5),
    (Which("latency_ns.p99"), 99.0),
]


@pytest.mark.parametrize(("which", "expected"), CASES, ids=lambda c: getattr(c, "label", ""))
def test_metrics(which: Which, expected: float) -> None:
    assert measure(run(), which) == pytest.approx(expected)


REFUSED = [
    (Which("thruput"), "no run measures 'thruput'.*did you mean throughput"),
    (Which("latency_ns.p98"), "did you mean latency_ns.p9"),
    (Which("jain", ("victims",)), "jain is not of single flows or times: it has no `flows`"),
    (Which("latency_p99", after="1 us"), "latency_p99 is not of single flows or times: it has no `after`"),
    (Which("fairness", by="total"), 'fairness has no `by = "total"`: give "flow" or "group"'),
    (Which("throughput", by="flow"), "throughput is not of single flows or times: it has no `by`"),
    (Which("throughput", ("victim",)), "'victim' is neither source->destination.*did you mean 'victims'"),
    (Which("throughput", ("H1->H9",)), "the run has no flow 'H1->H9'"),
    (Which("throughput", after="1 s"), "no time bin of the run lies between"),
    (Which("oscillation", after="300 ns"), "oscillation needs two time bins or more"),
    (Which("latency_p999"), "latency_p999: this run has no value of it"),
    (Which("status"), "no run measures 'status'"),
]


@pytest.mark.parametrize(("which", "message"), REFUSED, ids=lambda c: getattr(c, "label", ""))
def test_what_a_run_does_not_measure(which: Which, message: str) -> None:
    with pytest.raises(fs.InputError, match=message):
        measure(run(status="ok"), which)


@pytest.mark.usefixtures("real")
def test_every_metric_is_measured_in_a_run() -> None:
    experiment = fs.Experiment.build(
        topology=fs.spec.SingleSwitch(3),
        traffic=fs.spec.Traffic(pattern=fs.spec.To("H2"), load=0.2, message="1 KiB", sources=["H0", "H1"]),
        transport=fs.spec.Transport(mode="ordered"),
        run=fs.spec.Run(duration="20 us"),
    )
    measured = Measured(fs.run(experiment), experiment)
    values = {name: measure(measured, Which(name)) for name in METRICS if name != "job_time"}
    assert values["throughput"] == pytest.approx(40.0, rel=0.2)
    assert values["hot_spot_utilisation"] == pytest.approx(values["throughput"] / 100.0)
    assert values["bound_fraction"] == pytest.approx(values["throughput"] / 40.0)
    assert 0.5 < values["fairness"] <= 1.0


def test_flows_by_source_only_are_said_to_be() -> None:
    table = FLOWS.assign(destination="*")
    with pytest.raises(fs.InputError, match=r'measure\.flows = "pairs"'):
        Flows(FACTS).matching(table, "H1->H5")
    assert list(Flows(FACTS).matching(table, "H1->*")) == [True, False, False, False, False]


def test_times() -> None:
    assert to_ns("0.5 ms") == 5e5
    for wrong in ("5", "5 Gb/s", "1.2.3 ns", ""):
        with pytest.raises(fs.InputError, match="not a time"):
            to_ns(wrong)


RANGES = st.one_of(
    st.tuples(st.integers(-50, 50), st.integers(1, 100), st.none() | st.integers(1, 5)),
    st.tuples(st.floats(-5, 5), st.floats(0.5, 9), st.none() | st.floats(0.01, 0.5)),
)


@settings(deadline=None)  # the first one imports Optuna
@given(RANGES, st.integers(0, 2**32 - 1))
def test_what_is_drawn_lies_in_the_range(ends: tuple[Any, Any, Any], seed: int) -> None:
    low, length, step = ends
    item = parameter("x", {"low": low, "high": low + length, "step": step})
    value = item.value(_drawn(item, seed))
    assert low <= value <= low + length
    assert isinstance(value, type(low))
    if step is not None:
        assume(abs(low) > 1e-6 or low == 0)
        assert item.value(item.drawn(value)) == value
        assert item.drawn(value) in item.all()


@settings(deadline=None)
@given(st.sampled_from(["ns", "us", "KiB", "Gb/s"]), st.integers(1, 900), st.integers(1, 900), st.booleans())
def test_quantities_keep_their_unit_and_range(unit: str, low: int, length: int, log: bool) -> None:
    given_ = {"low": f"{low} {unit}", "high": f"{low + length} {unit}", "scale": "log" if log else "linear"}
    item = parameter("x", given_)
    found = quantity(item.value(_drawn(item, low + length)))
    assert found is not None
    assert low <= found.in_unit(unit) <= low + length
    whole = parameter("x", {**given_, "integer": True})
    value = quantity(whole.value(_drawn(whole, length)))
    assert value is not None
    assert value.in_unit(unit).denominator == 1
    assert [whole.value(end) for end in (low, low + length)] == [given_["low"], given_["high"]]


def test_ends_of_ranges_with_different_units() -> None:
    item = parameter("x", {"low": "20 us", "high": "1 ms", "step": "20 us"})
    values = [item.value(drawn) for drawn in item.all()]
    assert values[:2] == ["20 us", "40 us"]
    assert values[-1] == "1000 us"
    assert len(values) == 50
    assert quantity(values[-1]).base == 1e6  # type: ignore[union-attr]
    assert [item.value(item.drawn(value)) for value in values] == values
    with pytest.raises(fs.InputError, match="not a whole number of steps"):
        item.drawn("70 us")
    odd = parameter("x", {"low": "1 us", "high": "20 us", "scale": "log"})
    assert odd.value(1343390) == "1.343 us"
    assert odd.value(1000001) == "1 us"
    assert parameter("x", {"low": "4 KiB", "high": "64 KiB"}).value(9618) == "9618 B"
    with pytest.raises(fs.InputError, match="no whole number of us"):
        parameter("x", {"low": "1 us", "high": "2500 ns", "integer": True})


@pytest.mark.parametrize("high", [4, 5])
def test_a_grid_has_both_ends_of_a_range(high: int) -> None:
    assert parameter("x", {"low": 2, "high": high}).all() == list(range(2, high + 1))
    by_two = parameter("x", {"low": 2, "high": high, "step": 2})
    assert [by_two.value(drawn) for drawn in by_two.all()] == [2, 4]


def test_starts_have_to_lie_in_the_range() -> None:
    whole = parameter("x", {"low": 1, "high": 9, "step": 2})
    assert whole.value(whole.drawn(5)) == 5
    for wrong in (4, 11, "5", True):
        with pytest.raises(fs.InputError):
            whole.drawn(wrong)
    choice = parameter("x", {"choices": ["a", {"b": 1}]})
    assert choice.value(choice.drawn({"b": 1})) == {"b": 1}
    with pytest.raises(fs.InputError, match="not one of the choices"):
        choice.drawn("c")


def _drawn(item: Any, seed: int) -> Any:
    import optuna  # noqa: PLC0415

    distribution = item.distribution()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=seed))
    return study.ask({"x": distribution}).params["x"]


AXES = [Axis(name, up, (Wanted(name, Which(name), up),)) for name, up in (("a", True), ("b", False))]
POINTS = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5), st.booleans()), min_size=1, max_size=20)


@given(POINTS)
def test_the_front_is_what_nothing_dominates(points: list[tuple[int, int, bool]]) -> None:
    records = [Record(n, {}, (), {}, (a, b), (0.0 if ok else 1.0,)) for n, (a, b, ok) in enumerate(points)]
    able = [record for record in records if record.feasible]
    found = front(records, AXES)
    values = {record.values for record in found}
    assert len(values) == len(found), "each once"
    for record in able:
        beaten = any(
            other.values[0] >= record.values[0]
            and other.values[1] <= record.values[1]
            and other.values != record.values
            for other in able
        )
        assert (record.values in values) == (not beaten)
    assert all(record.feasible for record in found)
    chosen = best(records, AXES)
    assert (chosen is None) == (not able)
    assert chosen is None or chosen in found
    assert not any(dominates(record, record, AXES) for record in records)


def test_the_best_of_a_front_is_nearest_to_the_best_of_all() -> None:
    records = [Record(n, {}, (), {}, v) for n, v in enumerate([(10.0, 100.0), (9.0, 20.0), (0.0, 0.0)])]
    assert best(records, AXES) == records[1]
    failed = Record(3, {}, (Run("s", 1, error="no"),), {}, ())
    assert best([*records, failed], AXES) == records[1]


@settings(deadline=None)
@given(st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=12), st.floats(0.5, 0.99))
def test_intervals_are_those_of_the_paired_t_test(values: list[float], confidence: float) -> None:
    differences = np.array(values)
    assume(np.ptp(differences) > 1e-6)
    zeros = np.zeros(len(values))
    expected = stats.ttest_rel(differences, zeros).confidence_interval(confidence)
    assert interval(differences, confidence) == pytest.approx((expected.low, expected.high))


def test_differences_without_chance_have_no_width() -> None:
    assert interval(np.array([2.5, 2.5, 2.5]), 0.95) == (2.5, 2.5)
