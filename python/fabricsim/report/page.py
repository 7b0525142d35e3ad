"""The page."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import quote

from fabricsim.absent_columns import absent_columns_named
from fabricsim.errors import InputError
from fabricsim.lock import FolderLock
from fabricsim.results import Result
from fabricsim.run import load
from fabricsim.store import VIEWER, page_path, read_manifest, write_page
from fabricsim.sweep import SweepResult, load_sweep

FILE = "report.html"
"""The page's name in a folder of results."""


def report(
    run: str | Path | Result | SweepResult, out: str | Path | None = None, *, bound: bool = True
) -> Path:
    """Writes a run or a sweep as one HTML page: tables, pictures, the experiment.

    The same results give the same page.

    Args:
        run: the folder of a run or a sweep, or results in memory.
        out: the file; by default `report.html` in the folder. One that exists is replaced.
        bound: add the fraction of the bound that a run reached. Large networks need some seconds for it.

    Raises:
        InputError: it is no such folder, results in memory are given without `out`, or `out` is no `.html`.
        FolderTakenError: another process writes the folder, and `out` is not given.
        StoreError: the page cannot be written, or a table lacks a column.
    """
    folder = run.folder if isinstance(run, Result | SweepResult) else Path(run)
    if out is not None:
        return _written(run, page_path(out), bound=bound)
    if folder is None:
        raise InputError("these results have no folder: give the path of the page")
    read_manifest(folder)  # before a lock is created beside a folder that has no results
    with FolderLock(folder):
        return _written(run, folder / FILE, bound=bound)


def _written(run: str | Path | Result | SweepResult, path: Path, *, bound: bool) -> Path:
    result = run if isinstance(run, Result | SweepResult) else _loaded(Path(run))
    text = html(result, bound=bound, viewer=_viewer(result, path))
    return write_page(path, text)


def _viewer(result: Result | SweepResult, path: Path) -> str:
    """Path from the page to the run's viewer; empty if it has none."""
    if result.folder is None or not (result.folder / VIEWER).is_file():
        return ""
    way = os.path.relpath(result.folder.resolve() / VIEWER, path.resolve().parent)
    return quote(way.replace(os.sep, "/"))


def html(result: Result | SweepResult, *, bound: bool = True, viewer: str = "") -> str:
    """The page's text. `viewer`: address of the run's viewer, to which the page links."""
    # They bring matplotlib, and a template engine, which other commands do without.
    from jinja2 import Environment, PackageLoader, StrictUndefined  # noqa: PLC0415

    from fabricsim.report.of_run import sections_of_run  # noqa: PLC0415
    from fabricsim.report.of_sweep import sections_of_sweep  # noqa: PLC0415

    environment = Environment(
        loader=PackageLoader("fabricsim.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    if isinstance(result, SweepResult):
        sections = sections_of_sweep(result)
        title, status = result.title, "complete" if result.complete else "not complete"
        description = ""
    else:
        with absent_columns_named([result]):
            sections = sections_of_run(result, bound=bound)
        title, status = result.title, result.status
        description = str(experiment_description(result))
    page = environment.get_template("page.html.j2")
    return page.render(title=title, status=status, description=description, sections=sections, viewer=viewer)


def experiment_description(result: Result) -> str:
    """Title and description of the experiment."""
    from fabricsim.compare.settings import experiment_of  # noqa: PLC0415

    return str(experiment_of(result).written().get("description", ""))


def _loaded(folder: Path) -> Result | SweepResult:
    kind = read_manifest(folder).get("kind")
    if kind == "sweep":
        return load_sweep(folder)
    if kind == "tune":
        raise InputError(
            f"{folder}: this is a study: pages are of runs and sweeps; `fabricsim plot` draws it"
        )
    return load(folder)
