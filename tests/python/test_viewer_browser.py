"""The viewer in headless Chromium, opened from a disk, without a network: mouse, keys, screen readers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from viewer_cases import torus
from viewer_pages import difference, drawn, key, launched, needs_chromium, open_page, text

import fabricsim as fs

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = needs_chromium


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    yield from launched()


@pytest.fixture(scope="module")
def opened(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    """A torus of two dimensions; tests leave it as they found it, but for the choice and the time."""
    path = fs.view(torus([5, 4], bins=4), tmp_path_factory.mktemp("viewer") / "view.html")
    page, problems = open_page(browser, path)
    yield page
    page.context.close()
    assert problems == []


def chosen(page: Page) -> Any:
    return page.evaluate("fabricsimViewer.state.get('chosen')")


def place_of(page: Page, link: str, part: float = 0.5) -> tuple[float, float]:
    """The place of a direction of a link on the page."""
    return tuple(
        page.evaluate(
            """([name, part]) => {
              const { view } = fabricsimViewer, [panel] = view.panels, { run } = panel;
              const link = [...Array(run.linkCount).keys()].find((one) => run.linkName(one) === name);
              const [a, b] = run.path(link, 1).map(view.projection(panel));
              const length = Math.hypot(b[0] - a[0], b[1] - a[1]), off = 0.6 * panel.thick / length;
              const box = document.getElementById("picture").getBoundingClientRect();
              return [box.left + a[0] + part * (b[0] - a[0]) - off * (b[1] - a[1]),
                      box.top + a[1] + part * (b[1] - a[1]) + off * (b[0] - a[0])];
            }""",
            [link, part],
        )
    )


def test_the_slider_changes_colours_and_numbers(opened: Page) -> None:
    key(opened, "w", "Escape")
    whole = drawn(opened)
    opened.locator("#time").fill("3")
    assert text(opened, "now") == "at 0.75 µs of 1 µs"
    assert opened.get_attribute("#time", "aria-valuetext") == "at 0.75 µs of 1 µs"
    assert opened.get_attribute("#whole", "aria-pressed") == "false"
    assert "S(0,0)->S(1,0)" in text(opened, "busiest").splitlines()[2]
    assert "100.0 %" in text(opened, "busiest").splitlines()[2]
    assert difference(whole, drawn(opened)) > 0.01
    opened.click("#whole")
    assert difference(whole, drawn(opened)) == 0.0


def test_a_click_on_a_port_shows_its_series(opened: Page) -> None:
    key(opened, "w", "Escape")
    assert "None" in text(opened, "chosen")
    opened.mouse.click(*place_of(opened, "S(1,1)->S(2,1)"))
    assert "Port S(1,1)->S(2,1)" in text(opened, "chosen")
    assert text(opened, "spoken").startswith("Port S(1,1)->S(2,1): utilisation ")
    label = opened.get_attribute("#chosen svg.chart", "aria-label") or ""
    assert label.startswith("Series of the port. utilisation: at most")
    assert opened.locator("#chosen svg.chart path").count() == 2
    # The other direction of the cable lies beside it.
    opened.mouse.click(*place_of(opened, "S(2,1)->S(1,1)"))
    assert "Port S(2,1)->S(1,1)" in text(opened, "chosen")
    box = opened.locator("#chosen svg.chart").bounding_box()
    assert box is not None
    opened.mouse.click(box["x"] + 0.95 * box["width"], box["y"] + 40)
    assert text(opened, "now") == "at 0.75 µs of 1 µs"  # the begin of the last bin


def test_a_click_on_a_switch_lists_its_ports(opened: Page) -> None:
    key(opened, "w", "Escape")
    box = opened.locator("#picture").bounding_box()
    at = opened.evaluate(
        """() => { const { view } = fabricsimViewer, [panel] = view.panels;
        return view.projection(panel)(panel.run.places.subarray(0, 3)); }"""
    )
    assert box is not None
    opened.mouse.click(box["x"] + at[0], box["y"] + at[1])
    assert "Switch S(0,0)" in text(opened, "chosen")
    assert opened.locator("#chosen tbody tr").count() == 10
    opened.locator("#chosen tbody button").first.click()
    assert "Port S(0,0)->" in text(opened, "chosen")


def test_everything_can_be_done_with_keys(opened: Page) -> None:
    key(opened, "w", "Escape", "n")
    first = chosen(opened)
    assert first["link"] == opened.evaluate(
        "(() => { const { values } = fabricsimViewer.view.panels[0]; return values.indexOf(Math.max(...values)); })()"
    )
    key(opened, "n")
    assert chosen(opened) != first
    key(opened, "p")
    assert chosen(opened) == first
    key(opened, "o")
    forth, back = first["link"], chosen(opened)["link"]
    assert opened.evaluate(
        "([a, b]) => { const { sender, receiver } = fabricsimViewer.runs[0]; return sender[a] === receiver[b] && "
        "sender[b] === receiver[a]; }",
        [forth, back],
    )
    key(opened, ".", ".")
    assert text(opened, "now") == "at 0.25 µs of 1 µs"
    key(opened, ",")
    assert text(opened, "now") == "at 0 µs of 1 µs"
    key(opened, "Space")
    opened.locator("#now", has_text="at 0.25 µs").wait_for()  # it plays
    key(opened, "Space", "w")
    before = drawn(opened)
    key(opened, "ArrowRight", "+")
    assert difference(before, drawn(opened)) > 0.01
    key(opened, "0")
    assert difference(before, drawn(opened)) == 0.0
    key(opened, "m")
    assert opened.input_value("#measure") == "stalled"
    key(opened, "m", "m")
    assert opened.input_value("#measure") == "utilisation"
    key(opened, "Escape", "/")
    opened.keyboard.type("S(3,2)->S(3")
    opened.keyboard.press("Enter")
    assert "Port S(3,2)->S(3," in text(opened, "chosen")
    key(opened, "0")
    opened.keyboard.press("?")
    assert opened.evaluate("document.getElementById('keys').open")
    opened.keyboard.press("Escape")
    assert not opened.evaluate("document.getElementById('keys').open")
    # In a field a letter is a letter.
    opened.focus("#search")
    opened.keyboard.type("n")
    assert opened.input_value("#search").endswith("n")
    opened.keyboard.press("Escape")


@pytest.mark.parametrize(
    ("sizes", "keys"), [([5, 4], ["t"]), ([4, 4, 4], ["t"]), ([4, 4, 4], ["-", "-", "-"]), ([6, 6], ["n"])]
)
def test_labels_of_the_busiest_links_cover_neither_nodes_nor_each_other(
    browser: Browser, tmp_path: Path, sizes: list[int], keys: list[str]
) -> None:
    page, problems = open_page(browser, fs.view(torus(sizes), tmp_path / "v.html"), (1000, 600))
    key(page, *keys)
    page.evaluate("fabricsimViewer.view.draw()")
    labels, nodes, size = page.evaluate(BOXES)
    expected = ["root"] if "t" in keys else []
    assert [label for label, _ in labels if "%" not in label] == expected
    assert len(labels) == 3 + len(expected)
    assert len(nodes) == 2 * int(np.prod(sizes))
    for at, (label, box) in enumerate(labels):
        assert not [node for node in nodes if overlap(box, node)], label
        assert not [other for other, theirs in labels[:at] if overlap(box, theirs)], label
        assert box[0] >= 0, label
        assert box[1] >= 0, label
        assert box[2] <= size[0], label
        assert box[3] <= size[1], label
    assert problems == []
    page.context.close()


BOXES = """() => {
  const { view, overlay } = fabricsimViewer, [panel] = view.panels, reference = view.uniforms.reference.value;
  const nodes = panel.run.names.map((_, node) => {
    const [x, y, depth] = view.projection(panel)(panel.run.places.subarray(3 * node, 3 * node + 3));
    const near = reference > 0 ? Math.min(Math.max(reference / depth, 0.4), 2) : 1;
    const half = 0.5 * near * (panel.run.isHost[node] ? panel.hostSize : panel.switchSize);
    return [x - half, y - half, x + half, y + half];
  });
  return [overlay.labels.map(({ text, box }) => [text, box]), nodes, [panel.width, panel.height]];
}"""
"""Labels with their boxes, boxes of nodes as nodes.js draws them, and the size of the picture."""


def overlap(a: list[float], b: list[float]) -> bool:
    return a[0] < b[2] and a[2] > b[0] and a[1] < b[3] and a[3] > b[1]


def test_labels_without_a_free_place_are_left_out(browser: Browser, tmp_path: Path) -> None:
    page, problems = open_page(browser, fs.view(torus([5, 4]), tmp_path / "v.html"), (1000, 600))
    page.evaluate("fabricsimViewer.view.draw()")
    assert len(page.evaluate(BOXES)[0]) == 3
    page.evaluate("document.getElementById('picture').style.cssText = 'width: 60px; height: 60px'")
    frames = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
    page.evaluate(frames)  # the picture is drawn with its new size
    labels, _, size = page.evaluate(BOXES)
    assert (size[0], labels) == (60, [])
    # The page has them in words.
    assert "S(3,2)->S(2,2)" in text(page, "busiest")
    assert problems == []
    page.context.close()


def test_screen_readers_have_names_values_and_a_table(opened: Page) -> None:
    key(opened, "w", "Escape")
    picture = opened.get_by_role("application")
    assert (picture.get_attribute("aria-label") or "").startswith(
        "Network, a torus: torus 5 x 4, 40 nodes, 120 ports"
    )
    summary = opened.locator(f"#{picture.get_attribute('aria-describedby')}").text_content() or ""
    assert "question mark for all keys" in summary
    assert opened.get_by_role("slider", name="Simulated time").count() == 1
    assert opened.get_by_role("combobox", name="Colour by").count() == 1
    assert opened.get_by_role("searchbox", name="Find a switch, host or port").count() == 1
    table = opened.get_by_role("table", name="Busiest ports")
    assert table.get_by_role("row").count() == 13
    assert table.get_by_role("columnheader").all_inner_texts()[1:] == ["port", "utilisation"]
    status = opened.get_by_role("status").filter(has_text="Nothing is chosen")
    assert status.get_attribute("aria-live") == "polite"
    assert "Scale: utilisation, 0 % to 100.0 %" in (opened.get_attribute("#legend", "aria-label") or "")
    nameless = opened.evaluate(
        """() => [...document.querySelectorAll("button, input, select")].filter((one) => one.checkVisibility()
          && !one.labels?.length && !one.getAttribute("aria-label") && !one.textContent.trim())
          .map((one) => one.outerHTML)"""
    )
    assert nameless == []
    opened.locator("#busiest tbody button").nth(2).click()
    assert opened.locator("#busiest tr[aria-current=true]").count() == 1


def test_congestion_trees_at_a_time(opened: Page) -> None:
    key(opened, "w", "Escape")
    assert "Choose a time" in text(opened, "roots")
    key(opened, "t")
    assert "S(0,0)->S(1,0)" in text(opened, "roots")
    assert text(opened, "spoken").endswith(": 1 congestion trees")
    key(opened, "t")
    row = opened.locator("#roots tbody tr").inner_text().split()
    assert row == ["S(1,0)->S(2,0)", "0", "2", "1", "4", "1"]
    branches = opened.evaluate(
        "(() => { const [run] = fabricsimViewer.runs; return run.branches(1, 500).map((one) => run.linkName(one)); })()"
    )
    assert branches
    assert all(name.endswith("->S(1,0)") for name in branches)
    key(opened, "w")


def test_headings_of_tables_are_apart(opened: Page) -> None:
    """The numbers of a congestion tree have long headings, and a link's name beside them."""
    key(opened, "t")
    gaps = opened.evaluate(
        """() => {
          const inside = (cell) => {
            const range = document.createRange();
            range.selectNodeContents(cell);
            return range.getBoundingClientRect();
          };
          const boxes = [...document.querySelectorAll("#roots thead th")].map(inside);
          return boxes.slice(1).map((box, number) => box.left - boxes[number].right);
        }"""
    )
    assert len(gaps) == 5
    assert min(gaps) >= 5.0


def test_what_is_not_recorded_is_said(browser: Browser, tmp_path: Path) -> None:
    run = torus([3, 3])
    run = fs.Result(
        run.manifest, {"nodes": run.nodes, "links": run.links.drop(columns=["marked", "stalled"])}
    )
    page, problems = open_page(browser, fs.view(run, tmp_path / "v.html"))
    said = "\n".join(page.locator("#about .absent").all_inner_texts())
    for needed in (
        "measure.link_series = true",
        "measure.congestion_interval",
        "congestion_control.algorithm",
    ):
        assert needed in said
    assert page.is_disabled("#time")
    assert page.is_disabled("#play")
    assert page.locator("#measure option").all_inner_texts() == ["utilisation"]
    key(page, "n", "t", ".")
    assert "Port" in text(page, "chosen")
    assert problems == []
    page.context.close()


def test_palettes_are_told_apart_by_lightness(opened: Page) -> None:
    palettes = opened.evaluate(
        """async () => { const { PALETTES, table } = await import("viewer/palettes.js");
        return Object.fromEntries(Object.keys(PALETTES).map((name) => [name, [...table(name)]])); }"""
    )
    import matplotlib as mpl  # noqa: PLC0415

    assert {"heat", "cividis", "viridis", "grey"} <= set(palettes)
    for name, values in palettes.items():
        colours = np.array(values).reshape(256, 4)[:, :3]
        light = colours @ [0.2126, 0.7152, 0.0722]
        assert (np.diff(light) < 1.0).all(), name
        assert light[0] - light[-1] > 120, name
        if name in ("cividis", "viridis", "magma"):
            theirs = 255 * mpl.colormaps[f"{name}_r"](np.arange(256))[:, :3]
            assert np.abs(colours - theirs).max() < 12, name  # straight lines between 17 of their colours


def test_a_browser_without_webgl_says_so(browser: Browser, tmp_path: Path) -> None:
    path = fs.view(torus([3, 3]), tmp_path / "v.html")
    context = browser.new_context(offline=True)
    page = context.new_page()
    page.add_init_script("HTMLCanvasElement.prototype.getContext = () => null;")
    page.goto(path.resolve().as_uri())
    page.wait_for_selector("body[data-state=failed]")
    assert "The viewer cannot start" in text(page, "failure")
    assert "WebGL 2" in text(page, "failure")
    context.close()
