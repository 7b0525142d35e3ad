"""Graph files and forwarding tables that are wrong, and what is said of them."""

from __future__ import annotations

from conftest import SMALL

TRAFFIC = SMALL[SMALL.index("[[traffic]]") :]

GRAPH = """
[[switch]]
name = "A"
[[switch]]
name = "B"
[[host]]
name = "h1"
[[host]]
name = "h2"
[[link]]
a = "h1"
b = "A"
[[link]]
a = "h2"
b = "B"
[[link]]
a = "A"
b = "B"
"""

NED = """network Two {
  submodules:
    h1: HCA;
    h2: HCA;
    S: Switch { numSwitchPorts = 2; }
  connections:
    h1.out --> S.in[0];
    S.out[0] --> h1.in;
    h2.out --> S.in[1];
    S.out[1] --> h2.in;
}
"""

ANYNET = "router 0 node 0 router 1\nrouter 1 node 1\n"

WITH_TABLES = f"""
[topology.mesh]
dimensions = [2, 2]
naming = "thesis"
[routing]
algorithm = "table"
tables = "t.fdbs"
{TRAFFIC}"""

FDBS = "11: 255 0 2 1 2\n12: 255 1 0 1 2\n21: 255 1 2 0 2\n22: 255 1 2 1 0\n"


def experiment(path: str) -> str:
    """An experiment on a graph file."""
    return f'[topology.file]\npath = "{path}"\n{TRAFFIC}'


Case = tuple[str, str | bytes, tuple[str, ...]]


def _toml(old: str, new: str, *parts: str) -> Case:
    assert old in GRAPH
    return "g.toml", GRAPH.replace(old, new), ("fabricsim: ", "g.toml:", *parts)


def _ned(old: str, new: str, *parts: str) -> Case:
    assert old in NED
    return "g.ned", NED.replace(old, new), ("fabricsim: ", "g.ned:", *parts)


def _anynet(text: str | bytes, *parts: str) -> Case:
    return "g.anynet", text, ("fabricsim: ", "g.anynet:", *parts)


LAST = 'a = "A"\nb = "B"'

CASES: dict[str, Case] = {
    "graph: missing port": _toml('name = "B"', 'name = "B"\nports = 1', ":17: no port 1 at B: it has 1"),
    "graph: port far off": _toml(LAST, f"{LAST}\nb_port = 99999", ":16: port 99999 of B", "0 to 1023"),
    "graph: port twice": _toml(
        LAST, f"{LAST}\nb_port = 0\n[[link]]\n{LAST}\nb_port = 0", "port 0 of B is used twice"
    ),
    "graph: unused port": _toml(LAST, f"{LAST}\nb_port = 7", ":4: port 1 of B has no link"),
    "graph: two pieces": _toml(f"[[link]]\n{LAST}", "", "not connected: no path from A to B"),
    "graph: host without link": _toml(
        'name = "h2"', 'name = "h2"\n[[host]]\nname = "h3"', "host h3 has no link"
    ),
    "graph: host with two links": _toml(
        LAST, f'{LAST}\n[[link]]\na = "h1"\nb = "B"', "host h1 has a second link"
    ),
    "graph: no such node": _toml('a = "h2"', 'a = "h3"', ":13: no node h3; did you mean h"),
    "graph: a name twice": _toml(
        'name = "B"', 'name = "A"', ":4: the name A is used twice (first on line 2)"
    ),
    "graph: no name": _toml('name = "B"', 'name = ""', ":4: the name is empty"),
    "graph: a name with an arrow": _toml('"h2"', '"h->2"', "the name h->2 has a `->` in it"),
    "graph: latency of 0": _toml(LAST, f'{LAST}\nlatency = "0 ns"', ":16: latency: 0 is not allowed"),
    "graph: unknown key": _toml(
        LAST, f'{LAST}\nlatenzy = "1 ns"', "unknown field `latenzy`", "mean `latency`?"
    ),
    "graph: small buffer": (
        "g.toml",
        GRAPH + 'buffer = "100 B"',
        ("host.mtu: a packet of 2048 B", "link A-B"),
    ),
    "graph: cut off": ("g.toml", GRAPH[:-5], ("g.toml:18: ",)),
    "graph: empty": ("g.toml", "", ("g.toml:1: no host or no switch",)),
    "graph: not UTF-8": ("g.toml", GRAPH.encode() + b"\n#\xff", ("g.toml:20: this is not UTF-8 text",)),
    "graph: no such format": ("g.txt", "", ("topology.file.path: the ending `.txt` names no graph format",)),
    "ned: one way": _ned("    S.out[1] --> h2.in;\n", "", "no connection leads back"),
    "ned: no such submodule": _ned("h2.out", "h3.out", "no submodule h3; did you mean h"),
    "ned: missing port": _ned("numSwitchPorts = 2", "numSwitchPorts = 1", "no port 1 at S"),
    "ned: a loop": _ned("    h1.out", "    for i=0..1 {}\n    h1.out", ":7: `for` is not supported"),
    "ned: cut off": _ned("h2.in;\n}", "h2.in", "the file is cut off"),
    "ned: a text without end": _ned("network", '"network', "cut off in a string"),
    "anynet: a gap": _anynet("router 0 node 0 router 2\nrouter 2 node 1\n", ":1: ", "no router 1"),
    "anynet: cut off": _anynet("router 0 node", ":1: the line is cut off"),
    "anynet: latency": _anynet(ANYNET.replace("router 1\n", "router 1 x\n", 1), ":1: `x` is not"),
    "anynet: long latency": _anynet("router 0 node 0 99999999999999999999", ":1: ", "is not a latency"),
    "anynet: not UTF-8": _anynet(b"router \xff", ":1: this is not UTF-8 text"),
}

TABLES: dict[str, tuple[str | bytes, tuple[str, ...]]] = {
    "tables: cut off": (FDBS[:-4], ("t.fdbs:4: the row of switch SW22 has 3 entries, not 5",)),
    "tables: cut off at a row": (FDBS[:-17], ("t.fdbs: there is no row for switch SW22",)),
    "tables: a loop": (
        FDBS.replace("12: 255 1", "12: 255 2").replace("21: 255 1", "21: 255 2"),
        ("t.fdbs:", "packets for LID 1 (host H111) never arrive", "in a circle SW"),
    ),
    "tables: wrong host": (
        FDBS.replace("11: 255 0 2", "11: 255 0 0"),
        ("t.fdbs:1: ", "to host H111 by port 0"),
    ),
    "tables: no such port": (FDBS.replace("0 2 1 2", "0 2 1 9"), ("t.fdbs:1: ", "no port 9", "0 to 2")),
    "tables: unknown switch": (
        FDBS.replace("21:", "23:"),
        ("t.fdbs:3: there is no switch `23`; did you mean",),
    ),
    "tables: empty": ("", ("t.fdbs: there is no row for switches SW11, SW12, SW21, SW22",)),
    "tables: not UTF-8": (FDBS.encode() + b"\xff", ("t.fdbs:5: the file is not UTF-8 text",)),
    "tables: without end": ("x" * 3_000_000, ("t.fdbs: ", "far more than the tables of this network")),
}
