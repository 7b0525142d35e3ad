"""The page of engines on given fabrics shows what the engines and the simulator compute."""

from __future__ import annotations

from pathlib import Path

import gallery_engines as page
import pytest

TEXT = page.PAGE.read_text(encoding="utf-8")
BY_NAME = {given.name: given for given in page.FABRICS}
STATIC = len(page.HEADER) - 2
"""Columns that need no simulation."""


def _section(name: str) -> list[list[str]]:
    """Cells of the rows of a fabric's table."""
    section = TEXT.split(f"(`{name}`)\n")[1].split("\n## ")[0]
    rows = [line.strip("| ").split(" | ") for line in section.splitlines() if line.startswith("| `")]
    return [[cell.strip(" |") for cell in row] for row in rows]


@pytest.mark.parametrize("name", ["mesh3x3", "torus5x5", "irr9", "loginoff_qdr144", "avakas"])
def test_static_columns_are_those_of_the_engines(reference: Path, name: str) -> None:
    found = [page.row(reference / "opensm", BY_NAME[name], variant, False) for variant in page.VARIANTS]
    cells = [one.cells() for one in found if one is not None]
    shown = _section(name)
    assert [row[0] for row in shown] == [row[0] for row in cells]
    for row, expected in zip(shown, cells, strict=True):
        columns = [cell for cell in expected[:STATIC] if cell]
        assert row[: len(columns)] == columns


@pytest.mark.parametrize(
    ("name", "variant"),
    [
        ("mesh3x3", ("minhop", False, 1)),
        ("mesh3x3", ("dor", False, 1)),
        ("irr9", ("dfsssp", False, 1)),
        ("ft4ary3", ("ftree", False, 1)),
    ],
)
def test_simulated_columns_are_those_of_the_simulator(
    reference: Path, name: str, variant: tuple[str, bool, int]
) -> None:
    found = page.row(reference / "opensm", BY_NAME[name], variant)
    assert found is not None
    assert [row for row in _section(name) if row[0] == found.cells()[0]] == [found.cells()]


def test_the_page_has_every_fabric_and_its_picture() -> None:
    for given in page.FABRICS:
        assert len(_section(given.name)) >= len(page.VARIANTS) - 3
    assert f"({page.PICTURE})" in TEXT
    assert (page.PAGE.parent / page.PICTURE).is_file()
