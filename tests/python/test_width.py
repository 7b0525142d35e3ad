"""Tables fit 80 columns: no line is longer, and no text is cut off."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from conftest import ROOT, Command
from rich.console import Console
from rich.table import Table
from tune_cases import FAIR, MUCH, SEARCH, TWO_FLOWS

from fabricsim.catalogue import Entry
from fabricsim.cli.layout import key_heading, narrow, two_lines
from fabricsim.cli.numbers import plain, rate, shown, significant
from fabricsim.durations import seconds

JOB = """
title = "All-to-all of all hosts of a fat tree"

[topology.fat-tree]
arity = 4
levels = 2

[[traffic]]
name = "background of all hosts"
pattern = "uniform"
load = 0.2
message = "2 KiB"

[[jobs]]
name = "experts"
hosts = ["*"]
program = { all-to-all = { algorithm = "pairwise", message = "4 KiB" } }
iterations = 1

[links.all]
rate = "2400 Gb/s"

[run]
duration = "30 us"
"""
COMMANDS = {
    "run": ("run", "job.toml", "--out", "r"),
    "run --seeds": ("run", "job.toml", "--seeds", "2", "--out", "r"),
    "sweep": (
        *("sweep", "job.toml", "--vary", "switch.arbiter=round-robin,oldest-first"),
        *("--vary", "jobs.0.placement=linear,random", "--jobs", "1", "--out", "s"),
    ),
    "sweep --seeds": ("sweep", "job.toml", "--vary", "traffic.0.load=0.1,0.2", "--seeds", "2", "--jobs", "1"),
    "sweep --saturation": (
        *("sweep", "job.toml", "--saturation", "--vary", "switch.arbiter=round-robin,oldest-first"),
        *(
            "--vary",
            "jobs.0.placement=linear,random",
            "--tolerance",
            "0.5",
            "--set",
            "run.duration=5 us",
            "--jobs",
            "1",
        ),
    ),
    "sweep --precision": (
        *(
            "sweep",
            "job.toml",
            "--precision",
            "5%",
            "--precision",
            "latency_ns.p999=0.1%",
            "--most-seeds",
            "6",
        ),
        *("--vary", "switch.arbiter=round-robin,oldest-first", "--set", "run.duration=5 us", "--jobs", "1"),
    ),
    "sweep --by --seeds": (
        *("sweep", "job.toml", "--vary", "traffic.0.load=0.1,0.2", "--by", "source", "--by", "group"),
        *("--vary", "switch.arbiter=round-robin,oldest-first", "--vary", "jobs.0.placement=linear,random"),
        *("--seeds", "2", "--set", "run.duration=5 us", "--jobs", "1"),
        *("--set", 'groups={"servers of the first rack"=["H0*"], clients=["H1*"]}'),
    ),
    "bound": ("bound", "job.toml"),
    "what-if": ("what-if", "job.toml", "--each", "switch", "--jobs", "1", "--top", "3"),
    "tune": ("tune", "study.toml", "--trials", "4", "--jobs", "1", "--out", "t"),
    "reproduce": ("reproduce", "thesis", "figure-4.1", "--experiments", ROOT / "experiments"),
    "describe": ("describe", "job.toml"),
    "age-parameters": ("age-parameters", "11x12x16"),
    "route": ("route", "fabric.txt", "--engine", "minhop"),
}


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Standard output is a terminal of 80 columns for rich."""
    for name, value in {"FORCE_COLOR": "1", "COLUMNS": "80", "TERM": "dumb", "NO_COLOR": "1"}.items():
        monkeypatch.setenv(name, value)


@pytest.mark.usefixtures("real", "terminal")
@pytest.mark.parametrize("name", COMMANDS)
def test_no_line_is_longer_and_no_text_is_cut_off(name: str, command: Command, tmp_path: Path) -> None:
    (tmp_path / "job.toml").write_text(JOB)
    (tmp_path / "study.toml").write_text(TWO_FLOWS + SEARCH + FAIR + MUCH)
    if name == "route":
        assert command("export", "job.toml", "--format", "ibnetdiscover", "--out", "fabric.txt").code == 0
    ran = command(*COMMANDS[name])
    assert ran.code == 0, ran.err
    text = plain_text(ran.out)
    assert max(len(line.rstrip()) for line in text.splitlines()) <= 80
    assert "…" not in text


def plain_text(text: str) -> str:
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


def test_a_table_with_a_frame_is_cut_off() -> None:
    """The control: the same text in a table of rich."""
    texts = {}
    for kind in (Table, narrow):
        table = kind(title="a")
        for _ in range(3):
            table.add_column("a-heading-of-30-letters-xxxxxx")
        table.add_row(*["a-text-of-30-letters-xxxxxxxxxx"] * 3)
        console = Console(width=80, force_terminal=True, no_color=True)
        with console.capture() as captured:
            console.print(table)
        texts[kind] = captured.get()
    assert "…" in texts[Table]
    assert "…" not in texts[narrow]
    assert len(re.findall("a-text-of", texts[narrow])) == 3


def rendered(width: int, *rows: tuple[str, ...]) -> list[str]:
    """A table of a text and numbers; the lines below its heading."""
    table = narrow(texts=["name"], numbers=[str(number) for number in range(len(rows[0]) - 1)])
    for row in rows:
        table.add_row(*row)
    console = Console(width=width, force_terminal=True, no_color=True)
    with console.capture() as captured:
        console.print(table)
    lines = plain_text(captured.get()).splitlines()
    return [
        line.rstrip()[1:] for line in lines[lines.index(next(line for line in lines if "─" in line)) + 1 :]
    ]


def test_halves_of_intervals_are_below_their_means_if_there_is_no_room() -> None:
    row = ("round-robin", "22.8 ± 7.5%", "1,410 ± 182 ns")
    assert rendered(42, row)[0] == "round-robin  22.8 ± 7.5%  1,410 ± 182 ns"
    assert rendered(30, row)[:2] == ["round-robin   22.8    1,410", "            ± 7.5% ± 182 ns"]
    # Texts are broken first, numbers are not.
    assert rendered(26, row)[:2] == ["round-ro   22.8    1,410", "bin      ± 7.5% ± 182 ns"]
    assert "".join("".join(rendered(12, row)).split()).count("182") == 1, "nothing is cut off"


def test_columns_are_closer_only_if_there_is_no_room() -> None:
    for width, apart in ((6, "a  b"), (5, "a b")):
        console = Console(width=width, force_terminal=True, no_color=True)
        table = narrow()
        for name in ("a", "b"):
            table.add_column(name)
        with console.capture() as captured:
            console.print(table)
        assert apart in plain_text(captured.get())


@pytest.mark.parametrize(
    ("key", "heading"),
    [
        ("seed", "seed"),
        ("switch.arbiter", "switch.\narbiter"),
        ("jobs.0.placement", "jobs.0.\nplacement"),
        ("jobs.0.program.all-reduce.algorithm", "all-reduce.\nalgorithm"),
        ("traffic.0.load", "traffic.0.\nload"),
    ],
)
def test_headings_of_parameters(key: str, heading: str) -> None:
    assert key_heading(key, [key, "a.b"]) == heading


def test_headings_of_quantities() -> None:
    assert two_lines(Entry("a", "time of all jobs")) == "time of\nall jobs"
    assert two_lines(Entry("a", "status")) == "status"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.1 + 0.2, "0.3"),
        (9999.4, "9,999"),
        (9999.7, "10,000"),
        (10560.39, "10,560"),
        (54010.7, "54,010"),
        (1.056e12, "1,056,000,000,000"),
    ],
)
def test_numbers_have_no_exponents_and_no_digits_of_noise(value: float, text: str) -> None:
    assert significant(value) == text
    assert shown(value, Entry("a", "a")) == text


def test_rates_of_large_networks_have_room() -> None:
    assert rate(9999.4) == "9,999.40"
    assert rate(10560.39) == "10,560"
    assert plain(1234567.0) == "1,234,570"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0 s"),
        (4.5e-10, "0.45 ns"),
        (999.4e-9, "999 ns"),
        (999.9e-9, "1 µs"),
        (1e-6, "1 µs"),
        (2.346e-3, "2.35 ms"),
        (119.0, "119 s"),
        (150.0, "2.5 min"),
        (9000.0, "2.5 h"),
    ],
)
def test_times_have_the_unit_that_suits_them(value: float, text: str) -> None:
    assert seconds(value) == text
