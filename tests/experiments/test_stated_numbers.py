"""Numbers in the prose of the pages have rows.

What texts, notes, choices, tolerances and differences of `expected.toml` state, with a unit or decimals, is found by
its form. It is proven if a row or table of its section has the value, rounded as written, or if a file of the section's
runs has the setting. A section with so many numbers that any would be found proves nothing but by named rows. All
others are listed in `stated/SEED.toml`, by section, as

    also = ["figure-9", "threshold/trigger 0.1, ratio"]  # sections, or their rows that begin so, that count as well
    "9.1 %" = { is = 'ours("h512", "on") / 19.8 - 1' }   # follows from rows, `%` as a fraction; or arithmetic
    "64 bytes" = { says = "in print: section 3" }        # where it comes from, beginning with one of `ORIGINS`
"""

from __future__ import annotations

import json
import math
import re
import statistics
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from fabricsim.reproduce import Seed, read_record
from fabricsim.reproduce.expressions import evaluate

HERE = Path(__file__).resolve().parent
PAGES = HERE.parents[1] / "docs/reproduction"
SEEDS = ["age-based-arbitration", "infiniband-verbs-mpi", "thesis", "wire-speed-ordering"]
ORIGINS = ("in print: ", "setting: ", "not run again: ", "theory: ")

SCALES = {
    "ns": ("time", 1.0), "us": ("time", 1e3), "ms": ("time", 1e6), "s": ("time", 1e9),
    "MB/s": ("rate", 1.0), "GB/s": ("rate", 1e3), "Gb/s": ("rate", 125.0),
    "packets": ("packets", 1.0), "cycles": ("cycles", 1.0), "hops": ("hops", 1.0), "points": ("points", 1.0),
    "connections": ("connections", 1.0), "bytes": ("bytes", 1.0), "KiB": ("bytes", 1024.0), "B": ("bytes", 1.0),
}  # fmt: skip
"""Units by what they measure; a percentage, or a number without unit, is compared with numbers that have none."""
UNIT = rf"(%|{'|'.join(SCALES)})(?![\w/])"
NUMBER = re.compile(rf"(?<![\w.^#*/])(\d+(?:,\d{{3}})*(?:\.\d+)?)(?![\w*^]|[.,]\d)(?: {UNIT})?")
REST = re.compile(rf"(?:(?:,? (?:to|and|or|over) |, )\d+(?:\.\d+)?)+ {UNIT}")
"""What follows a number that shares its unit with others: `, 10.5 to 12 ns`."""
NAMES = re.compile(
    r"\b([Ff]igure|[Tt]able|[Ss]ection|[Ee]quation)s? \d+(\.\d+)*((,| to| and) \d+\.\d+(?! (%|[GM]B|us)))*"
)
"""Numbers of figures and sections."""


CROWDED = 250
"""Numbers of a section from which on an arbitrary one would be found among them."""
ANY = "any"
"""Unit of a table's column that names none."""
FLOAT = re.compile(r"\d+(?:\.\d+)?")


def _decimals(digits: str) -> set[int]:
    return {len(digits.partition(".")[2])}


class Stated(NamedTuple):
    """A number as it stands in a text."""

    digits: str
    unit: str

    @property
    def text(self) -> str:
        return f"{self.digits} {self.unit}".strip()

    def is_(self, value: float, unit: str) -> bool:
        """True if a value in `unit` is this one, rounded to as many decimals."""
        if self.unit in SCALES and unit != ANY:
            kind, scale = SCALES[self.unit]
            other, factor = SCALES.get(unit, ("", 1.0))
            if kind != other:
                return False
            value *= factor / scale
        elif self.unit == "%":
            if unit in SCALES and unit != "points":
                return False
            value *= 100.0 if unit in ("", ANY) else 1.0
        decimals = len(self.digits.partition(".")[2])
        number = float(self.digits.replace(",", ""))
        return abs(abs(value) - number) <= 0.5 * 10.0**-decimals + 1e-9


def stated(text: str) -> Iterator[Stated]:
    """The numbers of a text that have a unit or decimals."""
    text = NAMES.sub("", re.sub(r"`[^`]*`", "", text))
    for match in NUMBER.finditer(text):
        digits, unit = match.groups()
        rest = REST.match(text, match.end())
        if (
            unit is None
            and rest
            and _decimals(digits) == {d for n in FLOAT.findall(rest[0]) for d in _decimals(n)}
        ):
            unit = rest.group(1)
        if unit or "." in digits:
            yield Stated(digits, unit or "")


def texts(seed: Seed) -> dict[str, list[str]]:
    """All prose of a seed's page by section."""
    found = {"page": [seed.text, *seed.differences]}
    found["tolerances"] = list(seed.tolerances.values())
    for name, choice in seed.choices.items():
        found[f"choice {name}"] = [choice.value, choice.when, choice.rows, choice.others]
    for figure in seed.figures:
        notes = [row.note for row in figure.quantities] + [row.independent for row in figure.rows]
        found[figure.name] = [figure.text, *notes]
    return found


def numbers_of(seed: Seed, section: str) -> list[tuple[float, str]]:
    """The values that the rows and tables of `SECTION` have, or those rows of `SECTION/BEGINNING`, with their units."""
    found: list[tuple[float, str]] = []
    section, _, beginning = section.partition("/")
    for row in read_record(PAGES, seed.name).get(section, {"entries": []})["entries"]:
        if not row["quantity"].startswith(beginning):
            continue
        values = [row[key] for key in ("published", "expected", "ours", "control_ours", "tolerance")]
        unit = "packets" if row["unit"].startswith("packets") else row["unit"]
        plain = unit if unit in SCALES or unit in ("%", "points") else ""
        found += [(v, plain) for v in values if isinstance(v, int | float) and not isinstance(v, bool)]
    found += _cells(seed.name, section, beginning)
    return found if beginning or len(found) < CROWDED else []


def _cells(seed: str, section: str, beginning: str) -> Iterator[tuple[float, str]]:
    """The numbers of a section's further tables, with the units of their columns."""
    page = (PAGES / f"{seed}.md").read_text(encoding="utf-8")
    body = page.partition(f"<!-- figure: {section} -->")[2].partition("<!-- figure: ")[0]
    head: list[str] = []
    for line in body.partition("<!-- tables -->")[2].splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")] if line.startswith("|") else []
        if not cells or set(line) <= set("|-: "):
            head = head if cells else []
            continue
        if not head:
            head = cells
            continue
        if not " | ".join(cells).startswith(beginning):
            continue
        for name, cell in zip(head, cells, strict=True):
            unit = re.search(r"\((ns|us|GB/s|%)\)", name)
            for number in re.finditer(r"(?<![\w.])(\d[\d,]*(?:\.\d+)?)(%?)", cell):
                value = float(number[1].replace(",", ""))
                yield value, "%" if number[2] else unit[1] if unit else ANY


def settings_of(seed: Seed, section: str) -> str:
    """What the files of a section's runs say, and the values that replace theirs."""
    runs = [run for figure in seed.figures if figure.name == section for run in figure.runs.values()]
    files = {run.experiment: (seed.folder / run.experiment).read_text(encoding="utf-8") for run in runs}
    return "\n".join([*files.values(), *(json.dumps(run.set, default=str) for run in runs)])


def is_set(number: Stated, settings: str) -> bool:
    """True if a text has the number with its unit."""
    if not number.unit:
        return re.search(rf"(?<![\w.-]){re.escape(number.digits)}(?![\w.%])", settings) is not None
    unit = "B" if number.unit == "bytes" else number.unit
    return unit in SCALES and re.search(rf'"{re.escape(number.digits)} {unit}"', settings) is not None


def is_shown(seed: Seed, number: Stated, shown: dict[str, Any]) -> str:
    """Why what is listed does not prove the number; empty if it does."""
    (kind, value), *more = shown.items()
    if more or kind not in ("is", "says"):
        return "give `is` or `says`"
    if kind == "says":
        return (
            "" if value.startswith(ORIGINS) and len(value) > len(ORIGINS[0]) + 5 else f"begin with {ORIGINS}"
        )
    record = read_record(PAGES, seed.name)
    rows = {name: {row["quantity"]: row for row in figure["entries"]} for name, figure in record.items()}
    functions: dict[str, Any] = {
        "ours": lambda figure, row: rows[figure][row]["ours"],
        "printed": lambda figure, row: rows[figure][row]["published"],
        "deviation": lambda figure, *names: _deviation(rows[figure], names),
        "mean": lambda figure, name: statistics.mean(_over_seeds(rows[figure], name)),
        "sqrt": math.sqrt,
    }
    found = evaluate(value, functions)
    return "" if number.is_(found, "" if number.unit == "%" else number.unit) else f"it is {found}"


def _over_seeds(rows: dict[str, Any], name: str) -> list[float]:
    """Ours of the rows whose name has 1, 2, ... for `{}`."""
    names = [name.format(number) for number in range(1, 10)]
    return [rows[found]["ours"] for found in names if found in rows]


def _deviation(rows: dict[str, Any], names: tuple[str, ...]) -> float:
    """Standard deviation over seeds, pooled."""
    return math.sqrt(statistics.mean(statistics.variance(_over_seeds(rows, name)) for name in names))


@pytest.mark.parametrize("name", SEEDS)
def test_numbers_of_the_prose_have_rows(seeds: list[Seed], name: str) -> None:
    seed = next(seed for seed in seeds if seed.name == name)
    listed = tomllib.loads((HERE / f"stated/{name}.toml").read_text(encoding="utf-8"))
    problems = []
    for section, paragraphs in texts(seed).items():
        left = dict(listed.pop(section, {}))
        sections = [section, *left.pop("also", [])]
        known = [value for name in sections for value in numbers_of(seed, name)]
        settings = "\n".join(settings_of(seed, name) for name in sections)
        for number in dict.fromkeys(n for text in paragraphs for n in stated(text)):
            shown = left.pop(number.text, None)
            if shown is not None:
                reason = is_shown(seed, number, shown)
                problems += [f"{section}: {number.text}: {reason}"] if reason else []
            elif not is_set(number, settings) and not any(number.is_(*other) for other in known):
                problems.append(f"{section}: {number.text}: no row has it, and stated/{name}.toml does not")
        problems += [f"{section}: {text}: the text does not say it any more" for text in left]
    problems += [f"{section}: there is no such section" for section in listed]
    assert problems == [], "\n".join(problems)


def test_a_number_without_a_row_is_found() -> None:
    text = (
        "It has 12.5 us, of 7, 9 and 10 % 3; figure 4.2 and tables 4.3 to 4.9, `a = 5 us`: 2 Gb/s, then 0.31."
    )
    found = [number.text for number in stated(text)]
    assert found == ["12.5 us", "7 %", "9 %", "10 %", "2 Gb/s", "0.31"]


@pytest.mark.parametrize(
    ("text", "value", "unit", "same"),
    [
        ("31 %", 0.3139, "", True),
        ("31 %", 0.3151, "", False),
        ("31 %", 31.4, "%", True),
        ("31 %", 31.0, "ns", False),
        ("3.5 us", 3540.0, "ns", True),
        ("3.5 us", 3.5, "", False),
        ("8.1 GB/s", 64.9, "Gb/s", True),
        ("0.31", 0.3139, "", True),
        ("0.31", 0.3151, "", False),
    ],
)
def test_a_number_is_compared_as_it_is_rounded(text: str, value: float, unit: str, same: bool) -> None:
    (number,) = stated(text)
    assert number.is_(value, unit) is same
