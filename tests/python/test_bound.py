"""The bound: closed forms, the properties that define it, and what the command says."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from bound_cases import CLOSE, experiment, mesh_with_hot_spots
from conftest import ROOT
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import fabricsim as fs
from fabricsim.bound import SolverError, bound
from fabricsim.bound.filling import OWN_DEMAND, fill
from fabricsim.bound.problem import Problem, Tie
from fabricsim.bound.program import fair, maximum
from fabricsim.bound.solve import bound_of


@pytest.mark.usefixtures("real")
class TestClosedForms:
    def test_mesh_with_three_hot_spots(self) -> None:
        found = bound(fs.Experiment.from_text(mesh_with_hot_spots()))
        # A hot spot and a victim's receiver send uniform traffic themselves: 31 of 32 may send to them.
        left = 8 - 31 * 8 / 49
        level = 8 / (5 + 31 / 49)
        victim = 8 - 31 / 49 * level
        for total in (found.total_gbps, found.fair_total_gbps, found.sender_total_gbps):
            assert total == pytest.approx(256 + 6 * left, rel=CLOSE)
        assert found.total_gbps == pytest.approx(273.6, abs=0.05)
        assert found.sender_fair_total_gbps == pytest.approx(88.1, abs=0.05)
        kinds = found.entries["entry"].str.rstrip("012")
        table = found.entries.groupby(kinds)[["fair_gbps", "sender_fair_gbps"]].sum()
        sums = {str(name): list(row) for name, *row in table.itertuples()}
        assert sums["hot"] == pytest.approx([3 * left, 15 * level], rel=CLOSE)
        assert sums["victim"] == pytest.approx([3 * left, 3 * victim], rel=CLOSE)
        assert sums["uniform"] == pytest.approx([256, 32 * level], rel=CLOSE)
        hot = found.flows[(found.flows["entry"] == "hot2") & (found.flows["destination"] == "H552")]
        assert set(hot["bottleneck"]) == {"SW55->H552"}

    def test_mesh_with_three_hot_spots_but_no_other_traffic(self) -> None:
        statics = fs.Experiment.from_text(mesh_with_hot_spots()).with_values({"traffic.0.start": "1 s"})
        assert bound(statics).total_gbps == pytest.approx(48, rel=CLOSE)

    def test_uniform_traffic_of_all_on_the_mesh(self) -> None:
        mesh = 'mesh = { dimensions = [5, 5], hosts_per_switch = 2, naming = "thesis" }'
        rates = '[links.all]\nrate = "32 Gb/s"\n[links.hosts]\nrate = "8 Gb/s"'
        found = bound(experiment(mesh, 'pattern = "uniform"', rates))
        assert found.total_gbps == pytest.approx(400, rel=CLOSE)
        assert found.sender_fair_total_gbps == pytest.approx(400, rel=CLOSE)

    def test_parking_lot(self) -> None:
        lot = experiment("parking-lot = { switches = 5 }", 'pattern = { to = "H(4).0" }')
        found = bound(lot)
        senders = len(found.flows)
        assert senders >= 4
        assert found.flows["fair_gbps"].tolist() == pytest.approx([100 / senders] * senders, rel=CLOSE)
        assert set(found.flows["bottleneck"]) == {"S(4)->H(4).0"}
        assert found.total_gbps == pytest.approx(100, rel=CLOSE)

    def test_all_to_one_with_a_slow_sink(self) -> None:
        one = experiment("single-switch = { hosts = 9 }", 'pattern = { to = "H0" }')
        assert bound(one).flows["fair_gbps"].tolist() == pytest.approx([12.5] * 8, rel=CLOSE)
        sink = {"rate": "60 Gb/s", "pause_every": "2 us", "pause_for": "1 us"}
        found = bound(one.with_values({"host.sink": sink}))
        assert found.total_gbps == pytest.approx(40, rel=CLOSE)
        assert set(found.flows["bottleneck"]) == {"sink of H0"}

    def test_headers_of_links_are_no_throughput(self) -> None:
        one = experiment("single-switch = { hosts = 3 }", 'pattern = { to = "H0" }')
        found = bound(one.with_values({"links.all.packet_overhead": "512 B"}))
        assert found.total_gbps == pytest.approx(80, rel=CLOSE)
        full = found.links.set_index("link").loc["S0->H0"]
        assert full["fair_gbps"] == pytest.approx(full["gbps"], rel=CLOSE)

    def test_torus_is_limited_by_its_bisection(self) -> None:
        """Uniform traffic on a k-ary 2-cube: 8 / k of a link for each node (Dally and Towles, section 3.3)."""
        torus = experiment(
            "torus = { dimensions = [8, 8] }",
            'pattern = "uniform-with-self"',
            '[links.hosts]\nrate = "400 Gb/s"',
        )
        found = bound(torus)
        assert found.sender_fair_total_gbps == pytest.approx(64 * 100 * 8 / 8, rel=CLOSE)
        assert found.sender_total_gbps == pytest.approx(64 * 100 * 8 / 8, rel=CLOSE)
        # Pairs that need not cross a full link are not limited by those that do.
        assert found.total_gbps > 1.1 * found.sender_total_gbps

    def test_adaptive_routing_spreads_at_will(self) -> None:
        tree, slow = "fat-tree = { arity = 4, levels = 2 }", '[links.level.1]\nrate = "40 Gb/s"'
        adaptive = '[routing]\nalgorithm = "up-down-adaptive"'
        found = bound(experiment(tree, 'pattern = "uniform"', f"{slow}\n{adaptive}"))
        # Each leaf has four links up, of 40 Gb/s; 12 of 15 destinations are beyond, the rest is not limited.
        assert found.fair_total_gbps == pytest.approx(4 * (160 + 4 * 3 * 100 / 15), rel=1e-5)
        assert found.total_gbps == pytest.approx(found.fair_total_gbps, rel=1e-5)
        assert found.sender_fair_total_gbps == pytest.approx(16 * 160 / 4 * 15 / 12, rel=1e-5)
        far = found.flows[(found.flows["source"] == "H0") & (found.flows["destination"] == "H15")]
        assert "L2S" in far["bottleneck"].iloc[0]

        # Flows whose destinations share a root of the deterministic routing, which spreads them no further.
        traffic = 'sources = ["H0", "H1", "H2"]\npattern = { permutation = ["H4", "H8", "H12"] }'
        fixed, free = (
            bound(experiment(tree, traffic, f"{slow}\n{way}")).total_gbps for way in ("", adaptive)
        )
        assert fixed == pytest.approx(40, rel=CLOSE)
        assert free == pytest.approx(160, rel=1e-5)

    def test_detours_are_part_of_the_bound(self) -> None:
        """Two hosts of one of three switches send to the next: by one link, or by two links around."""

        def total(algorithm: str) -> float:
            return fs.bound(
                fs.Experiment.from_text(
                    f"""
                    [topology.hyperx]
                    dimensions = [3]
                    hosts_per_switch = 2
                    [switch]
                    virtual_lanes = 4
                    [links.all]
                    rate = "8 Gb/s"
                    [routing]
                    algorithm = "{algorithm}"
                    [[traffic]]
                    sources = ["H(0).*"]
                    pattern = {{ permutation = ["H(1).0", "H(1).1"] }}
                    injection = "saturating"
                    message = "1 KiB"
                    [run]
                    duration = "1 ms"
                    """
                )
            ).total_gbps

        assert total("minimal") == pytest.approx(8.0)
        for algorithm in ("valiant", "dal"):
            assert total(algorithm) == pytest.approx(16.0), algorithm

    def test_random_routing_splits_evenly(self) -> None:
        tree = "fat-tree = { arity = 4, levels = 2 }"
        rest = '[links.level.1]\nrate = "10 Gb/s"\n[routing]\nalgorithm = "up-down-random"'
        traffic = 'sources = ["H0"]\npattern = { to = "H4" }'
        assert bound(experiment(tree, traffic, rest)).total_gbps == pytest.approx(40, rel=CLOSE)

    def test_flows_that_start_one_after_the_other(self) -> None:
        path = ROOT / "experiments/thesis/b2.toml"
        wire = 8 * 2176 / 2184
        found = bound(path)
        assert found.facts["from_s"] == pytest.approx(0.5)
        rates = found.flows.set_index("source")["fair_gbps"]
        assert rates["H512"] == pytest.approx(wire, rel=CLOSE)
        assert rates.drop("H512").tolist() == pytest.approx([wire / 5] * 5, rel=CLOSE)
        early = bound(path, at="0.15 s")
        assert early.flows["source"].tolist() == ["H111", "H511"]
        assert early.total_gbps == pytest.approx(wire, rel=CLOSE)

    def test_a_run_does_not_exceed_it(self) -> None:
        hot = fs.Experiment.from_text(mesh_with_hot_spots())
        found = bound(hot)
        accepted = fs.run(hot).manifest["summary"]["accepted_gbps"]
        assert 0.2 < found.fraction(accepted) <= 1.0


Use = tuple[int, list[int], list[float], float]


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    """Some links and flows that cross any of them, with any weights."""
    links = draw(st.integers(1, 6))
    rate = st.floats(0.5, 50)
    capacity = draw(st.lists(rate, min_size=links, max_size=links))
    ways = st.dictionaries(st.integers(0, links - 1), st.sampled_from([0.5, 1.0, 1.25]), min_size=1)
    flow = st.tuples(st.integers(0, 3), ways, rate)
    flows = draw(st.lists(flow, min_size=1, max_size=12))
    trees = [-1] * len(flows)
    for row in range(1, len(flows)):
        # Some are the same packets as those of the flow before, for another member of a multicast group.
        if draw(st.integers(0, 3)) == 0:
            trees[row - 1] = trees[row] = trees[row - 1] if trees[row - 1] >= 0 else max(trees) + 1
            flows[row] = (flows[row - 1][0], flows[row][1], flows[row - 1][2])
    crossings = [
        (link, row, weight) for row, (_, used, _) in enumerate(flows) for link, weight in used.items()
    ]
    rows, columns, weights = zip(*crossings, strict=True)
    return Problem(
        flows=pd.DataFrame(
            {
                "source": [f"H{source}" for source, _, _ in flows],
                "destination": [f"D{row}" for row in range(len(flows))],
                "entry": "all",
                "entry_number": 0,
                "demand_gbps": [demand for _, _, demand in flows],
            }
        ),
        links=pd.DataFrame(
            {"link": [f"L{i}" for i in range(links)], "class": "plain", "gbps": [float(c) for c in capacity]}
        ),
        crossings=sparse.csr_array(sparse.coo_array((weights, (rows, columns)), shape=(links, len(flows)))),
        entry_states=np.full(len(flows), -1),
        arcs=None,
        trees=np.array(trees),
        facts={"open_messages": 1},
    )


@given(problems(), st.booleans())
@settings(max_examples=150, deadline=None)
def test_no_rate_can_rise_unless_a_smaller_or_equal_one_falls(problem: Problem, tied: bool) -> None:
    tie = Tie.senders(problem) if tied else Tie.none(problem)
    use = problem.crossings @ tie.shares
    rates = fill(use, problem.capacity, tie.demand)
    load = use @ rates.gbps
    assert (load <= problem.capacity * (1 + CLOSE)).all()
    assert (rates.gbps <= tie.demand * (1 + CLOSE)).all()
    dense = use.toarray()
    for group, link in enumerate(rates.bottleneck):
        if link == OWN_DEMAND:
            assert rates.gbps[group] == pytest.approx(tie.demand[group], rel=CLOSE)
            continue
        assert dense[link, group] > 0
        assert load[link] == pytest.approx(problem.capacity[link], rel=CLOSE), "it is full"
        assert rates.gbps[group] >= rates.gbps[dense[link] > 0].max() * (1 - CLOSE), "no group on it has more"


@given(problems(), st.booleans())
@settings(max_examples=100, deadline=None)
def test_the_largest_total_is_feasible_and_at_least_the_fair_one(problem: Problem, tied: bool) -> None:
    tie = Tie.senders(problem) if tied else Tie.none(problem)
    use = problem.crossings @ tie.shares
    best = maximum(problem, tie, 60)
    assert (use @ best <= problem.capacity * (1 + CLOSE)).all()
    assert (best >= 0).all()
    assert tie.gain @ best >= tie.gain @ fill(use, problem.capacity, tie.demand).gbps * (1 - CLOSE)


@given(problems(), st.booleans())
@settings(max_examples=60, deadline=None)
def test_both_ways_to_fair_rates_agree(problem: Problem, tied: bool) -> None:
    tie = Tie.senders(problem) if tied else Tie.none(problem)
    filled = fill(problem.crossings @ tie.shares, problem.capacity, tie.demand)
    assert fair(problem, tie, 60).gbps == pytest.approx(filled.gbps, rel=1e-3)


@given(problems())
@settings(max_examples=50, deadline=None)
def test_sources_in_proportion_reach_no_more_than_pairs(problem: Problem) -> None:
    found = bound_of(problem)
    assert found.sender_total_gbps <= found.total_gbps * (1 + CLOSE)
    assert found.total_gbps <= found.offered_gbps * (1 + CLOSE)
    for _, flows in found.flows.groupby("source"):
        shares = flows["sender_fair_gbps"] / flows["demand_gbps"]
        assert shares.max() == pytest.approx(shares.min(), rel=CLOSE)


@pytest.mark.usefixtures("real")
def test_a_solver_that_has_no_time_says_so() -> None:
    torus = experiment("torus = { dimensions = [12, 12] }", 'pattern = "uniform"')
    with pytest.raises(SolverError, match="not solved in the time") as raised:
        bound(torus, limit_s=0.0)
    assert raised.value.exit_code == 1
