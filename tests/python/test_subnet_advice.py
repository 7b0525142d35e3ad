"""What is said about routes of an InfiniBand subnet can be acted on, and is not said where it would not help."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from conftest import Command
from test_subnet_whatif import written

import fabricsim as fs
from fabricsim.errors import InputError
from fabricsim.subnets import route

pytestmark = pytest.mark.usefixtures("real")

ROUTER = """\
Switch\t8 "S-0000000000000100"\t\t# "leaf" enhanced port 0 lid 4 lmc 0
[1]\t"H-0000000000000010"[1](11) \t\t# "h10" lid 8 4xEDR
[2]\t"R-0000000000000300"[2](302)\t\t# "border" lid 16 4xEDR
[3]\t"S-0000000000000200"[3]\t\t# "spine" lid 5 4xEDR

Switch\t8 "S-0000000000000200"\t\t# "spine" base port 0 lid 5 lmc 0
[3]\t"S-0000000000000100"[3]\t\t# "leaf" lid 4 4xEDR
[4]\t"H-0000000000000020"[1](21)\t\t# "h20" lid 24 4xEDR

Rt\t2 "R-0000000000000300"\t\t# "border"
[2](302) \t"S-0000000000000100"[2]\t\t# lid 16 lmc 2 "leaf" lid 4 4xEDR

Ca\t1 "H-0000000000000010"\t\t# "h10"
[1](11) \t"S-0000000000000100"[1]\t\t# lid 8 lmc 2 "leaf" lid 4 4xEDR

Ca\t1 "H-0000000000000020"\t\t# "h20"
[1](21) \t"S-0000000000000200"[4]\t\t# lid 24 lmc 2 "spine" lid 5 4xEDR
"""
MANAGED = """\
[topology.torus]
dimensions = [3, 3]
[links.all]
rate = "100 Gb/s"
latency = "50 ns"
[routing]
algorithm = "opensm"
engine = "lash"
[switch]
virtual_lanes = 4
[subnet_manager]
nodes = ["H(0,0).0"]
start = "unconfigured"
sweep_interval = "1 ms"
[[multicast_groups]]
name = "m"
members = ["H(0,*).*", "H(2,2).0"]
[[traffic]]
sources = ["H(0,0).0"]
pattern = { multicast = "m" }
load = 0.05
message = "500 B"
[run]
warmup = "1 us"
duration = "14 ms"
"""
FAULTS = [
    {"link": "S(0,0)-S(1,0)", "at": "6 ms", "until": "9 ms"},
    {"switch": "S(2,2)", "at": "7 ms", "until": "10 ms"},
]


def _advice(report: dict[str, Any], kind: str) -> list[str]:
    return [one["text"] for one in report["advice"] if one["kind"] == kind]


@pytest.mark.parametrize("engine", ["sssp", "dfsssp", "nue"])
def test_engines_that_leave_routers_out_are_named(tmp_path: Path, engine: str) -> None:
    """As OpenSM's do; other engines reach them."""
    fabric = written(tmp_path / "net.txt", ROUTER)
    report = route(fabric, engine).report
    assert report["pairs"]["to_routers"] == report["pairs"]["unreachable"] > 0
    lost = {(path["source"], path["destination"]) for path in report["lost_paths"]}
    assert lost == {("h10", "border"), ("h20", "border")}
    assert len(report["lost_paths"]) == 2, "once for all LIDs of a port"
    (text,) = _advice(report, "unreachable")
    assert (
        f"These paths go to routers, which {engine} leaves out, as in OpenSM: minhop, updn, dor, lash" in text
    )
    assert "compute them anew" not in text


@pytest.mark.parametrize("engine", ["minhop", "updn", "dor", "lash"])
def test_engines_that_are_named_for_routers_reach_them(tmp_path: Path, engine: str) -> None:
    fabric = written(tmp_path / "net.txt", ROUTER)
    roots = written(tmp_path / "roots", "0x200\n") if engine == "updn" else None
    assert route(fabric, engine, roots=roots).report["pairs"]["unreachable"] == 0


def test_an_experiment_with_a_router_says_why_it_is_not_routed(tmp_path: Path, command: Command) -> None:
    fabric, out = written(tmp_path / "net.txt", ROUTER), tmp_path / "net.toml"
    command("import", "ibnetdiscover", fabric, "--out", out)
    settings = {"routing.engine": "nue", "routing.algorithm": "opensm", "run.duration": "5 us"}
    with pytest.raises(
        InputError, match=r"host border\): the entry is 255; `sssp`, `dfsssp` and `nue` leave routers"
    ):
        fs.run(out, set=settings)
    assert fs.run(out, set={**settings, "routing.engine": "minhop"}).status == "ok"


def test_roots_are_not_asked_for_where_they_are_given(opensm: Path) -> None:
    """UpDown leaves switches idle that are among its roots: more roots do not help."""
    tree = opensm / "topologies" / "ft4ary3.topo"
    given = route(tree, "updn", roots=tree.with_suffix(".roots")).report
    found = route(tree, "updn").report
    assert given["links"]["idle_switches"] == found["links"]["idle_switches"] != []
    ((with_roots,), (without,)) = (_advice(report, "idle_switches") for report in (given, found))
    assert "name all roots" not in with_roots
    assert "If the engine has not found them to be roots, name all roots with --roots" in without
    assert with_roots.endswith("Compare other engines with --against.")


def test_multicast_packets_that_come_back_are_a_warning() -> None:
    """Old and new tables form loops for a moment; with one fault, or none, no packet comes back."""
    experiment = fs.Experiment.from_text(MANAGED)
    for faults, returned in ((FAULTS, True), (FAULTS[:1], False), ([], False)):
        run = fs.run(experiment, set={"faults.plan": faults})
        back = run.flows.query("source == destination")
        assert (len(back) > 0) == returned, faults
        told = [
            text
            for text in run.manifest["summary"].get("warnings") or ()
            if "came back to their source" in text
        ]
        assert len(told) == returned, told
        if returned:
            assert int(told[0].split()[0]) >= back["packets"].sum() > 0
