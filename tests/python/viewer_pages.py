"""Pages of the viewer in headless Chromium, for tests.

FABRICSIM_CHROMIUM names the program; by default it is Debian's (`scripts/apt chromium`). FABRICSIM_WRITE_PICTURES=1
writes the pictures in tests/golden/viewer anew: look at them before they are committed.
"""

from __future__ import annotations

import io
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import matplotlib.image as mpl_image
import numpy as np
import pytest
from conftest import ROOT

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

PICTURES = ROOT / "tests/golden/viewer"
CHROMIUM = shutil.which(os.environ.get("FABRICSIM_CHROMIUM", "chromium"))
needs_chromium = pytest.mark.skipif(
    CHROMIUM is None, reason="SKIPPED: there is no chromium: run scripts/apt chromium"
)
OPTIONS = [
    "--no-sandbox",  # tests may run as root
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--force-color-profile=srgb",
    "--font-render-hinting=none",
]
"""Rendering by the processor: the same everywhere, and there without a graphics card."""
CHANNEL, SHARE = 40, 0.004
"""A pixel differs if a channel does by more than 40 of 255; 0.4 % of the pixels may. Other versions of the renderer
place edges elsewhere by parts of a pixel, which changes few pixels by so much. Links that are absent, or have all one
colour, change five times as many pixels: the tests check that, too."""


def launched() -> Iterator[Browser]:
    """A browser, for as long as a fixture needs it."""
    api = pytest.importorskip("playwright.sync_api", reason="SKIPPED: the package playwright is absent")
    with api.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=OPTIONS)
        yield started
        started.close()


def open_page(browser: Browser, path: Path, size: tuple[int, int] = (1100, 700)) -> tuple[Page, list[str]]:
    """The page of a file, without a network, and what it complains about: errors, warnings, requests."""
    context = browser.new_context(viewport={"width": size[0], "height": size[1]}, offline=True)
    page = context.new_page()
    problems: list[str] = []
    page.on("console", lambda message: problems.append(f"{message.type}: {message.text}"))
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("request", lambda one: None if is_local(one.url) else problems.append(f"request: {one.url}"))
    page.goto(path.resolve().as_uri())
    page.wait_for_selector("body[data-state=ready], body[data-state=failed]")
    assert page.get_attribute("body", "data-state") == "ready", page.inner_text("#failure")
    return page, problems


def is_local(url: str) -> bool:
    return url.startswith(("file://", "blob:", "data:"))


def text(page: Page, name: str) -> str:
    return page.inner_text(f"#{name}")


def key(page: Page, *names: str) -> None:
    page.focus("#picture")
    for name in names:
        page.keyboard.press(name)


def drawn(page: Page) -> np.ndarray:
    """Pixels of the picture without the texts over it, whose fonts differ between machines."""
    page.add_style_tag(content="#overlay, #captions { visibility: hidden } * { outline: none !important }")
    page.evaluate("fabricsimViewer.view.draw()")
    data = page.locator("#picture").screenshot()
    page.evaluate("document.querySelector('style:last-of-type').remove()")
    return pixels(data)


def pixels(data: bytes) -> np.ndarray:
    return np.round(255 * mpl_image.imread(io.BytesIO(data), format="png")[:, :, :3]).astype(int)


def difference(a: np.ndarray, b: np.ndarray) -> float:
    """Part of the pixels that differ."""
    if a.shape != b.shape:
        return 1.0
    return float((np.abs(a - b).max(axis=2) > CHANNEL).mean())


def compare(page: Page, name: str) -> np.ndarray:
    """Compares the picture with the one that is committed, which it returns."""
    now = drawn(page)
    path = PICTURES / f"{name}.png"
    if os.environ.get("FABRICSIM_WRITE_PICTURES"):
        mpl_image.imsave(path, now.astype(np.uint8))
    kept = pixels(path.read_bytes())
    assert difference(now, kept) <= SHARE
    return kept
