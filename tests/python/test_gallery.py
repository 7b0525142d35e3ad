"""The pictures of the gallery as they are committed."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import ROOT

PICTURES = sorted((ROOT / "docs/gallery").glob("*.svg"))
GIVEN = "engines-given"
"""Picture of fabrics that are not part of the project: it is drawn anew where they are."""
SVG = "{http://www.w3.org/2000/svg}"
NUMBER = r"(-?[\d.]+)"
Box = tuple[float, float, float, float]


def groups(element: ET.Element, kind: str) -> Iterator[ET.Element]:
    """Groups of matplotlib whose names are a kind and a number."""
    for found in element.iter(f"{SVG}g"):
        if re.fullmatch(rf"{kind}_\d+", found.get("id", "")):
            yield found


def panels(root: ET.Element) -> list[Box]:
    """Boxes of the data: the first patch of each pair of axes."""
    found = []
    for axes in groups(root, "axes"):
        patch = next(groups(axes, "patch"), None)
        path = None if patch is None else patch.find(f"{SVG}path")
        if path is not None:
            points = re.findall(rf"{NUMBER} {NUMBER}", path.get("d", ""))
            across, down = ([float(point[at]) for point in points] for at in (0, 1))
            found.append((min(across), min(down), max(across), max(down)))
    return found


def texts_of_legends(root: ET.Element) -> list[tuple[str, float, float]]:
    """Texts, and where they begin."""
    found = []
    for legend in groups(root, "legend"):
        for text in legend.iter(f"{SVG}text"):
            place = re.search(rf"translate\({NUMBER} {NUMBER}\)", text.get("transform", ""))
            x, y = place.groups() if place else (text.get("x", "nan"), text.get("y", "nan"))
            found.append(("".join(text.itertext()), float(x), float(y)))
    return found


def on_data(picture: Path) -> list[str]:
    root = ET.parse(picture).getroot()
    boxes = panels(root)
    assert boxes, picture
    return [
        text
        for text, x, y in texts_of_legends(root)
        if any(left <= x <= right and top <= y <= bottom for left, top, right, bottom in boxes)
    ]


@pytest.mark.parametrize("picture", PICTURES, ids=lambda path: path.stem)
def test_legends_are_outside_the_data(picture: Path) -> None:
    assert on_data(picture) == []


@pytest.mark.parametrize(
    "picture", [path for path in PICTURES if path.stem != GIVEN], ids=lambda path: path.stem
)
def test_texts_are_texts(picture: Path) -> None:
    root = ET.parse(picture).getroot()
    drawn = list(groups(root, "text"))
    assert drawn
    assert [group.get("id") for group in drawn if group.find(f".//{SVG}text") is None] == []


def test_texts_of_all_committed_pictures_are_texts() -> None:
    pictures = [*(ROOT / "docs").rglob("*.svg"), *(ROOT / "examples").rglob("*.svg")]
    assert len(pictures) > 50
    outlines = [picture for picture in pictures if 'id="DejaVuSans-' in picture.read_text(encoding="utf-8")]
    assert outlines == []
