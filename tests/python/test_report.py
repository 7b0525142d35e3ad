"""Reports: one page with everything in it, and nothing in it that acts."""

from __future__ import annotations

import io
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
from conftest import SMALL, Command
from rich.console import Console

import fabricsim as fs
from fabricsim.cli.tables import print_result
from fabricsim.report.page import html

ROOT = Path(__file__).resolve().parents[2]
EVIL = "<script>alert(1)</script>&\"'"


class Page(HTMLParser):
    """What a page holds; complains about tags that do not match."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.links: list[str] = []
        self.words: list[str] = []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.links += [value or "" for name, value in attrs if name in ("src", "href")]
        if tag not in ("meta", "img"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if data.strip() and self.open[-1] != "style":
            self.words.append(data.strip())


@pytest.mark.usefixtures("fake")
def test_a_page_needs_nothing_else(command: Command, small: Path, tmp_path: Path) -> None:
    command("run", small, "--out", "a")
    ran = command("report", "a")
    assert ran.code == 0, ran
    assert ran.out == "page: a/report.html\n"
    text = (tmp_path / "a/report.html").read_text(encoding="utf-8")
    page = Page(text)
    assert all(link.startswith(("#", "data:image/svg+xml;base64,")) for link in page.links)
    assert page.tags.count("img") == 3
    for word in ("Summary", "Flows", "Pictures", "Invariants", "Experiment", "30", "in flight"):
        assert word in page.words
    assert SMALL.strip() in page.words
    assert "td.number { white-space: nowrap; }" in text, "a number and its unit are not on two lines"
    assert command("report", "a", "--out", "b.html").code == 0
    assert (tmp_path / "b.html").read_text(encoding="utf-8") == text


@pytest.mark.usefixtures("fake")
def test_names_are_escaped(small: Path) -> None:
    small.write_text(
        f"title = {fs.spec.toml_value(EVIL)}\ndescription = {fs.spec.toml_value(EVIL)}\n" + SMALL
    )
    result = fs.run(small)
    flows = result.flows.assign(source=[EVIL, "H1"])
    text = html(replace(result, frames={**result.frames, "flows": flows}))
    assert "<script" not in text.lower()
    assert Page(text).words.count(EVIL) >= 3  # title, heading, flow


@pytest.mark.usefixtures("fake")
def test_a_bound_that_is_not_known_says_why(small: Path) -> None:
    words = Page(html(replace(fs.run(small), manifest=_without_bound(fs.run(small))))).words
    assert any(word.startswith("It is not known: ") for word in words)
    assert "Fraction of the bound" not in Page(html(fs.run(small), bound=False)).words


def _without_bound(result: fs.Result) -> dict[str, object]:
    summary = {**result.manifest["summary"], "accepted_gbps": None}
    return {**result.manifest, "summary": summary}


@pytest.mark.usefixtures("real")
def test_lost_packets_are_in_the_summary_and_columns_without_a_value_are_not_drawn() -> None:
    text = """
topology.torus = { dimensions = [4, 4] }
routing = { algorithm = "shortest-path", lane_policy = "hops" }
switch.virtual_lanes = 4
faults = { plan = [{ switch = "S(3,3)", at = "5 us" }] }
traffic = [{ pattern = "uniform", load = 0.3, message = "2 KiB" }]
run.duration = "20 us"
"""
    run = fs.run(fs.Experiment.from_text(text))
    printed = io.StringIO()
    print_result(run, Console(file=printed, width=200))
    assert f", lost {run.manifest['summary']['invariants']['dropped']:,} (" in printed.getvalue()
    assert "dropped" not in printed.getvalue()
    page = html(run, bound=False)
    assert "packets lost" in page
    flows = page[page.index(">Flows</h2>") :]
    assert "offered throughput" not in flows[: flows.index("</table>")]


@pytest.mark.usefixtures("fake")
def test_a_deadlock_is_told(small: Path) -> None:
    small.write_text('title = "deadlock"\n' + SMALL)
    words = Page(html(fs.run(small))).words
    assert any("waits for output 2 to S1" in word for word in words)


@pytest.mark.usefixtures("fake")
def test_a_sweep(command: Command, small: Path, tmp_path: Path) -> None:
    command("sweep", small, "--vary", "traffic.0.load=0.05,0.2,0.8", "--jobs", "1", "--out", "s")
    assert command("report", "s").code == 0
    page = Page((tmp_path / "s/report.html").read_text(encoding="utf-8"))
    assert {"Points", "Saturation", "3 of 3", "traffic.0.load"} <= set(page.words)
    assert page.tags.count("img") == 1


@pytest.mark.usefixtures("real")
def test_a_sweep_has_its_entries_jobs_and_means(small: Path) -> None:
    """The answers come before the single points."""
    job = {"name": "meet", "program": {"barrier": {}}, "iterations": 2}
    with_job = fs.Experiment.from_file(small).with_values({"jobs": [job], "run.duration": "20 us"})
    sweep = fs.sweep(with_job, vary={"jobs.meet.step_delay": ["0 ns", "1 us"]}, seeds=2, jobs=1)
    words = Page(html(sweep, bound=False)).words
    at = [words.index(name) for name in ("Means", "Points", "Entries of the traffic list", "Pictures")]
    means = words[words.index("Means", at[0] + 1) :]
    assert {"quantity", "from", "to", "mean iteration, meet", "accepted load"} <= set(means)
    assert {"entry", "meet", "mean iteration"} <= set(words)
    single = fs.sweep(small, vary={"seed": [1, 2]}, jobs=1)
    assert not {"Means", "Jobs"} & set(Page(html(single, bound=False)).words)


@pytest.mark.usefixtures("fake")
@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["nowhere"], 2, "not a folder of results"),
        (["a", "--out", "a/manifest.json/x.html"], 1, "the page cannot be written"),
        (["a", "--out", "small.toml"], 2, "small.toml: a page for browsers has a name that ends with .html"),
    ],
)
def test_bad_input(command: Command, small: Path, arguments: list[str], code: int, message: str) -> None:
    command("run", small, "--out", "a")
    before = small.read_bytes()
    ran = command("report", *arguments)
    assert small.read_bytes() == before
    assert ran.code == code
    assert message in ran.err
    assert "Traceback" not in ran.err


@pytest.mark.usefixtures("fake")
def test_results_in_memory_need_a_file(small: Path, tmp_path: Path) -> None:
    with pytest.raises(fs.InputError, match="give the path of the page"):
        fs.report(fs.run(small))
    assert fs.report(fs.run(small), tmp_path / "x" / "y.html").exists()


@pytest.mark.usefixtures("real")
def test_hot_spots_victims_counters_and_bound_of_the_thesis() -> None:
    starts = {f"traffic.{n}.start": "0 s" for n in range(4)}
    settings = {"run.duration": "20 ms", "measure.bin": "1 ms", **starts}
    path = ROOT / "experiments/thesis/a.toml"
    off, on = (
        html(fs.run(path, set=settings | {"congestion_control.algorithm": name}))
        for name in ("none", "infiniband")
    )
    rows = [re.sub(r"<[^>]+>", " ", row).split() for row in re.findall(r"<tr>.*?</tr>", off)]
    assert ["SW22->H221", "0"] in [row[:2] for row in _unescaped(rows)]
    (victim,) = [row for row in rows if row[:2] == ["H111", "H121"] and row[-1].startswith("SW22")]
    assert float(victim[3].rstrip("%")) > 50
    assert "Congestion control" not in Page(off).words
    assert "Congestion control" in Page(on).words
    reached = [_reached(page) for page in (off, on)]
    assert 0.5 < reached[0] < 0.75
    assert 0.9 < reached[1] <= 1.0


def _unescaped(rows: list[list[str]]) -> list[list[str]]:
    return [[cell.replace("&gt;", ">") for cell in row] for row in rows]


def _reached(page: str) -> float:
    words = Page(page).words
    return float(words[words.index("reached") + 1].rstrip("%")) / 100
