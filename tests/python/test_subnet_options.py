"""Options of `fabricsim route` that only some engines read, or that need another one."""

from __future__ import annotations

import pickle
import re
from pathlib import Path

import pytest
from conftest import Command
from test_subnet_whatif import TORUS, TREE, written
from test_subnets import TWO_SWITCHES

from fabricsim import InputError
from fabricsim.subnets import ENGINES, CannotRouteError, read_matrix, route
from fabricsim.subnets.engine_options import reads

pytestmark = pytest.mark.usefixtures("real")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return written(tmp_path / "tree.toml", TREE)


@pytest.mark.parametrize(
    ("options", "part"),
    [
        (["--roots", "{file}"], "--roots: only for updn, ftree; the engine minhop does not read it"),
        (
            ["--engine", "lash", "--scatter-ports", "3"],
            "--scatter-ports: only for minhop, updn, dnup, dor; the engine lash",
        ),
        (["--engine", "sssp", "--port-shifting"], "--port-shifting: only for minhop"),
        (["--engine", "updn", "--nue-vls", "2"], "--nue-vls: only for nue"),
        (["--engine", "dor", "--torus-conf", "{file}"], "--torus-conf: only for torus-2QoS"),
        (["--engine", "updn", "--compute-nodes", "{file}"], "--compute-nodes: only for ftree"),
        (
            ["--tables", "{file}", "--roots", "{file}"],
            "--roots: only for updn, ftree; --tables does not read it",
        ),
        (["--tables", "{file}", "--port-shifting"], "--port-shifting: only for"),
        (["--tables", "{file}", "--vls", "4"], "--vls: only for an engine"),
        (["--table-sl2vl", "{file}"], "--table-sl2vl: only with --tables"),
        (["--table-path-sls", "{file}"], "--table-path-sls: only with --tables"),
        (["--load", "0.5"], "--load: only with --simulate"),
        (["--duration", "9 us"], "--duration: only with --simulate"),
        (["--lfts-form", "ibroute"], "--lfts-form: only with --lfts"),
        (["--fabric-form", "ibsim"], "--fabric-form: only with --fabric-out"),
        (["--engine", "nue", "--vls", "2", "--nue-vls", "4"], "--nue-vls 4: must be at most the 2 of --vls"),
        (
            ["--engine", "ftree", "--path-sls", "out"],
            "--path-sls: ftree gives paths no service levels; torus-2QoS, lash",
        ),
        (["--tables", "{file}", "--path-sls", "out"], "name them with --table-path-sls"),
        (["--tables", "{file}", "--engine", "lash"], "--engine and --tables exclude each other"),
    ],
)
def test_options_that_would_do_nothing_are_refused(
    command: Command, tree: Path, tmp_path: Path, options: list[str], part: str
) -> None:
    file = written(tmp_path / "file", "0x200000\n")
    ran = command("route", tree, *(option.format(file=file) for option in options))
    assert ran.code == 2
    assert part in " ".join(ran.err.split())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "m.csv: no demand is in it"),
        ("# nothing\n\n", "m.csv: no demand is in it"),
        ("H0,H1,-3\n", "m.csv:1: the weight is -3: must be a number of 0 or more"),
        ("H0,H1,much\n", "m.csv:1: the weight 'much' is no number"),
        ("H0\n", "m.csv:1: 1 columns"),
    ],
)
def test_demands_that_are_none_are_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        read_matrix(written(tmp_path / "m.csv", text))


def test_spaces_around_names_of_demands_do_not_count(tmp_path: Path) -> None:
    (demand,) = read_matrix(written(tmp_path / "m.csv", " H0 , H1 , 1e3 \n"))
    assert (demand.source, demand.destination, demand.weight) == ("H0", "H1", 1000.0)


def test_settings_are_only_for_experiments(command: Command, tmp_path: Path) -> None:
    fabric = written(tmp_path / "fabric.txt", TWO_SWITCHES)
    ran = command("route", fabric, "--set", "seed=2")
    assert (ran.code, "--set: only for an experiment (.toml)" in ran.err) == (2, True)


def test_an_option_may_be_for_the_other_answer(command: Command, tree: Path, tmp_path: Path) -> None:
    roots = written(tmp_path / "roots", "0x200020\n")
    lfts = written(tmp_path / "lfts", route(tree, "ftree").lfts)
    assert command("route", tree, "--tables", lfts, "--against", "updn", "--roots", roots).code == 0


def test_given_tables_keep_their_lids(command: Command, tree: Path, tmp_path: Path) -> None:
    """`--lmc` may state the LMC that the LIDs of tables have, and no other."""
    lfts = tmp_path / "lfts"
    with_lids = tmp_path / "fabric"
    assert command("route", tree, "--lmc", "1", "--lfts", lfts, "--fabric-out", with_lids).code == 0
    assert command("route", with_lids, "--tables", lfts, "--lmc", "1").code == 0
    ran = command("route", with_lids, "--tables", lfts, "--lmc", "2")
    assert ran.code == 2
    assert f"--lmc 2: the LIDs of {with_lids} have LMC 1" in " ".join(ran.err.split())
    # Of a fabric without LIDs the option says which ones the tables are for.
    assert command("route", tree, "--tables", lfts, "--lmc", "1").code == 0
    assert command("route", with_lids, "--lmc", "2", "--against", lfts).code == 0


@pytest.mark.parametrize("option", ["port_shifting", "scatter_ports"])
def test_engines_read_the_options_that_the_table_says(tree: Path, tmp_path: Path, option: str) -> None:
    """With the option a reader has other tables on some fabric; no other engine has."""
    cables = "".join(f'[{port}] "{{other}}"[{port}]\n' for port in range(6, 9))
    text = ""
    for own, other in (("A", "B"), ("B", "A")):
        hosts = "".join(f'[{port}] "{own}{port}"[1]\n' for port in range(1, 6))
        text += f'Switch 8 "{own}"\n{hosts}{cables.format(other=other)}\n'
        text += "".join(f'Hca 1 "{own}{port}"\n[1] "{own}"[{port}]\n\n' for port in range(1, 6))
    pair = written(tmp_path / "pair", text)
    value = True if option == "port_shifting" else 3
    for engine in ENGINES:
        if engine == "torus-2QoS":
            continue
        changes = []
        for fabric in (tree, pair):
            try:
                plain = route(fabric, engine).lfts
            except CannotRouteError:
                continue
            changes.append(route(fabric, engine, **{option: value}).lfts != plain)  # type: ignore[arg-type]
        assert any(changes) == reads(engine, f"--{option.replace('_', '-')}"), engine


def test_two_outputs_have_two_files(command: Command, tree: Path, tmp_path: Path) -> None:
    """The check is before anything is written, whatever the spelling of the name."""
    out = tmp_path / "out"
    for option in ("--fabric-out", "--sl2vl", "--path-sls", "--opensm-conf", "--loads"):
        done = command(
            "route", tree, "--engine", "lash", "--lfts", out, option, f"{tmp_path}/./out", "--force"
        )
        assert done.code == 2
        assert f"--lfts and {option} name the same file" in " ".join(done.err.split())
        assert not out.exists()


@pytest.mark.parametrize(
    ("size", "untried", "last"),
    [
        (40, ["updn", "dfsssp", "lash", "nue"], "Not tried"),
        (28, ["lash", "nue"], "Not tried"),
        (5, [], "Engines that"),
    ],
)
def test_engines_that_take_long_on_large_subnets_are_not_tried(
    tmp_path: Path, size: int, untried: list[str], last: str
) -> None:
    """1600 switches with 3200 LIDs are more than five million entries, 784 with 1568 more than one million."""
    report = route(
        written(tmp_path / "large.toml", TORUS.replace("[5, 5]", f"[{size}, {size}]")), "minhop"
    ).report
    deadlock = report["deadlock"]
    assert not deadlock["free"]
    assert deadlock["untried"] == untried
    assert not {cure["engine"] for cure in deadlock["cures"]} & set(untried)
    texts = [one["text"] for one in report["advice"] if one["kind"] == "deadlock"]
    assert texts[-1].startswith(last)


def test_layers_are_those_needed_and_lanes_those_used(command: Command, tree: Path) -> None:
    """DFSSSP spreads its paths over the lanes that there are; MinHop's are all on one."""
    found = route(tree, "dfsssp", vls=4).report
    assert found["layers"] < found["lanes"] <= 4
    said = f"{found['layers']} suffice, the paths use {found['lanes']} virtual lanes"
    assert said in " ".join(command("route", tree, "--engine", "dfsssp", "--vls", "4").out.split())
    assert (route(tree, "minhop").report["layers"], route(tree, "minhop").report["lanes"]) == (1, 1)


def test_an_answer_is_copied_by_asking_again(tree: Path) -> None:
    found = route(tree, "lash", fail=["L1S0/5"])
    copied = pickle.loads(pickle.dumps(found))
    assert copied.lfts == found.lfts
    assert copied.report["failure"] == found.report["failure"]
    tree.unlink()
    with pytest.raises(InputError, match=r"tree\.toml"):
        pickle.loads(pickle.dumps(found))


def test_a_divided_subnet_has_the_line_of_its_second_part(command: Command, tmp_path: Path) -> None:
    parts = [
        f'Switch 4 "S-000000000000002{n}" # "s{n}" base port 0 lid {2 * n + 1}\n'
        f'[1] "H-000000000000003{n}"[1] # "h{n}" lid {2 * n + 2} 4xEDR\n\n'
        f'Ca 1 "H-000000000000003{n}" # "h{n}"\n'
        f'[1] "S-000000000000002{n}"[1] # lid {2 * n + 2} lmc 0 "s{n}" lid {2 * n + 1} 4xEDR\n\n'
        for n in (0, 1)
    ]
    fabric = written(tmp_path / "parts.txt", "".join(parts))
    ran = command("route", fabric)
    assert ran.code == 1
    assert re.search(r'parts\.txt:7: the subnet has several parts: no path from "s0".* to "s1"', ran.err), (
        ran.err
    )
    assert ran.err.count("parts.txt") == 1, ran.err
