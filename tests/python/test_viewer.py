"""The viewer's page without a browser: the bytes of a run, files, messages."""

from __future__ import annotations

import base64
import gzip
import json
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from conftest import ROOT, Command
from viewer_cases import END_NS, manifest, torus

import fabricsim as fs
from fabricsim.viewer import series as viewer_series
from fabricsim.viewer.page import page

THREE = ROOT / "python/fabricsim/viewer/assets/three"


def unpack(text: str) -> list[tuple[dict[str, Any], Callable[[dict[str, Any]], np.ndarray]]]:
    """Header, and a reader of arrays, of each run of a page."""
    found: list[tuple[dict[str, Any], Callable[[dict[str, Any]], np.ndarray]]] = []
    for part in re.findall(r'<script type="application/gzip" class="run">(.*?)</script>', text):
        content = gzip.decompress(base64.b64decode(part))
        length = int.from_bytes(content[:8], "little")

        def array(one: dict[str, Any], content: bytes = content, length: int = length) -> np.ndarray:
            return np.frombuffer(content, f"<{one['kind']}", one["count"], 8 + length + one["at"])

        found.append((json.loads(content[8 : 8 + length]), array))
    return found


def test_a_page_has_the_values_of_the_tables() -> None:
    run = torus([4, 3], bins=4)
    ((header, array),) = unpack(page([run]))
    assert header["layout"] == "torus 4 x 3"
    assert header["measured"] == [0.0, END_NS]
    measures = {one["key"]: array(one["values"]) for one in header["measures"]}
    assert list(measures) == ["utilisation", "stalled", "marked"]
    assert measures["utilisation"] == pytest.approx(run.links["utilisation"].to_numpy(), abs=1e-6)
    assert measures["marked"] == pytest.approx(0.1)
    table = header["series"]["values"]["utilisation"]
    bins = array(table["values"]).reshape(4, -1) * table["largest"] / header["series"]["full"]
    wide = run.frames["link_series"].pivot_table(index="time_ns", columns="link", values="utilisation")
    assert bins == pytest.approx(wide[run.links["link"].tolist()].to_numpy(), abs=1e-4)
    assert bins[:, 0] == pytest.approx([0.25, 0.5, 0.75, 1.0], abs=1e-4)
    assert header["trees"]["root"] == [0, 1]
    assert header["trees"]["end"] == [500.0, 1000.0]
    assert [what for what, _ in header["absent"]] == [
        "time as root or branch of congestion: not recorded; needs"
    ]


def test_lanes_of_a_port_are_added_up() -> None:
    run = torus([3, 3])
    two = pd.concat([run.links, run.links.assign(lane=1, packets=300, marked=90)], ignore_index=True)
    ((header, array),) = unpack(page([replace(run, frames={**run.frames, "links": two})]))
    measures = {one["key"]: array(one["values"]) for one in header["measures"]}
    assert measures["utilisation"] == pytest.approx(2 * run.links["utilisation"].to_numpy(), abs=1e-6)
    assert measures["marked"] == pytest.approx(0.25)


def test_a_run_that_ended_before_its_measurement_has_series() -> None:
    run = torus([3, 3])
    empty = run.links.assign(utilisation=float("nan"), stalled=float("nan"), marked=0, packets=0)
    notes: list[str] = []
    ((header, array),) = unpack(page([replace(run, frames={**run.frames, "links": empty})], notes.append))
    assert "a torus: values of the measurement: not recorded; needs a run that reaches it" in notes
    assert np.isnan(array(header["measures"][0]["values"])).all()
    assert header["series"]["begins"] == [0.0, 250.0, 500.0, 750.0]


def test_many_bins_are_merged_and_said(monkeypatch: pytest.MonkeyPatch) -> None:
    run = torus([3, 3], bins=5)
    monkeypatch.setattr(viewer_series, "MOST_VALUES", 3 * len(run.links))
    ((header, array),) = unpack(page([run]))
    series = header["series"]
    assert series["together"] == 2
    assert series["begins"] == [0.0, 400.0, 800.0]
    table = series["values"]["utilisation"]
    first = array(table["values"]).reshape(3, -1)[:, 0] * table["largest"] / series["full"]
    assert first == pytest.approx([0.3, 0.7, 1.0], abs=1e-4)


def test_large_series_have_a_byte_for_a_value(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(viewer_series, "FINE_VALUES", 10)
    ((header, array),) = unpack(page([torus([3, 3])]))
    table = header["series"]["values"]["utilisation"]
    assert (header["series"]["full"], table["values"]["kind"]) == (255, "u1")
    bins = array(table["values"]).reshape(4, -1)[:, 0] * table["largest"] / 255
    assert bins == pytest.approx([0.25, 0.5, 0.75, 1.0], abs=0.5 / 255)


def test_a_page_needs_nothing_else_and_is_the_same_each_time() -> None:
    text = page([torus([3, 3])])
    assert text == page([torus([3, 3])])
    own = re.sub(r'<script type="application/gzip".*?</script>', "", text)
    assert not re.search(r'\b(?:src|href)="(?!#)', own)
    addresses = set(re.findall(r"https?://[\w./-]+", own))
    assert addresses <= {"http://www.w3.org/2000/svg"}  # the name of SVG's elements
    assert "default-src 'none'" in own


def test_names_are_no_html() -> None:
    evil = "</script><script>alert(1)</script>"
    run = torus([3, 3])
    nodes = run.nodes.replace("S(0,0)", evil)
    links = run.links.assign(link=run.links["link"].str.replace("S(0,0)", evil, regex=False))
    text = page([fs.Result(manifest("", f"<b>{evil}"), {"nodes": nodes, "links": links})])
    assert "alert(1)" not in text.replace("&lt;script&gt;alert(1)&lt;/script&gt;", "")
    ((header, _),) = unpack(text)
    assert evil in header["names"]
    assert header["title"] == f"<b>{evil}"


def test_the_library_is_what_its_checksums_say() -> None:
    import hashlib  # noqa: PLC0415

    lines = (THREE / "SHA256SUMS").read_text().splitlines()
    listed = {name: digest for digest, _, name in (line.partition("  ") for line in lines)}
    assert set(listed) == {path.name for path in THREE.iterdir()} - {"SHA256SUMS"}
    for name, digest in listed.items():
        assert hashlib.sha256((THREE / name).read_bytes()).hexdigest() == digest, name
    assert (THREE / "LICENSE").read_text().startswith("The MIT License")
    version = (THREE / "VERSION").read_text()
    assert re.search(r"^three=(.*)$", (ROOT / "scripts/three").read_text(), re.MULTILINE)[1] in version  # type: ignore[index]


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    """Two run folders, `a` and `b`."""
    from fabricsim.store import Reservation  # noqa: PLC0415

    for number, name in enumerate(("a", "b")):
        run = torus([3, 3], seed=number)
        Reservation.create(tmp_path / name, run.manifest, run.frames, force=False)
    return tmp_path


def test_the_command_writes_into_the_first_folder(command: Command, stored: Path) -> None:
    ran = command("view", "a")
    assert (ran.code, ran.out) == (0, "viewer: a/view.html\n")
    assert ran.err == (
        "a: time as root or branch of congestion: not recorded; needs a shorter measure.congestion_interval: "
        "it takes 20 samples\n"
    )
    assert command("view", "a", "b").out == "viewer: a/view-b.html\n"
    assert [header["folder"] for header, _ in unpack((stored / "a/view-b.html").read_text())] == ["a", "b"]
    assert command("view", "a", "--out", "x/y.html").code == 0
    assert (stored / "x/y.html").read_text() == (stored / "a/view.html").read_text()
    (stored / "a/SHA256SUMS").unlink()
    assert command("view", "a").code == 0


@pytest.mark.usefixtures("fake")
def test_a_report_links_to_the_viewer_if_it_is_there(command: Command, small: Path, tmp_path: Path) -> None:
    command("run", small, "--out", "r")
    assert command("report", "r").code == 0
    page_of = tmp_path / "r/report.html"
    assert "view.html" not in page_of.read_text()
    assert command("report", "r", "--view").out == "viewer: r/view.html\npage: r/report.html\n"
    assert '<a href="view.html">' in page_of.read_text()
    assert command("report", "r", "--out", "pages/r.html").code == 0
    assert '<a href="../r/view.html">' in (tmp_path / "pages/r.html").read_text()
    command("sweep", small, "--vary", "traffic.0.load=0.1,0.2", "--jobs", "1", "--out", "s")
    refused = command("report", "s", "--view")
    assert refused.code == 2
    assert "`fabricsim view` draws single runs" in refused.err
    assert not (tmp_path / "s/report.html").exists()


def test_in_python(stored: Path) -> None:
    assert fs.view(stored / "a") == stored / "a/view.html"
    notes: list[str] = []
    both = [fs.load(stored / "a"), torus([3, 3])]
    assert fs.view(both, stored / "c.html", say=notes.append) == stored / "c.html"
    assert len(notes) == 2
    with pytest.raises(fs.InputError, match="give the path of the page"):
        fs.view(torus([3, 3]))
    with pytest.raises(fs.InputError, match="5 runs: the viewer shows 1 to 4"):
        fs.view([stored / "a"] * 5)


def without(folder: Path, table: str, change: Callable[[pd.DataFrame], pd.DataFrame]) -> None:
    """Replaces a table of a folder, and removes the checksums."""
    path = folder / f"{table}.parquet"
    change(pd.read_parquet(path)).to_parquet(path)
    (folder / "SHA256SUMS").unlink()


def remove(*paths: Path) -> list[Path]:
    for path in paths:
        path.unlink()
    return list(paths)


BROKEN: dict[str, tuple[Callable[[Path], object], int, str]] = {
    "no folder": (shutil.rmtree, 2, "a: this is not a folder of results: it does not exist"),
    "a byte": (
        lambda a: (a / "links.parquet").write_bytes((a / "links.parquet").read_bytes()[:-9]),
        1,
        "a/links.parquet: damaged or edited",
    ),
    "no nodes": (
        lambda a: remove(a / "nodes.parquet", a / "SHA256SUMS"),
        2,
        "a: this run has no rows in the table 'nodes'",
    ),
    "no rows": (
        lambda a: without(a, "links", lambda frame: frame.iloc[:0]),
        2,
        "a: this run has no rows in the table 'links'",
    ),
    "no column": (
        lambda a: without(a, "nodes", lambda frame: frame.drop(columns="x")),
        1,
        "a: the table 'nodes' is damaged: it has no column 'x'",
    ),
    "text for numbers": (
        lambda a: without(a, "links", lambda frame: frame.assign(utilisation="much")),
        1,
        "a: the table 'links' is damaged: the column 'utilisation' has no numbers",
    ),
    "numbers for text": (
        lambda a: without(a, "links", lambda frame: frame.assign(link=range(len(frame)))),
        1,
        "a: the table 'links' is damaged: the column 'link' is not text",
    ),
    "no place": (
        lambda a: without(a, "nodes", lambda frame: frame.assign(y=float("nan"))),
        1,
        "a: the table 'nodes' is damaged: the column 'y' has values that are no finite numbers",
    ),
    "a name twice": (
        lambda a: without(a, "nodes", lambda frame: frame.assign(name="S")),
        1,
        "a: the table 'nodes' is damaged: 'S' has two rows",
    ),
    "other links": (
        lambda a: without(a, "links", lambda frame: frame.assign(link="x->y")),
        2,
        "a: this run has no links between nodes that it lists",
    ),
    "a bin less": (
        lambda a: without(a, "link_series", lambda frame: frame.iloc[1:]),
        1,
        "a: the table 'link_series' is damaged: it has 215 rows",
    ),
    "a manifest of another kind": (
        lambda a: [
            remove(a / "SHA256SUMS"),
            (a / "manifest.json").write_text('{"format": 1, "kind": "tables"}'),
        ],
        2,
        "a: this is a folder of kind 'tables'",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_damaged_run_is_one_message(command: Command, stored: Path, name: str) -> None:
    damage, code, message = BROKEN[name]
    before = (stored / "a/view.html").write_text("an earlier page")
    assert before
    damage(stored / "a")
    ran = command("view", "a", "--out", "page.html")
    assert ran.code == code
    assert ran.err.startswith(f"fabricsim: {message}")
    assert ran.err.count("\n") == 1
    assert not (stored / "page.html").exists()
    if name != "no folder":
        assert command("view", "a").code == code
        assert (stored / "a/view.html").read_text() == "an earlier page"
        assert sorted(path.name for path in stored.glob("a/.*")) == []


def test_a_page_replaces_nothing_but_pages(command: Command, stored: Path) -> None:
    before = (stored / "a/links.parquet").read_bytes()
    ran = command("view", "a", "--out", "a/links.parquet")
    assert (ran.code, ran.err.count("\n")) == (2, 1), ran
    assert "a/links.parquet: a page for browsers has a name that ends with .html" in ran.err
    assert (stored / "a/links.parquet").read_bytes() == before


def test_a_page_that_cannot_be_written_is_one_message(command: Command, stored: Path) -> None:
    ran = command("view", "a", "--out", "a/manifest.json/x.html")
    assert ran.code == 1
    assert "the page cannot be written" in ran.err.splitlines()[-1]
    assert "Traceback" not in ran.err
