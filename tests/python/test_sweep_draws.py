"""Points drawn at random, and quantities with units."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricsim.spec import RandomPoints, Range
from fabricsim.sweep.draw import drawn_points
from fabricsim.sweep.quantity import DIMENSIONS, quantity

NUMBERS = st.floats(0.001, 1000.0)


@given(NUMBERS, NUMBERS, st.sampled_from(["linear", "log"]), st.booleans(), st.integers(0, 99))
def test_drawn_numbers_lie_in_their_range(
    low: float, width: float, scale: Any, latin: bool, seed: int
) -> None:
    method: Any = "latin-hypercube" if latin else "independent"
    wanted = RandomPoints(20, {"a": Range(low, low + width, scale)}, seed, method)
    points = drawn_points(wanted, "here")
    assert points == drawn_points(wanted, "here")
    assert all(low <= float(point["a"]) <= low + width for point in points)


@given(st.integers(-50, 50), st.integers(1, 40), st.integers(0, 99))
def test_whole_numbers_are_whole_and_all_come(low: int, width: int, seed: int) -> None:
    wanted = RandomPoints(
        40 * (width + 1), {"a": Range(low, low + width, integer=True)}, seed, "latin-hypercube"
    )
    counts = Counter(int(point["a"]) for point in drawn_points(wanted, "here"))
    assert set(counts) == set(range(low, low + width + 1))
    assert max(counts.values()) - min(counts.values()) <= 2


def test_units_and_logarithms() -> None:
    wanted = RandomPoints(1000, {"a": Range("1 us", "1 ms", scale="log")})
    found = [quantity(json.loads(point["a"])) for point in drawn_points(wanted, "here")]
    values = pd.Series([q.base for q in found if q])
    assert len(values) == 1000
    assert values.between(1e3, 1e6).all()
    # a decade is a third of the scale
    assert ((values < 1e4).mean(), (values < 1e5).mean()) == pytest.approx((1 / 3, 2 / 3), abs=0.05)


def test_a_latin_hypercube_meets_each_part_once() -> None:
    wanted = RandomPoints(50, {"a": Range(0.0, 50.0), "b": Range(0.0, 50.0)}, method="latin-hypercube")
    points = drawn_points(wanted, "here")
    for key in ("a", "b"):
        assert sorted(int(float(point[key])) for point in points) == list(range(50))


@pytest.mark.parametrize("method", ["independent", "latin-hypercube"])
def test_another_seed_draws_other_points(method: Any) -> None:
    keys: dict[str, Any] = {"a": Range(0.0, 1.0), "b": Range(1, 1000, "log", integer=True), "c": [1, 2, 3]}
    drawn = [drawn_points(RandomPoints(20, keys, seed, method), "here") for seed in (1, 2, 1)]
    assert drawn[0] == drawn[2]
    for key in keys:
        assert [point[key] for point in drawn[0]] != [point[key] for point in drawn[1]], key


UNITS = (
    {"ps": 1e-3, "ns": 1.0, "us": 1e3, "µs": 1e3, "ms": 1e6, "s": 1e9, "min": 60e9}
    | {"B": 1.0, "kB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12}
    | {"KiB": 1024.0, "MiB": 1024.0**2, "GiB": 1024.0**3, "TiB": 1024.0**4}
    | {"b/s": 1e-9, "kb/s": 1e-6, "Mb/s": 1e-3, "Gb/s": 1.0, "Tb/s": 1e3}
    | {"B/s": 8e-9, "kB/s": 8e-6, "MB/s": 8e-3, "GB/s": 8.0, "TB/s": 8e3}
)
"""All units, in ns, bytes or Gb/s."""


@pytest.mark.parametrize(("unit", "base"), UNITS.items())
def test_units_have_their_factors(unit: str, base: float) -> None:
    found = quantity(f"3 {unit}")
    assert found
    assert found.base == pytest.approx(3 * base, rel=1e-15)


def test_there_are_no_other_units() -> None:
    assert {unit for dimension in DIMENSIONS for unit in dimension.units} == set(UNITS)


@pytest.mark.parametrize(
    ("text", "base", "suffix"),
    [("20 us", 20e3, "ns"), ("1.5 KiB", 1536.0, "bytes"), ("4 GB/s", 32.0, "gbps"), ("2 min", 120e9, "ns")],
)
def test_values_with_units_are_numbers(text: str, base: float, suffix: str) -> None:
    found = quantity(text)
    assert found
    assert (found.base, found.dimension.suffix) == (base, suffix)
    assert quantity(text.split(maxsplit=1)[0]) is None
