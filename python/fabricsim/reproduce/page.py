"""The reproduction page of a seed, in Markdown, with its pictures."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable
from pathlib import Path
from typing import Any

from fabricsim.errors import InputError, StoreError
from fabricsim.lazy import pandas as pd
from fabricsim.plots import draw, save
from fabricsim.reproduce.compute import Outcome
from fabricsim.reproduce.expected import Figure, Seed, choose, find_experiments, read_seed, seeds
from fabricsim.reproduce.judge import Entry
from fabricsim.reproduce.quantities import load_hooks
from fabricsim.reproduce.reading import unknown
from fabricsim.reproduce.record import entries_of, figure_record, read_record, write_record
from fabricsim.reproduce.rejudge import rejudged
from fabricsim.reproduce.rows import Number
from fabricsim.reproduce.tally import headlines
from fabricsim.results import Result

FIGURES = "figures"
HOOKS = "figures.py"
"""In the seed's folder: functions that draw; each takes the runs by name."""
WHOLE_FROM = 10_000.0
"""Numbers from here on are written as whole ones, without an exponent."""
TABLES = "tables.py"
"""In the seed's folder: functions that return a frame; each takes the runs by name."""
_BEGIN = "<!-- figure: {} -->"
_END = "<!-- end of figures -->"
_TABLES = "<!-- tables -->"
_ROMAN = re.compile(r"\b[ivx]+\b")
_MARKER = re.compile(r"<!-- figure: (\S+) -->")
_EXPLANATION = """
This page is generated: `make reproduce` runs `experiments/{seed}/`, with each judged row's control, and compares the
numbers with those of this page. A number or claim in brackets is not in print: it is derived, or our own. A *control*
is the setting under which the row must not hold, beside what comes out then. *Sign*: of a printed number only the
condition is judged. *Calibrated*: a parameter was chosen with the row at hand. *Independent*: the row does not depend
on a feature. *Repeated*: the number is counted where it stands first."""

_HEAD = "| quantity | unit |"
_MISSING = """
**Not on this page yet: {names}.** `fabricsim reproduce {seed} {first} --controls --pages docs/reproduction` adds a
section."""


def write_pages(outcome: Outcome, folder: Path) -> list[Path]:
    """Writes the sections of the figures that were run into their seeds' pages, with their pictures and numbers.

    Sections of other figures stay as they are; a page is complete once each of its figures was run.

    Raises:
        StoreError: one cannot be written.
        InputError: a page or its numbers cannot be read.
    """
    names = dict.fromkeys(seed.name for seed, _, _ in outcome.figures)
    return [
        _write_page([item for item in outcome.figures if item[0].name == name], outcome.entries, folder)
        for name in names
    ]


def _write_page(
    figures: list[tuple[Seed, Figure, dict[str, Result]]], entries: list[Entry], folder: Path
) -> Path:
    seed = figures[0][0]
    path = folder / f"{seed.name}.md"
    record = read_record(folder, seed.name)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        sections = _sections(path.read_text(encoding="utf-8")) if path.exists() else {}
        for _, figure, runs in figures:
            own = [e for e in entries if e.seed == seed.name and e.figure == figure.name]
            record[figure.name] = figure_record(seed, figure, own, record.get(figure.name, {}))
            own = entries_of(seed.name, figure.name, record[figure.name])
            sections[figure.name] = _joined(_figure_parts(seed, figure, runs, own, folder))
        write_record(folder, seed, record)
        path.write_text(_page(seed, sections, record), encoding="utf-8")
    except OSError as error:
        raise StoreError(f"{path}: the page cannot be written: {error.strerror}") from error
    return path


def rejudge_pages(
    folder: Path, seed: str | None = None, figure: str | None = None, *, experiments: Path | None = None
) -> list[Path]:
    """Judges the rows of a figure (by default of all that the pages have) anew by the numbers of the pages, and writes
    the pages. Nothing is run.

    Raises:
        StoreError: one cannot be written.
        InputError: there is no such seed or figure, a row needs a run, or a page or its numbers cannot be read.
    """
    place = experiments if experiments is not None else find_experiments()
    found = [read_seed(place, name) for name in ([seed] if seed else seeds(place))]
    return [_rejudge_page(item, folder, {f.name for f in choose(item, figure)}) for item in found]


def _rejudge_page(seed: Seed, folder: Path, names: Container[str]) -> Path:
    path = folder / f"{seed.name}.md"
    record = read_record(folder, seed.name)
    try:
        sections = _sections(path.read_text(encoding="utf-8"))
        for figure in seed.figures:
            if figure.name in record and figure.name in names:
                entries = rejudged(seed, figure, record[figure.name])
                record[figure.name] = figure_record(seed, figure, entries, record[figure.name])
                entries = entries_of(seed.name, figure.name, record[figure.name])
                pictures, tables = _kept(sections[figure.name])
                sections[figure.name] = _joined(_section(figure, entries, pictures, tables))
        write_record(folder, seed, record)
        path.write_text(_page(seed, sections, record), encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise StoreError(f"{path}: the page cannot be written: {error}") from error
    return path


def _kept(section: str) -> tuple[list[str], list[str]]:
    """The pictures of a section, and its further tables."""
    blocks = section.split("\n\n")
    pictures = [block for block in blocks if block.startswith("![")]
    if _TABLES in blocks:
        return pictures, _without_notes(section, blocks[blocks.index(_TABLES) + 1 :])
    return pictures, []


def _without_notes(section: str, tables: list[str]) -> list[str]:
    """The blocks but for the last one, if that has notes on rows."""
    has_notes = tables and any(tables[-1].startswith(f"- {q}: ") for q in _quantities(section))
    return tables[:-1] if has_notes else tables


def _quantities(section: str) -> list[str]:
    """The names of a section's rows."""
    rows = [line for line in section.splitlines() if line.startswith("| ")]
    return [row[2:].split(" | ", maxsplit=1)[0] for row in rows]


def _page(seed: Seed, sections: dict[str, str], record: dict[str, Any]) -> str:
    """The whole page from its sections and its numbers."""
    known = [figure.name for figure in seed.figures if figure.name in sections and figure.name in record]
    entries = [entry for name in known for entry in entries_of(seed.name, name, record[name])]
    parts = [f"# {seed.title or seed.name}", seed.source, seed.text]
    parts.append("\n".join(f"- {line}" for line in headlines(entries)))
    if missing := [figure.name for figure in seed.figures if figure.name not in known]:
        parts.append(_MISSING.format(names=", ".join(missing), seed=seed.name, first=missing[0]))
    parts.append(_EXPLANATION.format(seed=seed.name))
    for name in known:
        parts += [_BEGIN.format(name), sections[name]]
    parts.append(_END)
    parts += _choices(seed, entries)
    if used := [name for name in seed.tolerances if any(entry.because == name for entry in entries)]:
        parts += [
            "## Where tolerances come from",
            "\n".join(f"- *{name}*: {seed.tolerances[name]}" for name in used),
        ]
    if seed.differences:
        parts += ["## Where the models differ", "\n".join(f"- {line}" for line in seed.differences)]
    return _joined(parts) + "\n"


def _joined(parts: Iterable[str]) -> str:
    return "\n\n".join(part.strip() for part in parts if part.strip())


def _sections(page: str) -> dict[str, str]:
    """The sections of a page by figure."""
    body = page.split(_END, maxsplit=1)[0]
    pieces = _MARKER.split(body)[1:]
    return {name: text.strip() for name, text in zip(pieces[::2], pieces[1::2], strict=True)}


def _choices(seed: Seed, entries: list[Entry]) -> list[str]:
    """The table of parameters that were chosen with results at hand."""
    if not seed.choices:
        return []
    lines = ["| parameter | value | when | chosen for | other values |", "|---|---|---|---|---|"]
    lines += [_row([c.parameter, c.value, c.when, c.rows, c.others]) for c in seed.choices.values()]
    return ["## Parameters chosen with results at hand", "\n".join(lines)]


def _figure_parts(
    seed: Seed, figure: Figure, runs: dict[str, Result], entries: list[Entry], folder: Path
) -> list[str]:
    pictures = [_picture(seed, figure, runs, wanted, folder) for wanted in figure.plots]
    tables = [_own_table(seed, figure, runs, wanted) for wanted in figure.tables]
    return _section(figure, entries, pictures, tables)


def _section(figure: Figure, entries: list[Entry], pictures: list[str], tables: list[str]) -> list[str]:
    title = _ROMAN.sub(lambda number: number[0].upper(), figure.name.replace("-", " ").capitalize())
    parts = [f"## {title}{': ' if figure.title else ''}{figure.title}", figure.text, *pictures]
    entries = [entry for entry in entries if entry.listed]
    published = [entry for entry in entries if entry.origin != "own"]
    own = [entry for entry in entries if entry.origin == "own"]
    if published:
        parts.append(_table(published))
    if own:
        parts += ["Not in the publication:", _table(own)]
    parts += [_TABLES, *tables] if tables else []
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
        f"{_HEAD} published | ours | ratio | judged by | holds | control | ours then |",
        "|---|---|--:|--:|--:|---|:-:|---|--:|",
    ]
    for e in entries:
        ratio = "" if e.ratio is None else f"{e.ratio:.3f}"
        verdict = {"no": "**no**", "shown": ""}.get(e.verdict, e.verdict)
        if e.holds is False and e.verdict != "no":
            verdict += ": no"
        control = f"`{e.control}`" if e.control else ""
        cells = [e.quantity, e.unit, _reference(e), _cell(e.ours), ratio, _criterion(e), verdict, control]
        lines.append(_row([*cells, _under_control(e)]))
    return "\n".join(lines)


def _criterion(entry: Entry) -> str:
    """The claim, or the tolerance with the name of its reason."""
    if entry.holds is None:
        return ""
    if entry.tolerance is None:
        return f"`{entry.claim}`"
    amount = f"±{entry.tolerance:g}" if entry.absolute else f"{100 * entry.tolerance:g} %"
    return f"{amount} ({entry.because})"


def _under_control(entry: Entry) -> str:
    """Ours with the feature off; bold if the row holds all the same."""
    if entry.control_holds is None:
        return "not run" if entry.control else ""
    value = _cell(entry.control_ours)
    return f"**{value}**" if entry.control_holds else value


def _reference(entry: Entry) -> str:
    """The number or claim in print; in brackets what is not in print but follows from it."""
    if entry.reference is None and entry.claim is not None and entry.origin != "own":
        return "claim" if entry.origin == "printed" else "(claim)"
    if entry.published is None and entry.expected is not None:
        return f"({_cell(entry.expected)})"
    return _cell(entry.published)


def _cell(value: Number | None) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,.0f}" if abs(value) >= WHOLE_FROM else f"{value:.4g}"
