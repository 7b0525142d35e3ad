"""The viewer's pictures, compared with those in tests/golden/viewer, and how it draws many links."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from viewer_cases import torus
from viewer_pages import SHARE, compare, difference, drawn, key, launched, needs_chromium, open_page, text

import fabricsim as fs

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = needs_chromium
KINDS = {
    "mesh": "mesh]\ndimensions = [5, 4]",
    "torus": "torus]\ndimensions = [4, 4, 4]",
    "dragonfly": "dragonfly]\np = 2\na = 4\nh = 2",
    "tree": "fat-tree]\narity = 3\nlevels = 3",
}
TRAFFIC = """
[switch]
virtual_lanes = 4

[[traffic]]
pattern = "uniform"
load = 0.4
message = "2 KiB"

[run]
duration = "10 us"
"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    yield from launched()


def test_two_runs_have_one_camera_one_scale_and_one_time(browser: Browser, tmp_path: Path) -> None:
    quiet = torus([4, 4, 4], seed=2)
    half = quiet.links.assign(utilisation=quiet.links["utilisation"] / 2)
    quiet = fs.Result(quiet.manifest, {"nodes": quiet.nodes, "links": half})
    page, problems = open_page(browser, fs.view([torus([4, 4, 4], bins=5), quiet], tmp_path / "v.html"))
    left, right = np.split(drawn(page), 2, axis=1)
    compare(page, "two-runs")
    empty = (np.abs(left - 255).max(axis=2) < 9, np.abs(right - 255).max(axis=2) < 9)
    # The same network from the same side: where one has no line, the other has none; but for the line between them.
    assert (empty[0] == empty[1])[:, 2:-2].mean() > 0.98
    key(page, "ArrowRight", "ArrowUp")
    turned = np.split(drawn(page), 2, axis=1)
    assert difference(left, turned[0]) > 0.05
    empty = (np.abs(turned[0] - 255).max(axis=2) < 9, np.abs(turned[1] - 255).max(axis=2) < 9)
    assert (empty[0] == empty[1])[:, 2:-2].mean() > 0.98
    key(page, "n")
    assert "The same in a torus" in text(page, "chosen")
    assert page.locator("#busiest table").count() == 2
    assert problems == []
    page.context.close()


@pytest.mark.usefixtures("real")
@pytest.mark.parametrize("name", KINDS)
def test_pictures_are_as_they_were(browser: Browser, tmp_path: Path, name: str) -> None:
    run = fs.run(fs.Experiment.from_text(f'title = "{name}"\n[topology.{KINDS[name]}\n{TRAFFIC}'))
    page, problems = open_page(browser, fs.view(run, tmp_path / "v.html"), (1000, 560))
    picture = compare(page, name)
    # It would be noticed if links were not drawn, or if all had one colour.
    for hidden in ("least.value = 2", "largest.value = 1e9", "palette.value.image.data.fill(128)"):
        page.evaluate(f"fabricsimViewer.view.uniforms.{hidden}")
        page.evaluate("fabricsimViewer.view.uniforms.palette.value.needsUpdate = true")
        assert difference(drawn(page), picture) > 5 * SHARE, hidden
        page.evaluate("fabricsimViewer.view.uniforms.least.value = 0")
    assert problems == []
    page.context.close()


def test_many_links_are_one_draw_call(browser: Browser, tmp_path: Path) -> None:
    page, problems = open_page(browser, fs.view(torus([12, 12, 12], bins=2), tmp_path / "v.html"))
    info = page.evaluate(
        """() => { const { view, runs } = fabricsimViewer; view.draw();
        return { calls: view.renderer.info.render.calls, pieces: view.pieces, links: runs[0].linkCount }; }"""
    )
    assert info["links"] == 12**3 * 8
    assert info["calls"] <= 2  # of them one for nodes
    # While the network moves, frames have as many of the busiest links as there is time for.
    most = page.evaluate(
        "(() => { fabricsimViewer.frameTime(20, true); return fabricsimViewer.view.most; })()"
    )
    assert 0 < most <= info["pieces"]
    page.evaluate(
        "fabricsimViewer.view.most = 2000; fabricsimViewer.view.camera.turn(0.1, 0); fabricsimViewer.view.draw()"
    )
    values = page.evaluate(
        """() => { const { links, values } = fabricsimViewer.view.panels[0];
        return [...links.order].map((piece) => values[links.link[piece]]); }"""
    )
    assert min(values[:2000]) >= max(values[2000:]) - 1 / 128
    page.wait_for_timeout(400)
    assert page.evaluate(
        "fabricsimViewer.view.panels[0].links.thin.geometry.drawRange.count ?? Infinity"
    ) in (None, float("inf"))
    assert problems == []
    page.context.close()
