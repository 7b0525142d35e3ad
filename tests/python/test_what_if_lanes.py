"""Single failures of a fabric whose lanes depend on the routes around them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import fabricsim as fs


def test_lanes_by_hops_are_those_of_each_failure(tmp_path: Path) -> None:
    """Detours around links of a mesh differ in length, and with them the lanes from the start of the run."""
    path = tmp_path / "mesh.toml"
    path.write_text(
        "[topology.mesh]\ndimensions = [4, 2]\n[switch]\nvirtual_lanes = 9\n"
        '[routing]\nalgorithm = "shortest-path"\nlane_policy = "hops"\n'
        '[[traffic]]\npattern = "uniform"\nload = 0.5\nmessage = "2 KiB"\n[run]\nduration = "20 us"\n'
    )
    found = fs.what_if(path, at="10 us", jobs=1)
    table: Any = found.failures.set_index("failure")
    assert found.routes.startswith("switches have routes around the failure")
    for name in ("S(0,0)-S(0,1)", "S(0,0)-S(1,0)"):
        faults = {"plan": [{"link": name, "at": "10 us"}], "reroute_after": "1 ps"}
        alone: Any = fs.run(path, set={"faults": faults}).summary
        assert table.loc[name, "accepted_gbps"] == alone["accepted_gbps"], name
        assert table.loc[name, "lost_packets"] == alone["invariants.dropped"], name


def test_they_are_also_where_that_is_the_default_of_the_topology(tmp_path: Path) -> None:
    path = tmp_path / "slim-fly.toml"
    path.write_text(
        "[topology.slim-fly]\nq = 3\nhosts_per_switch = 1\n[switch]\nvirtual_lanes = 8\n"
        '[[traffic]]\npattern = "uniform"\nload = 0.3\nmessage = "2 KiB"\n[run]\nwarmup = "5 us"\nduration = "20 us"\n'
    )
    name = "S(0,0,1)-S(1,2,1)"
    table: Any = fs.what_if(path, at="5 us", jobs=1).failures.set_index("failure")
    faults = {"plan": [{"link": name, "at": "5 us"}], "reroute_after": "1 ps"}
    alone: Any = fs.run(path, set={"faults": faults}).summary
    assert table.loc[name, "accepted_gbps"] == alone["accepted_gbps"]
    assert table.loc[name, "lost_packets"] == alone["invariants.dropped"] == 0
