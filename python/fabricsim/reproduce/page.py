"""The reproduction page of a seed, in Markdown, with its pictures."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pandas as pd

from fabricsim.errors import InputError, StoreError
from fabricsim.plots import draw, save
from fabricsim.reproduce.compute import Outcome
from fabricsim.reproduce.expected import Figure, Number, Seed
from fabricsim.reproduce.judge import Entry
from fabricsim.reproduce.quantities import load_hooks
from fabricsim.reproduce.reading import unknown
from fabricsim.results import Result

FIGURES = "figures"
HOOKS = "figures.py"
"""In the seed's folder: functions that draw; each takes the runs by name."""
WHOLE_FROM = 10_000.0
"""Numbers from here on are written as whole ones, without an exponent."""
TABLES = "tables.py"
"""In the seed's folder: functions that return a frame; each takes the runs by name."""


def write_pages(outcome: Outcome, folder: Path) -> list[Path]:
    """Writes a page for each seed of which all figures were run, and its pictures.

    Raises:
        StoreError: one cannot be written.
    """
    names = dict.fromkeys(seed.name for seed, _, _ in outcome.figures)
    pages = []
    for name in names:
        figures = [(s, f, runs) for s, f, runs in outcome.figures if s.name == name]
        seed = figures[0][0]
        if len(figures) < len(seed.figures):
            continue
        pages.append(_write_page(seed, figures, [e for e in outcome.entries if e.seed == name], folder))
    return pages


def _write_page(
    seed: Seed, figures: list[tuple[Seed, Figure, dict[str, Result]]], entries: list[Entry], folder: Path
) -> Path:
    held = sum(entry.holds is True for entry in entries)
    judged = sum(entry.holds is not None for entry in entries)
    more = f" ({len(entries) - judged} more are shown, but not judged)" if judged < len(entries) else ""
    parts = [f"# {seed.title or seed.name}", seed.source, seed.text]
    parts.append(
        f"{held} of {judged} numbers and claims hold{more}. This page is generated: "
        f"`make reproduce` runs `experiments/{seed.name}/` and writes it anew. Numbers in brackets are not in print: "
        "they are derived or measured, as the text says. A tolerance with ± is in the quantity's unit, else relative."
    )
    for _, figure, runs in figures:
        own = [entry for entry in entries if entry.figure == figure.name]
        parts += _figure_parts(seed, figure, runs, own, folder)
    if seed.differences:
        parts.append("## Where the models differ")
        parts.append("\n".join(f"- {line}" for line in seed.differences))
    path = folder / f"{seed.name}.md"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        path.write_text("\n\n".join(part.strip() for part in parts if part.strip()) + "\n", encoding="utf-8")
    except OSError as error:
        raise StoreError(f"{path}: the page cannot be written: {error.strerror}") from error
    return path


def _figure_parts(
    seed: Seed, figure: Figure, runs: dict[str, Result], entries: list[Entry], folder: Path
) -> list[str]:
    title = figure.name.replace("-", " ").capitalize()
    parts = [f"## {title}{': ' if figure.title else ''}{figure.title}", figure.text]
    parts += [_picture(seed, figure, runs, wanted, folder) for wanted in figure.plots]
    if entries:
        parts.append(_table(entries))
    parts += [_own_table(seed, figure, runs, wanted) for wanted in figure.tables]
    parts.append("\n".join(f"- {entry.quantity}: {entry.note}" for entry in entries if entry.note))
    return parts


def _picture(seed: Seed, figure: Figure, runs: dict[str, Result], wanted: str, folder: Path) -> str:
    own = load_hooks(seed.folder, HOOKS)
    if wanted in own:
        name = f"{seed.name}-{wanted.replace('_', '-')}"
        save(own[wanted](runs), folder / FIGURES / f"{name}.svg")
        return f"![{figure.name}: {figure.title}]({FIGURES}/{name}.svg)"
    run, _, plot = wanted.rpartition("/")
    result = runs[run] if run in runs else next(iter(runs.values()))
    name = "-".join(part for part in (seed.name, figure.name, run, plot) if part)
    save(draw(result, plot), folder / FIGURES / f"{name}.svg")
    alt = f"{plot} of {figure.name}{', ' + run if run else ''}"
    return f"![{alt}]({FIGURES}/{name}.svg)"


def _own_table(seed: Seed, figure: Figure, runs: dict[str, Result], wanted: str) -> str:
    own = load_hooks(seed.folder, TABLES)
    if wanted not in own:
        raise InputError(unknown(f"table for {figure.name} in {TABLES}", wanted, list(own)))
    return as_markdown(own[wanted](runs))


def as_markdown(frame: pd.DataFrame) -> str:
    """A frame as a table in Markdown, without its index; its attribute `caption` stands above."""
    aligned = ["--:" if pd.api.types.is_numeric_dtype(dtype) else "---" for dtype in frame.dtypes]
    lines = [_row(map(str, frame.columns)), "|" + "|".join(aligned) + "|"]
    lines += [_row(map(_any_cell, row)) for row in frame.itertuples(index=False)]
    caption = frame.attrs.get("caption", "")
    return f"{caption}\n\n" * bool(caption) + "\n".join(lines)


def _row(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _any_cell(value: Any) -> str:
    if isinstance(value, str):
        return value
    return "–" if value is None or pd.isna(value) else _cell(value)


def _table(entries: list[Entry]) -> str:
    lines = [
        "| quantity | unit | published | ours | ratio | tolerance | holds |",
        "|---|---|--:|--:|--:|--:|:-:|",
    ]
    for e in entries:
        ratio = "" if e.ratio is None else f"{e.ratio:.3f}"
        holds = {True: "yes", False: "**no**", None: ""}[e.holds]
        tolerance = f"±{e.tolerance:g}" if e.absolute else f"{e.tolerance:g}"
        cells = [e.quantity, e.unit, _reference(e), _cell(e.ours), ratio, tolerance, holds]
        lines.append(_row(cells))
    return "\n".join(lines)


def _reference(entry: Entry) -> str:
    """The number in print, or in brackets the derived or measured one that stands for it."""
    if entry.published is None and entry.reference is not None:
        return f"({_cell(entry.reference)})"
    return _cell(entry.published)


def _cell(value: Number | None) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,.0f}" if abs(value) >= WHOLE_FROM else f"{value:.4g}"
