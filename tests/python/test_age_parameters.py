"""Age parameters: the paper's numbers, counts over all pairs of nodes, and what the command says."""

from __future__ import annotations

import itertools
import json
import math
import random
from collections import Counter, defaultdict
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

import fabricsim as fs
from fabricsim.age_parameters import (
    Dimension,
    Network,
    Router,
    bias,
    channel_load,
    ejection,
    hops,
    merging,
    parse_topology,
    queueing,
    utilisation,
)
from fabricsim.age_parameters.clock import age_clock, unrounded
from fabricsim.errors import InputError

PAPER = parse_topology("11x12x16")
SEASTAR = Router()
dimensions = st.builds(Dimension, st.just("x"), st.integers(1, 24), st.booleans())
shapes = st.lists(dimensions, min_size=1, max_size=6).filter(lambda d: any(k.radix > 1 for k in d))


def network(parts: list[Dimension]) -> Network:
    named = (Dimension("xyzwvu"[at], part.radix, part.wrap) for at, part in enumerate(parts))
    return Network(tuple(named))


class TestPaper:
    def test_steps_of_section_3_2(self) -> None:
        found = fs.age_parameters("11x12x16")
        assert found.bias == {"x": 3, "y": 2, "z": 1}
        assert found.period == 18
        clock = found.clock
        assert clock.hops == (3, 3, 4)
        assert (clock.total_hops, clock.t_bias, clock.left, clock.ticks_per_hop) == (10, 19, 109, 11)
        assert (clock.packets_queued, clock.cycles_per_packet, clock.cycles_per_hop) == (11, 18, 198)

    def test_hops_and_loads(self) -> None:
        assert [float(hops.printed(d)) for d in PAPER.dimensions] == [2.75, 3, 4]
        assert [float(channel_load.printed(d)) for d in PAPER.dimensions] == [1.375, 1.5, 2]
        mesh = parse_topology("11x12x16:mesh")
        assert sum(hops.printed(d) for d in mesh.dimensions) == 14
        assert [channel_load.printed(d) for d in mesh.dimensions] == [Fraction(11, 4), 3, 4]

    def test_ejection(self) -> None:
        x, y, z = ejection.printed(PAPER)
        assert x == Fraction(10, 11 * 12 * 16)
        assert y == Fraction(11, 12 * 16)
        assert z == 1 - x - y
        assert ejection.per_direction(z) == z / 2
        assert ejection.through_all(PAPER) == Fraction(10, 11) * Fraction(11, 12) * Fraction(15, 16)

    def test_utilisation_is_limited_by_ejection(self) -> None:
        """U limits for 11, 12, 16 without the processor: z 2.4, y 3.2, x 3.49 GB/s."""
        alone = [utilisation.channel(d, SEASTAR) for d in PAPER.dimensions]
        assert alone == pytest.approx([3.4909, 3.2, 2.4], abs=1e-4)
        assert utilisation.limits(PAPER, SEASTAR) == [2.0, 2.0, 2.0]
        wide = Router(ejection_gbytes_per_s=100.0)
        assert utilisation.limits(PAPER, wide) == pytest.approx([2.4, 2.4, 2.4])
        assert utilisation.limits(parse_topology("16x12x8"), wide) == pytest.approx([2.4, 3.2, 4.8])
        assert utilisation.limits(parse_topology("16x12x8:mesh"), wide) == pytest.approx([1.2, 1.6, 2.4])

    def test_table_3(self) -> None:
        found = merging.competitors(PAPER)
        assert {name: len(inputs) for name, inputs in found.items()} == {
            **dict.fromkeys(["+x", "-x"], 2),
            **dict.fromkeys(["+y", "-y"], 4),
            **dict.fromkeys(["+z", "-z"], 6),
            "proc": 6,
        }
        assert found["+y"] == ["proc", "+x", "-x", "-y"]
        assert found["-z"] == ["proc", "+x", "-x", "+y", "-y", "+z"]

    def test_equation_3_is_a_share(self) -> None:
        """Figure 4(a): P0 is six merges from P7 and has 1/64 of the bandwidth, so its packets take 64 times as long."""
        row = parse_topology("8:mesh")
        assert merging.share_printed(row, 6) == pytest.approx(1 / 64)
        assert merging.latency_corrected(row, 6) == pytest.approx(64)
        assert merging.latency_corrected(row, 7) > merging.latency_corrected(row, 6)
        assert merging.share_by_table_3(PAPER, [1, 2, 3]) == pytest.approx(1 / (2 * 4**2 * 6**3 * 6))
        assert merging.latency_corrected(parse_topology("65536:mesh"), 65535) == math.inf

    def test_latencies_of_table_5(self) -> None:
        """Its latency column is equation 1 with the hops of equation 4 and one router more."""
        for q, latency in (((737, 227, 169), 7301), ((357, 209, 156), 5007), ((378, 217, 148), 5101)):
            way = [float(hops.printed(d)) for d in PAPER.dimensions]
            waits = sum(count * delay for count, delay in zip(way, q, strict=True)) * SEASTAR.cycle_ns
            routers = sum(way) + 1
            ours = queueing.latency_ns(sum(way), waits / sum(way), SEASTAR.delay_ns, routers)
            assert ours == pytest.approx(latency, abs=10)


class TestBias:
    @pytest.mark.parametrize(
        ("topology", "by_load", "expected"),
        [
            ("11x12x16", [1, 1, 1], [3, 2, 1]),
            ("25x32x24", [1, 1, 1], [3, 2, 1]),
            ("16x12x8", [2, 2, 1], [5, 3, 1]),
            ("8x8x8:mesh", [1, 1, 1], [3, 2, 1]),
            ("8mx8x8", [2, 1, 1], [4, 2, 1]),
            ("8x8x8m", [1, 1, 2], [4, 3, 2]),
            ("16tx12tx8m", [1, 1, 1], [3, 2, 1]),
            ("8", [1], [1]),
            ("1x4", [1, 1], [1, 1]),
            ("4x1", [1, 1], [1, 1]),
            ("32x8x4", [7, 2, 1], [7, 2, 1]),
            ("4x8x32", [1, 2, 7], [7, 6, 5]),
        ],
    )
    def test_examples(self, topology: str, by_load: list[int], expected: list[int]) -> None:
        found = parse_topology(topology)
        assert bias.by_load(found) == by_load
        assert bias.recommended(found) == expected

    def test_a_mesh_has_twice_the_load_of_a_torus(self) -> None:
        assert bias.load_ratios(parse_topology("8mx8")) == [2, 1]
        assert bias.load_ratios(parse_topology("16x8")) == [2, 1]

    @given(shapes)
    def test_it_has_three_bits_and_falls(self, parts: list[Dimension]) -> None:
        shape = network(parts)
        for found in (bias.recommended(shape), bias.by_order(shape), bias.by_load(shape)):
            assert all(1 <= value <= bias.LARGEST for value in found)
        linked = [
            value for value, d in zip(bias.recommended(shape), shape.dimensions, strict=True) if d.radix > 1
        ]
        assert all(first > second for first, second in itertools.pairwise(linked))

    def test_more_dimensions_than_numbers(self) -> None:
        found = bias.recommended(parse_topology("x".join(["2"] * 12)))
        assert found == sorted(found, reverse=True)
        assert (found[0], found[-1]) == (7, 1)


def ways(dimension: Dimension) -> tuple[Fraction, Fraction, Fraction]:
    """Average hops, largest and average load of a channel, by going all the ways: each node sends a packet to all
    ordinates in equal parts; half of what is half-way round a torus goes either way.
    """
    k = dimension.radix
    load: defaultdict[tuple[int, int], Fraction] = defaultdict(Fraction)
    for source, destination in itertools.product(range(k), repeat=2):
        for step, part in directions(source, destination, dimension):
            at = source
            while at != destination:
                load[at, step] += part / k
                at = (at + step) % k
    channels = 2 * k if dimension.wrap else 2 * (k - 1)
    total = sum(load.values(), Fraction(0))
    return total / k, max(load.values(), default=Fraction(0)), total / max(channels, 1)


def directions(source: int, destination: int, dimension: Dimension) -> list[tuple[int, Fraction]]:
    k = dimension.radix
    if source == destination:
        return []
    if not dimension.wrap:
        return [(1 if destination > source else -1, Fraction(1))]
    up = (destination - source) % k
    if 2 * up == k:
        return [(1, Fraction(1, 2)), (-1, Fraction(1, 2))]
    return [(1 if 2 * up < k else -1, Fraction(1))]


@given(dimensions)
def test_exact_hops_and_loads_are_those_of_all_ways(dimension: Dimension) -> None:
    count, largest, average = ways(dimension)
    assert hops.exact(dimension) == count
    assert channel_load.exact(dimension) == largest
    assert channel_load.average(dimension) == average


def test_printed_hops_of_a_mesh_leave_the_own_ordinate_out() -> None:
    for k in range(2, 30):
        mesh = Dimension("x", k, wrap=False)
        assert hops.exact(mesh) * Fraction(k, k - 1) == hops.printed(mesh)


@given(st.lists(st.builds(Dimension, st.just("x"), st.integers(1, 5), st.booleans()), min_size=1, max_size=3))
def test_ejection_and_hops_over_all_pairs(parts: list[Dimension]) -> None:
    shape = network(parts)
    if shape.nodes == 1:
        return
    nodes = list(itertools.product(*(range(d.radix) for d in shape.dimensions)))
    last: Counter[int] = Counter()
    distance = 0
    for source, destination in itertools.product(nodes, repeat=2):
        moved = [at for at, pair in enumerate(zip(source, destination, strict=True)) if pair[0] != pair[1]]
        if moved:
            last[moved[-1]] += 1
        for d, a, b in zip(shape.dimensions, source, destination, strict=True):
            distance += min(abs(a - b), d.radix - abs(a - b)) if d.wrap else abs(a - b)
    pairs = len(nodes) ** 2
    assert ejection.exact(shape) == [Fraction(last[at], pairs) for at in range(len(parts))]
    assert sum(ejection.printed(shape)) == 1
    assert ejection.printed(shape)[-1] - ejection.exact(shape)[-1] == Fraction(1, len(nodes))
    assert hops.exact_total(shape) == Fraction(distance, pairs - len(nodes))


def test_md1_is_what_a_queue_does() -> None:
    """Waits of packets that come at random (Lindley's recursion), with service of one unit."""
    draw = random.Random(7)
    for load in (0.3, 0.6, 0.8):
        wait, total, count = 0.0, 0.0, 400_000
        for _ in range(count):
            total += wait
            wait = max(0.0, wait + 1 - draw.expovariate(load))
        assert total / count == pytest.approx(queueing.wait_md1(load), rel=0.05)
    assert queueing.printed(0.8) == pytest.approx(5)
    assert queueing.system_md1(0.8) == pytest.approx(3)


class TestClock:
    @given(shapes)
    def test_it_is_always_a_period(self, parts: list[Dimension]) -> None:
        found = fs.age_parameters(network(parts))
        assert 1 <= found.period < 2**32
        json.dumps(found.as_dict(), allow_nan=False)

    def test_buffers_and_packets_count(self) -> None:
        clock = age_clock(
            PAPER, Router(input_buffer=48, staging_buffer=0, packet=8, virtual_channels=1), [3, 2, 1]
        )
        assert (clock.packets_queued, clock.cycles_per_packet, clock.cycles_per_hop) == (6, 8, 48)
        assert clock.period == 4

    def test_unrounded(self) -> None:
        clock = age_clock(PAPER, SEASTAR, [3, 2, 1])
        way = 30 / 11 + 3 + 4
        assert unrounded(PAPER, clock) == pytest.approx(198 * way / (128 - 3 * 30 / 11 - 6 - 4))

    def test_a_bias_that_leaves_no_ticks_is_noted(self) -> None:
        found = fs.age_parameters("32x32x32", bias=[7, 7, 7])
        assert found.clock.left < 0
        assert found.period == 198
        assert "lower biases" in found.notes[0]
        assert math.isnan(unrounded(found.network, found.clock))
        assert found.as_dict()["clock"]["period_unrounded"] is None


class TestTopology:
    @pytest.mark.parametrize(
        ("text", "wraps"),
        [
            ("8x8", [True, True]),
            ("8x8:torus", [True, True]),
            ("8x8:mesh", [False, False]),
            ("8tx8:mesh", [True, False]),
            ("8tx8m", [True, False]),
        ],
    )
    def test_kinds(self, text: str, wraps: list[bool]) -> None:
        assert [d.wrap for d in parse_topology(text).dimensions] == wraps

    @given(shapes)
    def test_its_title_means_the_same(self, parts: list[Dimension]) -> None:
        shape = network(parts)
        assert parse_topology(shape.title) == shape

    @given(st.text(alphabet="0123456789xmt:eshoru. ", max_size=20))
    def test_any_text_is_read_or_refused(self, text: str) -> None:
        try:
            nodes = parse_topology(text).nodes
        except InputError:
            return
        assert nodes > 1

    def test_nodes_beyond_the_header_are_noted(self) -> None:
        assert not fs.age_parameters("32x32x32").notes
        assert "15-bit" in fs.age_parameters("64x32x32").notes[0]
