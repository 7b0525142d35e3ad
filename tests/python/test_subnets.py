"""InfiniBand subnets: commands and functions, on made-up subnets and on real ones."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest
from conftest import SMALL, Command

import fabricsim as fs
from fabricsim.errors import InputError
from fabricsim.subnets import FABRIC_FORMS, TABLE_FORMS, CannotRouteError, read_subnet, route

pytestmark = pytest.mark.usefixtures("real")

TWO_SWITCHES = """\
# Topology file: generated on Wed Aug  6 16:11:23 2025
#
# Initiated from node 0000000000000030 port 0000000000000031

switchguid=0x10(10)
Switch\t36 "S-0000000000000010"\t\t# "left # 1" enhanced port 0 lid 3 lmc 0
[7]\t"H-0000000000000020"[1](21) \t\t# "node-a HCA-1" lid 5 4xEDR
[30]\t"S-0000000000000011"[2]\t\t# "right" lid 4 4xQDR
[31]\t"S-0000000000000011"[3]\t\t# "right" lid 4 4xEDR

switchguid=0x11(11)
Switch\t36 "S-0000000000000011"\t\t# "right" enhanced port 0 lid 4 lmc 0
[2]\t"S-0000000000000010"[30]\t\t# "left # 1" lid 3 4xQDR
[3]\t"S-0000000000000010"[31]\t\t# "left # 1" lid 3 4xEDR
[36]\t"H-0000000000000030"[1](31) \t\t# "node-b HCA-1" lid 7 4xEDR

caguid=0x20
Ca\t1 "H-0000000000000020"\t\t# "node-a HCA-1"
[1](21) \t"S-0000000000000010"[7]\t\t# lid 5 lmc 0 "left # 1" lid 3 4xEDR

caguid=0x30
Ca\t1 "H-0000000000000030"\t\t# "node-b HCA-1"
[1](31) \t"S-0000000000000011"[36]\t\t# lid 7 lmc 0 "right" lid 4 4xEDR
"""


@pytest.fixture
def fabric(tmp_path: Path) -> Path:
    path = tmp_path / "fabric.ibnetdiscover"
    path.write_text(TWO_SWITCHES)
    return path


def unpacked(path: Path) -> str:
    return subprocess.run(
        ["xz", "--decompress", "--stdout", path], capture_output=True, check=True, text=True
    ).stdout


def test_import_counts_and_names_what_is_odd(command: Command, fabric: Path) -> None:
    ran = command("import", "ibnetdiscover", fabric, "--json")
    report = json.loads(ran.out)
    assert ran.code == 0
    counts = {
        key: report["counts"][key] for key in ("switches", "adapters", "cables", "switch_cables", "lids")
    }
    assert counts == {"switches": 2, "adapters": 2, "cables": 4, "switch_cables": 2, "lids": 4}
    degraded = [finding for finding in report["findings"] if finding["kind"] == "degraded"]
    assert len(degraded) == 1
    assert "left # 1" in degraded[0]["text"]
    assert degraded[0]["file"] == str(fabric)
    for_people = command("import", "ibnetdiscover", fabric)
    assert "no experiment is written: name its file with --out" in for_people.out
    assert "switches" in for_people.out
    assert "degraded: 1" in for_people.out


def test_an_imported_fabric_runs_with_its_names_and_rates(
    command: Command, fabric: Path, tmp_path: Path
) -> None:
    ran = command("import", "ibnetdiscover", fabric, "--out", tmp_path / "here.toml")
    assert ran.code == 0, ran
    result = fs.run(tmp_path / "here.toml", out=tmp_path / "run")
    assert set(result.flows["source"]) == {"node-a HCA-1", "node-b HCA-1"}
    assert result.frames["hosts"]["link_gbps"].tolist() == [100.0, 100.0]
    assert result.status == "ok"


def test_deployed_tables_decide_the_route(command: Command, fabric: Path, tmp_path: Path) -> None:
    """Of two parallel cables that of the tables carries the packets; the other one none."""
    loads = {}
    for port, back in ((30, 2), (31, 3)):
        lfts = tmp_path / f"{port}.lfts"
        rows = {
            "0x0000000000000010": {5: 7, 7: port, 4: port},
            "0x0000000000000011": {7: 36, 5: back, 3: back},
        }
        lfts.write_text(
            "".join(
                f"Unicast lids [0-7] of switch Lid 0 guid {guid} ('x'):\n"
                + "".join(
                    f"0x{lid:04x} {out:03d} # Channel Adapter portguid 0x0: 'x'\n" for lid, out in row.items()
                )
                + "7 lids dumped\n"
                for guid, row in rows.items()
            )
        )
        experiment = tmp_path / f"{port}.toml"
        assert command("import", "ibnetdiscover", fabric, "--lfts", lfts, "--out", experiment).code == 0
        links = fs.run(experiment, out=tmp_path / f"run-{port}").frames["links"]
        between = links[links["link"].str.startswith("left # 1->right #")]
        loads[port] = between["packets"].tolist()
    assert loads[30][1] == 0 < loads[30][0]
    assert loads[31][0] == 0 < loads[31][1]


@pytest.mark.parametrize(
    ("content", "part"),
    [
        ("", "no nodes in the file"),
        ("hello\n", "unknown format: must be one of ibnetdiscover"),
        (TWO_SWITCHES.replace("lid 7 lmc 0", "lid 5 lmc 0").replace("lid 7 4x", "lid 5 4x"), "LID 5"),
        (
            TWO_SWITCHES.replace('Ca\t1 "H-0000000000000030"', 'Ca\t1 "H-0000000000000020"'),
            "0000000000000020",
        ),
    ],
)
def test_bad_files_are_refused_with_the_place(
    command: Command, fabric: Path, content: str, part: str
) -> None:
    fabric.write_text(content)
    ran = command("import", "ibnetdiscover", fabric)
    assert ran.code == 2
    assert str(fabric) in ran.err
    assert part in ran.err


def test_options_that_do_not_fit_are_refused(command: Command, fabric: Path, tmp_path: Path) -> None:
    ran = command("import", "ibnetdiscover", fabric, "--config", "x")
    assert (ran.code, "only for omnetpp" in ran.err) == (2, True)
    ran = command("import", "omnetpp", tmp_path, "--lfts", fabric)
    assert (ran.code, "only for InfiniBand subnets" in ran.err) == (2, True)
    ran = command("route", fabric, "--engine", "fattree")
    assert (ran.code, "no engine 'fattree': expected one of minhop" in ran.err) == (2, True)
    ran = command("route", fabric, "--fail", "nowhere")
    assert (ran.code, "nowhere: no node has this description or GUID" in ran.err) == (2, True)
    with pytest.raises(InputError, match="exclude each other"):
        route(fabric, "minhop", tables=fabric)
    with pytest.raises(InputError, match="no format of a subnet"):
        read_subnet(fabric, "ibnet")


def test_an_engine_that_cannot_route_says_why(command: Command, tmp_path: Path) -> None:
    mesh = tmp_path / "mesh.toml"
    mesh.write_text(SMALL)
    ran = command("route", mesh, "--engine", "updn")
    assert ran.code == 1
    assert "updn: found no roots" in ran.err
    with pytest.raises(CannotRouteError, match="found no roots"):
        route(mesh, "updn")


def test_a_failed_cable_moves_its_paths(fabric: Path) -> None:
    whole, cut = route(fabric), route(fabric, fail=["left # 1/31"])
    assert whole.report["pairs"]["reachable"] == cut.report["pairs"]["reachable"] == 2
    assert "0x0007 030" in cut.lfts
    with pytest.raises(CannotRouteError, match="several parts"):
        route(fabric, fail=["left # 1->right"])


@pytest.mark.parametrize("name", ["mesh3x3", "torus5x5", "irr9"])
@pytest.mark.parametrize("engine", ["minhop", "dor", "sssp", "lash"])
def test_tables_equal_those_of_opensm(opensm: Path, tmp_path: Path, name: str, engine: str) -> None:
    """What OpenSM dumped for a netlist, entry by entry."""
    netlist = opensm / "topologies" / f"{name}.topo"
    out = tmp_path / "out.lfts"
    out.write_text(route(netlist, engine, manager="0x0000000000100000").lfts)
    dumped = next((opensm / "tables" / name / engine).glob("opensm-lfts.dump*"))
    expected = dumped.read_text() if dumped.suffix == ".dump" else unpacked(dumped)
    assert out.read_text() == expected


def test_a_real_cluster_with_its_deployed_tables(opensm: Path) -> None:
    """Avakas: the deployed tables load a link with 332 paths, OpenSM's minhop with 270 (OpenSM itself, measured)."""
    fabric = opensm / "fabrics" / "avakas.ibnet"
    assert route(fabric).report["link_load"]["max"] == 270
    raw = opensm / "fabrics" / "raw" / "avakas"
    deployed = route(
        raw / "ib-subnet-fe80_0000_0000_0000.ibnetdiscover-p.txt",
        tables=raw / "ibroutes-fe80_0000_0000_0000.lfts.txt",
    ).report
    assert deployed["link_load"]["max"] == 332
    assert deployed["deadlock"]["free"]


@pytest.mark.parametrize("form", TABLE_FORMS)
def test_tables_are_written_in_every_form(fabric: Path, tmp_path: Path, command: Command, form: str) -> None:
    """What is written is read again as the same tables; hops and destinations are as the form has them."""
    out, again = tmp_path / "tables", tmp_path / "again"
    assert command("route", fabric, "--engine", "minhop", "--lfts", out, "--lfts-form", form).code == 0
    heads = {
        "opensm-lfts": "Unicast lids [0-7]",
        "ibroute": "Unicast lids [0x0-0x7]",
        "opensm-fdbs": "dump_u",
    }
    assert out.read_text().startswith(heads[form])
    assert command("route", fabric, "--tables", out, "--lfts", again).code == 0
    assert again.read_text() == route(fabric, "minhop").lfts
    # The control: other tables are not these.
    changed = out.read_text().replace(" 007", " 030")
    assert changed != out.read_text()
    out.write_text(changed)
    assert command("route", fabric, "--tables", out, "--lfts", again, "--force").code == 0
    assert again.read_text() != route(fabric, "minhop").lfts


@pytest.mark.parametrize("form", FABRIC_FORMS)
def test_subnets_are_written_in_every_form(fabric: Path, tmp_path: Path, command: Command, form: str) -> None:
    """From each form the engine computes the same tables, but for names of nodes that a form leaves out."""
    out = tmp_path / "subnet"
    assert command("route", fabric, "--fabric-out", out, "--fabric-form", form).code == 0
    found, expected = read_subnet(out), read_subnet(fabric)
    assert found.counts == expected.counts
    assert route(out).report["pairs"] == route(fabric).report["pairs"]
    ran = command(
        "route", fabric, "--fabric-out", out, "--fabric-form", form, "--fail", "node-b HCA-1", "--force"
    )
    assert ran.code == 0
    # The control: without the adapter that has failed it is another subnet.
    assert read_subnet(out).counts != expected.counts


def test_unknown_forms_are_refused(fabric: Path, command: Command) -> None:
    for option in ("--lfts-form", "--fabric-form"):
        ran = command("route", fabric, option, "xml")
        assert ran.code == 2
        assert f"{option}: no form 'xml': expected one of" in ran.err


TORUS = """\
[topology.torus]
dimensions = [5, 5]
[links.all]
rate = "100 Gb/s"
latency = "100 ns"
[run]
duration = "1 us"
"""


@pytest.fixture
def layered(command: Command, tmp_path: Path) -> dict[str, Path]:
    """A fabric whose paths by LASH need several layers, with all its files."""
    experiment = tmp_path / "torus.toml"
    experiment.write_text(TORUS)
    names = {"--fabric-out": "fabric", "--lfts": "lfts", "--path-sls": "levels", "--sl2vl": "lanes"}
    files = {option: tmp_path / name for option, name in names.items()}
    arguments = [one for pair in files.items() for one in pair]
    assert command("route", experiment, "--engine", "lash", *arguments).code == 0
    return files


def test_levels_and_lanes_of_paths_come_along(
    command: Command, layered: dict[str, Path], tmp_path: Path
) -> None:
    """With them the experiment is free of deadlock and runs; without them it is refused."""
    of_tables = ("ibnetdiscover", layered["--fabric-out"], "--lfts", layered["--lfts"])
    levels, lanes = ("--path-sls", layered["--path-sls"]), ("--sl2vl", layered["--sl2vl"])
    (tmp_path / "out").mkdir()
    for number, files in enumerate([(*levels, *lanes), levels]):
        out = tmp_path / "out" / f"{number}.toml"
        assert command("import", *of_tables, *files, "--out", out, "--force").code == 0
        text = out.read_text()
        assert 'path_sls = "../levels"' in text
        assert ('sl2vl = "../lanes"' in text) == (lanes[0] in files)
        assert command("describe", out).out.count("deadlock check: free of deadlock") == 1
        ran = command("run", out, "--set", "run.duration=20 us", "--set", "run.warmup=5 us")
        assert (ran.code, "run        seed 1" in ran.out) == (0, True), ran
    bare = tmp_path / "bare.toml"
    assert command("import", *of_tables, "--out", bare).code == 0
    ran = command("run", bare, "--set", "run.duration=20 us")
    assert ran.code != 0
    assert "deadlock is possible" in ran.err


def test_import_finds_the_number_of_lanes(opensm: Path, command: Command, tmp_path: Path) -> None:
    """OpenSM's own files: LASH needs two layers on nine switches."""
    folder = opensm / "tables" / "irr9" / "lash"
    files = {}
    for name in ("opensm-subnet.lst", "opensm-lfts.dump", "opensm-path-records.dump", "opensm-sl2vl.dump"):
        packed = next(folder.glob(f"{name}*"))
        files[name] = tmp_path / name
        files[name].write_text(packed.read_text() if packed.suffix != ".xz" else unpacked(packed))
    subnet, lfts, levels, lanes = files.values()
    arguments = ("import", "opensm-subnet", subnet, "--lfts", lfts, "--path-sls", levels, "--sl2vl", lanes)
    assert command(*arguments, "--out", tmp_path / "lash.toml").code == 0
    assert "virtual_lanes = 2\n" in (tmp_path / "lash.toml").read_text()
    assert "free of deadlock" in command("describe", tmp_path / "lash.toml").out
    ran = command("import", "opensm-subnet", subnet, "--path-sls", levels)
    assert (ran.code, "--path-sls: only with --lfts" in ran.err) == (2, True)


def test_swapped_lids_are_found(fabric: Path, tmp_path: Path, command: Command) -> None:
    lfts = tmp_path / "lfts"
    for form in TABLE_FORMS:
        assert command("route", fabric, "--lfts", lfts, "--lfts-form", form, "--force").code == 0
        assert "another port" not in command("import", "ibnetdiscover", fabric, "--lfts", lfts).out
        swapped = tmp_path / "swapped.txt"
        swapped.write_text(
            TWO_SWITCHES.replace("lid 5 ", "lid 99 ").replace("lid 7 ", "lid 5 ").replace("lid 99 ", "lid 7 ")
        )
        found = json.loads(command("import", "ibnetdiscover", swapped, "--lfts", lfts, "--json").out)
        kinds = {finding["kind"] for finding in found["findings"]}
        assert "wrong_port" in kinds
        assert ("lid_mismatch" in kinds) == (form != "opensm-fdbs")
        wrong = next(finding for finding in found["findings"] if finding["kind"] == "wrong_port")
        assert wrong["line"] > 0
        advice = route(swapped, tables=lfts).report["advice"]
        assert advice[0]["kind"] == "lids"
        assert advice[0]["text"].startswith("The tables do not fit the LIDs of the fabric: 2 entries lead to")


def test_tables_are_not_blamed_for_lids_that_were_assigned_here(fabric: Path, tmp_path: Path) -> None:
    lfts = tmp_path / "lfts"
    lfts.write_text(route(fabric, "minhop").lfts)
    bare = tmp_path / "bare.txt"
    bare.write_text(re.sub(r"lid \d+", "lid 0", TWO_SWITCHES))
    report = route(bare, tables=lfts).report
    assert report["assigned_lids"] == 4
    assert report["misdelivered"] > 0
    texts = [one["text"] for one in report["advice"]]
    assert texts[0].startswith(
        "The file of the fabric has no LIDs. Those that were assigned here (4 ports) do not fit"
    )
    assert not any("have OpenSM compute them anew" in text for text in texts)
    assert route(fabric, tables=lfts).report["misdelivered"] == 0


def test_guids_and_physical_ports_are_in_the_results(
    command: Command, fabric: Path, tmp_path: Path, small: Path
) -> None:
    """Both switches have one description: GUID and port tell their links apart."""
    fabric.write_text(TWO_SWITCHES.replace('"left # 1"', '"leaf"').replace('"right"', '"leaf"'))
    assert command("import", "ibnetdiscover", fabric, "--out", tmp_path / "here.toml").code == 0
    frames = fs.run(tmp_path / "here.toml", out=tmp_path / "run").frames
    hosts = frames["hosts"][["host", "guid", "lid", "port"]].to_numpy().tolist()
    assert ["node-a HCA-1", "0x0000000000000020", 5, 1] in hosts
    switches = frames["nodes"].iloc[:2]
    assert switches["guid"].tolist() == ["0x0000000000000010", "0x0000000000000011"]
    assert switches["lid"].tolist() == [3, 4]
    links = frames["links"]
    ends = links[["from_guid", "from_lid", "from_port", "to_guid", "to_lid", "to_port"]].to_numpy().tolist()
    assert ["0x0000000000000010", 3, 30, "0x0000000000000011", 4, 2] in ends
    assert ["0x0000000000000020", 5, 1, "0x0000000000000010", 3, 7] in ends
    assert len({tuple(row) for row in ends}) == len(ends)
    # Other networks have no such columns.
    other = fs.run(small, out=tmp_path / "other").frames
    assert not {"guid", "lid"} & set(other["hosts"].columns)
    assert "from_guid" not in other["links"].columns
    found = route(fabric)
    between = {(row["guid"], row["port"], row["next_guid"], row["next_port"]) for row in found.links}
    assert ("0x0000000000000010", 30, "0x0000000000000011", 2) in between
    hot = found.report["hot_links"][0]
    assert (hot["guid"], hot["port"]["port"], hot["next_guid"], hot["next_port"]) in between
    shown = command("route", fabric).out
    assert f"{hot['guid']}/{hot['port']['port']}" in " ".join(shown.split())


def test_lmc_is_not_lost_without_a_word(command: Command, fabric: Path, tmp_path: Path) -> None:
    for form, warns in (("opensm-subnet", True), ("ibnetdiscover-ports", True), ("ibsim", False)):
        out = ("--fabric-out", tmp_path / "out", "--fabric-form", form, "--force")
        assert ("has no LMC" in command("route", fabric, *out, "--lmc", "2").err) == warns
        assert "has no LMC" not in command("route", fabric, *out).err
    experiment = tmp_path / "lmc.toml"
    experiment.write_text(TORUS + '[routing]\nalgorithm = "opensm"\nengine = "minhop"\nlmc = 2\n')
    for form, warns in (("opensm-subnet", True), ("ibnetdiscover", False)):
        ran = command("export", experiment, "--format", form, "--out", tmp_path / "net", "--force")
        assert (ran.code, "has no LMC" in ran.err) == (0, warns)
        plain = command(
            "export", experiment, "--format", form, "--set", "routing.lmc=0", "--out", out[1], "--force"
        )
        assert "has no LMC" not in plain.err


def test_names_and_places_in_messages(command: Command, fabric: Path, tmp_path: Path) -> None:
    """GUIDs have any number of digits; demands have the line of their file."""
    assert command("route", fabric, "--fail", "0x10/31", "--manager", "0x20").code == 0
    matrix = tmp_path / "m.csv"
    matrix.write_text("node-a HCA-1,node-b HCA-1,2\n\nnode-a HCA-1,nowhere,1\n")
    ran = command("route", fabric, "--matrix", matrix)
    assert ran.code == 2
    assert f"--matrix: {matrix}:3: nowhere: no node has this description or GUID" in ran.err
