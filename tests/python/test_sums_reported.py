"""Sums of flows by group of hosts and by destination in reports."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from sums_cases import LOAD, MESH, write_mesh

import fabricsim as fs

pytestmark = pytest.mark.usefixtures("real")


@pytest.fixture
def mesh(tmp_path: Path) -> Path:
    return write_mesh(tmp_path)


def headings(page: str) -> list[str]:
    return re.findall(r"<h2[^>]*>([^<]+)</h2>", page)


def test_a_report_has_groups_and_destinations_before_flows(mesh: Path, tmp_path: Path) -> None:
    run = fs.run(mesh, out=tmp_path / "r")
    page = fs.report(run, bound=False).read_text()
    titles = headings(page)
    at = titles.index("Entries")
    assert titles[at : at + 4] == ["Entries", "Groups of hosts", "Destinations", "Flows"]
    section = page.partition("Groups of hosts</h2>")[2].partition("<h2")[0]
    found: Any = run.by("group").loc[("clients", "storage"), "accepted_gbps"]
    assert f"{found:,.4g}" in section


def test_a_report_of_many_destinations_has_the_largest_and_the_smallest(tmp_path: Path) -> None:
    text = MESH.replace("dimensions = [3, 3]", "dimensions = [6, 6]").replace("H(2,2)", "H(5,5)")
    text = re.sub(r"\[groups\].*?\n\n", "", text, flags=re.DOTALL).replace('"clients"', '"H(0,*"')
    run = fs.run(fs.Experiment.from_text(text))
    page = fs.report(run, tmp_path / "r.html", bound=False).read_text()
    assert "Groups of hosts" not in headings(page)
    section = page.partition("Destinations</h2>")[2].partition("Flows</h2>")[0]
    assert "The 10 largest and the 10 smallest of 36" in section
    assert section.count("<tr") == 21
    order = run.by("destination")["accepted_gbps"].sort_values(ascending=False, kind="stable")
    assert section.index(str(order.index[0])) < section.index(str(order.index[-1]))


def test_a_report_of_flows_by_source_says_what_to_set(mesh: Path, tmp_path: Path) -> None:
    run = fs.run(mesh, set={"measure.flows": "sources"})
    page = fs.report(run, tmp_path / "r.html", bound=False).read_text()
    assert "set measure.flows = &#34;pairs&#34;" in page.partition("Destinations</h2>")[2]


def test_a_report_of_a_sweep_has_its_sums(mesh: Path, tmp_path: Path) -> None:
    swept = fs.sweep(mesh, vary={LOAD: [0.1, 0.4]}, by="group", jobs=1)
    page = fs.report(swept, tmp_path / "s.html").read_text()
    section = page.partition("Groups of hosts</h2>")[2].partition("<h2")[0]
    assert section.count("<tr") == 1 + len(swept.by("group"))
    assert "accepted_gbps-by-group" in page
