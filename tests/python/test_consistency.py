"""What users saw and stumbled over: words of facts, help texts, early checks."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import SMALL, Command

from fabricsim import catalogue

pytestmark = pytest.mark.usefixtures("real")


def test_facts_have_units_and_no_raw_keys(command: Command, small: Path) -> None:
    lines = command("describe", small).out.splitlines()
    facts = {line[: line.index("  ")]: line[line.index("  ") :].strip() for line in lines if "  " in line}
    assert facts["zero-load latency mean"].endswith(" ns")
    assert facts["zero-load latency packet"] == "2,048 B"
    assert facts["bisection per direction"] == "400 Gb/s"
    assert not any({"ns", "gbps", "bytes"} & set(name.split(" ")) for name in facts)


@pytest.mark.parametrize("name", ["run", "tune", "sweep", "plot", "import"])
def test_flags_have_no_type_in_help(command: Command, name: str) -> None:
    out = command(name, "--help").out
    assert "--help" in out
    assert "bool" not in out


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
