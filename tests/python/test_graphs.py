"""Topologies from tables of links and from networkx."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import fabricsim as fs

pytestmark = pytest.mark.usefixtures("real")


def _experiment(topology: Any) -> fs.Experiment:
    return fs.Experiment.build(
        topology=topology,
        routing=fs.spec.Routing(algorithm="shortest-path", lane_policy="hops"),
        switch=fs.spec.Switch(virtual_lanes=4),
        traffic=fs.spec.Traffic(pattern="uniform", load=0.2, message="2 KiB"),
        run=fs.spec.Run(duration="50 us"),
    )


def _graph(experiment: fs.Experiment) -> dict[str, Any]:
    return tomllib.loads(experiment.export("toml"))


def _links(graph: dict[str, Any]) -> set[tuple[str, str]]:
    return {(min(link["a"], link["b"]), max(link["a"], link["b"])) for link in graph["link"]}


def test_pairs_of_names_with_hosts_for_all() -> None:
    experiment = _experiment(fs.Topology.from_edges([("A", "B"), ("B", "C"), ("C", "A")], hosts_per_switch=2))
    graph = _graph(experiment)
    assert [host["name"] for host in graph["host"]] == ["A.0", "A.1", "B.0", "B.1", "C.0", "C.1"]
    assert {("A", "B"), ("B", "C"), ("A", "C")} <= _links(graph)
    run = fs.run(experiment)
    assert run.status == "ok"
    assert run.summary["accepted_load"] == pytest.approx(0.2, rel=0.1)


def test_a_frame_has_attributes_and_empty_cells() -> None:
    frame = pd.DataFrame(
        {
            "from": ["A", "h0", "h1"],
            "to": ["B", "A", "B"],
            "latency": ["70 ns", None, None],
            "cables": [2, None, None],
            "reads": [3, None, 1],
        }
    )
    graph = _graph(_experiment(fs.Topology.from_edges(frame)))
    assert [host["name"] for host in graph["host"]] == ["h0", "h1"]
    between = [link for link in graph["link"] if {link["a"], link["b"]} == {"A", "B"}]
    assert [(link["latency"], link["reads"]) for link in between] == [("70 ns", 3)] * 2


@pytest.mark.parametrize(
    ("edges", "text"),
    [
        ([("A", "B", "C")], "entry 0 has 3 values"),
        (pd.DataFrame({"x": ["A"], "y": ["B"]}), "two must be `a` and `b`"),
        ("machine.csv", "edges is str: must be pairs of names, or a data frame"),
        (7, "edges is int"),
        (["AB"], "entry 0 is 'AB': must be a pair"),
        ([("A", "B"), 7], "entry 1 is 7: must be a pair"),
    ],
)
def test_a_table_without_ends_is_refused(edges: Any, text: str) -> None:
    with pytest.raises(fs.InputError, match=text):
        fs.Topology.from_edges(edges)


def test_what_is_wrong_in_a_row_is_named_with_its_line() -> None:
    topology = fs.Topology.from_edges(pd.DataFrame({"a": ["A"], "b": ["B"], "rate": ["fast"]}))
    with pytest.raises(fs.InputError, match=r"topology\.inline\.text:2: rate = `fast`"):
        _experiment(topology).describe()


def test_a_graph_of_networkx() -> None:
    networkx = pytest.importorskip("networkx")
    graph = networkx.petersen_graph()
    networkx.set_edge_attributes(graph, "30 ns", "latency")
    networkx.set_node_attributes(graph, {0: [3, 4]}, "coordinates")
    experiment = _experiment(fs.Topology.from_networkx(graph, hosts_per_switch=1))
    facts = experiment.describe()
    assert (facts["switches"], facts["hosts"], facts["diameter"]) == (10, 10, 2)
    found = _graph(experiment)
    assert found["switch"][0]["coordinates"] == [3, 4]
    assert {link["latency"] for link in found["link"] if "." not in link["a"]} == {"30 ns"}
    assert fs.run(experiment).status == "ok"


def test_directed_graphs_multigraphs_and_kinds() -> None:
    networkx = pytest.importorskip("networkx")
    graph = networkx.MultiDiGraph([("A", "B"), ("B", "A"), ("A", "B"), ("h", "A"), ("B", "C")])
    graph.nodes["C"]["kind"] = "switch"
    graph.add_edge("C", "g")
    found = _graph(_experiment(fs.Topology.from_networkx(graph)))
    assert [host["name"] for host in found["host"]] == ["h", "g"]
    assert sum({link["a"], link["b"]} == {"A", "B"} for link in found["link"]) == 2
    graph.nodes["C"]["kind"] = "bridge"
    with pytest.raises(fs.InputError, match="node C: kind = 'bridge'"):
        fs.Topology.from_networkx(graph)
    differing = networkx.DiGraph()
    differing.add_edge("A", "B", rate="10 Gb/s")
    differing.add_edge("B", "A", rate="20 Gb/s")
    with pytest.raises(fs.InputError, match="differ by direction"):
        fs.Topology.from_networkx(differing)
    with pytest.raises(fs.InputError, match="both named 1"):
        fs.Topology.from_networkx(networkx.Graph([(1, "1")]))
    with pytest.raises(fs.InputError, match="graph is list: must be a graph of networkx"):
        fs.Topology.from_networkx([("A", "B")])


def test_cables_of_networkx_are_those_of_tables() -> None:
    networkx = pytest.importorskip("networkx")
    graph = networkx.Graph()
    graph.add_edge("A", "B", cables=np.int64(3), rate=float("nan"), weight=7)
    found = _graph(_experiment(fs.Topology.from_networkx(graph, hosts_per_switch=1)))
    assert sum({link["a"], link["b"]} == {"A", "B"} for link in found["link"]) == 3
    for wrong in (0, 1025, 1.5, True, "2"):
        graph.edges["A", "B"]["cables"] = wrong
        message = f"between A and B: cables = {wrong!r}: must be a whole number from 1 to 1024"
        with pytest.raises(fs.InputError, match=message):
            fs.Topology.from_networkx(graph)
    graph.edges["A", "B"].update(cables=2, a_port=0)
    with pytest.raises(fs.InputError, match="2 cables cannot share a port"):
        fs.Topology.from_networkx(graph)


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("Rate", "rate"),
        ("a-port", "a_port"),
        ("latecny", "latency"),
        ("bufer", "buffer"),
        ("cable", "cables"),
    ],
)
def test_attributes_of_networkx_that_are_slips_are_refused(written: str, meant: str) -> None:
    networkx = pytest.importorskip("networkx")
    graph = networkx.Graph()
    graph.add_edge("A", "B", **{written: 1})
    with pytest.raises(
        fs.InputError, match=f"the attribute '{written}' is not known; did you mean '{meant}'"
    ):
        fs.Topology.from_networkx(graph)


def test_coordinates_of_networkx_are_lists_or_texts() -> None:
    """GraphML has no lists: `networkx.read_graphml` gives texts."""
    networkx = pytest.importorskip("networkx")
    graph = networkx.Graph([("A", "B")])
    graph.nodes["A"]["coordinates"] = "0,2"
    found = _graph(_experiment(fs.Topology.from_networkx(graph, hosts_per_switch=1)))
    assert found["switch"][0]["coordinates"] == [0, 2]
    for wrong in ("left", 3, [None], [0, 1.5]):
        graph.nodes["A"]["coordinates"] = wrong
        with pytest.raises(fs.InputError, match=r"node A: coordinates = .*: must be whole numbers"):
            fs.Topology.from_networkx(graph, hosts_per_switch=1)


def test_files_of_other_programs(tmp_path: Path) -> None:
    networkx = pytest.importorskip("networkx")
    networkx.write_graphml(networkx.cycle_graph(5), tmp_path / "ring.graphml")
    (tmp_path / "x.toml").write_text(
        '[topology.file]\npath = "ring.graphml"\nhosts_per_switch = 1\n[run]\nduration = "1 us"\n'
    )
    experiment = fs.Experiment.from_file(tmp_path / "x.toml")
    assert experiment.describe()["hosts"] == 5
    for format in ("csv", "graphml"):
        (tmp_path / f"again.{format}").write_text(experiment.export(format))
        again = experiment.with_values({"topology": {"file": {"path": f"again.{format}"}}})
        assert _links(_graph(again)) == _links(_graph(experiment))
