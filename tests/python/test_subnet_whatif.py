"""What-if answers about subnets: advice, options for OpenSM, loads, pictures, simulation."""

from __future__ import annotations

import csv
import json
import re
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest
from conftest import Command
from test_subnets import TWO_SWITCHES

import fabricsim as fs
from fabricsim.errors import InputError
from fabricsim.plots import link_loads, save
from fabricsim.subnets import CannotRouteError, Routed, advice, compared, route, simulate

pytestmark = pytest.mark.usefixtures("real")

FABRIC = """\
[topology.{topology}]
{size}
[links.all]
rate = "100 Gb/s"
latency = "10 ns"
buffer = "16 KiB"
[switch]
router_delay = "100 ns"
[host]
mtu = "1 KiB"
[run]
duration = "1 us"
"""
TREE = FABRIC.format(topology="fat-tree", size="arity = 4\nlevels = 3")
# With buffers for four packets, so that a cycle of buffers closes soon.
TORUS = FABRIC.format(topology="torus", size="dimensions = [5, 5]").replace("16 KiB", "4 KiB")
MESH = FABRIC.format(topology="mesh", size="dimensions = [3, 3]")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return written(tmp_path / "tree.toml", TREE)


@pytest.fixture
def torus(tmp_path: Path) -> Path:
    return written(tmp_path / "torus.toml", TORUS)


def written(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def kinds(routed: Routed) -> dict[str, str]:
    return {one["kind"]: one["text"] for one in routed.report["advice"]}


def test_good_routes_need_no_advice(tree: Path) -> None:
    assert route(tree, "ftree").report["advice"] == []


def test_uneven_routes_and_idle_spines_are_named(tree: Path) -> None:
    """OpenSM's minhop loads 4 links of 16 to the roots of a 4-ary 3-tree with 192 paths, and leaves 12 roots idle."""
    found = route(tree, "minhop")
    texts = kinds(found)
    assert set(texts) == {"uneven", "idle_switches"}
    assert '"L2S0" port 5 to "L3S0" carries 192 paths, 3.6 times the mean of 54.0' in texts["uneven"]
    assert texts["idle_switches"].startswith("12 switches without adapters carry no path: L3S1, L3S2, ")
    assert texts["idle_switches"].endswith(" and 7 more.")
    assert "root_guid_file" not in texts["idle_switches"]
    assert "root_guid_file" in kinds(route(tree, "updn"))["idle_switches"]


def test_a_deadlock_comes_with_its_cures(torus: Path) -> None:
    found = route(torus, "minhop")
    deadlock = [one["text"] for one in found.report["advice"] if one["kind"] == "deadlock"]
    cycle = found.report["deadlock"]["cycle"]["names"]
    assert deadlock[0].startswith(f"Packets may wait for each other for ever: {len(cycle)} channels")
    assert deadlock[0].endswith(f"{cycle[0]}.")
    cures = {cure["engine"]: cure for cure in found.report["deadlock"]["cures"]}
    assert set(cures) == {"dfsssp", "lash", "nue"}
    for engine, cure in cures.items():
        cured = route(torus, engine, nue_vls=0).report
        assert cured["deadlock"]["free"]
        assert (cured["layers"], cured["link_load"]["max"]) == (cure["lanes"], cure["link_load_max"])
        assert (
            f"{engine} ({cure['lanes']} virtual lanes, at most {cure['link_load_max']} paths" in deadlock[1]
        )


def test_layers_need_lanes(torus: Path, tmp_path: Path) -> None:
    assert "need 4 virtual lanes" in kinds(route(torus, "dfsssp"))["lanes"]
    mesh = written(tmp_path / "mesh.toml", MESH)
    assert "lanes" not in kinds(route(mesh, "lash"))


def test_no_cure_within_one_lane(torus: Path) -> None:
    texts = [one["text"] for one in route(torus, "minhop", vls=1).report["advice"]]
    assert any(
        "Engines that route this fabric without such a cycle: nue (1 virtual lane" in text for text in texts
    )
    assert not any("dfsssp" in text for text in texts)


def test_detours_are_counted(torus: Path) -> None:
    found = route(torus, "nue", nue_vls=1)
    pairs = found.report["pairs"]
    assert kinds(found)["detours"].startswith(f"{pairs['non_minimal']:,} of {pairs['reachable']:,} paths (")
    assert "detours" not in kinds(route(torus, "minhop"))


def test_slow_cables_are_rated(tmp_path: Path) -> None:
    fabric = written(tmp_path / "fabric.txt", TWO_SWITCHES)
    found = route(fabric)
    slow = found.report["links"]["slow"]
    assert [(link["rate"], link["usual"], link["paths"]) for link in slow] == [("4xQDR", "4xEDR", 1)]
    text = kinds(found)["slow_links"]
    assert "1 cable between switches below the usual 4xEDR" in text
    assert "as full as another link with 3, more than any has" in text
    fast = written(tmp_path / "fast.txt", TWO_SWITCHES.replace("QDR", "EDR"))
    assert "slow_links" not in kinds(route(fast))


def test_a_failure_is_rated_in_percent(tree: Path) -> None:
    found = route(tree, "sssp", fail=["L2S0", "L2S5/5"])
    failure = found.report["failure"]
    assert (failure["cables"], failure["cut_off"]) == (9, [])
    before, after = failure["before"]["link_load"]["max"], found.report["link_load"]["max"]
    assert before == route(tree, "sssp").report["link_load"]["max"] < after
    text = kinds(found)["failure"]
    assert text.startswith("Without L2S0, L2S5/5 (9 cables): paths on the fullest link ")
    assert f"{before} -> {after} ({after / before - 1:+.0%}), effective bisection " in text
    assert route(tree, "sssp").report["failure"] is None


def test_adapters_without_a_cable_are_named(tree: Path) -> None:
    texts = kinds(route(tree, "minhop", fail=["L1S0"]))
    assert texts["cut_off"] == "4 adapters have lost the last cable: H0, H1, H2, H3."
    assert "unreachable" not in texts


def test_tables_that_know_nothing_of_a_failure_lose_paths(tree: Path, tmp_path: Path) -> None:
    """All paths that the failed cable carried, in both directions, are lost."""
    deployed = written(tmp_path / "lfts", route(tree, "ftree").lfts)
    whole = route(tree, tables=deployed)
    assert kinds(whole) == {}
    found = route(tree, tables=deployed, fail=["L1S0/5"])
    load = next(link for link in whole.links if (link["switch"], link["port"]) == ("L1S0", 5))
    back = next(link for link in whole.links if (link["switch"], link["next"]) == (load["next"], "L1S0"))
    lost = found.report["pairs"]["unreachable"]
    assert lost == load["all_to_all"] + back["all_to_all"]
    text = kinds(found)["unreachable"]
    assert text.startswith(f"{lost} of 4,032 paths (")
    first = found.report["lost_paths"][0]
    assert f"{first['source']} to {first['destination']}" in text
    switch = route(tree, tables=deployed, fail=["L3S0"])
    assert switch.report["pairs"]["unreachable"] > 0
    # Uniform traffic loses its part of the paths, within three deviations of as many draws.
    (uniform,) = simulate(switch, patterns=["uniform"], duration="20 us")
    paths = switch.report["pairs"]["unreachable"] / 4032
    assert uniform.lost == pytest.approx(paths, rel=0.1)
    assert uniform.throughput_min > 0.0
    (around,) = simulate(route(tree, "sssp", fail=["L3S0"]), patterns=["uniform"], duration="20 us")
    assert around.lost == 0.0 < uniform.lost, "an engine knows of the failure"


def test_two_answers_are_compared(command: Command, tree: Path) -> None:
    one, other = route(tree, "ftree"), route(tree, "minhop")
    text = compared(one.report, other.report).text
    assert text.startswith(
        "ftree in place of minhop: paths on the fullest link 192 -> 60 (-69%), effective bisection "
    )
    report = json.loads(command("route", tree, "--engine", "ftree", "--against", "minhop", "--json").out)
    assert report["advice"] == [{"kind": "comparison", "text": text}]
    assert report["against"]["advice"] == [asdict(one) for one in advice(other.report)]
    shown = command("route", tree, "--engine", "ftree", "--against", "minhop").out
    assert "minhop: advice" in shown
    assert " - ftree in place of minhop" in " ".join(shown.split())


def test_loads_of_links_add_up(command: Command, tree: Path, tmp_path: Path) -> None:
    out = tmp_path / "loads.csv"
    assert command("route", tree, "--engine", "ftree", "--loads", out).code == 0
    rows = list(csv.DictReader(out.read_text().splitlines()))
    report = route(tree, "ftree").report
    assert len(rows) == report["links"]["directions"] == 256
    loads = [int(row["all_to_all"]) for row in rows]
    assert (max(loads), min(loads)) == (report["link_load"]["max"], report["link_load"]["min"])
    for pattern in report["traffic"]["patterns"]:
        assert max(float(row[pattern["pattern"]]) for row in rows) == pattern["worst_max"]


@pytest.mark.parametrize("suffix", ["png", "svg", "pdf"])
def test_loads_are_drawn(command: Command, tree: Path, tmp_path: Path, suffix: str) -> None:
    out = tmp_path / f"loads.{suffix}"
    arguments = ("route", tree, "--engine", "ftree", "--against", "minhop", "--plot", out)
    assert command(*arguments).code == 0
    first = out.read_bytes()
    assert first.startswith({"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}[suffix])
    assert command(*arguments).code == 2
    assert command(*arguments, "--force").code == 0
    assert out.read_bytes() == first


def test_a_picture_shows_the_loads(tree: Path, tmp_path: Path) -> None:
    answers = {engine: route(tree, engine) for engine in ("minhop", "ftree")}
    figure = link_loads(answers, "loads")
    panels = [axes for axes in figure.axes if axes.lines]
    assert [axes.get_title() for axes in panels] == [
        "all to all (dotted: mean)",
        "shift",
        "bit reversal",
        "incast",
    ]
    assert all("%" in axes.get_xlabel() and axes.get_ylabel() for axes in panels)
    minhop = np.asarray(panels[0].lines[0].get_ydata(), dtype=float)
    assert (minhop.max(), minhop.min()) == (192, 0)
    save(figure, tmp_path / "loads.svg")
    text = FABRIC.format(topology="single-switch", size="hosts = 4")
    single = route(written(tmp_path / "single.toml", text))
    with pytest.raises(InputError, match="no links between switches"):
        link_loads({"minhop": single}, "loads")


def test_pictures_have_a_known_suffix(command: Command, tree: Path, tmp_path: Path) -> None:
    ran = command("route", tree, "--plot", tmp_path / "loads.jpg")
    assert (ran.code, "ends in one of .png, .svg, .pdf" in ran.err) == (2, True)


def test_options_for_opensm(command: Command, tree: Path, torus: Path, tmp_path: Path) -> None:
    roots = written(tmp_path / "roots", "0x0000000000200020\n")
    conf, lfts = tmp_path / "opensm.conf", tmp_path / "new.lfts"
    options = ("--roots", roots, "--port-shifting", "--lfts", lfts, "--opensm-conf", conf)
    assert command("route", tree, "--engine", "updn", *options).code == 0
    lines = conf.read_text().splitlines()
    active = [line for line in lines if not line.startswith("#")]
    assert active == ["routing_engine updn", f"root_guid_file {roots}", "port_shifting TRUE"]
    assert f"# lfts_file {lfts}" in lines
    levels = route(torus, "dfsssp")
    assert "qos TRUE\nmax_op_vls 4\n" in levels.opensm_conf()
    loaded = route(tree, tables=lfts).opensm_conf()
    assert loaded == f"routing_engine file\nlfts_file {lfts}\n"
    files = [written(tmp_path / "d.lfts", levels.lfts), written(tmp_path / "d.sls", levels.path_sls)]
    given = route(torus, tables=files[0], path_sls=files[1])
    assert "several service levels" in given.opensm_conf()


def test_what_is_simulated_agrees_with_the_loads(tree: Path) -> None:
    """Where n flows of a shift share a link, each gets an n-th of it."""
    results = {}
    for engine, share in (("ftree", 1.0), ("minhop", 0.25)):
        found = route(tree, engine)
        worst = next(p for p in found.report["traffic"]["patterns"] if p["pattern"] == "shift")
        assert worst["worst_max"] == 1 / share
        shift, incast = simulate(found, patterns=["shift", "incast"], duration="20 us")
        assert (shift.status, incast.status) == ("ok", "ok")
        assert shift.throughput_mean == pytest.approx(share, rel=0.03)
        assert 0.95 < incast.throughput_mean <= 1.0 + 1e-9, (
            "whole packets would be up to 1.02 of so short a time"
        )
        results[engine] = (shift, incast)
    assert results["ftree"][0].latency_mean_ns is not None
    assert results["ftree"][0].latency_mean_ns < 3000
    assert results["ftree"][1].victims == 0
    assert 0 < (results["minhop"][1].victims or 0) <= 32


def test_layers_carry_over_to_the_simulation(torus: Path, tmp_path: Path) -> None:
    found = route(torus, "dfsssp")
    lfts, levels = written(tmp_path / "lfts", found.lfts), written(tmp_path / "sls", found.path_sls)
    given = route(torus, tables=lfts, path_sls=levels)
    settings = {"patterns": ["uniform"], "duration": "20 us"}
    computed = simulate(found, **settings)  # type: ignore[arg-type]
    assert computed == simulate(given, **settings)  # type: ignore[arg-type]
    assert computed[0].status == "ok"
    cyclic = simulate(route(torus, "minhop"), patterns=["uniform"], duration="200 us")
    assert cyclic[0].status == "deadlock"


def test_lanes_by_input_and_output_are_simulated(torus: Path, tmp_path: Path) -> None:
    """Torus-2QoS needs its SL2VL tables: on two lanes it does not deadlock, and its routes without them do."""
    switch = re.compile(r'^Switch\t\d+ "S-([0-9a-f]+)"\s+# "([^"]*)"', re.MULTILINE)
    named = {name: f"0x{guid}" for guid, name in switch.findall(route(torus, "minhop").fabric)}
    origin, right, down = named["S(0,0)"], named["S(1,0)"], named["S(0,1)"]
    conf = f"torus 5 5 1m\nxp_link {origin} {right}\nyp_link {origin} {down}\n"
    found = route(torus, "torus-2QoS", torus=written(tmp_path / "torus-2QoS.conf", conf))
    settings = {"patterns": ["uniform"], "duration": "200 us"}
    (by_levels,) = simulate(found, **settings)  # type: ignore[arg-type]
    assert by_levels.status == "ok"
    bare = route(torus, tables=written(tmp_path / "lfts", found.lfts))
    (without,) = simulate(bare, **settings)  # type: ignore[arg-type]
    assert without.status == "deadlock"


def test_simulations_are_shown_side_by_side(command: Command, tmp_path: Path) -> None:
    mesh = written(tmp_path / "mesh.toml", MESH)
    arguments = ("route", mesh, "--engine", "dor", "--against", "lash", "--simulate", "--duration", "5 us")
    report = json.loads(command(*arguments, "--json").out)
    names = [one["pattern"] for one in report["simulated"]]
    assert names == ["uniform", "shift", "bit-reversal", "incast"]
    assert [one["pattern"] for one in report["against"]["simulated"]] == names
    shown = command(*arguments).out
    assert "bit-reversal" in shown
    assert " of 4" in shown


def test_an_experiment_keeps_its_links_and_switches(tmp_path: Path) -> None:
    """Half the rate, half the throughput in Gb/s, and the same part of the links."""
    slow = written(tmp_path / "slow.toml", MESH.replace("100 Gb/s", "50 Gb/s"))
    fast = written(tmp_path / "fast.toml", MESH)
    shares = [simulate(route(f, "dor"), patterns=["shift"], duration="20 us")[0] for f in (slow, fast)]
    assert shares[0].throughput_mean == pytest.approx(shares[1].throughput_mean, rel=0.02)
    assert (shares[0].latency_mean_ns or 0) > (shares[1].latency_mean_ns or 0)
    placed = written(tmp_path / "placed.toml", MESH + '[links.dimension.x]\nrate = "40 Gb/s"\n')
    with pytest.raises(InputError, match=r"links\.dimension"):
        simulate(route(placed, "dor"))


def test_what_cannot_be_simulated_is_refused(tree: Path, tmp_path: Path) -> None:
    found = route(tree, "ftree")
    with pytest.raises(InputError, match="no pattern 'all'"):
        simulate(found, patterns=["all"])
    small = FABRIC.format(topology="single-switch", size="hosts = 3")
    with pytest.raises(InputError, match="at least 4"):
        simulate(route(written(tmp_path / "small.toml", small)))


def test_failed_links_are_avoided_by_the_engine(tree: Path) -> None:
    """`links.failed` with an engine in an experiment: the failed link carries nothing, and all arrives."""
    settings = {
        "routing.algorithm": "opensm",
        "routing.engine": "sssp",
        "links.failed": ["L1S0-L2S0"],
        "traffic": [{"pattern": "uniform", "load": 0.2, "message": "1 KiB"}],
        "run.duration": "20 us",
    }
    run = fs.run(tree, set=settings)
    assert run.status == "ok"
    packets = run.links.set_index("link")["packets"]
    assert packets["L1S0->L2S0"] == packets["L2S0->L1S0"] == 0
    assert packets["L1S0->L2S1"] > 0
    with pytest.raises(CannotRouteError, match="several parts"):
        route(tree, fail=[f"L1S0/{port}" for port in range(5, 9)])


def test_lost_paths_come_first(tree: Path, tmp_path: Path) -> None:
    """Tables that lose paths are no better for it: neither loads nor bisection gain from what does not arrive."""
    deployed = written(tmp_path / "lfts", route(tree, "ftree").lfts)
    whole, holed = route(tree, tables=deployed), route(tree, tables=deployed, fail=["L3S0", "L3S1"])
    lost = holed.report["pairs"]["unreachable"]
    assert lost > 0
    text = compared(holed.report, whole.report).text
    assert text.startswith(
        f"tables in place of tables: {lost:,} more of 4,032 paths do not arrive, and load no link; "
    )
    assert f"{lost:,} more of 4,032 paths arrive; " in compared(whole.report, holed.report).text
    failure = kinds(holed)["failure"]
    assert failure.startswith(f"Without L3S0, L3S1 (8 cables): {lost:,} more of 4,032 paths do not arrive")
    bisections = [one.report["traffic"]["bisection"]["mean"] for one in (whole, holed)]
    share = 1 - lost / 4032
    assert bisections[1] == pytest.approx(bisections[0] * share, rel=0.05)


def test_no_path_no_bandwidth(tree: Path, tmp_path: Path) -> None:
    """By hand: tables without an entry for any adapter carry 0 %, and load nothing."""
    text = route(tree, "minhop").lfts
    empty = re.sub(r"^0x[0-9a-f]{4} \d{3} # Channel Adapter .*\n", "", text, flags=re.MULTILINE)
    assert empty != text
    report = route(tree, tables=written(tmp_path / "empty", empty)).report
    assert report["pairs"]["reachable"] == 0
    bisection = report["traffic"]["bisection"]
    assert (bisection["mean"], bisection["worst"]) == (0.0, 0.0)
    assert {pattern["worst_max"] for pattern in report["traffic"]["patterns"]} == {0.0}


def test_lmc_is_in_the_options(command: Command, tmp_path: Path) -> None:
    """Also where the file of the fabric has it, and for tables that are loaded."""
    fabric = written(tmp_path / "fabric.txt", TWO_SWITCHES)
    with_lmc = written(tmp_path / "lmc.txt", route(fabric, lmc=1).fabric)
    found = route(with_lmc)
    assert found.report["lmc"] == 1
    assert "lmc 1" in found.opensm_conf().splitlines()
    lfts = written(tmp_path / "lfts", found.lfts)
    assert "lmc 1" in route(with_lmc, tables=lfts).opensm_conf().splitlines()
    assert "lmc" not in route(fabric).opensm_conf()


def test_the_engine_has_a_time_of_its_own(command: Command, tree: Path, tmp_path: Path) -> None:
    report = json.loads(command("route", tree, "--engine", "lash", "--json").out)
    assert 0 < report["engine_cpu_s"] < report["cpu_s"]
    assert "of which the engine took" in " ".join(command("route", tree, "--engine", "lash").out.split())
    lfts = written(tmp_path / "lfts", route(tree).lfts)
    assert route(tree, tables=lfts).report["engine_cpu_s"] is None
