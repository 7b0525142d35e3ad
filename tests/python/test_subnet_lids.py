"""InfiniBand subnets: what files of real tools lack or add, and LIDs, LMC and rates that are the same everywhere."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from conftest import Command
from test_subnet_whatif import TREE, written

import fabricsim as fs
from fabricsim.subnets import read_subnet, route, simulate

pytestmark = pytest.mark.usefixtures("real")

MANAGED = """\
[topology.mesh]
dimensions = [3, 3]
[links.all]
rate = "200 Gb/s"
latency = "100 ns"
[routing]
algorithm = "opensm"
engine = "lash"
[[traffic]]
pattern = "uniform"
load = 0.1
message = "1 KiB"
[measure]
port_counters = true
[run]
duration = "5 us"
"""


def test_every_file_of_the_tools_is_read(opensm: Path) -> None:
    """`dump_lfts` says on standard output that it has another name now."""
    outputs = opensm / "tool-outputs"
    found = read_subnet(outputs / "ibnetdiscover.txt", lfts=outputs / "dump_lfts.txt")
    assert [finding.kind for finding in found.findings] == ["skipped"]
    tables = route(outputs / "ibnetdiscover.txt", tables=outputs / "dump_lfts.txt").lfts
    assert tables == route(outputs / "ibnetdiscover.txt", tables=outputs / "opensm-lfts.dump").lfts


def test_one_of_two_cables_between_switches_fails(tmp_path: Path) -> None:
    """Its paths are lost, those of the other one are not."""
    tree = written(tmp_path / "tree.toml", TREE.replace("arity = 4\nlevels = 3", "arity = 4\nlevels = 2"))
    fabric = written(tmp_path / "net.txt", doubled(route(tree, "minhop").fabric))
    deployed = written(tmp_path / "lfts", route(fabric, "minhop").lfts)
    found = route(fabric, tables=deployed, fail=["L1S0/5"])
    lost = found.report["pairs"]["unreachable"]
    assert found.report["failure"]["cables"] == 1
    assert (
        0 < lost < route(fabric, tables=deployed, fail=["L1S0/5", "L1S0/15"]).report["pairs"]["unreachable"]
    )
    (uniform,) = simulate(found, patterns=["uniform"], duration="100 us")
    assert uniform.lost == pytest.approx(lost / 240, rel=0.1)
    whole = simulate(route(fabric, tables=deployed), duration="10 us")
    assert [one.lost for one in whole] == [0.0] * 4


def doubled(fabric: str) -> str:
    """A fabric with a second cable beside each one between switches, ten port numbers further on."""
    lines = []
    for line in fabric.splitlines():
        lines.append(re.sub(r"^Switch\t\d+", "Switch\t30", line))
        if found := re.match(r"\[(\d+)\](\s+\"S-[0-9a-f]+\")\[(\d+)\](.*)", line):
            lines.append(f"[{int(found[1]) + 10}]{found[2]}[{int(found[3]) + 10}]{found[4]}")
    return "\n".join(lines) + "\n"


def lids(fabric: str) -> dict[str, int]:
    """LIDs of adapters by description, of a text of `ibnetdiscover`."""
    found = re.findall(r'^\[\d+\]\t"H-.*# "(.*)" lid (\d+) ', fabric, re.MULTILINE)
    return {name: int(lid) for name, lid in found}


@pytest.mark.parametrize(
    "added",
    [
        "",
        "[subnet_manager]\nnodes = ['H(2,1).0']\n",
        "[subnet_manager]\nlmc = 2\n",
        "[subnet_manager]\nnodes = ['S(1,1)']\n",
        "routing.lmc = 1",
    ],
)
def test_lids_are_the_same_everywhere(command: Command, tmp_path: Path, added: str) -> None:
    text = (
        MANAGED.replace("[[traffic]]", "lmc = 1\n[[traffic]]") if "routing.lmc" in added else MANAGED + added
    )
    experiment = written(tmp_path / "managed.toml", text)
    routed = lids(route(experiment, "lash").fabric)
    assert len(routed) == 9
    assert lids(command("export", experiment, "--format", "ibnetdiscover").out) == routed
    counters = fs.run(experiment).frames["port_counters"]
    hosts = counters[counters["node"].str.startswith("H(")]
    assert dict(zip(hosts["node"], hosts["lid"].astype(int), strict=True)) == routed
    if "H(2,1)" in added:
        assert routed["H(2,1).0"] == 1
    step = 4 if "lmc = 2" in added else 2 if "routing.lmc" in added else 1
    assert {lid % step for lid in routed.values()} == {0}
    assert len({lid // step for lid in routed.values()}) == 9


def test_rates_are_written_and_read_again(command: Command, tmp_path: Path) -> None:
    for rate, link in (
        ("200 Gb/s", "4xHDR"),
        ("54.545 Gb/s", "4xFDR"),
        ("25 Gb/s", "1xEDR"),
        ("29.257 Gb/s", None),
    ):
        experiment = written(tmp_path / "mesh.toml", MANAGED.replace("200 Gb/s", rate))
        for form in ("ibnetdiscover", "ibnetdiscover-ports", "opensm-subnet"):
            out = tmp_path / f"net.{form}"
            assert command("export", experiment, "--format", form, "--out", out, "--force").code == 0
            kinds = {finding.kind for finding in read_subnet(out).findings}
            assert ("unknown_rate" in kinds) == (link is None), (rate, form)
        assert (
            command(
                "import",
                "ibnetdiscover",
                tmp_path / "net.ibnetdiscover",
                "--out",
                tmp_path / "x.toml",
                "--force",
            ).code
            == 0
        )
        stated = 'rate = "100 Gb/s"      # of 21 cables' in (tmp_path / "x.toml").read_text(encoding="utf-8")
        assert stated == (link is None)
        assert (
            fs.run(
                tmp_path / "x.toml",
                set={"run.warmup": "1 us", "run.duration": "2 us", "run.allow_deadlock": True},
            ).status
            == "ok"
        )
        text = (tmp_path / "net.ibnetdiscover").read_text(encoding="utf-8")
        assert text.count(str(link)) == (0 if link is None else 42)


def test_an_imported_lmc_is_that_of_the_experiment(command: Command, tmp_path: Path) -> None:
    tree = written(tmp_path / "tree.toml", TREE.replace("arity = 4\nlevels = 3", "arity = 2\nlevels = 2"))
    for lmc in (0, 2):
        fabric = written(tmp_path / "net.txt", route(tree, "minhop", lmc=lmc).fabric)
        out = tmp_path / "imported.toml"
        report = json.loads(command("import", "ibnetdiscover", fabric, "--out", out, "--force", "--json").out)
        assert report["lmc"] == lmc
        shown = command("describe", out, "--set", "routing.paths=in-turn")
        assert (shown.code == 0) == (lmc > 0), shown.err
        assert fs.run(out, set={"run.duration": "5 us", "run.warmup": "1 us"}).status == "ok"


def test_levels_that_are_lacking_are_named(command: Command, tmp_path: Path) -> None:
    torus = written(
        tmp_path / "torus.toml",
        TREE.replace("fat-tree", "torus").replace("arity = 4\nlevels = 3", "dimensions = [5, 5]"),
    )
    found = route(torus, "lash")
    fabric, tables = written(tmp_path / "net.txt", found.fabric), written(tmp_path / "lfts", found.lfts)
    whole = written(tmp_path / "sls", found.path_sls)
    assert read_subnet(fabric, lfts=tables, path_sls=whole).findings == []
    cut = written(tmp_path / "cut", "".join(found.path_sls.splitlines(keepends=True)[:60]))
    shown = command(
        "import", "ibnetdiscover", fabric, "--lfts", tables, "--path-sls", cut, "--out", tmp_path / "x.toml"
    )
    assert "no level: 1" in shown.out
    lacking = r"\d+ of 600 paths have no service level here"
    assert re.search(lacking, " ".join(shown.out.split()))
    assert route(fabric, tables=tables, path_sls=whole).report["findings"] == []
    (finding,) = route(fabric, tables=tables, path_sls=cut).report["findings"]
    assert finding["kind"] == "no_level"
    routed = command("route", fabric, "--tables", tables, "--table-path-sls", cut)
    assert re.search(lacking, " ".join(routed.out.split()))


def test_a_rate_that_the_fabric_overrules_is_named(opensm: Path, tmp_path: Path, command: Command) -> None:
    """`links.all.rate` is that of cables whose rate the file does not have: here none."""
    out = tmp_path / "net.toml"
    command("import", "ibnetdiscover", opensm / "tool-outputs" / "ibnetdiscover.txt", "--out", out)
    for value, overruled in (("200 Gb/s", True), ("100 Gb/s", False)):
        warnings = fs.Experiment.from_file(out, set={"links.all.rate": value}).warnings()
        assert any("links.all.rate" in one for one in warnings) == overruled, warnings
        for reading in ("bound", "describe", "check"):
            allowed = ("--set", "run.allow_deadlock=true")  # its routes have a cycle
            ran = command(reading, out, "--set", f"links.all.rate={value}", *allowed)
            assert ran.code == 0, ran.err
            assert ("links.all.rate" in ran.err) == overruled, ran.err


def test_every_table_has_guids_beside_its_names(opensm: Path, tmp_path: Path, command: Command) -> None:
    """Descriptions may be equal, GUIDs are not. Two runs have all tables that name hosts, switches or links."""
    out = tmp_path / "net.toml"
    command("import", "ibnetdiscover", opensm / "tool-outputs" / "ibnetdiscover.txt", "--out", out)
    common = {
        "run.duration": "20 us",
        "run.warmup": "1 us",
        "traffic.0.load": 0.9,
        "routing.engine": "dfsssp",
        "switch.virtual_lanes": 8,
    }
    measured = {"measure.link_series": True, "measure.router_counters": True}
    settings: list[dict[str, object]] = [
        {"congestion_control.algorithm": "infiniband"},
        {"transport.mode": "ordered", "measure.exchanges": 10},
        {"queue_pairs.verb": "write", "host.mtu": "4142 B"},
    ]
    columns = {"source": "source_", "destination": "destination_", "host": "", "router": "", "peer": "peer_"}
    seen = set()
    for extra in settings:
        result = fs.run(out, set={**common, **measured, **extra})
        nodes = result.frames["nodes"].set_index("name")
        for table, frame in result.frames.items():
            for column, prefix in columns.items():
                if column not in frame or table == "port_counters":
                    continue
                seen.add((table, column))
                named = frame[frame[column] != "*"]
                assert named[f"{prefix}guid"].tolist() == nodes["guid"][named[column]].tolist(), table
                assert named[f"{prefix}lid"].tolist() == nodes["lid"][named[column]].tolist(), table
            for column in {"link", "root"} & set(frame.columns):
                if table == "links" and column == "root":
                    continue
                seen.add((table, column))
                ends = frame[column].str.split("->", expand=True)
                for end, prefix in enumerate(("from_", "to_")):
                    names = ends[end].str.replace(r" #\d+$", "", regex=True).tolist() if len(frame) else []
                    assert frame[f"{prefix}guid"].tolist() == nodes["guid"][names].tolist(), table
    tables = {table for table, _ in seen}
    assert tables >= {"flows", "series", "hosts", "hosts_series", "links", "link_series", "congestion_trees"}
    assert tables >= {"congestion_series", "congestion_flows", "transport", "exchanges", "queue_pairs"}


def test_advice_tells_nodes_with_equal_descriptions_apart(tmp_path: Path) -> None:
    tree = written(tmp_path / "tree.toml", TREE.replace("levels = 3", "levels = 2"))
    fabric = re.sub(r'# "H\d+"', '# "twin"', route(tree, "minhop").fabric)
    net = written(tmp_path / "net.txt", fabric)
    deployed = written(tmp_path / "lfts", route(net, "minhop").lfts)
    report = route(net, tables=deployed, fail=["L1S0", "L1S0"]).report
    assert report["failure"]["failed"] == ["L1S0"]
    # A cable before its switch, whatever their names.
    assert route(net, tables=deployed, fail=["L1S0->L2S0", "L1S0"]).report["failure"]["cables"] == 8
    cut = report["failure"]["cut_off"]
    assert len(set(cut)) == len(cut) == 4
    assert all(re.fullmatch(r"twin \(0x[0-9a-f]{16}\)", name) for name in cut), cut
    lost = {
        path["destination"] for path in route(net, tables=deployed, fail=["L1S0->L2S0"]).report["lost_paths"]
    }
    assert lost
    assert all(name.startswith("twin (0x") for name in lost), lost
