"""Age parameters of experiment files, and the command."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest import Command

import fabricsim as fs
from fabricsim.cli.numbers import nanoseconds
from fabricsim.errors import InputError

TORUS = """
[topology.{kind}]
{shape}
[[traffic]]
pattern = "uniform"
load = 0.3
message = "2 KiB"
[run]
duration = "100 us"
{rest}
"""


def written(tmp_path: Path, kind: str, shape: str, rest: str = "") -> Path:
    path = tmp_path / "machine.toml"
    path.write_text(TORUS.format(kind=kind, shape=shape, rest=rest))
    return path


@pytest.mark.usefixtures("real")
class TestExperiment:
    @pytest.mark.parametrize(
        ("kind", "shape", "title"),
        [
            ("torus", "dimensions = [11, 12, 16]", "11x12x16:torus"),
            ("mesh", "dimensions = [4, 3]", "4x3:mesh"),
            ("grid", "dimensions = [4, 3]\nwrap = [true, false]", "4tx3m"),
            ("ring", "switches = 9", "9:torus"),
            ("hypercube", "dimensions = 3", "2x2x2:mesh"),
        ],
    )
    def test_grids(self, tmp_path: Path, kind: str, shape: str, title: str) -> None:
        found = fs.age_parameters(written(tmp_path, kind, shape))
        assert found.network.title == title
        assert not found.notes

    def test_order_of_routing(self, tmp_path: Path) -> None:
        path = written(tmp_path, "torus", "dimensions = [11, 12, 16]", "[routing]\norder = [2, 1, 0]")
        assert fs.age_parameters(path).bias == {"z": 3, "y": 2, "x": 1}

    def test_values_are_replaced(self, tmp_path: Path, command: Command) -> None:
        path = written(tmp_path, "torus", "dimensions = [11, 12, 16]")
        found = fs.age_parameters(path, set={"topology.torus.dimensions": [16, 12, 8]})
        assert found.bias == {"x": 5, "y": 3, "z": 1}
        ran = command("age-parameters", path, "--json", "--set", "topology.torus.dimensions=[16, 12, 8]")
        assert json.loads(ran.out)["age_bias"] == {"x": 5, "y": 3, "z": 1}

    def test_what_the_equations_leave_out_is_noted(self, tmp_path: Path) -> None:
        path = written(tmp_path, "torus", "dimensions = [4, 4]\nhosts_per_switch = 2")
        assert "2 hosts" in fs.age_parameters(path).notes[0]
        path = written(tmp_path, "torus", "dimensions = [4, 4]", '[routing]\nalgorithm = "shortest-path"')
        assert "shortest-path" in fs.age_parameters(path).notes[0]

    def test_trees_are_refused(self, tmp_path: Path) -> None:
        path = written(tmp_path, "fat-tree", "arity = 2\nlevels = 2")
        with pytest.raises(InputError, match=r"topology\.fat-tree: age parameters are for meshes and tori"):
            fs.age_parameters(path)


@pytest.mark.usefixtures("real")
@pytest.mark.parametrize("radices", [[4, 3], [2, 2, 2, 2], [4, 1], [2, 1, 2, 1, 2, 1, 2]])
def test_settings_fit_an_experiment(tmp_path: Path, radices: list[int]) -> None:
    path = written(tmp_path, "torus", f"dimensions = {radices}", "[switch]\nvirtual_lanes = 2")
    found = fs.age_parameters(path)
    switch = fs.as_experiment(path, found.settings).check()["switch"]
    assert switch["arbiter"] == "age-based"
    assert switch["age"]["period"] == found.period
    assert sorted(switch["age"]["bias"]["dimension"].values()) == sorted(
        bias for name, bias in found.bias.items() if radices[list(found.bias).index(name)] > 1
    )
    assert fs.run(path, set={"run.duration": "2 us", **found.settings}).status == "ok"


class TestCommand:
    def test_steps(self, command: Command) -> None:
        ran = command("age-parameters", "11x12x16")
        assert ran.code == 0, ran.err
        text = " ".join(ran.out.split())
        for part in (
            "bias 3, 2, 1 for x, y, z",
            "hops 3 + 3 + 4 = 10",
            "T_bias 3 x 3 + 3 x 2 + 4 x 1 = 19",
            "left to 128 128 - 19 = 109",
            "ticks per hop 109 / 10 = 10.90, taken as 11",
            "10 in the input buffer + 1 in the staging buffer = 11",
            "queueing per hop 11 x 18 = 198 cycles",
            "age clock period 198 / 11 = 18 cycles, 36 ns",
            "without rounding 17.54 cycles",
            "switch.age.period = 18",
            'switch.age.bias.dimension = {"x" = 3, "y" = 2, "z" = 1}',
        ):
            assert part in text

    def test_json_is_one_object(self, command: Command) -> None:
        told = json.loads(command("age-parameters", "11x12x16", "--json").out)
        assert told["age_clock_period"] == 18
        assert told["age_bias"] == {"x": 3, "y": 2, "z": 1}
        assert told["clock"]["t_bias"] == 19
        assert [row["utilisation_gbytes_per_s"] for row in told["dimensions"]] == [2, 2, 2]
        assert [row["count"] for row in told["outputs"]] == [2, 2, 4, 4, 6, 6, 6]
        assert told["totals"]["latency_empty_ns"] == pytest.approx(10.75 * 50)

    def test_options(self, command: Command) -> None:
        ran = command("age-parameters", "11x12x16", "--bias", "1,1,1", "--input-buffer", 192, "--json")
        told = json.loads(ran.out)
        # 22 packets are 396 cycles; 118 ticks over 10 hops are 12.
        assert told["clock"]["ticks_per_hop"] == 12
        assert told["age_clock_period"] == 33
        ran = command("age-parameters", "4x4", "--clock", 250)
        assert (
            nanoseconds(4.0 * json.loads(command("age-parameters", "4x4", "--json").out)["age_clock_period"])
            in ran.out
        )

    def test_a_note_goes_to_standard_error(self, command: Command) -> None:
        ran = command("age-parameters", "64x32x32", "--json")
        assert ran.err.startswith("note: 65,536 nodes")
        json.loads(ran.out)

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["11x12y16"], "'11x12y16' is not a topology: write 11x12x16"),
            (["11x12x16:tours"], "'tours' is not a kind of topology here: write mesh or torus"),
            (["11x12x16:"], "write mesh or torus"),
            (["11xx16"], "is not a topology"),
            (["0x4"], "the radix of dimension x is out of range: give 1 to 65,536"),
            (["4x99999999999999999999"], "the radix of dimension y is out of range"),
            (["x".join(["2"] * 17)], "17 dimensions are too many"),
            (["1x1"], "this has no links"),
            (["nowhere.toml"], "nowhere.toml: no such file"),
            (["8x8", "--set", "seed=1"], "--set replaces values of an experiment file"),
            (["8x8", "--bias", "8,1"], "bias: 8 for x is not allowed: it has 3 bits, give 0 to 7"),
            (["8x8", "--bias", "1"], "bias: 1 values are given: give one for each dimension, x,y"),
            (["8x8", "--bias", "a,b"], "--bias: 'a' is not a whole number"),
            (
                ["8x8", "--packet", "97"],
                "--packet: a packet of 97 flits does not fit into an input buffer of 96",
            ),
            (["8x8", "--packet", "0"], "--packet: 0 is not allowed: give a whole number, 1 to 1,000,000"),
            (["8x8", "--staging-buffer", "8"], "--staging-buffer: a packet of 9 flits does not fit into 8"),
            (["8x8", "--ejection", "0"], "--ejection: 0.0 is not allowed"),
            (["8x8", "--clock", "nan"], "--clock: nan is not allowed"),
            (["8x8", "--channel", "inf"], "--channel: inf is not allowed"),
        ],
    )
    def test_bad_input(self, command: Command, arguments: list[str], message: str) -> None:
        ran = command("age-parameters", *arguments)
        assert ran.code == 2, ran.err
        assert ran.out == ""
        assert message in " ".join(ran.err.split())
        assert "Traceback" not in ran.err
