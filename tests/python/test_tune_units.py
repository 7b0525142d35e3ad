"""Values of a table of a study have the unit of its row or column."""

from __future__ import annotations

import re
from typing import Any

import pytest
from conftest import SMALL, Command

import fabricsim as fs
from fabricsim.cli.one_unit import in_one_unit
from fabricsim.tune.units import unit_of_number

TIMER = "congestion_control.infiniband.ccti_timer"
STUDY = """
[congestion_control]
algorithm = "infiniband"

[tune]
trials = 3
seeds = [1]
fresh_seeds = 2

[tune.parameters]
"links.all.buffer" = { low = "4 KiB", high = "64 KiB", scale = "log" }
"congestion_control.infiniband.ccti_timer" = { low = "10 us", high = "150 us" }

[[tune.objectives]]
metric = "latency_mean"
goal = "minimize"
"""


@pytest.mark.parametrize(
    ("values", "unit", "expected"),
    [
        (["32 KiB", "33150 B", "8 KiB"], "", (["32", "32.373", "8"], "KiB")),
        (["20 us", None], "", (["20", "-"], "µs")),
        (["20 us", 150], "", (["20 us", "150"], "")),
        (["20 us", "4 KiB"], "", (["20 us", "4 KiB"], "")),
        ([26280.0, -884.7], "ns", (["26.28", "-0.8847"], "µs")),
        ([float("nan"), 884.7], "ns", (["-", "884.7"], "ns")),
        ([0.0], "ns", (["0"], "ns")),
        ([0.25, 7], "Gb/s", (["0.25", "7"], "Gb/s")),
        ([3e11], "ns", (["300"], "s")),
    ],
)
def test_values_have_one_unit(values: list[Any], unit: str, expected: tuple[list[str], str]) -> None:
    assert in_one_unit(values, unit) == expected


@pytest.mark.usefixtures("real")
def test_units_of_plain_numbers_are_those_of_the_schema() -> None:
    one = unit_of_number(TIMER)
    assert one is not None
    assert (float(one.number), one.unit) == (1.024, "us")
    for key in (
        "links.all.buffer",
        "traffic.0.load",
        "congestion_control.infiniband.ccti_increase",
        "no.key",
    ):
        assert unit_of_number(key) is None


@pytest.mark.usefixtures("real")
def test_a_study_has_the_value_of_the_experiment_in_the_unit_of_the_range() -> None:
    text = SMALL.replace("100 us", "20 us") + STUDY
    rows = fs.tune(fs.Experiment.from_text(text), jobs=1).trials.set_index("trial")
    assert rows.loc[-1, TIMER] == "153.6 us"


@pytest.mark.usefixtures("real")
@pytest.mark.parametrize("objectives", [1, 2])
def test_the_printed_tables_have_units_in_their_headings(
    command: Command, tmp_path: Any, objectives: int
) -> None:
    second = '[[tune.objectives]]\nmetric = "fairness"\ngoal = "maximize"\n' if objectives == 2 else ""
    (tmp_path / "study.toml").write_text(SMALL.replace("100 us", "20 us") + STUDY + second)
    ran = command("tune", "study.toml", "--jobs", "1", "--out", "study")
    assert ran.code == 0, ran.err
    # Sentences have values with units.
    first, rest = re.split(r"\n(?=none of|on the fresh|best setting:)", ran.out, maxsplit=1)
    last = re.split(r"same \d+ fresh seeds", rest)[1]
    assert "153.6" in first
    values = re.compile(r"\d (us|µs|ns|B|KiB)\b")
    for part in (first, last):
        assert not values.search(part), part
    assert "latency_mean (ns)" in last
