"""`fabricsim dissect`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich import box
from rich.table import Table

from fabricsim.captures import dissect as dissect_file
from fabricsim.captures import dissect_in_parts
from fabricsim.cli.console import output
from fabricsim.cli.state import Json, JsonList

CHECKSUMS = {"icrc": "ICRC", "vcrc": "VCRC", "lpcrc": "LPCRC"}
"""Checksums of a record, with their names."""


def dissect(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A capture file: pcap, pcapng or ERF.")],
    json: Json = False,
) -> None:
    """List the InfiniBand and RoCE packets of a capture file, and whether their checksums are right."""
    if not json:
        _print(dissect_file(file))
        return
    records = JsonList()
    dissect_in_parts(file, records.extend)
    records.end()


def _print(records: Sequence[dict[str, Any]]) -> None:
    table = Table(box=box.SIMPLE_HEAD)
    for name in ("no.", "time/us", "PSN", "bytes"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("interface", max_width=12, overflow="fold")
    for name in ("source", "destination", "packet", "CRCs"):
        table.add_column(name, overflow="fold")
    start = records[0]["time_ns"] if records else 0
    for record in records:
        source, destination = _addresses(record)
        table.add_row(
            str(record["number"]),
            f"{(record['time_ns'] - start) / 1000:.3f}",
            str(record["bth"]["psn"]) if record["bth"] else "",
            str(record.get("payload_length", "")),
            record["interface"] or "",
            source,
            destination,
            _packet(record),
            _checksums(record),
        )
    output().print(table)
    output().print(_totals(records))


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
    return f"{record['summary']}: {problem}" if problem else str(record["summary"])


def _found(record: dict[str, Any]) -> dict[str, bool]:
    """Whether each checksum of a record is right."""
    checksums = {**record, "lpcrc": (record.get("fcp") or {}).get("lpcrc")}
    return {name: checksums[name]["ok"] for name in CHECKSUMS if checksums.get(name)}


def _checksums(record: dict[str, Any]) -> str:
    found = _found(record)
    wrong = [f"{CHECKSUMS[name]} wrong" for name, ok in found.items() if not ok]
    return ", ".join(wrong) if wrong else "right" if found else ""


def _totals(records: Sequence[dict[str, Any]]) -> str:
    """Right checksums of all records, by kind."""
    found = [_found(record) for record in records]
    parts = [
        f"{name} {sum(checks[key] for checks in having)} of {len(having)} right"
        for key, name in CHECKSUMS.items()
        if (having := [checks for checks in found if key in checks])
    ]
    return ", ".join([f"{len(records)} packets", *parts])
