"""Work of the viewer in a frame: calls of the graphics and bytes sent to it, which are the same on every machine."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from viewer_cases import torus
from viewer_pages import launched, needs_chromium, open_page

import fabricsim as fs

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = needs_chromium
SIZES = [8, 8, 8]
CORNERS = {"thin": 2, "wide": 6}
NUMBER, VERTICES = 4, 4
"""Bytes of a number; vertices of a piece."""

COUNTED = """async () => {
  // The frames of the opened page are over, and from now on those of the tests are the only ones: the page
  // would draw its own between two of them, by another clock.
  for (let i = 0; i < 3; i += 1) await new Promise(requestAnimationFrame);
  globalThis.requestAnimationFrame = () => 0;
  const gl = fabricsimViewer.view.renderer.getContext();
  const work = globalThis.work = { draws: 0, drawn: 0, bytes: 0 };
  const wrap = (name, count) => {
    const own = gl[name].bind(gl);
    gl[name] = (...given) => { count(...given); return own(...given); };
  };
  wrap("drawElements", (mode, count) => { work.draws += 1; work.drawn += count; });
  wrap("drawArrays", () => { work.draws += 1; });
  const bytes = (data) => (typeof data === "number" ? data : data.byteLength);
  wrap("bufferData", (target, data) => { work.bytes += bytes(data); });
  wrap("bufferSubData", (target, at, data, from, count) => {
    work.bytes += count ? count * data.BYTES_PER_ELEMENT : bytes(data);
  });
  wrap("texImage2D", () => { work.bytes += 1e9; });
}"""
FRAME = """([moving, most, time, turn]) => {
  const { view, state } = fabricsimViewer;
  if (time !== null) state.set({ time });
  if (turn) view.camera.turn(0.1, 0);
  view.isMoving = moving;
  if (most) view.most = most;
  Object.assign(work, { draws: 0, drawn: 0, bytes: 0 });
  const adapt = performance.now;
  globalThis.clock = (globalThis.clock ?? 1e9) + 1e5;
  performance.now = () => clock;  // after a pause, so that the number of pieces stays
  view.draw();
  performance.now = adapt;
  return work;
}"""
"""The work of one frame."""


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    path = fs.view(torus(SIZES, bins=4), tmp_path_factory.mktemp("viewer") / "view.html")
    for browser in launched():
        found, problems = open_page(browser, path)
        found.evaluate(COUNTED)
        yield found
        found.context.close()
        assert problems == []


def pieces(page: Page) -> int:
    return int(page.evaluate("fabricsimViewer.view.pieces"))


def corners(page: Page) -> int:
    thin = page.evaluate("fabricsimViewer.view.panels[0].links.thin.visible")
    return CORNERS["thin" if thin else "wide"]


def frame(
    page: Page, *, moving: bool = False, most: int = 0, time: float | None = None, turn: bool = False
) -> dict[str, int]:
    found: dict[str, int] = page.evaluate(FRAME, [moving, most, time, turn])
    return found


def test_a_frame_of_a_turning_network_sends_nothing(page: Page) -> None:
    count = pieces(page)
    assert count > 5000
    frame(page)
    frame(page, moving=True, most=1000)
    for most in (1000, 800, 1500, 2000):
        work = frame(page, moving=True, most=most, turn=True)
        assert work == {"draws": 1, "drawn": most * corners(page), "bytes": 0}
    assert frame(page, turn=True) == {"draws": 2, "drawn": count * corners(page), "bytes": 0}
    # Both lists are kept: neither the rest nor the next motion sends them again.
    assert frame(page, moving=True, most=1000, turn=True)["bytes"] == 0


def test_a_step_in_time_sends_a_value_for_each_vertex(page: Page) -> None:
    values = NUMBER * VERTICES * pieces(page)
    for time in (0.0, 250.0, 500.0):
        work = frame(page, time=time)
        assert (work["draws"], work["bytes"]) == (2, values)


def test_a_step_in_time_of_a_turning_network_sends_the_busiest_links_only(page: Page) -> None:
    frame(page, moving=True, most=500)
    values = NUMBER * VERTICES * pieces(page)
    for time in (0.0, 750.0):
        work = frame(page, moving=True, most=500, time=time, turn=True)
        vertices = NUMBER * corners(page)
        assert (work["draws"], work["bytes"]) == (1, values + 2 * 500 * vertices)
    # More of them than were written ahead: the others are sent.
    assert frame(page, moving=True, most=1000)["bytes"] == 0
    assert frame(page, moving=True, most=1200)["bytes"] == (2400 - 1000) * vertices


@pytest.mark.parametrize("time", [0.0, 500.0])
def test_the_links_of_a_moving_network_are_the_busiest(page: Page, time: float) -> None:
    frame(page, moving=True, most=700, time=time)
    lists: Any = page.evaluate(
        """() => {
          const { links, values } = fabricsimViewer.view.panels[0];
          const shape = links.shapes.find((one) => one.object.visible);
          const of = (list, count) => Array.from(list.slice(0, count * shape.corners.length))
            .filter((_, i) => i % shape.corners.length === 0).map((vertex) => vertex / 4);
          return [of(shape.busiest.array, 700), of(shape.all.array, shape.pieces), Array.from(links.link),
            Array.from(values)];
        }"""
    )
    shown, everything, link, values = map(np.array, lists)
    assert everything.tolist() == list(range(len(link)))
    of_piece = values[link]
    left = np.setdiff1d(everything, shown)
    assert len(shown) == len(set(shown.tolist())) == 700
    # They are sorted in 256 steps.
    assert of_piece[shown].min() >= of_piece[left].max() - values.max() / 255
    assert of_piece[shown].mean() > 2 * of_piece[left].mean()


def test_the_time_of_the_script_is_measured_without_drawing(page: Page) -> None:
    took, drawn = page.evaluate(
        """() => {
          const { view } = fabricsimViewer;
          work.draws = 0;
          const took = view.scriptTime((i) => view.camera.turn(0.01 * (i % 2 ? 1 : -1), 0), true, 5);
          return [took, work.draws];
        }"""
    )
    assert took > 0
    assert drawn == 0
    assert frame(page)["draws"] == 2, "it draws again"
