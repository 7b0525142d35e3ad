"""Letters that the font lacks, and texts that leave no room: a warning in words, or another font."""

from __future__ import annotations

import re
import unicodedata
import warnings
from pathlib import Path

import pytest
from conftest import SMALL, Command
from matplotlib import font_manager
from matplotlib.figure import Figure

from fabricsim import plots
from fabricsim.plots import drawing
from fabricsim.plots.drawing import PictureWarning, families_with
from fabricsim.plots.theme import new_figure, style

OTHER = "STIXGeneral"
"""A family that comes with matplotlib, beside DejaVu Sans."""


def charmap(family: str) -> set[int]:
    path = font_manager.findfont(family, fallback_to_default=False)
    return set(font_manager.get_font(path).get_charmap())


def letter() -> str:
    """A letter that only the other family has."""
    found = map(chr, sorted(charmap(OTHER) - charmap("DejaVu Sans")))
    return next(letter for letter in found if unicodedata.category(letter) in ("Lu", "Ll", "Sm", "So"))


def titled(text: str) -> Figure:
    with style():
        figure = new_figure(4.0, 3.0)
        figure.add_subplot().set_title(text)
    return figure


@pytest.fixture(autouse=True)
def _new_letters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drawing, "_REPORTED", set())


def test_letters_come_from_another_font(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        saved = plots.save(titled(f"title {letter()}"), tmp_path / "a.svg").read_text()
    assert families_with(letter())[0] in saved
    assert letter() in saved


def test_letters_that_no_font_has_are_named_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drawing, "families_with", lambda _: [])
    with pytest.warns(PictureWarning) as told:
        plots.save(titled("\u8d85\u7b97"), tmp_path / "a.png")
    plots.save(titled("\u8d85\u7b97"), tmp_path / "b.png")
    assert [str(one.message) for one in told] == [
        "no font of this machine has the letters \u7b97 \u8d85: pictures have boxes for them; SVG has the letters, too"
    ]


def test_fonts_that_cannot_be_read_are_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    gone = font_manager.FontEntry(fname="/nowhere/a.ttf", name="A")
    monkeypatch.setattr(font_manager.fontManager, "ttflist", [gone, *font_manager.fontManager.ttflist])
    assert families_with("A") != ["A"]


def test_other_warnings_stay(tmp_path: Path) -> None:
    def draw() -> None:
        warnings.warn("something else", RuntimeWarning, stacklevel=1)

    with pytest.warns(RuntimeWarning, match="something else"):
        drawing.drawn(titled("a"), draw)


@pytest.mark.filterwarnings("default")
def test_a_command_says_what_is_wrong_in_one_line(real: None, command: Command, tmp_path: Path) -> None:
    file = tmp_path / "small.toml"
    file.write_text(SMALL)
    arguments = ("run", file, "--plot", "--width", "40 mm", "--style", "slides", "--out", tmp_path / "r")
    ran = command(*arguments)
    assert ran.code == 0, ran
    lines = [line for line in ran.err.splitlines() if "no room" in line]
    assert lines
    assert all(
        re.fullmatch(r"warning: \S+\.png: its texts leave no room for the data: .*", line) for line in lines
    )
    assert "Warning" not in ran.err
    assert ".py:" not in ran.err


def test_warnings_of_a_users_script_have_their_place(real: None, command: Command, tmp_path: Path) -> None:
    script = tmp_path / "program.py"
    script.write_text("import warnings\nfrom mpi4py import MPI\nwarnings.warn('mine')\n")
    with pytest.warns(UserWarning, match="mine") as told:
        ran = command("mpi", "run", "--ranks", "1", "--out", tmp_path / "r", script)
    assert ran.code == 0, ran
    assert [(Path(one.filename).name, one.lineno) for one in told] == [("program.py", 3)]
    assert "mine" not in ran.err, "not as one of the package's"
