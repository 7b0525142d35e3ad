"""`fabricsim dissect`."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Annotated, Any

import typer

from fabricsim.captures import add_mpi, dissect_in_parts
from fabricsim.cli.console import output
from fabricsim.cli.state import Json, JsonList
from fabricsim.shown import number_of

CHECKSUMS = {"icrc": "ICRC", "vcrc": "VCRC", "lpcrc": "LPCRC"}
"""Checksums of a record, with their names."""


def dissect(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A capture file: pcap, pcapng or ERF.")],
    mpi: Annotated[
        bool, typer.Option("--mpi", help="Decode the headers of Open MPI at the beginning of messages.")
    ] = False,
    json: Json = False,
) -> None:
    """List the InfiniBand and RoCE packets of a capture file, and whether their checksums are right."""
    target: JsonList | _Listing = JsonList() if json else _Listing()

    def take(records: list[dict[str, Any]]) -> None:
        if mpi:
            add_mpi(records)
        target.extend(records)

    dissect_in_parts(file, take)
    target.end()


NUMBERS = ("no.", "time/us", "PSN", "bytes")
TEXTS = ("interface", "source", "destination", "packet", "CRCs")
WIDEST = {"interface": 12}
"""Columns that are folded although there is room."""
LEAST = 5
"""Least width of a column of texts."""
MANY = 500
GROWS = (7, 15)
"""Room for numbers and times of records in files of many."""
SPACE = 2
"""Between columns."""


class _Listing:
    """A table that is printed in parts, as records are read: the first part decides how wide its columns are."""

    def __init__(self) -> None:
        self.start: float | None = None
        self.widths: list[int] = []
        self.packets = 0
        self.checked = dict.fromkeys(CHECKSUMS, 0)
        self.right = dict.fromkeys(CHECKSUMS, 0)

    def extend(self, records: Sequence[dict[str, Any]]) -> None:
        """Prints records, which follow those before."""
        if self.start is None and records:
            self.start = records[0]["time_ns"]
        self._count(records)
        rows = [_row(record, self.start or 0) for record in records]
        self._print(rows)

    def _count(self, records: Sequence[dict[str, Any]]) -> None:
        self.packets += len(records)
        for record in records:
            for name, ok in _found(record).items():
                self.checked[name] += 1
                self.right[name] += ok

    def _print(self, rows: list[list[str]]) -> None:
        names = [*NUMBERS, *TEXTS]
        if not self.widths:
            self.widths = _widths([names, *rows], output().width)
            self._write([names])
            line = "-" if output().options.ascii_only else "─"
            self._write([[line * width for width in self.widths]])
        self._write(rows)

    def _write(self, rows: Iterable[list[str]]) -> None:
        # Rich's tables take a millisecond for each row.
        text = "\n".join(line for row in rows for line in self._lines(row))
        if text:
            output().print(text, markup=False, highlight=False, soft_wrap=True)

    def _lines(self, row: list[str]) -> Iterator[str]:
        """The lines of a row, in which texts that are too long are folded; numbers are shown whole."""
        cells = [
            [cell] if len(cell) <= width or place < len(NUMBERS) else textwrap.wrap(cell, width)
            for place, (cell, width) in enumerate(zip(row, self.widths, strict=True))
        ]
        for parts in zip_longest(*cells, fillvalue=""):
            placed = [
                part.rjust(width) if place < len(NUMBERS) else part.ljust(width)
                for place, (part, width) in enumerate(zip(parts, self.widths, strict=True))
            ]
            yield (" " * SPACE).join(placed).rstrip()

    def end(self) -> None:
        """Prints the right checksums of all records, by kind."""
        if not self.widths:
            self._print([])
        parts = [
            f"{name} {self.right[key]:,} of {self.checked[key]:,} right"
            for key, name in CHECKSUMS.items()
            if self.checked[key]
        ]
        output().print()
        output().print(", ".join([number_of(self.packets, "packet"), *parts]))


def _widths(rows: list[list[str]], room: int) -> list[int]:
    """Widths of columns: what the cells take; of texts less, the widest first, until a row fits."""
    names = rows[0]
    widths = [max(map(len, cells)) for cells in zip(*rows, strict=True)]
    if len(rows) > MANY:
        widths[: len(GROWS)] = map(max, widths, GROWS)
    for place, name in enumerate(names):
        widths[place] = min(widths[place], WIDEST.get(name, widths[place]))
    texts = [place for place, name in enumerate(names) if name in TEXTS]
    while sum(widths) + SPACE * (len(widths) - 1) > room:
        widest = max(texts, key=lambda place: widths[place])
        if widths[widest] <= LEAST:
            break
        widths[widest] -= 1
    return widths


def _row(record: dict[str, Any], start: float) -> list[str]:
    source, destination = _addresses(record)
    return [
        str(record["number"]),
        f"{(record['time_ns'] - start) / 1000:.3f}",
        str(record["bth"]["psn"]) if record["bth"] else "",
        str(record.get("payload_length", "")),
        record["interface"] or "",
        source,
        destination,
        _packet(record),
        _checksums(record),
    ]


def _addresses(record: dict[str, Any]) -> tuple[str, str]:
    """Source and destination: LIDs, else GIDs or IP addresses."""
    if lrh := record["lrh"]:
        return f"LID {lrh['slid']}", f"LID {lrh['dlid']}"
    if header := record["grh"] or record.get("ipv6"):
        return header["sgid"], header["dgid"]
    if ipv4 := record.get("ipv4"):
        return _dotted(ipv4["source"]), _dotted(ipv4["destination"])
    return "", ""


def _dotted(address: int) -> str:
    return ".".join(str(byte) for byte in address.to_bytes(4, "big"))


def _packet(record: dict[str, Any]) -> str:
    problem = record.get("problem")
    texts = [record["summary"], record.get("mpi"), problem]
    return ": ".join(str(text) for text in texts if text)


def _found(record: dict[str, Any]) -> dict[str, bool]:
    """Whether each checksum of a record is right."""
    checksums = {**record, "lpcrc": (record.get("fcp") or {}).get("lpcrc")}
    return {name: checksums[name]["ok"] for name in CHECKSUMS if checksums.get(name)}


def _checksums(record: dict[str, Any]) -> str:
    found = _found(record)
    wrong = [f"{CHECKSUMS[name]} wrong" for name, ok in found.items() if not ok]
    return ", ".join(wrong) if wrong else "right" if found else ""
