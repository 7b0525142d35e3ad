"""Hosts that failures separate from the others."""

from __future__ import annotations

from itertools import pairwise

import pandas as pd
import pytest

import fabricsim as fs
from fabricsim.connectivity import Connectivity


def line(switches: int, extra: tuple[str, ...] = (), hosts: int = 1) -> fs.Result:
    """Switches in a row, each with hosts, and further cables `A-B`."""
    names = [f"S{at}" for at in range(switches)]
    of_hosts = [(f"H{at}.{n}", f"S{at}") for at in range(switches) for n in range(hosts)]
    cables = [*pairwise(names), *(tuple(cable.split("-")) for cable in extra)]
    rows = [(f"{a}->{b}", "grid") for a, b in cables] + [(f"{b}->{a}", "grid") for a, b in cables]
    rows += [(f"{a}->{b}", "host") for a, b in of_hosts] + [(f"{b}->{a}", "host") for a, b in of_hosts]
    nodes = pd.DataFrame(
        [(name, "switch") for name in names] + [(name, "host") for name, _ in of_hosts],
        columns=["name", "kind"],
    )
    return fs.Result({}, {"nodes": nodes, "links": pd.DataFrame(rows, columns=["link", "class"])})


def test_names_are_those_of_links_between_switches_and_of_switches() -> None:
    network = Connectivity(line(3))
    assert list(network.links) == ["S0-S1", "S1-S2"]
    assert network.switches == ["S0", "S1", "S2"]


@pytest.mark.parametrize(
    ("links", "switches", "expected"),
    [
        ([], [], []),
        (["S0-S1"], [], ["H0.0"]),
        (["S1-S0"], [], ["H0.0"]),  # in either order
        (["S3-S4", "S0-S1"], [], ["H0.0", "H4.0"]),
        ([], ["S4"], ["H4.0"]),
        ([], ["S1"], ["H0.0", "H1.0"]),
        (["S9-S0", "nonsense"], ["S9"], []),
        (["S1-S2"], ["S4"], ["H2.0", "H3.0", "H4.0"]),  # of equal halves the first is the main one
    ],
)
def test_hosts_are_cut_off_from_the_larger_part(
    links: list[str], switches: list[str], expected: list[str]
) -> None:
    assert Connectivity(line(5)).cut_off(links, switches) == expected


def test_a_way_around_keeps_hosts_together() -> None:
    ring = Connectivity(line(5, extra=("S4-S0",)))
    assert ring.cut_off(["S0-S1"]) == []
    assert ring.cut_off(["S0-S1", "S2-S3"]) == ["H1.0", "H2.0"]


def test_parallel_cables_fail_together() -> None:
    found = line(3)
    links = found.links.assign(
        link=[f"{name} #1" if "S0->S1" in name else name for name in found.links["link"]]
    )
    more = pd.DataFrame({"link": ["S0->S1 #2", "S1->S0 #2"], "class": "grid"})
    both = Connectivity(fs.Result({}, {"nodes": found.nodes, "links": pd.concat([links, more])}))
    assert list(both.links) == ["S0-S1", "S1-S2"]
    assert both.cut_off(["S0-S1"]) == ["H0.0"]


def test_names_with_hyphens() -> None:
    found = line(2)
    links = found.links.assign(link=found.links["link"].str.replace("S0", "leaf-0"))
    nodes = found.nodes.assign(name=found.nodes["name"].str.replace("S0", "leaf-0"))
    network = Connectivity(fs.Result({}, {"nodes": nodes, "links": links}))
    assert list(network.links) == ["leaf-0-S1"]
    assert network.cut_off(["S1-leaf-0"]) == ["H1.0"]


def test_a_network_without_hosts() -> None:
    assert Connectivity(line(2, hosts=0)).cut_off(["S0-S1"]) == []


def ported() -> Connectivity:
    """S0 and S1 joined by two cables, S1 and S2 by one, with the ports of a subnet."""
    found = line(3)
    cables = [("S0", 1, "S1", 5), ("S0", 2, "S1", 4), ("S1", 3, "S2", 1)]
    cables += [(f"H{at}.0", 1, f"S{at}", 9) for at in range(3)]
    rows = [
        (f"{a}->{b}", "host" if "H" in a + b else "grid", p, q)
        for one in cables
        for a, p, b, q in (one, (*one[2:], *one[:2]))
    ]
    links = pd.DataFrame(rows, columns=["link", "class", "from_port", "to_port"])
    return Connectivity(fs.Result({}, {"nodes": found.nodes, "links": links}))


@pytest.mark.parametrize(
    ("links", "expected"),
    [
        (["S1/3"], ["H2.0"]),
        (["S2/1", "S0-S1"], ["H1.0", "H2.0"]),
        (["S0/1"], []),
        (["S0/1", "S1/5"], []),  # both ends of one cable
        (["S0/1", "S1/4"], ["H0.0"]),
        (["S1/9"], ["H1.0"]),
        (["H1.0-S1"], ["H1.0"]),
        (["S1/7", "S9/1", "/1", "S1/x"], []),
    ],
)
def test_a_port_names_one_cable(links: list[str], expected: list[str]) -> None:
    assert ported().cut_off(links) == expected


def test_cables_that_still_work() -> None:
    network = ported()
    assert network.working_cables(["S0/1"]) == {"S0-S1": ["S0/2"]}
    assert network.working_cables(["S1/4", "S2-S1"]) == {"S0-S1": ["S0/1"], "S1-S2": []}
    assert network.working_cables(["S0/1", "S1/4", "S1/9", "S9/1"]) == {"S0-S1": []}
    assert [network.link_named(name) for name in ("S1/4", "S2/1", "S1-S0", "S9/1")] == [
        "S0-S1",
        "S1-S2",
        "S0-S1",
        "S9/1",
    ]
