"""The examples of the documentation run: Python blocks and `fabricsim` lines of a page, in their order.

A block with `title="NAME.toml"` is a file of the page. A block with `title="output"` is what the commands above print.
"""

from __future__ import annotations

import os
import re
import shlex
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pytest
from conftest import ROOT, Command

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FIRST = next(
    body for _, info, body in BLOCK.findall((ROOT / "docs/index.md").read_text()) if "first.toml" in info
)


FILE = re.compile(r'title="([\w-]+\.toml)"')
OUTPUT = 'title="output"'
OF_USERS = sorted((ROOT / "docs/users").glob("*.md"))


@dataclass(frozen=True)
class Block:
    """An example of a page."""

    kind: Literal["python", "sh", "file", "output"]
    body: str
    name: str = ""
    """Of a file."""

    @property
    def commands(self) -> list[str]:
        return [line for line in self.body.splitlines() if line.startswith("fabricsim ")]


def blocks(page: Path) -> list[Block]:
    found = []
    for kind, info, body in BLOCK.findall(page.read_text()):
        if kind in ("python", "sh"):
            found.append(Block(kind, body))
        elif named := FILE.search(info):
            found.append(Block("file", body, named[1]))
        elif OUTPUT in info:
            found.append(Block("output", body))
    return found


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
    printed = ""
    for block in blocks(page):
        if block.kind == "python":
            exec(compile(block.body, str(page), "exec"), names)
        elif block.kind == "file":
            (tmp_path / block.name).write_text(block.body)
        elif block.kind == "output":
            assert not (gone := missing(block.body, printed)), f"no command prints this: {gone}"
        else:
            printed = "".join(run(line, command) for line in block.commands)


def run(line: str, command: Command) -> str:
    """What a command of a page prints."""
    ran = command(*short(shlex.split(line, comments=True)[1:]))
    told = re.search(r"# exit code (\d+)$", line)
    assert ran.code == (int(told[1]) if told else 0), (line, ran.err)
    return ran.err + ran.out


def missing(shown: str, printed: str) -> list[str]:
    """Lines of a page that were not printed in this order and without others between; `...` stands for any others."""
    lines = [line.rstrip() for line in printed.splitlines() if line.strip()]
    parts = [part.splitlines() for part in re.split(r"^\.\.\.$", shown, flags=re.MULTILINE)]
    begin = 0
    for part in parts:
        wanted = [line.rstrip() for line in part if line.strip()]
        ends = range(begin + len(wanted), len(lines) + 1)
        end = next((end for end in ends if lines[end - len(wanted) : end] == wanted), None)
        if end is None:
            return [line for line in wanted if line not in lines] or wanted
        begin = end
    return []


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


@pytest.mark.parametrize(
    ("shown", "gone"),
    [
        ("a 1\nb 2\n", []),
        ("b 2\n", []),
        ("a 1\n...\nc 3  \n", []),
        ("...\nb 2\n...\n", []),
        ("a 1\nb 3\n", ["b 3"]),
        ("a 1\nc 3\n", ["a 1", "c 3"]),
        ("b 2\n...\na 1\n", ["a 1"]),
    ],
)
def test_a_page_whose_output_is_not_printed_fails(shown: str, gone: list[str]) -> None:
    assert missing(shown, "a 1\n\nb 2   \nc 3\n") == gone


@pytest.mark.parametrize("page", OF_USERS, ids=lambda p: p.stem)
def test_pages_of_users_have_five_commands_with_their_output(page: Path) -> None:
    told = [block for block in blocks(page) if block.kind in ("sh", "output")]
    assert [block.kind for block in told] == ["sh", "output"] * 5
    assert [len(block.commands) for block in told[::2]] == [1] * 5
    text = page.read_text()
    for heading in ("## What you bring", "## Read next", "## Not in the model"):
        assert heading in text
    assert f"users/{page.name}" in (ROOT / "mkdocs.yml").read_text()
    assert f"(users/{page.name})" in (ROOT / "docs/index.md").read_text()


def test_there_is_a_page_for_each_kind_of_user() -> None:
    assert [page.stem for page in OF_USERS] == ["administrator", "architect", "developer", "researcher"]


def test_links_between_pages() -> None:
    for page in PAGES:
        for target in re.findall(r"\]\(([\w./-]+)(?:#[\w-]+)?\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.relative_to(ROOT)}: {target}"


FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)


def anchors(text: str) -> set[str]:
    """Names of the headings of a page, as the documentation's generator forms them."""
    found: set[str] = set()
    for heading in re.findall(r"^#+ (.*)$", FENCED.sub("", text), re.MULTILINE):
        shown = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        name = re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", shown).strip().lower())
        found.add(name if name not in found else f"{name}_1")
    return found


def test_headings_that_links_name_are_there() -> None:
    for page in PAGES:
        for target, name in re.findall(r"\]\(([\w./-]*)#([\w-]+)\)", page.read_text()):
            to = page.parent / target if target else page
            if to.suffix == ".md":
                assert name in anchors(to.read_text()), f"{page.relative_to(ROOT)}: {target}#{name}"


def test_a_heading_that_is_not_there_has_no_anchor() -> None:
    page = "# Limits and `scope`\n```\n# a comment\n```\n## [A page](x.md), too\n## Limits and scope\n"
    assert anchors(page) == {"limits-and-scope", "a-page-too", "limits-and-scope_1"}


MODELS = {
    *(
        "age-parameters",
        "bound",
        "captures",
        "congestion-control",
        "dragonfly",
        "faults",
        "infiniband-subnets",
    ),
    *("link-layer", "low-diameter", "mpi", "multicast", "quality-of-service", "session", "subnet-manager"),
    *(
        "traces",
        "transport",
        "workloads",
        "ethernet",
        "queue-pairs",
        "verbs",
        "layers",
        "perftest",
        "packets",
    ),
    *("own-traffic", "viewer"),
}
"""Pages of the guide about a part of the model."""
NO_MODEL = {"adding-parts", "generated-experiments", "questions", "session", "settings"}
"""Pages of the design about something else."""


@pytest.mark.parametrize("name", sorted(MODELS))
def test_a_page_about_the_model_begins_with_its_limits(name: str) -> None:
    head, _, _ = (ROOT / f"docs/guide/{name}.md").read_text().partition("\n## ")
    assert "\n\n*Scope and limits*: " in head


def test_a_page_about_the_design_of_a_model_begins_with_its_limits() -> None:
    pages = {page.stem: page for page in (ROOT / "docs/design").glob("*.md")}
    assert pages.keys() > NO_MODEL
    for name in sorted(pages.keys() - NO_MODEL):
        head, _, _ = pages[name].read_text().partition("\n## ")
        assert "\n\n*Scope and limits*: " in head, name


def test_pages_request_no_facts_of_a_repository() -> None:
    """Material for MkDocs requests them from api.github.com for the address in `repo_url`."""
    text = (ROOT / "mkdocs.yml").read_text()
    assert "repo_url" not in re.sub("#.*", "", text)
    assert "link: https://github.com/fabricsim/fabricsim" in text


def test_the_search_needs_no_server_and_no_network() -> None:
    """Searched in Chromium from files, offline: with these lines it has results, without them it is hidden."""
    text = (ROOT / "mkdocs.yml").read_text()
    assert re.search(r"^  - search\n  - offline\b", text, re.MULTILINE)
    polyfills = re.search(r"^  polyfills: \[([^\]]*)\]", text, re.MULTILINE)
    assert polyfills is not None
    for name in polyfills[1].split(", "):
        assert "iframe-worker" in name  # else the plugin adds that of the network
        assert "serviceWorker" not in (script := (ROOT / "docs" / name).read_text())
        assert "Worker" in script
        assert not re.search(r"https?://", script)
