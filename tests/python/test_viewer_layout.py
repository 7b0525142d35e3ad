"""Places of nodes in the viewer, for every kind of topology."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from viewer_cases import torus

import fabricsim as fs
from fabricsim.viewer.force import force_places
from fabricsim.viewer.graph import Graph, graph_of
from fabricsim.viewer.layout import Layout, coordinates, layout_of
from fabricsim.viewer.tables import read

TRAFFIC = '[[traffic]]\npattern = "uniform"\nload = 0.3\nmessage = "2 KiB"\n[run]\nduration = "5 us"\n'
LANES = "[switch]\nvirtual_lanes = 4\n"


def laid(topology: str, rest: str = "") -> tuple[Graph, Layout]:
    """Graph and places of a network that the engine builds."""
    experiment = fs.Experiment.from_text(f"[topology.{topology}\n{rest}{LANES}{TRAFFIC}")
    graph = graph_of(read(fs.run(experiment)))
    return graph, layout_of(graph, experiment.written()["topology"])


def switches(graph: Graph, layout: Layout) -> np.ndarray:
    return layout.places[~graph.is_host]


@pytest.mark.usefixtures("real")
@pytest.mark.parametrize("kind", ["mesh", "torus"])
def test_grids_have_their_coordinates(kind: str) -> None:
    graph, layout = laid(f"{kind}]\ndimensions = [4, 3, 5]")
    assert (layout.text, layout.flat) == (f"{kind} 4 x 3 x 5", False)
    for name, place in zip(graph.names, layout.places, strict=True):
        if name.startswith("S("):
            x, y, z = map(int, re.findall(r"\d+", name))
            assert place == pytest.approx([x, -y, z])
    arcs = np.linalg.norm(layout.arcs, axis=1) > 0
    wraps = [
        name
        for name, far in zip(graph.links, arcs, strict=True)
        if far and name.startswith("S(0,0,") and "->S(3,0," in name
    ]
    assert arcs.sum() == (0 if kind == "mesh" else 2 * (3 * 5 + 4 * 5 + 4 * 3))
    assert len(wraps) == (0 if kind == "mesh" else 5)


@pytest.mark.usefixtures("real")
def test_hosts_are_beside_their_switch() -> None:
    graph, layout = laid("torus]\ndimensions = [4, 4, 4]\nhosts_per_switch = 3")
    home = graph.home
    hosts = np.flatnonzero(graph.is_host)
    far = np.linalg.norm(layout.places[hosts] - layout.places[home[hosts]], axis=1)
    assert (far > 0.1).all()
    assert (far < 0.5).all()
    for host in hosts:
        assert graph.names[host].startswith(graph.names[home[host]].replace("S", "H"))


@pytest.mark.usefixtures("real")
def test_names_of_the_thesis_do_not_matter() -> None:
    graph, layout = laid('mesh]\ndimensions = [3, 3, 3]\nnaming = "thesis"')
    at = switches(graph, layout)
    assert sorted(map(tuple, np.abs(at.round()).astype(int).tolist())) == [
        (x, y, z) for x in range(3) for y in range(3) for z in range(3)
    ]
    between = graph.between_switches()
    far = np.linalg.norm(layout.places[graph.sender] - layout.places[graph.receiver], axis=1)
    assert far[between] == pytest.approx(1.0)


@pytest.mark.usefixtures("real")
def test_a_ring_is_a_circle_and_a_chain_is_a_line() -> None:
    graph, layout = laid("ring]\nswitches = 8")
    assert np.linalg.norm(switches(graph, layout), axis=1) == pytest.approx(8 / (2 * np.pi))
    chain, line = laid("parking-lot]\nswitches = 5")
    assert switches(chain, line)[:, 0].tolist() == [0, 1, 2, 3, 4]
    assert np.ptp(switches(chain, line)[:, 1:]) == 0


@pytest.mark.usefixtures("real")
def test_further_dimensions_are_blocks() -> None:
    graph, layout = laid("hypercube]\ndimensions = 5")
    at = switches(graph, layout)
    assert len(np.unique(at, axis=0)) == 32
    assert np.ptp(at, axis=0).tolist() == [3.5, 3.5, 1.0]
    assert not layout.flat


@pytest.mark.usefixtures("real")
def test_links_that_pass_switches_are_arcs() -> None:
    graph, layout = laid("hyperx]\ndimensions = [4, 3]")
    bent = np.linalg.norm(layout.arcs, axis=1) > 0
    between = graph.between_switches()
    far = np.linalg.norm(layout.places[graph.sender] - layout.places[graph.receiver], axis=1) > 1.5
    assert bent.tolist() == (between & far).tolist()
    assert bent.any()


@pytest.mark.usefixtures("real")
@pytest.mark.parametrize(
    "topology", ["fat-tree]\narity = 3\nlevels = 3", "xgft]\nchildren = [3, 4]\nparents = [1, 2]"]
)
def test_trees_have_levels(topology: str) -> None:
    graph, layout = laid(topology)
    height = layout.places[:, 1]
    levels = {
        level: set(height[[name.startswith(f"L{level}S") for name in graph.names]].round(6).tolist())
        for level in (1, 2)
    }
    assert all(len(one) == 1 for one in levels.values())
    hosts = set(height[graph.is_host].round(6).tolist())
    assert hosts == {0.0}
    assert hosts.pop() < levels[1].pop() < levels[2].pop()
    assert len(np.unique(layout.places.round(6), axis=0)) == len(graph.names)
    assert layout.flat
    names = [text for text, _ in layout.captions]
    assert names == ["hosts", *(f"level {level}" for level in range(1, len(names)))]
    assert min(layout.places[:, 0]) > max(place[0] for _, place in layout.captions)


@pytest.mark.usefixtures("real")
def test_trees_from_files_have_levels_and_pods_side_by_side() -> None:
    tree = fs.Experiment.from_text(f"[topology.fat-tree]\narity = 3\nlevels = 3\n{LANES}{TRAFFIC}")
    header, *rows = tree.export("csv").splitlines()
    mixed = np.random.default_rng(5).permutation(len(rows))  # the order of a file says nothing
    csv = "\n".join([header, *(rows[at] for at in mixed)])
    graph, layout = laid(f"inline]\nformat = \"csv\"\ntext = '''\n{csv}\n'''")
    assert layout.text == "tree of 3 levels of switches"
    place = dict(zip(graph.names, layout.places.tolist(), strict=True))
    for level in (1, 2, 3):
        heights = {at[1] for name, at in place.items() if name.startswith(f"L{level}S")}
        assert len(heights) == 1, level
    leaves = sorted((name for name in place if name.startswith("L1S")), key=lambda name: place[name][0])
    pods = [int(name.removeprefix("L1S")) // 3 for name in leaves]
    assert [len(set(pods[at : at + 3])) for at in (0, 3, 6)] == [1, 1, 1]


@pytest.mark.usefixtures("real")
@pytest.mark.parametrize(
    ("topology", "count", "prefix"),
    [
        ("dragonfly]\np = 1\na = 3\nh = 1", 4, r"^R\((\d+)"),
        ("megafly]\np = 1\nleaves = 2\nspines = 2\nh = 1", 3, r"^\w+\((\d+)"),
    ],
)
def test_groups_are_apart(topology: str, count: int, prefix: str) -> None:
    graph, layout = laid(topology)
    names = [name for name, host in zip(graph.names, graph.is_host, strict=True) if not host]
    found = [re.match(prefix, name) for name in names]
    groups = np.array([int(one[1]) for one in found if one])
    at = switches(graph, layout)
    assert len(groups) == len(at)
    assert len(set(groups)) == count
    centres = np.array([at[groups == group].mean(axis=0) for group in range(count)])
    radius = max(np.linalg.norm(at[groups == g] - centres[g], axis=1).max() for g in range(count))
    apart = min(np.linalg.norm(centres[a] - centres[b]) for a in range(count) for b in range(count) if a != b)
    assert apart > 1.5 * radius
    captions = dict(layout.captions)
    assert list(captions) == [f"group {group}" for group in range(count)]
    for group in range(count):
        beyond = np.array(captions[f"group {group}"])
        assert np.linalg.norm(beyond) > np.linalg.norm(at[groups == group], axis=1).max()


@pytest.mark.usefixtures("real")
@pytest.mark.parametrize(
    "topology",
    ["jellyfish]\nswitches = 24\ndegree = 4", "slim-fly]\nq = 3", "single-switch]\nhosts = 5"],
)
def test_others_are_force_directed(topology: str) -> None:
    graph, layout = laid(topology)
    assert layout.text.endswith("force-directed")
    assert np.isfinite(layout.places).all()
    assert len(np.unique(layout.places.round(6), axis=0)) == len(graph.names)


def test_forces_unfold_a_grid_and_place_it_the_same_way() -> None:
    side = 8
    number = np.arange(side * side).reshape(side, side)
    edges = np.concatenate(
        [
            np.column_stack([number[:, :-1].ravel(), number[:, 1:].ravel()]),
            np.column_stack([number[:-1].ravel(), number[1:].ravel()]),
        ]
    )
    places = force_places(side * side, edges)
    assert (places == force_places(side * side, edges)).all()
    length = np.linalg.norm(places[edges[:, 0]] - places[edges[:, 1]], axis=1)
    assert length.max() < 2.5 * length.min()
    corners = places[[0, side - 1, side * side - 1, side * (side - 1)]]
    sides = [np.linalg.norm(a - b) for a, b in pairwise([*corners, corners[0]])]
    assert min(sides) > 4.0  # a grid that is folded has corners that are near each other


def test_forces_on_many_nodes_keep_neighbours_near() -> None:
    draw = np.random.default_rng(3)
    count = 900
    ring = np.column_stack([np.arange(count), (np.arange(count) + 1) % count])
    places = force_places(count, ring)
    length = np.linalg.norm(places[ring[:, 0]] - places[ring[:, 1]], axis=1)
    others = np.linalg.norm(places[draw.permutation(count)] - places[draw.permutation(count)], axis=1)
    assert np.median(length) < 0.2 * np.median(others)
    parts = force_places(6, np.array([[0, 1], [2, 3], [4, 5]]))
    assert np.isfinite(parts).all()
    assert len(np.unique(parts.round(6), axis=0)) == 6
    assert force_places(1, np.empty((0, 2), dtype=np.int64)).tolist() == [[0.0, 0.0]]


@pytest.mark.usefixtures("real")
def test_coordinates_of_a_graph_in_the_experiment_are_kept() -> None:
    places = {"a": [0, 0], "b": [5, 1], "c": [2, 7]}
    text = "".join(f'[[switch]]\nname = "{name}"\ncoordinates = {at}\n' for name, at in places.items())
    text += "".join(f'[[host]]\nname = "h{name}"\n[[link]]\na = "h{name}"\nb = "{name}"\n' for name in places)
    text += '[[link]]\na = "a"\nb = "b"\n[[link]]\na = "b"\nb = "c"\n'
    graph, layout = laid(f"inline]\nformat = \"toml\"\ntext = '''\n{text}'''")
    found = {name: layout.places[row].tolist() for row, name in enumerate(graph.names)}
    assert {name: found[name][:2] for name in places} == {"a": [0, 0], "b": [5, -1], "c": [2, -7]}


def test_coordinates_need_a_drawing_of_that_grid() -> None:
    assert coordinates(np.array([[0.0, 0.0], [1.0, -2.0]]), [2, 3]) is not None
    assert coordinates(np.array([[0.0, 0.0], [1.2, 0.0]]), [2, 3]) is None
    assert coordinates(np.array([[0.0, 0.0], [2.0, 0.0]]), [2, 3]) is None


def test_parallel_cables_are_apart() -> None:
    run = torus([3, 3])
    links = run.links.assign(link=run.links["link"])
    first = str(links["link"][0])
    back = "->".join(reversed(first.split("->")))
    more = links.iloc[[0, 0, 0]].assign(link=[f"{first} #1", f"{first} #2", f"{back} #1"])
    rows = pd.concat([more, links[~links["link"].isin([first, back])]], ignore_index=True)
    graph = graph_of(read(replace(run, frames={"nodes": run.nodes, "links": rows})))
    layout = layout_of(graph, {"torus": {"dimensions": [3, 3]}})
    arcs = dict(zip(graph.links, layout.arcs.tolist(), strict=True))
    assert arcs[f"{first} #1"] == [-value for value in arcs[f"{first} #2"]] != [0.0] * 3
    assert arcs[f"{back} #1"] == arcs[f"{first} #1"]  # both directions of a cable stay side by side
