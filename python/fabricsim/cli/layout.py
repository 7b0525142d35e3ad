"""Tables for terminals of 80 columns: no frame, headings of several lines, and no text that is cut off."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from rich import box
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Column, Table

from fabricsim.catalogue import Entry

_ENDLESS = 10_000
FEWEST = 7
"""Characters that a column of texts has at least, before numbers are broken."""
SHORT = 12
"""Letters of a parameter's key up to which it is one line of a heading."""


class Narrow(Table):
    """A table without frame. If it has no room, its columns are one space apart, not two; then halves of intervals are
    below their means; then texts that have none go on in the next line, and numbers only if texts cannot. None is cut
    off.
    """

    def __init__(self, title: str | None = None, caption: str | None = None) -> None:
        super().__init__(
            title=title, caption=caption, box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0)
        )

    def add_column(self, *arguments: Any, **options: Any) -> None:
        """The same as that of tables."""
        super().add_column(*arguments, **{"overflow": "fold", **options})

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Chooses the distance of the columns, and what is broken."""
        room = options.max_width
        if self._wide(console, options) > room:
            self.padding = 0
        if self._wide(console, options) > room:
            self._break_intervals()
        numbers = [column for column in self.columns if column.justify == "right"]
        texts = len(self.columns) - len(numbers)
        if sum(map(_width, numbers)) + FEWEST * texts + len(self.columns) <= room:
            for column in numbers:
                column.no_wrap = True
        yield from super().__rich_console__(console, options)

    def _wide(self, console: Console, options: ConsoleOptions) -> int:
        return console.measure(self, options=options.update(max_width=_ENDLESS)).maximum

    def _break_intervals(self) -> None:
        for column in self.columns:
            column._cells = [
                cell.replace(" ± ", "\n± ") if isinstance(cell, str) else cell for cell in column._cells
            ]


def _width(column: Column) -> int:
    """Characters of the longest line of a column."""
    texts = [column.header, *column.cells]
    return max((cell_len(line) for text in texts for line in str(text).split("\n")), default=0)


def narrow(
    title: str | None = None,
    caption: str | None = None,
    *,
    texts: Iterable[str] = (),
    numbers: Iterable[str] = (),
) -> Table:
    """A table for 80 columns, with columns of texts, which are on their left, and then of numbers, on their right."""
    table = Narrow(title, caption)
    for heading in texts:
        table.add_column(heading)
    for heading in numbers:
        table.add_column(heading, justify="right")
    return table


def short(key: str, keys: Sequence[str]) -> str:
    """The shortest unique ending of a key, at least two parts."""
    parts = key.split(".")
    for count in range(2, len(parts)):
        end = ".".join(parts[-count:])
        alone = sum(other.endswith(f".{end}") or other == end for other in keys) == 1
        if alone and not parts[-count].isdigit():
            return end
    return key


def key_heading(key: str, keys: Sequence[str]) -> str:
    """The heading of a parameter's column: the end of its key, in lines that break behind a dot."""
    found = short(key, keys)
    if len(found) <= SHORT:
        return found
    head, dot, last = found.rpartition(".")
    return f"{head}{dot}\n{last}" if dot else found


def two_lines(entry: Entry) -> str:
    """The heading of a column of numbers: the name of a quantity in two lines of nearly the same length."""
    words = entry.heading.split(" ")
    halves = [(" ".join(words[:at]), " ".join(words[at:])) for at in range(1, len(words))]
    return "\n".join(min(halves, key=lambda half: max(map(len, half)), default=(entry.heading,)))
