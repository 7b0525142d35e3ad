"""The dragonfly of 1056 hosts accepts what its busiest link allows, and adaptive routing more."""

from __future__ import annotations

import importlib.util

import pytest
from dragonfly import limits, page
from dragonfly.curves import ALGORITHMS, TRAFFIC, Point, run
from dragonfly.limits import LIMITS, Limit

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("fabricsim._native") is None, reason="the compiled module is not built"
)


@pytest.mark.parametrize("limit", [LIMITS[0], LIMITS[3]], ids=lambda limit: limit.algorithm)
def test_the_busiest_link_is_the_limit(limit: Limit) -> None:
    found = limits.held(limit)
    assert found.below.kept >= limits.KEPT
    assert found.beyond.kept <= limits.LOST


def test_the_legend_is_beside_the_data() -> None:
    curves = {name: [Point(0.1, 0.1, 600.0), Point(0.2, 0.2, 3000.0)] for name in ALGORITHMS}
    for traffic in TRAFFIC:
        figure = page.drawn(traffic, curves)
        (axes,) = figure.axes
        assert axes.get_legend() is None
        names = [*ALGORITHMS, *(["limit of the\nbusiest link"] if traffic.limits else [])]
        assert [text.get_text() for text in figure.legends[0].get_texts()] == names


def test_detours_get_past_the_limit_of_valiant() -> None:
    limit = LIMITS[3].limit
    assert run("par-6/2", {"group-offset": 4}, 2 * limit, run__warmup="12 us").kept >= limits.KEPT


def test_minimal_routing_takes_uniform_traffic() -> None:
    assert run("minimal", "uniform", 0.9).kept >= limits.KEPT
