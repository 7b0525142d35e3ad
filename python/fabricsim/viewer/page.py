"""The page: everything in one file that opens without a network."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Sequence
from importlib.resources import files
from pathlib import Path

from fabricsim.errors import InputError
from fabricsim.lock import FolderLock
from fabricsim.results import Result
from fabricsim.store import VIEWER, page_path, read_manifest, write_page
from fabricsim.viewer.payload import packed
from fabricsim.viewer.scene import scene

MOST_RUNS = 4
"""Runs side by side."""
LIBRARY = "three"
"""Name under which the page's modules import the library."""

One = str | Path | Result


def view(
    runs: One | Sequence[One], out: str | Path | None = None, *, say: Callable[[str], None] | None = None
) -> Path:
    """Writes runs as one HTML page with the network in its own coordinates, links coloured over time.

    The page opens from a disk, without a network. The same results give the same page.

    Args:
        runs: the folder of a run, or results in memory; or up to four of them, side by side.
        out: the file. By default `view.html` in the folder; of several runs `view-OTHERS.html` in the first one's, with
            the names of the other folders. One that exists is replaced.
        say: called with a sentence on each part that a run did not record.

    Raises:
        InputError: it is no such folder, results in memory are given without `out`, or `out` is no `.html`.
        FolderTakenError: another process writes the folder, and `out` is not given.
        StoreError: a table is damaged, or the page cannot be written.
    """
    each: list[One] = [runs] if isinstance(runs, str | Path | Result) else list(runs)
    if not 1 <= len(each) <= MOST_RUNS:
        raise InputError(f"{len(each)} runs: the viewer shows 1 to {MOST_RUNS} side by side")
    if out is not None:
        return _written(each, page_path(out), say)
    folders = [one.folder if isinstance(one, Result) else Path(one) for one in each]
    first, others = folders[0], folders[1:]
    if first is None or None in others:
        raise InputError("these results have no folder: give the path of the page")
    for folder in folders:
        read_manifest(str(folder))  # before a lock is created beside a folder that has no results
    stem, dot, ending = VIEWER.partition(".")
    name = "-".join([stem, *(str(folder.resolve().name) for folder in others if folder)]) + dot + ending
    with FolderLock(first):
        return _written(each, first / name, say)


def _written(runs: Sequence[One], path: Path, say: Callable[[str], None] | None) -> Path:
    text = page(runs, say)
    return write_page(path, text)


def page(runs: Sequence[One], say: Callable[[str], None] | None = None) -> str:
    """The page's text."""
    scenes = []
    for run in runs:
        text, notes = scene(run)
        scenes.append(text)
        for note in notes:
            if say is not None:
                say(note)
    title = " | ".join(_title(run) for run in runs)
    assets = files("fabricsim.viewer") / "assets"
    library = (assets / "three" / "three.min.js").read_bytes()
    modules = sorted(
        (one for one in (assets / "js").iterdir() if one.name.endswith(".js")), key=lambda one: one.name
    )
    parts = {
        "title": html.escape(f"{title} - Fabricsim"),
        "styles": (assets / "page.css").read_text(encoding="utf-8"),
        "library": packed(library),
        "licence": html.escape((assets / "three" / "LICENSE").read_text(encoding="utf-8")),
        "modules": "\n".join(
            _module(f"viewer/{one.name}", one.read_text(encoding="utf-8")) for one in modules
        ),
        "runs": "\n".join(f'<script type="application/gzip" class="run">{text}</script>' for text in scenes),
        "start": (assets / "start.js").read_text(encoding="utf-8"),
    }
    template = (assets / "page.html").read_text(encoding="utf-8")
    return re.sub(r"\{\{ (\w+) \}\}", lambda found: parts[found[1]], template)


def _module(name: str, text: str) -> str:
    """A module that `start.js` makes importable under its name."""
    return f'<script type="text/plain" class="module" data-name="{name}">\n{text}</script>'


def _title(run: One) -> str:
    return run.title if isinstance(run, Result) else Path(run).resolve().name
