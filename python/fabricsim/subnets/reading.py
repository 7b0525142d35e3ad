"""A subnet as its files describe it."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from fabricsim.errors import InputError
from fabricsim.native import bad_input, native, waited
from fabricsim.subnets.files import load, load_optional

FORMATS = ("ibnetdiscover", "ibsim", "opensm-subnet")
"""Formats of a subnet: the output of `ibnetdiscover` (full or `-p`), ibsim's netlist, `opensm-subnet.lst`."""

_BY_CONTENT = {
    "ibnetdiscover": ("ibnetdiscover", "ibnetdiscover-ports"),
    "ibsim": ("ibsim", "ibnetdiscover"),
    "opensm-subnet": ("opensm-subnet",),
}
"""Formats by content that a stated format stands for. Netlists and full outputs have the same form but for comments."""


@dataclass(frozen=True)
class Finding:
    """An oddity of a subnet or its tables."""

    kind: str
    """Kind, such as `degraded` or `no_entry`."""
    text: str
    file: str
    line: int
    """Line from 1; 0 if it is about more than one."""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.text}" if self.line else f"{self.file}: {self.text}"


@dataclass(frozen=True)
class Subnet:
    """Nodes and cables of a subnet."""

    format: str
    counts: dict[str, int]
    """Number of switches, adapters, routers, aggregation nodes, ports, cables, cables between switches, and LIDs."""
    findings: list[Finding]
    virtual_lanes: int
    """Virtual lanes that paths need by their service levels and the SL2VL tables: 1 without either."""
    lmc: int
    """LID mask control that all ports of adapters with cables have at least."""

    def as_dict(self) -> dict[str, Any]:
        """The same for JSON."""
        return asdict(self)


def read_subnet(
    fabric: Path | str,
    format: str | None = None,
    *,
    lfts: Path | str | None = None,
    sl2vl: Path | str | None = None,
    path_sls: Path | str | None = None,
) -> Subnet:
    """Reads a subnet, and checks its tables against it.

    Args:
        fabric: file of `ibnetdiscover`, ibsim or OpenSM.
        format: one of `FORMATS`; by default known by the content.
        lfts: forwarding tables: `opensm-lfts.dump`, `opensm.fdbs`, output of `dump_lfts.sh` or `ibroute`.
        sl2vl: `opensm-sl2vl.dump`.
        path_sls: service levels of paths.

    Raises:
        InputError: a file cannot be read, does not parse, or contradicts itself or another.
    """
    if format is not None and format not in _BY_CONTENT:
        raise InputError(f"{format!r} is no format of a subnet: expected one of {', '.join(FORMATS)}")
    files = (load(fabric), load_optional(lfts), load_optional(sl2vl), load_optional(path_sls))
    with bad_input():
        text = waited(lambda: native().import_subnet(files[0], None, *files[1:]))
    report = json.loads(text)
    if format is not None and report["format"] not in _BY_CONTENT[format]:
        raise InputError(f"{fabric}: this is a file of {report['format']}, not of {format}")
    findings = [Finding(**finding) for finding in report["findings"]]
    return Subnet(report["format"], report["counts"], findings, report["virtual_lanes"], report["lmc"])
