"""What users saw and stumbled over: words of facts, help texts, early checks."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from conftest import SMALL, Command

from fabricsim import catalogue
from fabricsim.cli.app import COMMANDS
from fabricsim.cli.console import output
from fabricsim.cli.facts import FACTS, print_facts
from fabricsim.plots import PLOTS
from fabricsim.results import flatten

pytestmark = pytest.mark.usefixtures("real")


def test_facts_have_units_and_no_raw_keys(command: Command, small: Path) -> None:
    lines = command("describe", small).out.splitlines()
    facts = {line[: line.index("  ")]: line[line.index("  ") :].strip() for line in lines if "  " in line}
    assert facts["zero-load latency, mean"].endswith(" ns")
    assert facts["zero-load latency, packet of"] == "2,048 B"
    assert facts["bisection, each direction"] == "400 Gb/s"
    assert facts["diameter"] == "4 links between switches"
    assert list(facts)[:3] == ["topology", "switches", "hosts"]


BIT_ERRORS = {"links.all.bit_error_rate": "1e-9", "links.errors": "retry"}
NO_BISECTION = {"topology": "{single-switch = {hosts = 3}}"}
LANES = {"topology": "{dragonfly = {p = 1, a = 2, h = 1}}", "switch.virtual_lanes": "4"}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, {"ports_min", "bisection.exact", "zero_load_latency.all_pairs", "memory_bytes"}),
        (BIT_ERRORS, {"bit_errors.links", "bit_errors.in_zero_load_latency"}),
        (NO_BISECTION, {"bisection"}),
        (LANES, {"virtual_lanes.needed", "virtual_lanes.longest_route"}),
        ({"traffic.0.pattern": "transpose"}, {"silent_sources"}),
    ],
)
def test_each_fact_has_a_name_in_words(
    command: Command, small: Path, changes: dict[str, str], expected: set[str]
) -> None:
    options = [part for key, value in changes.items() for part in ("--set", f"{key}={value}")]
    plain = json.loads(command("describe", small, "--json", *options).out)
    plain.pop("deadlock")
    lists = {name for name, value in plain.items() if isinstance(value, list)}
    names = set(flatten(plain)) | lists
    assert expected <= names
    assert names <= set(FACTS)
    out = command("describe", small, *options).out
    for name in names:
        assert FACTS[name][0] in out


def test_a_fabric_without_a_bisection_says_why(command: Command, small: Path) -> None:
    (key, value), *_ = NO_BISECTION.items()
    lines = command("describe", small, "--set", f"{key}={value}").out.splitlines()
    (line,) = [line for line in lines if line.startswith("bisection")]
    assert line.split("  ")[-1].strip() == "-, no closed form for this topology"


@pytest.mark.parametrize(
    ("duration", "expected"),
    [("1 us", "the links of hosts that created messages"), ("60 us", "the hosts' links")],
)
def test_loads_name_the_links_that_they_are_parts_of(
    command: Command, small: Path, tmp_path: Path, duration: str, expected: str
) -> None:
    options = ["--set", "traffic.0.load=0.05", "--set", f"run.duration={duration}", "--out", tmp_path / "r"]
    out = command("run", small, *options).out
    (line,) = [line for line in out.splitlines() if line.startswith("load ")]
    assert line.rstrip().endswith(f"of {expected}"), line


def test_facts_that_are_not_known_or_new_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    print_facts({"hosts": 3, "mean_hops": None, "some_new": {"fact_ns": 7}}, output())
    assert [line.split() for line in capsys.readouterr().out.splitlines()] == [
        ["hosts", "3"],
        ["mean", "hops,", "shortest", "paths", "-"],
        ["some", "new", "fact", "ns", "7"],
    ]


@pytest.mark.parametrize(
    ("value", "expected"), [(1, "1 link between switches"), (2.5, "2.5 links between switches")]
)
def test_hops_are_links_between_switches(value: float, expected: str) -> None:
    assert FACTS["mean_hops"][1](value) == expected


@pytest.mark.parametrize(
    "name", [*(later.name for later in COMMANDS if later.name != "mpi"), "mpi run", "mpi replay"]
)
def test_help_has_words_not_types(command: Command, name: str) -> None:
    out = command(*name.split(), "--help").out
    assert "--help" in out
    assert not re.search(r"<(bool|int|float|str|list|path|Path)\b", out)


def test_help_has_words_for_values(command: Command) -> None:
    """The control: values are still named, numbers with their ranges."""
    out = command("tune", "--help").out
    assert re.search(r"--jobs +N \[x>=1\]", out)
    assert re.search(r"--out +DIR ", out)
    assert "<screen|paper|slides>" in out
    assert re.search(r"\* +FILE +An experiment file", out)


def test_the_list_of_pictures_is_complete(command: Command) -> None:
    listed = " ".join(re.sub(r"[│\n]", " ", command("plot", "--help").out).split())
    found = re.search(r"draw this picture: (.*?)\. Repeatable", listed)
    assert found is not None
    assert found[1].split(", ") == list(PLOTS)


def test_sections_survive_in_help(command: Command) -> None:
    assert "the experiment's [tune] asks for" in " ".join(command("tune", "--help").out.split())
    assert "[Config NAME]" in command("import", "--help").out


def test_check_has_the_number_of_points(command: Command, small: Path) -> None:
    assert command("check", small).out == f"{small}: good\n"
    small.write_text(SMALL + '\n[sweep]\n"traffic.0.load" = [0.1, 0.2, 0.3]\n"seed" = [1, 2]\n')
    assert command("check", small).out == f"{small}: good, a sweep of 6 points\n"
    assert '"points": 6' in command("check", small, "--json").out


@pytest.mark.parametrize(
    ("metric", "hint"),
    [("acepted_load", "did you mean accepted_load"), ("traffic.all.acepted_load", "no run has")],
)
def test_metrics_are_checked_before_the_sweep(
    command: Command, small: Path, tmp_path: Path, metric: str, hint: str
) -> None:
    ran = command("sweep", small, "--vary", "traffic.0.load=0.1,0.2", "--plot", metric, "--out", "s")
    assert ran.code == 2
    assert hint in ran.err
    assert not (tmp_path / "s").exists()


@pytest.mark.parametrize(
    "name",
    ["accepted_load", "latency_ns.p99", "traffic.incast.latency_ns.p99", "jobs.solver.accepted_gbps", "jain"],
)
def test_known_metrics(name: str) -> None:
    assert catalogue.is_known(name)


def test_a_parameter_may_be_drawn(command: Command, small: Path) -> None:
    ran = command("sweep", small, "--vary", "traffic.0.load=0.1,0.2", "--plot", "traffic.0.load", "--jobs", 1)
    assert ran.code == 0, ran.err


RING = """
[topology.ring]
switches = 6

[[traffic]]
pattern = "uniform"
load = 0.1
message = "2 KiB"

[run]
duration = "5 us"
"""


def test_check_refuses_what_run_refuses(command: Command, small: Path) -> None:
    small.write_text(RING)
    checked, ran = command("check", small), command("run", small)
    assert checked.code == ran.code == 2
    assert checked.err == ran.err
    assert "run.allow_deadlock: deadlock is possible: a cycle of " in checked.err
    for allowed in ("run.allow_deadlock=true", "switch.virtual_lanes=2"):
        assert command("check", small, "--set", allowed).out == f"{small}: good\n"
    # A sweep runs its points, not the experiment itself.
    small.write_text(RING + '\n[sweep]\n"switch.virtual_lanes" = [2, 3]\n')
    assert command("check", small).out == f"{small}: good, a sweep of 2 points\n"


def test_points_that_fail_for_one_reason_are_one_message(command: Command, small: Path) -> None:
    small.write_text(RING)
    ran = command("sweep", small, "--vary", "traffic.0.load=0.1,0.2,0.3", "--jobs", 1, "--out", "s")
    assert ran.code == 1
    assert ran.err.count("deadlock is possible") == 1
    assert f"failed: traffic.0.load 0.1 and 2 more: {small}: run.allow_deadlock" in ran.err
    assert "3 of 3 points failed" in ran.err
    ran = command("run", small, "--seeds", 2, "--out", "r")
    assert ran.code == 1
    assert "failed: seed 1 and 1 more: " in ran.err
    assert ran.out == "failed, and not in the means: 2 runs\nresults: r\n"
    ran = command("sweep", small, "--vary", "switch.virtual_lanes=1,2", "--jobs", 1, "--out", "t")
    assert ran.err.count("failed: switch.virtual_lanes 1: ") == 1


def test_a_sweep_of_jobs_shows_their_time(command: Command, small: Path, tmp_path: Path) -> None:
    job = (
        SMALL.partition("[[traffic]]")[0]
        + """
[[jobs]]
program = { barrier = {} }

[run]
duration = "1 ms"
"""
    )
    for text, picture in ((job, "job_time_ns.png"), (SMALL, "latency_ns.mean.png")):
        small.write_text(text)
        out = picture.partition(".")[0]
        ran = command("sweep", small, "--vary", "seed=1,2", "--jobs", 1, "--out", out)
        assert ran.code == 0, ran.err
        pictures = {path.name for path in (tmp_path / out).glob("*.png")}
        assert pictures == {"accepted_load.png", picture}
