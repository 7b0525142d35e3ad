"""Dimensions of grids have the same names in sentences, pictures, tables and the viewer."""

from __future__ import annotations

from pathlib import Path

import pytest

import fabricsim as fs
from fabricsim.dimensions import class_name, dimension_name
from fabricsim.hot_links import sentences
from fabricsim.plots.cells import panels_of
from fabricsim.viewer.graph import graph_of
from fabricsim.viewer.tables import read

FIVE = """
topology.mesh.dimensions = [2, 2, 2, 3, 2]
traffic = [{ pattern = "uniform", load = 0.9, message = "2 KiB" }]
run.duration = "20 us"
measure.router_counters = true
"""


def test_names_of_dimensions() -> None:
    assert "".join(map(dimension_name, range(6))) == "xyzwvu"
    assert dimension_name(6) == "d7"
    others = ["host", "level 1", "dimension", ""]
    assert [class_name(kind) for kind in ["dimension 3", *others]] == ["dimension w", *others]


@pytest.mark.usefixtures("real")
def test_the_fourth_dimension_has_one_name(tmp_path: Path) -> None:
    run = fs.run(fs.Experiment.from_text(FIVE), out=tmp_path / "r")
    names = [f"dimension {name}" for name in "xyzwv"]
    titles = [panel.title for panel in panels_of(run, "utilisation")]
    assert titles[:5] == names
    assert set(graph_of(read(run)).classes) == {"host", *names}
    directions = set(run.router_dimensions["direction"])
    assert directions >= {"+w", "-w", "+v"}, directions
    first, *_ = sentences(run)
    assert not any(f"dimension {number}" in first for number in range(5)), first
