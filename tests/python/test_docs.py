"""The examples of the documentation run: Python blocks and `fabricsim` lines of a page, in their order."""

from __future__ import annotations

import os
import re
import shlex
import tomllib
from pathlib import Path

import pytest
from conftest import ROOT, Command

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FIRST = next(
    body for _, info, body in BLOCK.findall((ROOT / "docs/index.md").read_text()) if "first.toml" in info
)


def blocks(page: Path) -> list[tuple[str, str]]:
    return [(kind, body) for kind, _, body in BLOCK.findall(page.read_text()) if kind in ("python", "sh")]


WITH_BLOCKS = [page for page in PAGES if blocks(page)]


@pytest.mark.usefixtures("real")
@pytest.mark.parametrize("page", WITH_BLOCKS, ids=lambda p: str(p.relative_to(ROOT)))
def test_examples_of_a_page(
    page: Path, command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "first.toml").write_text(FIRST)
    os.symlink(ROOT / "experiments", tmp_path / "experiments")
    names = {"__name__": "an example"}
    for kind, body in blocks(page):
        if kind == "python":
            exec(compile(body, str(page), "exec"), names)
            continue
        for line in body.splitlines():
            if line.startswith("fabricsim "):
                ran = command(*short(shlex.split(line, comments=True)[1:]))
                told = re.search(r"# exit code (\d+)$", line)
                assert ran.code == (int(told[1]) if told else 0), (line, ran.err)


def short(arguments: list[str]) -> list[str]:
    """The command as it is tested: tuning tries few settings, and what runs a file many times runs it a tenth as long.

    Other commands run as the page has them. Fabrics that a manager brings up, and jobs, end when they are done.
    """
    if arguments[0] not in ("sweep", "tune") or not arguments[1].startswith("experiments/"):
        return arguments
    if arguments[0] == "tune":
        arguments = [*arguments, "--trials", "3"]
    written = tomllib.loads(Path(arguments[1]).read_text(encoding="utf-8"))
    if "subnet_manager" in written or "jobs" in written or "allow_deadlock" in written["run"]:
        return arguments
    for key in ("warmup", "duration"):
        time, unit = written["run"].get(key, "0 us").split()
        arguments = [*arguments, "--set", f"run.{key}={float(time) / 10:g} {unit}"]
    return arguments


def test_pages_have_examples() -> None:
    assert len(WITH_BLOCKS) >= 4


def test_links_between_pages() -> None:
    for page in PAGES:
        for target in re.findall(r"\]\(([\w./-]+)(?:#[\w-]+)?\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.relative_to(ROOT)}: {target}"
