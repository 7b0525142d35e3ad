"""Every command that draws has the options of pictures, and checks them before it begins its work."""

from __future__ import annotations

import base64
import re
from pathlib import Path

import pytest
from conftest import ROOT, SMALL, Command
from tune_cases import FAIR, GRID, TWO_FLOWS

from fabricsim.cli.app import COMMANDS

pytestmark = pytest.mark.usefixtures("real")

SHORT = ("--set", "run.duration=10 us")
STYLED = {"compare", "mpi", "plot", "report", "route", "run", "sweep", "tune", "what-if"}
COLUMN_PT = round(89 / 25.4 * 72, 1)
PROGRAM = "from mpi4py import MPI\nMPI.COMM_WORLD.Barrier()\n"


@pytest.fixture
def files(tmp_path: Path, command: Command) -> Path:
    """An experiment, two runs of it, a study, a subnet, an MPI program."""
    (tmp_path / "x.toml").write_text(SMALL)
    (tmp_path / "study.toml").write_text(TWO_FLOWS + GRID + FAIR)
    (tmp_path / "p.py").write_text(PROGRAM)
    assert command("export", "x.toml", "--format", "ibnetdiscover", "--out", "fabric.txt").code == 0
    for name in ("a", "b"):
        assert command("run", "x.toml", *SHORT, "--set", f"seed={ord(name)}", "--out", name).code == 0
    return tmp_path


DRAWING = {
    "run": ("run", "x.toml", *SHORT, "--plot", "--format", "svg", "--out", "new"),
    "run --seeds": ("run", "x.toml", *SHORT, "--seeds", "2", "--plot", "--format", "svg", "--out", "new"),
    "sweep": (
        *("sweep", "x.toml", *SHORT, "--vary", "traffic.0.load=0.1,0.2", "--jobs", "1"),
        *("--format", "svg", "--out", "new"),
    ),
    "tune": ("tune", "study.toml", "--trials", "1", "--jobs", "1", "--format", "svg", "--out", "new"),
    "plot": ("plot", "a", "--kind", "latency", "--format", "svg", "--out", "new"),
    "report": ("report", "a", "--out", "new/report.html"),
    "compare": ("compare", "a", "b", "--out", "new/c.svg"),
    "what-if": ("what-if", "x.toml", *SHORT, "--jobs", "1", "--out", "new/w.svg"),
    "route": ("route", "fabric.txt", "--engine", "minhop", "--plot", "new/r.svg"),
    "mpi run": ("mpi", "run", "-n", "2", "--plot", "--format", "svg", "--out", "new"),
}
LAST = {"mpi run": ("p.py",)}
"""Arguments after which no options are allowed."""


def widths(folder: Path) -> set[float]:
    """Widths of all pictures in a folder, also of those within a page, pt."""
    texts = [path.read_text() for path in folder.glob("*.svg")]
    for page in folder.glob("*.html"):
        inside = re.findall(r'src="data:image/svg\+xml;base64,([^"]+)"', page.read_text())
        texts += [base64.b64decode(text).decode() for text in inside]
    found = [re.search(r'<svg[^>]* width="([\d.]+)pt"', text) for text in texts]
    return {round(float(width[1]), 1) for width in found if width is not None}


@pytest.mark.parametrize("name", DRAWING)
def test_pictures_have_the_width_of_a_column(name: str, files: Path, command: Command) -> None:
    if name == "report":
        (files / "new").mkdir()
    ran = command(*DRAWING[name], "--style", "paper", *LAST.get(name, ()))
    assert ran.code == 0, ran.err
    assert widths(files / "new") == {COLUMN_PT}


@pytest.mark.parametrize("name", ["run", "report", "compare"])
def test_without_the_option_they_have_others(name: str, files: Path, command: Command) -> None:
    if name == "report":
        (files / "new").mkdir()
    assert command(*DRAWING[name]).code == 0
    assert min(widths(files / "new")) > COLUMN_PT + 1


@pytest.mark.parametrize("name", DRAWING)
def test_a_width_is_checked_before_the_work(name: str, files: Path, command: Command) -> None:
    ran = command(*DRAWING[name], "--width", "1 mm", *LAST.get(name, ()))
    assert ran.code == 2
    assert ran.err.splitlines()[-1].startswith("fabricsim: --width 1 mm: must be column")
    assert ran.out == ""
    assert not (files / "new").exists()


@pytest.mark.parametrize("name", DRAWING)
def test_a_label_without_text_is_checked_before_the_work(name: str, files: Path, command: Command) -> None:
    ran = command(*DRAWING[name], "--label", "load", *LAST.get(name, ()))
    assert (ran.code, ran.out) == (2, "")
    assert "--label load: must be NAME=TEXT" in ran.err
    assert not (files / "new").exists()


def test_labels_are_drawn(files: Path, command: Command) -> None:
    ran = command(*DRAWING["run"], "--label", "packet latency=delay of packets")
    assert ran.code == 0, ran.err
    assert "delay of packets" in (files / "new/latency.svg").read_text()


@pytest.mark.parametrize(
    ("arguments", "needs"),
    [
        (("run", "x.toml", *SHORT, "--style", "paper"), "--style: only with --plot"),
        (("run", "x.toml", *SHORT, "--format", "pdf"), "--format: only with --plot"),
        (("compare", "a", "b", "--width", "column"), "--width: only with --out"),
        (("what-if", "x.toml", "--label", "a=b"), "--label: only with --out"),
        (("route", "fabric.txt", "--engine", "minhop", "--style", "slides"), "--style: only with --plot"),
        (("mpi", "run", "--format", "svg", "p.py"), "--format: only with --plot"),
    ],
)
def test_options_of_pictures_without_pictures(
    arguments: tuple[str, ...], needs: str, files: Path, command: Command
) -> None:
    before = sorted(files.iterdir())
    ran = command(*arguments)
    assert (ran.code, ran.out, ran.err) == (2, "", f"fabricsim: {needs}\n")
    assert sorted(files.iterdir()) == before


def test_no_command_that_draws_is_forgotten() -> None:
    """Commands whose modules draw, by the text of their imports."""
    drawing = {
        later.name
        for later in COMMANDS
        if re.search(
            r"from fabricsim\.plots|cli\.mpi_report",
            (ROOT / f"python/fabricsim/cli/{later.module}.py").read_text(),
        )
    }
    assert drawing | {"report"} == STYLED  # pages are drawn by fabricsim.report
    for later in COMMANDS:
        if later.name in STYLED - {"mpi"}:
            assert {"style", "width", "label"} <= {option.name for option in later.load().params}
