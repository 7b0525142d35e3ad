"""Results by entry of the traffic list: table, totals, names in keys and metrics, terminal, pictures, sums of flows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from conftest import Command

import fabricsim as fs
from fabricsim import plots
from fabricsim.catalogue import key
from fabricsim.results import scalars

pytestmark = pytest.mark.usefixtures("real")

INCAST = """
title = "Six to one, and two beside"

[topology.single-switch]
hosts = 10

[links.all]
rate = "8 Gb/s"
latency = "10 ns"

[groups]
senders = ["H0", "H1", "H2", "H3", "H4", "H5"]

[[traffic]]
name = "incast"
sources = ["senders"]
pattern = { to = "H9" }
load = 0.5
message = "1 KiB"

[[traffic]]
name = "victims"
sources = ["H0", "H1"]
pattern = { permutation = ["H7", "H8"] }
load = 0.2
message = "2 KiB"

[run]
warmup = "10 us"
duration = "100 us"
"""


@pytest.fixture
def incast(tmp_path: Path) -> Path:
    path = tmp_path / "incast.toml"
    path.write_text(INCAST)
    return path


def test_entries_divide_the_run(incast: Path) -> None:
    run = fs.run(incast)
    entries: Any = run.entries.set_index("entry")
    assert list(entries.index) == ["incast", "victims"]
    assert entries["accepted_gbps"].sum() == pytest.approx(run.summary["accepted_gbps"])
    assert entries["packets"].sum() == run.flows["packets"].sum()
    # All six end at one link; a link of 8 Gb/s carries no more than that.
    assert entries.loc["incast", "destination_share"] == pytest.approx(1.0, abs=0.03)
    assert entries.loc["incast", "source_share"] == pytest.approx(1 / 6, abs=0.01)
    assert list(entries["sources"]) == [6, 2]
    assert list(entries["destinations"]) == [1, 2]
    assert list(entries["flows"]) == [6, 2]
    flows: Any = run.flows.set_index("entry")["accepted_gbps"]
    for name in entries.index:
        shares = flows.loc[[name]]
        jain = shares.sum() ** 2 / (len(shares) * (shares**2).sum())
        assert entries.loc[name, "jain"] == pytest.approx(jain)
    assert entries.loc["victims", "text"] == "H0, H1 to H7, H8, load 0.2, 2048 B"


def test_figures_of_entries_are_totals_by_name(incast: Path) -> None:
    run = fs.run(incast)
    assert run.summary["traffic.incast.accepted_gbps"] == run.entries["accepted_gbps"][0]
    assert run.summary["traffic.victims.latency_ns.p99"] == run.entries["latency_p99_ns"][1]
    of = key("traffic.incast.latency_ns.mean")
    assert (of.unit, of.label.endswith("incast")) == ("ns", True)
    # The only entry, without a name: the totals are its figures.
    alone = fs.run(incast, set={"traffic": [{"pattern": "uniform", "load": 0.1, "message": "1 KiB"}]})
    assert not [name for name in scalars(alone.manifest["summary"]) if name.startswith("traffic.")]
    assert len(alone.entries) == 1


def test_entries_are_named_in_keys(incast: Path, command: Command) -> None:
    by_name = fs.run(incast, set={"traffic.victims.load": 0.1})
    by_number = fs.run(incast, set={"traffic.1.load": 0.1})
    assert by_name.manifest["fingerprint"] == by_number.manifest["fingerprint"]
    sweep = fs.sweep(incast, vary={"traffic.incast.load": [0.05, 0.1]}, jobs=1)
    assert sweep.loads == ["traffic.incast.load"]
    accepted = sweep.points["traffic.incast.accepted_load"].tolist()
    assert accepted == pytest.approx([0.05, 0.1], rel=0.3)
    ran = command("check", incast, "--set", "traffic.incst.load=0.1")
    assert ran.code == 2
    assert "named incast, victims" in ran.err


@pytest.mark.parametrize(
    ("name", "expected"),
    [("incast", "is the name of traffic.0"), ("3", "is a number"), ('a"b', "quotation mark")],
)
def test_names_must_tell_entries_apart(incast: Path, command: Command, name: str, expected: str) -> None:
    ran = command("check", incast, "--set", f"traffic.1.name='{name}'")
    assert ran.code == 2
    assert expected in ran.err
    assert "traffic.1.name" in ran.err


def test_the_terminal_has_entries_before_flows_in_80_columns(
    incast: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran = command(
        "run",
        incast,
        "--set",
        'traffic.0.pattern="uniform"',
        "--set",
        "traffic.0.sources=['*']",
        "--out",
        "r",
    )
    assert ran.code == 0
    head, _, rest = ran.out.partition("single flows")
    assert "victims" in head
    assert "10→10" in head
    # 92 flows: those with equal throughput are one row, so that there are at most twelve.
    rows = [line for line in rest.splitlines() if " hosts" in line]
    assert 0 < len(rows) <= 12
    tables = ran.out.partition("\nload ")[0]
    assert max(len(line.rstrip()) for line in tables.splitlines()) <= 80


@pytest.mark.parametrize(("warmup", "is_above"), [("13 us", True), ("0 us", False)])
def test_more_than_the_rate_of_a_link_is_explained(
    tmp_path: Path, command: Command, warmup: str, is_above: bool
) -> None:
    (tmp_path / "e.toml").write_text(
        '[topology.single-switch]\nhosts = 3\n[[traffic]]\nsources = ["H0", "H1"]\npattern = { to = "H2" }\n'
        f'injection = "saturating"\nmessage = "2 KiB"\n[run]\nwarmup = "{warmup}"\nduration = "33 us"\n'
    )
    ran = command("run", "e.toml", "--by", "destination", "--by", "source")
    assert ran.code == 0, ran.err
    tables = ran.out.split("single flows")[0].split("by destination")
    assert ["100.3%" in tables[0], "100.29" in tables[1]] == [is_above, is_above]
    for table in tables:
        assert ("more than a link's rate: a packet counts when its last" in table) == is_above
    assert ran.out.count("a packet counts") == (2 if is_above else 0)


def test_compare_and_reports_have_entries(incast: Path, tmp_path: Path, command: Command) -> None:
    for load in (0.2, 0.5):
        fs.run(incast, set={"traffic.incast.load": load}, out=tmp_path / f"run-{load}")
    ran = command("compare", tmp_path / "run-0.2", tmp_path / "run-0.5")
    assert ran.out.index("mean latency, incast") < ran.out.index("destination"), "before single flows"
    totals = json.loads(command("compare", tmp_path / "run-0.2", tmp_path / "run-0.5", "--json").out)[
        "totals"
    ]
    assert totals["traffic.incast.offered_load"] == pytest.approx([0.2, 0.5], rel=0.2)
    page = fs.report(tmp_path / "run-0.5", bound=False).read_text()
    assert page.index("Entries") < page.index("Flows")


def test_the_picture_shows_each_entry(incast: Path) -> None:
    figure = plots.draw(fs.run(incast), "entries")
    left, right = figure.axes
    assert [text.get_text() for text in left.get_yticklabels()] == ["incast", "victims"]
    assert right.get_xscale() == "log"


def test_the_picture_of_seeds_names_entries_as_the_table_of_a_run(incast: Path) -> None:
    incast.write_text(incast.read_text().replace('name = "victims"', ""))
    axes = plots.seeds(fs.sweep(incast, seeds=2, jobs=1)).axes[0]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["all", "incast", "permutation"]


def test_tables_of_sweeps_have_the_title_of_the_experiment(incast: Path, command: Command) -> None:
    for options in (("--vary", "traffic.incast.load=0.1,0.2"), ("--seeds", "2")):
        ran = command("sweep", incast, *options, "--jobs", "1", "--out", f"by{options[0]}")
        assert ran.out.strip().startswith("Six to one, and two beside"), ran.out
    assert command("report", "by--vary").code == 0
    assert "<title>Six to one, and two beside" in Path("by--vary/report.html").read_text()


def test_flows_are_summed_up(incast: Path) -> None:
    run = fs.run(incast)
    by_destination: Any = run.by("destination")
    assert sorted(by_destination.index) == ["H7", "H8", "H9"]
    assert by_destination.loc["H9", "flows"] == 6
    assert by_destination["accepted_gbps"].sum() == pytest.approx(run.summary["accepted_gbps"])
    by_entry: Any = run.by("entry")
    assert by_entry.loc["incast", "accepted_gbps"] == pytest.approx(run.entries["accepted_gbps"][0])
    assert by_entry.loc["incast", "latency_mean_ns"] == pytest.approx(run.entries["latency_mean_ns"][0])
    assert by_entry.loc["incast", "jain"] == pytest.approx(run.entries["jain"][0])
    by_group = run.by("group")
    assert list(by_group.index) == [("senders", "others")]
    mine: Any = run.by("group", {"rack 1": ["H0", "H7"], "rack 2": ["*"]})
    assert mine.loc[("rack 1", "rack 1"), "flows"] == 1
    assert isinstance(mine, pd.DataFrame)


@pytest.mark.parametrize(
    ("what", "groups", "expected"), [("host", None, "give source"), ("group", {}, "no groups")]
)
def test_sums_that_mean_nothing(
    incast: Path, what: str, groups: dict[str, list[str]] | None, expected: str
) -> None:
    with pytest.raises(fs.InputError, match=expected):
        fs.run(incast).by(what, groups)


def test_the_terminal_has_sums(incast: Path, command: Command) -> None:
    ran = command("run", incast, "--by", "destination", "--by", "group")
    assert ran.code == 0
    _, _, sums = ran.out.partition("by destination")
    destinations, _, groups = sums.partition("by group")
    rows = {line.split()[0]: line.split() for line in destinations.splitlines() if line.startswith(" H")}
    assert list(rows) == ["H9", "H7", "H8"] or list(rows) == ["H9", "H8", "H7"]
    assert rows["H9"][1] == "6"
    assert float(rows["H9"][3]) == pytest.approx(8.0, abs=0.1)
    (row,) = [line.split() for line in groups.splitlines() if line.startswith(" senders")]
    assert row[1:3] == ["others", "8"]
    told = json.loads(command("run", incast, "--by", "source", "--json").out)["by"]["source"]
    assert [one["source"] for one in told] == [f"H{n}" for n in range(6)]
    assert "by" not in json.loads(command("run", incast, "--json").out)


def test_offered_is_shown_where_it_is_known_and_explained_where_it_is_not(
    incast: Path, command: Command
) -> None:
    told = "offered -: these sources draw their destinations"
    assert told not in command("run", incast).out
    drawn = ("--set", "traffic.victims.pattern=uniform")
    assert told in command("run", incast, *drawn).out
    assert " -:" not in command("run", incast, *drawn, "--set", "traffic.incast.pattern=uniform").out
    answered = ("--set", 'traffic.victims.response={message="64 B"}', "--set", "host.open_messages=64")
    assert "or send responses" in " ".join(command("run", incast, *answered).out.split())


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (("--by", "rack"), "--by rack: must be source, destination or group"),
        (("--by", "group", "--set", "groups={}", "--set", "traffic.0.sources=['H0']"), "has no [groups]"),
        (("--by", "grup"), "did you mean group?"),
        (("--by", "group", "--set", "measure.flows=sources"), 'set measure.flows = "pairs"'),
    ],
)
def test_sums_that_are_refused(incast: Path, command: Command, options: tuple[str, ...], text: str) -> None:
    ran = command("run", incast, *options)
    assert ran.code == 2
    assert text in ran.err


def test_sums_of_a_text_that_is_nested_without_end(tmp_path: Path, command: Command) -> None:
    file = tmp_path / "deep.toml"
    file.write_text("x = " + "[" * 100_000)
    ran = command("run", file, "--by", "group")
    assert ran.code == 2
    assert "internal error" not in ran.err


def test_the_former_name_of_the_table_still_works(incast: Path) -> None:
    run = fs.run(incast)
    former = run.table("streams")
    assert list(former["stream"]) == list(run.table("entries")["entry"]) == ["incast", "victims"]
    with pytest.raises(fs.InputError, match="no table 'stream'"):
        run.table("stream")
